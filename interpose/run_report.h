// What the processes below `refrain run` told at their ends.
//
// Owns:    a file in the folder for temporary files, removed with the object.
#pragma once

#include <string>
#include <vector>

#include "interpose/summary.h"

namespace refrain::interpose {

class RunReport {
 public:
  RunReport();
  ~RunReport();
  RunReport(const RunReport&) = delete;
  RunReport& operator=(const RunReport&) = delete;

  /// The file to name in REFRAIN_REPORT; empty when there is none.
  const std::string& path() const noexcept { return path_; }
  /// What was told so far, one a process.
  std::vector<Summary> read() const;

 private:
  std::string path_;
};

}  // namespace refrain::interpose
