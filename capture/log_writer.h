// Writes the capture log of this process, without ever making the caller wait for a disk.
//
// Owns:    a bounded queue, the file, and one thread, "refrain-log", which starts at the first record and takes no
// signal. Threads: every function may be called from any thread. Callers share one short lock, never held across a
// system call
//          other than waking the thread.
// Fails:   what cannot be written is dropped and counted; a file that cannot be written is reported once through
//          LogOptions::warn. Nothing throws. In a forked child, every function returns at once without any effect.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "capture/log_path.h"
#include "capture/log_record.h"

namespace refrain::capture {

struct LogOptions {
  std::string path;  ///< folder, file, or pattern as log_path.h says; empty: nothing is written
  int rank = -1;
  std::uint64_t max_bytes = 64 << 20;  ///< of the file; the counters at exit are written all the same
  std::size_t max_queued_records = 4096;
  std::size_t max_queued_bytes = 32 << 20;  ///< host memory, approximately
  /// Takes one line of text, at most once, on the writer's or a caller's thread; callable as long as the process lives.
  std::function<void(const std::string&)> warn;
};

class LogWriter {
 public:
  explicit LogWriter(const LogOptions& options) noexcept;
  LogWriter(const LogWriter&) = delete;
  LogWriter& operator=(const LogWriter&) = delete;
  /// Closes with a bound of one second.
  ~LogWriter();

  /// Queues the record; false when it was dropped. The header and the counters at exit find the queue never full.
  bool write(LogRecord&& record) noexcept;
  /// Waits until everything queued before is in the file. False when the time was too short, a record was dropped
  /// meanwhile, or the file has failed or is full. Time in which the process stands still does not count.
  bool flush(std::chrono::milliseconds timeout) noexcept;
  /// As flush(), and ends the thread. What is not written in time is dropped. Later records are dropped.
  bool close(std::chrono::milliseconds timeout) noexcept;
  /// For the child after fork: makes everything inert. Safe in a signal handler.
  void abandon() noexcept { abandoned_.store(true, std::memory_order_relaxed); }

  std::uint64_t dropped() const noexcept;
  /// The file's name; empty until the thread has opened it.
  std::string file_name() const;

 private:
  struct State;
  bool inert() const noexcept;
  void start() noexcept;
  static void run(State& state) noexcept;
  static std::string write_all(State& state);  ///< until the end; why it ended early, or nothing

  std::shared_ptr<State> state_;  ///< shared with the thread, which may outlive this object when a disk hangs
  pid_t process_;
  std::atomic<bool> abandoned_{false};
};

}  // namespace refrain::capture
