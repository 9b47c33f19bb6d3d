// What a test program did, as text that must be the same bare and under Refrain: the result of every driver call and
// the hash of every output. No address, handle or time ever goes in.
//
// Threads: each thread writes its own transcript; only the main thread publishes. A Worker's text is appended to that
// of
//          the thread that joins it.
#pragma once

#include <cuda.h>

#include <cstdarg>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>
#include <thread>

namespace refrain::tests {

inline thread_local std::string transcript;
inline thread_local bool in_worker = false;

/// Appends one formatted line.
[[gnu::format(printf, 1, 2)]] inline void note(const char* format, ...) {
  char line[512];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  transcript += line;
  transcript += '\n';
}

/// Writes what the main thread noted to the standard output; a crash after it leaves the text there. In a worker it
/// does nothing, since the order between threads differs from run to run.
inline void publish() {
  if (in_worker) return;
  std::fwrite(transcript.data(), 1, transcript.size(), stdout);
  std::fflush(stdout);
  transcript.clear();
}

/// Notes the result of one driver call.
inline CUresult traced(const char* name, CUresult result) {
  note("%s %d", name, static_cast<int>(result));
  return result;
}

/// FNV-1a, continued from `hash`.
inline std::uint64_t hash_bytes(const void* data, std::size_t size, std::uint64_t hash = 14695981039346656037ull) {
  const auto* bytes = static_cast<const unsigned char*>(data);
  for (std::size_t i = 0; i < size; ++i) hash = (hash ^ bytes[i]) * 1099511628211ull;
  return hash;
}

/// A thread with a transcript of its own.
class Worker {
 public:
  explicit Worker(std::function<void()> work)
      : thread_([this, work = std::move(work)] {
          in_worker = true;
          work();
          text_.swap(transcript);
        }) {}
  ~Worker() { join(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  /// Waits for the thread and takes over what it noted.
  void join() {
    if (!thread_.joinable()) return;
    thread_.join();
    transcript += text_;
  }

 private:
  std::string text_;
  std::thread thread_;
};

}  // namespace refrain::tests

/// One driver call, its result noted: CALL(cuMemFree, address).
#define CALL(function, ...) ::refrain::tests::traced(#function, driver().function(__VA_ARGS__))
