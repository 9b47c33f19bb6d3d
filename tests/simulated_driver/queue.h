// The work of one stream: executed in order, one at a time, by a thread of its own.
//
// Owns:    the waiting items and the worker thread, which begins with the first item and ends when the queue is closed
//          and empty.
// Threads: any. No lock is held while an item executes.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/simulated_driver/work.h"

namespace refrain::tests::simulated {

class Queue;

/// A place in a queue: reached when the item of that number has executed.
struct Point {
  std::shared_ptr<Queue> queue;
  uint64_t number = 0;
  bool reached() const;
  void wait() const;
};

class Queue : public std::enable_shared_from_this<Queue> {
 public:
  struct Item {
    Work work;
    std::vector<Point> after;  ///< places in other queues that must be reached first
    std::shared_ptr<Context> context;
    unsigned stream_ordinal = 0;  ///< for the trace
  };

  /// Appends; the item's number. Items of one queue execute in the order of their numbers.
  uint64_t push(Item item);

  /// Waits while the queue is as long as the driver lets it become.
  void wait_for_room();

  uint64_t last() const { return pushed_.load(std::memory_order_acquire); }
  bool reached(uint64_t number) const { return executed_.load(std::memory_order_acquire) >= number; }
  bool idle() const { return reached(last()); }
  void wait(uint64_t number);

  /// The worker ends after the items that are there.
  void close();

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable work_arrived_;
  std::condition_variable item_executed_;
  std::deque<Item> items_;
  std::atomic<uint64_t> pushed_{0};
  std::atomic<uint64_t> executed_{0};
  bool worker_started_ = false;
  bool worker_sleeps_ = false;
  bool closed_ = false;
  int waiters_ = 0;
};

inline bool Point::reached() const { return queue == nullptr || queue->reached(number); }
inline void Point::wait() const {
  if (queue != nullptr) queue->wait(number);
}

}  // namespace refrain::tests::simulated
