#include "policy/policy_file.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

#include "policy/built_in.h"
#include "policy/document.h"

namespace refrain::policy {

namespace {

class FileDescriptor {
 public:
  explicit FileDescriptor(const std::string& path)
      : value_(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK)) {}
  ~FileDescriptor() {
    if (value_ >= 0) ::close(value_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int value() const noexcept { return value_; }

 private:
  int value_;
};

std::string error_text(int error) {
  std::array<char, 128> buffer{};
  return ::strerror_r(error, buffer.data(), buffer.size());  // the GNU form, which returns the text
}

/// The file's text into `text`; returns what was found instead of a readable file, empty when all is well.
std::string read_file(const std::string& path, std::string& text) {
  if (path.empty()) return "an empty path";
  struct stat status {};
  if (::stat(path.c_str(), &status) != 0) return error_text(errno);
  if (S_ISDIR(status.st_mode)) return "a folder";
  if (!S_ISREG(status.st_mode)) return "a pipe or device";
  const FileDescriptor file(path);
  if (file.value() < 0) return error_text(errno);
  // Read one byte more than allowed, in case that the size is not told or the file grows.
  text.resize(max_document_bytes + 1);
  std::size_t size = 0;
  while (size < text.size()) {
    const ssize_t count = ::read(file.value(), text.data() + size, text.size() - size);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return error_text(errno);
    if (count == 0) break;
    size += static_cast<std::size_t>(count);
  }
  if (size > max_document_bytes) return fmt::format("more than {} bytes", max_document_bytes);
  if (size == 0) return "an empty file";
  text.resize(size);
  return {};
}

}  // namespace

ParseResult load_policy(const std::string& path) noexcept {
  ParseResult result;
  result.settings.mode = Mode::off;
  try {
    if (path == built_in_name) return parse_policy(built_in_text(), path);
    std::string text;
    std::string found = read_file(path, text);
    if (found.empty()) return parse_policy(text, path);
    PolicyError error;
    error.file = path;
    error.expected = "a readable policy file";
    error.found = std::move(found);
    result.errors.push_back(std::move(error));
  } catch (...) {
    result.ok = false;
  }
  return result;
}

}  // namespace refrain::policy
