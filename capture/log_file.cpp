#include "capture/log_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstring>

namespace refrain::capture {
namespace {

constexpr int most_attempts = 1000;

/// Moves a new descriptor out of the way: a program may expect the low numbers for files of its own.
int moved_up(int descriptor) noexcept {
  constexpr int out_of_the_way = 512;
  int moved = fcntl(descriptor, F_DUPFD_CLOEXEC, out_of_the_way);
  if (moved < 0) moved = fcntl(descriptor, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
  const int code = errno;
  close(descriptor);
  errno = code;
  return moved;
}

}  // namespace

LogFile::~LogFile() {
  if (descriptor_ >= 0 && still_ours()) close(descriptor_);
}

bool LogFile::open(const std::string& path, const LogIdentity& identity) noexcept try {
  const PathKind kind = look_at(path);
  const std::string planned = log_file_name(path, kind, identity);
  name_ = planned;
  if (look_at(planned) == PathKind::device) {
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_NOCTTY);
    if (descriptor_ < 0) return fail(errno);
    return adopt();
  }
  for (int attempt = 0; attempt < most_attempts; ++attempt) {
    if (attempt > 0) name_ = next_file_name(planned, attempt);
    descriptor_ = ::open(name_.c_str(), O_WRONLY | O_APPEND | O_CLOEXEC | O_CREAT | O_EXCL | O_NOCTTY, 0666);
    if (descriptor_ >= 0) return adopt();
    if (errno != EEXIST) return fail(errno);
  }
  return fail(EEXIST);
} catch (...) {
  return fail(ENOMEM);
}

bool LogFile::adopt() noexcept {
  descriptor_ = moved_up(descriptor_);
  struct stat status {};
  if (descriptor_ < 0 || fstat(descriptor_, &status) != 0) return fail(errno);
  device_ = status.st_dev;
  inode_ = status.st_ino;
  regular_ = S_ISREG(status.st_mode);
  return true;
}

bool LogFile::write(std::string_view line) noexcept {
  if (!still_ours()) {
    descriptor_ = -1;
    return fail(EBADF);
  }
  std::size_t done = 0;
  while (done < line.size()) {
    const ssize_t count = ::write(descriptor_, line.data() + done, line.size() - done);
    if (count > 0) {
      done += static_cast<std::size_t>(count);
      continue;
    }
    const int code = count == 0 ? EIO : errno;
    if (code == EINTR) continue;
    // A failed truncation leaves a torn last line, which readers accept.
    if (done > 0 && regular_ && ftruncate(descriptor_, static_cast<off_t>(bytes_)) != 0) return fail(code);
    return fail(code);
  }
  bytes_ += line.size();
  return true;
}

bool LogFile::still_ours() const noexcept {
  struct stat status {};
  return descriptor_ >= 0 && fstat(descriptor_, &status) == 0 && status.st_dev == device_ && status.st_ino == inode_;
}

bool LogFile::fail(int code) noexcept {
  std::array<char, 128> buffer{};
  try {
    error_ = code == EBADF ? "the program closed its file descriptor" : strerror_r(code, buffer.data(), buffer.size());
  } catch (...) {
    error_.clear();
  }
  return false;
}

}  // namespace refrain::capture
