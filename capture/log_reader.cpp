#include "capture/log_reader.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "capture/log_decode.h"

namespace refrain::capture {
namespace {

constexpr std::size_t block_size = 64 << 10;

}  // namespace

LogReader::LogReader(const std::string& path) : name_(path), file_(std::fopen(path.c_str(), "rbe")) {
  if (!file_) {
    error_ = path + ": expected a capture log: " + std::strerror(errno);
    return;
  }
  struct stat status {};
  if (fstat(fileno(file_.get()), &status) == 0 && S_ISDIR(status.st_mode)) {
    error_ = path + ": expected a capture log, found a folder";
    file_.reset();
  }
}

LogReader::LogReader(std::string name, std::FILE* file) : name_(std::move(name)), file_(file) {
  if (!file_) error_ = name_ + ": expected a capture log: it cannot be read";
}

LogReader::Status LogReader::next(LogEntry& entry) noexcept try {
  if (!error_.empty()) return Status::error;
  if (done_) return Status::end;
  return read(entry);
} catch (...) {
  done_ = true;
  error_ = "short of memory";  // fits into the string itself
  return Status::error;
}

LogReader::Status LogReader::read(LogEntry& entry) {
  for (;;) {
    const Line state = read_line();
    if (state == Line::failed) return Status::error;
    if (state == Line::none) {
      done_ = true;
      return header_seen_ ? Status::end : refuse("expected a header record, found the end of the file");
    }
    if (text_.empty() && state == Line::whole && header_seen_) continue;
    DecodedLine decoded;
    const Decoded outcome = decode(text_, decoded);
    if (state == Line::unfinished && outcome == Decoded::not_json) {
      done_ = torn_ = true;
      return header_seen_ ? Status::end : refuse("expected a header record, found an unfinished line");
    }
    if (outcome == Decoded::malformed || outcome == Decoded::not_json) return refuse("expected " + decoded.expected);
    const bool is_header = outcome == Decoded::record && std::holds_alternative<HeaderRecord>(decoded.record);
    if (!header_seen_ && !is_header) return refuse("expected a header record as the first line of a capture log");
    if (header_seen_ && is_header) return refuse("expected a record of the log above, found another header");
    header_seen_ = true;
    unknown_fields_ += decoded.unknown_fields;
    if (outcome == Decoded::unknown) {
      ++unknown_records_;
      continue;
    }
    entry = {std::move(decoded.record), decoded.time, line_};
    return Status::record;
  }
}

LogReader::Line LogReader::read_line() {
  text_.clear();
  ++line_;
  for (;;) {
    const std::size_t newline = buffer_.find('\n', taken_);
    const std::size_t end = newline == std::string::npos ? buffer_.size() : newline;
    if (text_.size() + (end - taken_) > longest_line) {
      refuse("expected a line of at most 64 MiB");
      return Line::failed;
    }
    text_.append(buffer_, taken_, end - taken_);
    taken_ = end;
    if (newline != std::string::npos) {
      ++taken_;
      return Line::whole;
    }
    buffer_.resize(block_size);
    const std::size_t count = std::fread(buffer_.data(), 1, buffer_.size(), file_.get());
    buffer_.resize(count);
    taken_ = 0;
    if (count > 0) continue;
    if (std::ferror(file_.get()) != 0) {
      refuse(std::string("expected to read on: ") + std::strerror(errno));
      return Line::failed;
    }
    return text_.empty() ? Line::none : Line::unfinished;
  }
}

LogReader::Status LogReader::refuse(const std::string& what) {
  done_ = true;
  error_ = name_ + ":" + std::to_string(line_) + ": " + what;
  return Status::error;
}

}  // namespace refrain::capture
