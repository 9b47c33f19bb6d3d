// The one place of the library that prints: whole lines on stderr, each cause once.
//
// Threads: any. No allocation, no lock; errno stays as it was.
// Fails:   silently: a closed or broken stderr is the program's affair and must not become its end (no SIGPIPE).
#pragma once

namespace refrain::interpose {

/// Why a line is printed; each is printed at most once in a process.
enum class Message : unsigned {
  environment,  ///< a variable or a policy is faulty
  old_driver,
  new_driver,
  no_memory,
  log,            ///< the capture log cannot be written
  pool,           ///< more unknown driver functions than there are places for
  region_off,     ///< a region failed too often
  device_failed,  ///< an error after which nothing works any more
  summary,        ///< what was replayed, at exit
  strict,         ///< strict mode: what was not
  count,
};

/// Looks at stderr when the library is loaded. When it is closed then, nothing is ever printed: a file that the program
/// opens later may have its number.
void open_messages() noexcept;

/// Prints "refrain: ", the text and an end of line by one write, unless this cause was printed already.
[[gnu::format(printf, 2, 3)]] void say(Message cause, const char* format, ...) noexcept;

}  // namespace refrain::interpose
