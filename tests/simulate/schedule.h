// The schedule: exactly one thread of the process runs at a time, and which one goes on at each yield point is drawn
// from the seed. Time is virtual: it goes on a little at each yield point, and jumps when every thread waits.
//
// Threads take part from begin() on: the one that called it, and each one that a thread of the schedule starts
// (libc_calls.cpp). What they wait for goes through wait_on() and wake(), whoever's code it is.
//
// Owns:    the order of the threads. They are never joined: the process ends by _exit.
// Threads: the running one, except begin().
// Units:   ns of the virtual clock.
// Fails:   when no thread can go on, or none comes to an end, `stuck` is called with a text that says who waits.
#pragma once

#include <cstdint>
#include <string>

namespace refrain::tests::simulate::schedule {

constexpr std::int64_t never = INT64_MAX;

struct Plan {
  std::uint64_t seed = 1;
  unsigned calls = 16;      ///< of 64: how often a driver call lets another thread go first
  unsigned locks = 2;       ///< of 64: how often a lock or a look at the clock does
  unsigned pace = 500;      ///< ns between yield points at most
  unsigned slips = 0;       ///< of 1024: how often the time jumps to the next timer although threads could run
  bool keep_trace = false;  ///< keep the whole trace as text, not only its hash
};

/// The calling thread is the first of the schedule and runs.
void begin(const Plan& plan, void (*stuck)(const std::string& state));
/// Nothing is scheduled from here on: the calling thread runs alone, all others stay where they are.
void end();
/// Whether the calling thread takes part.
bool takes_part();

/// A point where another thread may go first; `label` is for the trace. Does nothing where takes_part() is false.
void yield_in_call(const char* label);
void yield_in_lock(const char* label);

/// Waits for wake(place) until `deadline`; false when the time is over.
bool wait_on(const void* place, std::int64_t deadline, const char* label);
/// Lets up to `count` threads that wait at `place` go on, the longest waiting first; how many.
int wake(const void* place, int count);
/// Waits until `ready(argument)`, which costs no time and no call: somebody spins.
void wait_until(bool (*ready)(void*), void* argument, const char* label);
std::int64_t now();

/// A thread that the running one starts: made before it, begun on it, ended as its very last act.
struct Task;
Task* make_task();
/// Waits for the first turn.
void begin_task(Task* task);
void end_task(Task* task);
/// Waits until the task has ended.
void join_task(Task* task);
/// The task will never begin.
void drop_task(Task* task);

/// Over all decisions so far.
std::uint64_t hash();
std::uint64_t decisions();
const std::string& trace();

}  // namespace refrain::tests::simulate::schedule
