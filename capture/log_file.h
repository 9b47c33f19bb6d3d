// The open file of a capture log: takes whole lines, or none of a line.
//
// Owns:    one descriptor above 2, closed on exec. It is never written after the program closed it or put another file
//          in its place.
// Threads: one at a time.
// Fails:   by return value, with the cause as text; never throws.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "capture/log_path.h"

namespace refrain::capture {

class LogFile {
 public:
  LogFile() = default;
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
  ~LogFile();

  /// Creates the file that `path` stands for. A file that exists is never written: the next free name is taken.
  bool open(const std::string& path, const LogIdentity& identity) noexcept;
  /// Appends `line`, which ends in a newline, by one write; takes back a part that was written when the rest fails.
  bool write(std::string_view line) noexcept;

  const std::string& name() const noexcept { return name_; }
  std::uint64_t bytes() const noexcept { return bytes_; }
  /// Why the last call failed, for a person.
  const std::string& error() const noexcept { return error_; }

 private:
  bool adopt() noexcept;  ///< takes the descriptor just opened
  bool still_ours() const noexcept;
  bool fail(int code) noexcept;

  int descriptor_ = -1;
  bool regular_ = false;
  dev_t device_ = 0;
  ino_t inode_ = 0;
  std::uint64_t bytes_ = 0;
  std::string name_, error_;
};

}  // namespace refrain::capture
