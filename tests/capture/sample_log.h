// Records of every kind with every field set, and the files that tests write and read.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "capture/log_record.h"

namespace refrain::tests {

/// One log of a short run: every kind of record, every field different from its default, counters that add up.
std::vector<capture::LogRecord> sample_records();
/// The same as the lines of a log, one record every quarter of a second.
std::string sample_lines();

/// A folder that exists as long as this object.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();
  const std::filesystem::path& path() const noexcept { return path_; }
  std::string file(const std::string& name) const { return (path_ / name).string(); }
  /// The only file in the folder; the test fails when there are none or several.
  std::string only_file() const;

 private:
  std::filesystem::path path_;
};

std::string read_file(const std::filesystem::path& path);
void write_file(const std::filesystem::path& path, const std::string& content);
std::vector<std::string> split_lines(const std::string& text);

/// Compares `text` with the file `golden` of the source tree; ACCEPT=1 in the environment writes the file instead.
void expect_golden(const std::string& golden, const std::string& text);
/// The same for the block of a document between the lines `<!-- begin NAME -->` and `<!-- end NAME -->`.
void expect_in_document(const std::string& document, const std::string& name, const std::string& text);

}  // namespace refrain::tests
