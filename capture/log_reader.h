// Reads a capture log, record by record.
//
// Owns:    the open file.
// Units:   seconds since the process began to log; lines count from 1.
// Fails:   by return value, with "file:line: what was expected"; never throws, whatever the bytes.
//
// Tolerated and counted: fields and kinds of records that only another version knows, and a last line that its writer
// did not finish. Refused: a log without header, of another version, with two headers, or with a damaged line.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>

#include "capture/log_record.h"

namespace refrain::capture {

struct LogEntry {
  LogRecord record;
  double time = 0;
  std::uint64_t line = 0;
};

class LogReader {
 public:
  enum class Status { record, end, error };

  /// Opens `path`; the first next() tells when that failed.
  explicit LogReader(const std::string& path);
  /// Reads from `file`, which it takes over; `name` stands for it in messages.
  LogReader(std::string name, std::FILE* file);

  /// The next record. The first one is always the header. After `end` or `error` it stays so.
  Status next(LogEntry& entry) noexcept;

  const std::string& error() const noexcept { return error_; }
  std::uint64_t unknown_records() const noexcept { return unknown_records_; }
  std::uint64_t unknown_fields() const noexcept { return unknown_fields_; }
  bool torn() const noexcept { return torn_; }  ///< the last line was not finished

  /// A line that is longer is refused, so that memory stays bounded.
  static constexpr std::size_t longest_line = 64 << 20;

 private:
  enum class Line { whole, unfinished, none, failed };
  struct Close {
    void operator()(std::FILE* file) const noexcept { std::fclose(file); }
  };

  Line read_line();
  Status read(LogEntry& entry);
  Status refuse(const std::string& what);

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::string buffer_;     ///< what was read and not yet taken
  std::size_t taken_ = 0;  ///< of buffer_
  std::string text_;       ///< the line
  std::uint64_t line_ = 0;
  bool header_seen_ = false, done_ = false, torn_ = false;
  std::uint64_t unknown_records_ = 0, unknown_fields_ = 0;
  std::string error_;
};

}  // namespace refrain::capture
