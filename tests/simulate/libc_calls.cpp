// How everything in the process that waits, wakes, sleeps, asks for the time or starts a thread comes to the schedule:
// the program stands before the C library in the order of look-ups, so these are the functions that the simulated
// driver, librefrain.so and the C++ library call. Outside of a schedule they only pass on.
//
// Fails: as the C library does.
#include <dlfcn.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <mutex>
#include <unordered_map>

#include "tests/simulate/real_calls.h"
#include "tests/simulate/schedule.h"

#define EXPORTED extern "C" __attribute__((visibility("default")))

namespace refrain::tests::simulate {
namespace {

/// The next function of that name in the order of look-ups.
template <class Function>
Function next(Function, const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}
// No static with a guard: a guard may wait, by one of these very functions.
#define REAL(name)                                            \
  ([] {                                                       \
    static std::atomic<decltype(&::name)> known{nullptr};     \
    decltype(&::name) found = known.load();                   \
    if (found == nullptr) known = found = next(found, #name); \
    return found;                                             \
  }())

std::int64_t nanoseconds(const timespec& time) { return std::int64_t{time.tv_sec} * 1'000'000'000 + time.tv_nsec; }

constexpr std::int64_t epoch = 1'000'000'000'000;  ///< the virtual clock begins here

bool is_wall_clock(clockid_t clock) {
  return clock == CLOCK_MONOTONIC || clock == CLOCK_REALTIME || clock == CLOCK_BOOTTIME ||
         clock == CLOCK_MONOTONIC_RAW || clock == CLOCK_MONOTONIC_COARSE || clock == CLOCK_REALTIME_COARSE;
}

void sleep_until(std::int64_t deadline) {
  static const char nobody = 0;
  schedule::wait_on(&nobody, deadline, "sleep");
}

template <class Try>
int lock_by_trying(const void* place, Try attempt) {
  schedule::yield_in_lock("lock");
  while (true) {
    const int result = attempt();
    if (result != EBUSY) return result;
    schedule::wait_on(place, schedule::never, "lock");
  }
}

int lock_again(pthread_mutex_t* mutex) {
  while (true) {
    const int result = REAL(pthread_mutex_trylock)(mutex);
    if (result != EBUSY) return result;
    schedule::wait_on(mutex, schedule::never, "lock again");
  }
}

int wait_for_condition(pthread_cond_t* condition, pthread_mutex_t* mutex, std::int64_t deadline) {
  REAL(pthread_mutex_unlock)(mutex);
  schedule::wake(mutex, INT_MAX);
  const bool woken = schedule::wait_on(condition, deadline, "condition");
  lock_again(mutex);
  return woken ? 0 : ETIMEDOUT;
}

// ---- threads

struct Start {
  schedule::Task* task;
  void* (*function)(void*);
  void* argument;
  int rounds;
};

/// A thread keeps its turn until the destructors of all others' thread data have run: the last round is this one's.
pthread_key_t end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t made{};
    pthread_key_create(&made, [](void* value) {
      auto* start = static_cast<Start*>(value);
      if (++start->rounds < PTHREAD_DESTRUCTOR_ITERATIONS) {
        pthread_setspecific(end_key(), start);
        return;
      }
      schedule::end_task(start->task);
      delete start;
    });
    return made;
  }();
  return key;
}

void* begin_thread(void* value) {
  auto* start = static_cast<Start*>(value);
  schedule::begin_task(start->task);
  pthread_setspecific(end_key(), start);
  return start->function(start->argument);
}

std::unordered_map<pthread_t, schedule::Task*>& joinable() {
  static auto* const map = new std::unordered_map<pthread_t, schedule::Task*>;
  return *map;
}

}  // namespace

long real_syscall(long number, const void* a, long b, long c, const void* d, const void* e, long f) {
  return REAL(syscall)(number, a, b, c, d, e, f);
}

}  // namespace refrain::tests::simulate

using namespace refrain::tests::simulate;

// ---- mutexes and locks

EXPORTED int pthread_mutex_lock(pthread_mutex_t* mutex) noexcept {
  if (!schedule::takes_part()) return REAL(pthread_mutex_lock)(mutex);
  return lock_by_trying(mutex, [&] { return REAL(pthread_mutex_trylock)(mutex); });
}
EXPORTED int pthread_mutex_unlock(pthread_mutex_t* mutex) noexcept {
  const int result = REAL(pthread_mutex_unlock)(mutex);
  if (schedule::takes_part()) schedule::wake(mutex, INT_MAX);
  return result;
}
EXPORTED int pthread_rwlock_rdlock(pthread_rwlock_t* lock) noexcept {
  if (!schedule::takes_part()) return REAL(pthread_rwlock_rdlock)(lock);
  return lock_by_trying(lock, [&] { return REAL(pthread_rwlock_tryrdlock)(lock); });
}
EXPORTED int pthread_rwlock_wrlock(pthread_rwlock_t* lock) noexcept {
  if (!schedule::takes_part()) return REAL(pthread_rwlock_wrlock)(lock);
  return lock_by_trying(lock, [&] { return REAL(pthread_rwlock_trywrlock)(lock); });
}
EXPORTED int pthread_rwlock_unlock(pthread_rwlock_t* lock) noexcept {
  const int result = REAL(pthread_rwlock_unlock)(lock);
  if (schedule::takes_part()) schedule::wake(lock, INT_MAX);
  return result;
}

