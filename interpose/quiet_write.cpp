#include "interpose/quiet_write.h"

#include <signal.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

namespace refrain::interpose {

// Both signals go to the thread that writes: they are blocked there, and the one that came is taken back.
ssize_t write_quietly(int file, const char* bytes, std::size_t count) noexcept {
  sigset_t signals, before, pending;
  sigemptyset(&signals);
  sigaddset(&signals, SIGPIPE);
  sigaddset(&signals, SIGXFSZ);
  sigemptyset(&pending);
  sigpending(&pending);
  if (pthread_sigmask(SIG_BLOCK, &signals, &before) != 0) return -1;
  const ssize_t written = write(file, bytes, count);
  const int error = errno;
  const int raised = written >= 0 ? 0 : error == EPIPE ? SIGPIPE : error == EFBIG ? SIGXFSZ : 0;
  if (raised != 0 && sigismember(&pending, raised) != 1) {
    const timespec no_time{};
    sigset_t one;
    sigemptyset(&one);
    sigaddset(&one, raised);
    sigtimedwait(&one, nullptr, &no_time);
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return written;
}

}  // namespace refrain::interpose
