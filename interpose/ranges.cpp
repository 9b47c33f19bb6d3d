#include "interpose/ranges.h"

#include <pthread.h>

#include <atomic>
#include <new>

#include "interpose/range_names.h"
#include "interpose/range_rules.h"
#include "interpose/range_stack.h"
#include "interpose/range_watch.h"
#include "interpose/started_ranges.h"

namespace refrain::interpose {

namespace {

constinit std::atomic<RangeWatch*> current_watch{nullptr};
constinit std::atomic<RangeWatch*> last_watch{nullptr};  // the list of all, so that none is lost
constinit std::atomic<bool> only_nest{false};
constinit std::atomic<std::uint64_t> unwatched{0};

[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadRanges* thread_ranges = nullptr;
constinit std::atomic<std::uint64_t> thread_end_key{0};  // the key + 1

void thread_ends(void*) { ranges_thread_ends(); }

/// Makes the C library tell this thread's end. No once-flag: somebody may hold the loader's lock.
void expect_thread_end() noexcept {
  std::uint64_t known = thread_end_key.load(std::memory_order_acquire);
  if (known == 0) {
    pthread_key_t key;
    if (pthread_key_create(&key, thread_ends) != 0) return;
    if (thread_end_key.compare_exchange_strong(known, std::uint64_t{key} + 1, std::memory_order_acq_rel)) {
      known = std::uint64_t{key} + 1;
    } else {
      pthread_key_delete(key);
    }
  }
  pthread_setspecific(static_cast<pthread_key_t>(known - 1), thread_ranges);
}

[[gnu::noinline]] ThreadRanges* make_thread_ranges() noexcept {
  thread_ranges = new (std::nothrow) ThreadRanges;
  if (thread_ranges != nullptr) expect_thread_end();
  return thread_ranges;
}

ThreadRanges* this_thread() noexcept { return thread_ranges != nullptr ? thread_ranges : make_thread_ranges(); }

void count_unwatched() noexcept { unwatched.fetch_add(1, std::memory_order_relaxed); }

/// The innermost range of `stack` has just been opened: is it a region?
int rule_of(const RangeWatch& watch, ThreadRanges& thread, const RangeStack& stack, const RangeName& name) noexcept {
  if (!name.known() || !stack.domain().known || (watch.by_path && !stack.path_is_complete())) return -1;
  RangeRules* rules = thread.rules();
  return rules == nullptr ? -1 : rules->rule(watch, {stack.domain(), stack.path(), name.text()});
}

}  // namespace

const RangeWatch* range_watch() noexcept { return current_watch.load(std::memory_order_acquire); }

bool ranges_only_nest() noexcept { return only_nest.load(std::memory_order_acquire); }

bool set_range_events(RangeEvents* events, const policy::Selector* selector) noexcept {
  auto* watch = new (std::nothrow) RangeWatch;
  if (watch == nullptr) return false;
  RangeWatch* previous = last_watch.load(std::memory_order_acquire);
  *watch = {.events = events,
            .selector = selector,
            .by_path = selector->depends_on_path(),
            .generation = previous != nullptr ? previous->generation + 1 : 1,
            .previous = previous};
  last_watch.store(watch, std::memory_order_release);
  forget_started();
  reset_rule_record();
  forbid_waiting_for_names(false);
  only_nest.store(false, std::memory_order_release);
  current_watch.store(watch, std::memory_order_release);
  return true;
}

void clear_range_events() noexcept {
  forbid_waiting_for_names(true);
  only_nest.store(true, std::memory_order_release);
  current_watch.store(nullptr, std::memory_order_release);
}

int range_pushed(const void* domain, RangeMessage message) noexcept {
  ThreadRanges* thread = this_thread();
  RangeStack* stack = thread != nullptr ? thread->stack_for(domain) : nullptr;
  if (stack == nullptr) {
    count_unwatched();
    return not_tracked;
  }
  const int level = stack->level();
  if (!stack->push(thread->next_order())) {
    count_unwatched();
    return level;
  }
  const RangeWatch* watch = range_watch();
  if (watch == nullptr && ranges_only_nest()) return level;
  const RangeName name(message);
  // Before the events are set the rules are unknown: an outer range may be in a path then.
  if ((watch == nullptr || watch->by_path) && name.known()) stack->name(name.text());
  if (watch == nullptr) return level;
  const int rule = rule_of(*watch, *thread, *stack, name);
  if (rule < 0) return level;
  // Whoever is told may use NVTX itself: from here on nothing of the stack is taken for granted.
  const OpenToken region{watch->events->opened(static_cast<unsigned>(rule)), watch};
  if (region.token != nullptr && !stack->watch(level, region)) region.close();
  return level;
}

int range_popped(const void* domain) noexcept {
  RangeStack* stack = thread_ranges != nullptr ? thread_ranges->open_stack(domain) : nullptr;
  if (stack == nullptr) return no_open_range;
  const int level = stack->level() - 1;
  stack->pop().close();
  return level;
}

void range_started(const void* domain, RangeMessage message, std::uint64_t id) noexcept {
  const RangeWatch* watch = range_watch();
  if (watch == nullptr) return;
  ThreadRanges* thread = this_thread();
  RangeStack* stack = thread != nullptr ? thread->stack_for(domain) : nullptr;
  // It lies for a moment on the stack of its thread, where its path is.
  if (stack == nullptr || !stack->push(thread->next_order())) {
    if (stack != nullptr) stack->pop();
    count_unwatched();
    return;
  }
  const RangeName name(message);
  if (watch->by_path && name.known()) stack->name(name.text());
  const int rule = rule_of(*watch, *thread, *stack, name);
  stack->pop();
  if (rule < 0) return;
  if (id == 0) {
    count_unwatched();
    return;
  }
  const OpenToken region{watch->events->opened(static_cast<unsigned>(rule)), watch};
  if (region.token == nullptr || keep_started(domain, id, region)) return;
  count_unwatched();
  region.close();
}

void range_ended(const void* domain, std::uint64_t id) noexcept {
  if (range_watch() != nullptr) take_started(domain, id).close();
}

void ranges_domain_ends(const void* domain) noexcept {
  // The handle is enough: the domain is no longer among the known ones.
  RangeStack* stack = thread_ranges != nullptr ? thread_ranges->open_stack(domain) : nullptr;
  if (stack != nullptr) thread_ranges->close(*stack);
  if (range_watch() == nullptr) return;
  for (OpenToken region = take_started(domain); region.token != nullptr; region = take_started(domain)) region.close();
}

void ranges_thread_ends() noexcept {
  ThreadRanges* ending = thread_ranges;
  if (ending == nullptr) return;
  ending->close_all();
  thread_ranges = nullptr;
  if (const std::uint64_t key = thread_end_key.load(std::memory_order_acquire); key != 0) {
    pthread_setspecific(static_cast<pthread_key_t>(key - 1), nullptr);
  }
  delete ending;
}

std::uint64_t unwatched_ranges() noexcept { return unwatched.load(std::memory_order_relaxed); }

}  // namespace refrain::interpose
