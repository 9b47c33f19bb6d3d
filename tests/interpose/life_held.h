// What the ways to end, to fork and to start others have in common (life_held.cpp).
//
// Threads: Job is used by the thread that holds calls; each Launcher has a thread and a stream of its own.
#pragma once

#include <sys/types.h>
#include <unistd.h>

#include <atomic>
#include <map>
#include <string>
#include <thread>

#include "tests/programs/scenario.h"

namespace refrain::tests {

inline constexpr unsigned n = 256;
extern const char* own_path;

/// Never destroyed: the ways decide what is called when the process ends.
struct Job {
  Scenario scenario{8, true};
  CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  CUstream stream = scenario.stream();
  Buffer data{n, 1}, sum{n, 2};

  void half(unsigned salt) const {
    launch(mix, {}, stream, data.address(), sum.address(), n, salt);
    launch(accumulate, {}, stream, sum.address(), data.address(), n);
  }
  void pass() const {
    half(1);
    half(3);
  }
  /// Afterwards the calls of a pass are held.
  void warm_up() const {
    for (int i = 0; i < 8; ++i) {
      const Range range("region life");
      pass();
      CALL(cuStreamSynchronize, stream);
    }
  }
  void read() const {
    CALL(cuStreamSynchronize, stream);
    const std::vector<unsigned> contents = sum.read();
    note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), sum.bytes())));
    publish();
  }
};

Job& job();

/// The first half of a pass; the range stays open.
void begin_pass();
void end_pass();

/// A thread of its own launches, pass after pass, on its own stream, until it is told to stop.
class Launcher {
 public:
  Launcher() : stream_(job().scenario.make_stream()), thread_([this] { work(); }) {}
  ~Launcher() {
    if (thread_.joinable()) stop();
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  /// After one pass at least, so that every run tells the same; ten seconds at most.
  void stop() {
    for (int waited = 0; passes_ == 0 && waited < 100000; ++waited) usleep(100);
    stop_ = true;
    thread_.join();
    note("launcher %s", passes_ > 0 ? "ran" : "did not run");
  }
  void detach() {
    while (passes_ < 20) usleep(100);
    thread_.detach();
  }

 private:
  void work() {
    in_worker = true;
    CALL(cuCtxSetCurrent, job().scenario.context());
    while (!stop_) {
      {
        const Range range("region launcher");
        for (int i = 0; i < 2; ++i) {
          launch(job().mix, {}, stream_, data_.address(), sum_.address(), n, 1u);
          launch(job().accumulate, {}, stream_, sum_.address(), data_.address(), n);
        }
      }
      CALL(cuStreamSynchronize, stream_);
      transcript.clear();
      ++passes_;
    }
  }

  Buffer data_{n, 3}, sum_{n, 4};
  CUstream stream_;
  std::atomic<bool> stop_{false};
  std::atomic<int> passes_{0};
  std::thread thread_;
};

void tell_end(const char* what, int status);
void wait_for(const char* what, pid_t child);

struct Way {
  int (*run)();
  bool in_a_pass;  ///< it begins in the midst of a pass
};
using Ways = std::map<std::string, Way>;
extern const Ways ends, starts;
int first_use();

}  // namespace refrain::tests
