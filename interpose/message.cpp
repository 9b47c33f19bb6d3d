#include "interpose/message.h"

#include <fcntl.h>
#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace refrain::interpose {
namespace {

constinit std::atomic<bool> closed{false};
constinit std::atomic<unsigned> said{0};
static_assert(static_cast<unsigned>(Message::count) <= 32);

/// One write to stderr. A pipe that nobody reads would raise SIGPIPE in this thread: it is blocked, and taken back.
void write_line(const char* line, std::size_t bytes) noexcept {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  sigemptyset(&pending);
  sigpending(&pending);
  const bool was_pending = sigismember(&pending, SIGPIPE) == 1;
  if (pthread_sigmask(SIG_BLOCK, &pipe, &before) != 0) return;
  const ssize_t written = write(STDERR_FILENO, line, bytes);
  if (written < 0 && errno == EPIPE && !was_pending) {
    const timespec no_time{};
    sigtimedwait(&pipe, nullptr, &no_time);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace

void open_messages() noexcept {
  const int error = errno;
  closed.store(fcntl(STDERR_FILENO, F_GETFD) < 0, std::memory_order_relaxed);
  errno = error;
}

void say(Message cause, const char* format, ...) noexcept {
  const unsigned bit = 1u << static_cast<unsigned>(cause);
  if (closed.load(std::memory_order_relaxed) || (said.fetch_or(bit, std::memory_order_relaxed) & bit) != 0) return;
  const int error = errno;
  char line[1024] = "refrain: ";
  const std::size_t prefix = std::strlen(line);
  const std::size_t room = sizeof line - prefix - 1;
  va_list arguments;
  va_start(arguments, format);
  const int wanted = std::vsnprintf(line + prefix, room, format, arguments);
  va_end(arguments);
  std::size_t bytes = prefix + (wanted < 0 ? 0 : std::min<std::size_t>(static_cast<std::size_t>(wanted), room - 1));
  line[bytes++] = '\n';
  write_line(line, bytes);
  errno = error;
}

}  // namespace refrain::interpose
