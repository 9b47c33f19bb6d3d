#include "tests/simulate/schedule.h"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <vector>

#include "tests/simulate/random.h"
#include "tests/simulate/real_calls.h"

namespace refrain::tests::simulate::schedule {

struct Task {
  enum class State { runs, waits, spins, ended };
  unsigned id = 0;
  std::atomic<std::uint32_t> turn{0};
  State state = State::runs;
  const void* place = nullptr;
  std::int64_t deadline = never;
  bool timed_out = false;
  std::uint64_t since = 0;  ///< number of the decision at which the wait began
  bool (*ready)(void*) = nullptr;
  void* argument = nullptr;
  const char* label = "";
};

namespace {

constexpr std::uint64_t most_decisions = 4'000'000;

Plan plan;
void (*tell_stuck)(const std::string&) = nullptr;
std::atomic<bool> active{false};
std::vector<Task*> tasks;
thread_local Task* self = nullptr;
Random random_numbers{1};
std::int64_t time_now = 0;
std::uint64_t count = 0, hash_value = 14695981039346656037ull;
std::string text;

void mix(std::uint64_t value) { hash_value = (hash_value ^ value) * 1099511628211ull; }

/// Only these two may run on several threads at once: they hand the turn over.
void give_turn(Task& to) {
  to.turn.store(1, std::memory_order_release);
  real_syscall(SYS_futex, &to.turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}
void await_turn(Task& task) {
  while (task.turn.exchange(0, std::memory_order_acquire) == 0)
    real_syscall(SYS_futex, &task.turn, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
}

[[noreturn]] void give_up(const char* why) {
  std::string state = std::string(why) + " at " + std::to_string(time_now) + " ns:";
  for (const Task* task : tasks) {
    if (task->state == Task::State::ended) continue;
    static constexpr const char* names[] = {"runs", "waits", "spins"};
    state += "\n  thread " + std::to_string(task->id) + " " + names[static_cast<int>(task->state)] + ": " + task->label;
  }
  active.store(false);
  tell_stuck(state);
  _exit(1);
}

void collect(std::vector<Task*>& able) {
  able.clear();
  for (Task* task : tasks) {
    const bool can = task->state == Task::State::runs ||
                     (task->state == Task::State::waits && task->deadline <= time_now) ||
                     (task->state == Task::State::spins && task->ready(task->argument));
    if (can) able.push_back(task);
  }
}

std::int64_t next_deadline() {
  std::int64_t least = never;
  for (const Task* task : tasks) {
    if (task->state == Task::State::waits) least = std::min(least, task->deadline);
  }
  return least;
}

Task& choose() {
  static std::vector<Task*> able;
  collect(able);
  while (able.empty()) {
    const std::int64_t deadline = next_deadline();
    if (deadline == never) give_up("no thread can go on");
    time_now = std::max(time_now, deadline);
    ++count;
    if (count > most_decisions) give_up("no end");
    collect(able);
  }
  Task& task = *able[random_numbers.below(static_cast<unsigned>(able.size()))];
  if (task.state == Task::State::waits) task.timed_out = true;
  task.state = Task::State::runs;
  return task;
}

/// Gives the turn to a thread that can go on, and waits for the own one, unless this thread ends.
void pass_turn(bool ends, const char* label) {
  Task* const me = self;
  me->label = label;
  Task& next = choose();
  if (++count > most_decisions) give_up("no end");
  mix(next.id);
  mix(static_cast<std::uint64_t>(time_now));
  if (plan.keep_trace) {
    char line[128];
    std::snprintf(line, sizeof line, "%lld %u %s > %u\n", static_cast<long long>(time_now), me->id, label, next.id);
    text += line;
  }
  if (&next == me) return;
  give_turn(next);
  if (!ends) await_turn(*me);
}

void yield(unsigned of_64, const char* label) {
  if (!takes_part()) return;
  time_now += 1 + random_numbers.below(plan.pace);
  if (plan.slips != 0 && random_numbers.below(1024) < plan.slips) {
    if (const std::int64_t deadline = next_deadline(); deadline != never) time_now = std::max(time_now, deadline);
  }
  if (random_numbers.below(64) < of_64) pass_turn(false, label);
}

}  // namespace

void begin(const Plan& wanted, void (*stuck)(const std::string&)) {
  plan = wanted;
  tell_stuck = stuck;
  random_numbers = Random{plan.seed};
  self = make_task();
  active.store(true);
}

void end() { active.store(false); }
bool takes_part() { return self != nullptr && active.load(std::memory_order_relaxed); }

void yield_in_call(const char* label) { yield(plan.calls, label); }
void yield_in_lock(const char* label) { yield(plan.locks, label); }

bool wait_on(const void* place, std::int64_t deadline, const char* label) {
  self->place = place;
  self->deadline = deadline;
  self->timed_out = false;
  self->since = count;
  self->state = Task::State::waits;
  pass_turn(false, label);
  self->place = nullptr;
  return !self->timed_out;
}

int wake(const void* place, int most) {
  int woken = 0;
  while (woken < most) {
    Task* first = nullptr;
    for (Task* task : tasks) {
      if (task->state != Task::State::waits || task->place != place) continue;
      if (first == nullptr || task->since < first->since) first = task;
    }
    if (first == nullptr) break;
    first->state = Task::State::runs;
    ++woken;
  }
  return woken;
}

void wait_until(bool (*ready)(void*), void* argument, const char* label) {
  self->ready = ready;
  self->argument = argument;
  self->state = Task::State::spins;
  pass_turn(false, label);
}

std::int64_t now() { return time_now; }

Task* make_task() {
  auto* task = new Task;
  task->id = static_cast<unsigned>(tasks.size());
  tasks.push_back(task);
  return task;
}

void begin_task(Task* task) {
  await_turn(*task);
  self = task;
}

void end_task(Task* task) {
  if (!takes_part()) return;
  task->state = Task::State::ended;
  wake(task, INT32_MAX);
  pass_turn(true, "ends");
  self = nullptr;
}

void join_task(Task* task) {
  while (task->state != Task::State::ended) wait_on(task, never, "join");
}

void drop_task(Task* task) { task->state = Task::State::ended; }

std::uint64_t hash() { return hash_value; }
std::uint64_t decisions() { return count; }
const std::string& trace() { return text; }

}  // namespace refrain::tests::simulate::schedule
