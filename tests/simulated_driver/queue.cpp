#include "tests/simulated_driver/queue.h"

#include <thread>

#include "tests/simulated_driver/execute.h"
#include "tests/simulated_driver/process.h"

namespace refrain::tests::simulated {

uint64_t Queue::push(Item item) {
  const std::lock_guard lock(mutex_);
  items_.push_back(std::move(item));
  const uint64_t number = pushed_.load(std::memory_order_relaxed) + 1;
  pushed_.store(number, std::memory_order_release);
  if (!worker_started_) {
    worker_started_ = true;
    std::thread([self = shared_from_this()] { self->work(); }).detach();
  } else if (worker_sleeps_) {
    work_arrived_.notify_one();
  }
  return number;
}

void Queue::wait_for_room() {
  constexpr uint64_t longest = 1022;
  const uint64_t number = last();
  if (number >= longest) wait(number - longest + 1);
}

void Queue::wait(uint64_t number) {
  if (reached(number)) return;
  std::unique_lock lock(mutex_);
  ++waiters_;
  item_executed_.wait(lock, [&] { return reached(number); });
  --waiters_;
}

void Queue::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  work_arrived_.notify_one();
}

void Queue::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    worker_sleeps_ = true;
    work_arrived_.wait(lock, [&] { return !items_.empty() || closed_; });
    worker_sleeps_ = false;
    if (items_.empty()) return;
    {
      const Item item = std::move(items_.front());
      items_.pop_front();
      lock.unlock();
      for (const Point& point : item.after) point.wait();
      execute(item.work, *item.context, item.stream_ordinal);
    }
    lock.lock();
    executed_.fetch_add(1, std::memory_order_release);
    if (waiters_ != 0) item_executed_.notify_all();
  }
}

}  // namespace refrain::tests::simulated
