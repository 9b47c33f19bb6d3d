// A thread that runs one piece of work at a time while its owner waits, as frameworks run the backward pass.
//
// Threads: run() from one thread at a time.
#pragma once

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

namespace refrain::tests::training {

class Worker {
 public:
  /// `first` runs once on the new thread, before any work.
  explicit Worker(std::function<void()> first) : thread_([this, first] { serve(first); }) {}
  ~Worker() {
    hand_over({});
    thread_.join();
  }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Returns when the thread has run `work`.
  void run(std::function<void()> work) {
    hand_over(std::move(work));
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !given_; });
  }

 private:
  void hand_over(std::function<void()> work) {
    const std::lock_guard lock(mutex_);
    work_ = std::move(work);
    given_ = true;
    changed_.notify_all();
  }
  void serve(const std::function<void()>& first) {
    first();
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [this] { return given_; });
      if (!work_) return;
      work_();
      given_ = false;
      changed_.notify_all();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::function<void()> work_;
  bool given_ = false;
  std::thread thread_;  // last: it uses all others
};

}  // namespace refrain::tests::training