// ---- conditions

EXPORTED int pthread_cond_wait(pthread_cond_t* condition, pthread_mutex_t* mutex) {
  if (!schedule::takes_part()) return REAL(pthread_cond_wait)(condition, mutex);
  return wait_for_condition(condition, mutex, schedule::never);
}
EXPORTED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex, const timespec* end) {
  if (!schedule::takes_part()) return REAL(pthread_cond_timedwait)(condition, mutex, end);
  return wait_for_condition(condition, mutex, nanoseconds(*end) - epoch);
}
EXPORTED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                                    const timespec* end) {
  if (!schedule::takes_part()) return REAL(pthread_cond_clockwait)(condition, mutex, clock, end);
  return wait_for_condition(condition, mutex, nanoseconds(*end) - epoch);
}
EXPORTED int pthread_cond_signal(pthread_cond_t* condition) noexcept {
  if (!schedule::takes_part()) return REAL(pthread_cond_signal)(condition);
  schedule::wake(condition, 1);
  return 0;
}
EXPORTED int pthread_cond_broadcast(pthread_cond_t* condition) noexcept {
  if (!schedule::takes_part()) return REAL(pthread_cond_broadcast)(condition);
  schedule::wake(condition, INT_MAX);
  return 0;
}

// ---- futexes

EXPORTED long syscall(long number, ...) noexcept {
  va_list list;
  va_start(list, number);
  auto* const word = va_arg(list, std::uint32_t*);
  const long operation = va_arg(list, long), value = va_arg(list, long);
  const auto* const time = va_arg(list, const timespec*);
  const void* const second = va_arg(list, const void*);
  const long third = va_arg(list, long);
  va_end(list);
  const bool scheduled = number == SYS_futex && schedule::takes_part();
  const int command = static_cast<int>(operation) & FUTEX_CMD_MASK;
  if (scheduled && command == FUTEX_WAKE) return schedule::wake(word, static_cast<int>(value));
  if (!scheduled || command != FUTEX_WAIT) return real_syscall(number, word, operation, value, time, second, third);
  if (__atomic_load_n(word, __ATOMIC_SEQ_CST) != static_cast<std::uint32_t>(value)) {
    errno = EAGAIN;
    return -1;
  }
  const std::int64_t deadline = time != nullptr ? schedule::now() + nanoseconds(*time) : schedule::never;
  if (schedule::wait_on(word, deadline, "futex")) return 0;
  errno = ETIMEDOUT;
  return -1;
}

// ---- time

EXPORTED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!schedule::takes_part() || !is_wall_clock(clock)) return REAL(clock_gettime)(clock, time);
  schedule::yield_in_lock("clock");
  const std::int64_t now = epoch + schedule::now();
  *time = {now / 1'000'000'000, now % 1'000'000'000};
  return 0;
}
EXPORTED int nanosleep(const timespec* wanted, timespec* rest) {
  if (!schedule::takes_part()) return REAL(nanosleep)(wanted, rest);
  sleep_until(schedule::now() + nanoseconds(*wanted));
  return 0;
}
EXPORTED int clock_nanosleep(clockid_t clock, int flags, const timespec* wanted, timespec* rest) {
  if (!schedule::takes_part()) return REAL(clock_nanosleep)(clock, flags, wanted, rest);
  sleep_until(nanoseconds(*wanted) + ((flags & TIMER_ABSTIME) != 0 ? -epoch : schedule::now()));
  return 0;
}
EXPORTED int sched_yield() noexcept {
  if (!schedule::takes_part()) return REAL(sched_yield)();
  sleep_until(schedule::now() + 100);
  return 0;
}

// ---- threads

EXPORTED int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*function)(void*),
                            void* argument) noexcept {
  if (!schedule::takes_part()) return REAL(pthread_create)(thread, attributes, function, argument);
  auto* start = new Start{schedule::make_task(), function, argument, 0};
  const int result = REAL(pthread_create)(thread, attributes, begin_thread, start);
  if (result == 0) {
    joinable()[*thread] = start->task;
  } else {
    schedule::drop_task(start->task);
    delete start;
  }
  schedule::yield_in_call("start of a thread");
  return result;
}
EXPORTED int pthread_join(pthread_t thread, void** value) {
  if (!schedule::takes_part()) return REAL(pthread_join)(thread, value);
  const auto found = joinable().find(thread);
  if (found != joinable().end()) {
    schedule::join_task(found->second);
    joinable().erase(found);
  }
  return REAL(pthread_join)(thread, value);
}
