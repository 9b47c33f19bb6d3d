#include "interpose/message.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include "interpose/quiet_write.h"

namespace refrain::interpose {
namespace {

constinit std::atomic<bool> closed{false};
constinit std::atomic<unsigned> said{0};
static_assert(static_cast<unsigned>(Message::count) <= 32);

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
  write_quietly(STDERR_FILENO, line, bytes);
  errno = error;
}

}  // namespace refrain::interpose
