#include "replay/engine.h"

#include <ctime>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "replay/engine_impl.h"
#include "replay/planted_bug.h"

namespace refrain::replay {

// One word of static TLS; the block behind it lives on the heap until thread_ends().
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadGlance* thread_glance = nullptr;

namespace {

Thread* current_thread() noexcept { return static_cast<Thread*>(thread_glance); }

constexpr const char* names[] = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};
// How often the issue thread looks: a program slow enough to hand over takes about as long for a segment, or longer.
constexpr std::int64_t issue_interval_ns = 50'000;

constexpr Group groups[] = {
#define ENTRY(name, group) Group::group,
#include "replay/driver_entry_points.inc"
};

}  // namespace

// An entry point that the list does not have may do anything to any stream.
const char* name_of(EntryPoint entry_point) noexcept {
  const auto index = static_cast<unsigned>(entry_point);
  return index < entry_point_count ? names[index] : "an unknown entry point";
}
Group group_of(EntryPoint entry_point) noexcept {
  const auto index = static_cast<unsigned>(entry_point);
  return index < entry_point_count ? groups[index] : Group::stream_work;
}

Engine::Impl::Impl(const Driver& driver_table, const policy::Settings& all_settings, capture::LogWriter* log_writer,
                   Notify notify_function)
    : driver(driver_table),
      settings(all_settings),
      log(log_writer),
      notify(notify_function),
      selector(all_settings),
      functions(driver, selector),
      lanes(driver),
      // A lane is looked at twice within max_hold_us, so the older half of what it may hold is found in time.
      timer("refrain-hold", &Impl::expire, this, std::int64_t{all_settings.max_hold_us} * 500),
      issuer("refrain-issue", &Impl::issue_handed, this, issue_interval_ns) {
  const bool may_replay = settings.mode == policy::Mode::replay || settings.mode == policy::Mode::strict;
  regions.reserve(settings.regions.size());
  for (const policy::RegionRule& rule : settings.regions) {
    const bool watched = rule.action != policy::Action::eager && settings.mode != policy::Mode::off;
    regions.push_back(watched ? std::make_unique<Region>(rule, may_replay && rule.action == policy::Action::graph)
                              : nullptr);
  }
  static std::atomic<std::uint64_t> engines{0};
  epoch = (engines.fetch_add(1, std::memory_order_relaxed) << 40) + 1;
  first_automatic = regions.size();
  if (settings.automatic && settings.mode != policy::Mode::off) {
    constexpr std::size_t most_lanes = 16;
    for (std::size_t number = 1; number <= most_lanes; ++number) {
      policy::RegionRule& rule = automatic_rules.emplace_back();
      rule.name = number == 1 ? "auto" : "auto " + std::to_string(number);
      regions.push_back(std::make_unique<Region>(rule, may_replay, std::make_unique<Trail>()));
    }
    automatic.store(true, std::memory_order_relaxed);
    governs = settings.governor && settings.mode == policy::Mode::replay;
  }
  next_counters_ns = now_ns() + std::int64_t{settings.log_interval_s} * 1'000'000'000;
}

Engine::Engine(const Driver& driver, const policy::Settings& settings, capture::LogWriter* log,
               Notify notify) noexcept {
  try {
    impl_ = std::make_unique<Impl>(driver, settings, log, notify);
    glance_ = impl_.get();
  } catch (const std::bad_alloc&) {  // active() says no
  }
}

// The timer's thread may look at it at any time and is never joined: what is behind an engine lives as long as the
// process.
Engine::~Engine() {
  stop();
  static_cast<void>(impl_.release());
}

Thread* Engine::Impl::this_thread() noexcept {
  if (thread_glance != nullptr) return current_thread();
  auto* thread = new (std::nothrow) Thread;
  if (thread == nullptr) return nullptr;
  try {
    const std::lock_guard guard(threads_lock);
    threads.push_back(thread);
  } catch (const std::bad_alloc&) {
    delete thread;
    return nullptr;
  }
  thread_glance = thread;
  return thread;
}

OpenRegion* Engine::Impl::current_pass(Thread& thread) noexcept {
  while (thread.top != nullptr) {
    OpenRegion& top = *thread.top;
    if (!top.closing.load(std::memory_order_acquire)) return &top;
    thread.top = top.outer;
    finish(top, false);
    top.outer = std::exchange(thread.spare, &top);
  }
  return process_top.load(std::memory_order_acquire);
}

bool Engine::active() const noexcept { return impl_ != nullptr && impl_->pauses.load(std::memory_order_relaxed) == 0; }

namespace {

// Of the benchmark's library only: what would have passed is dropped as well, for it would work on what was dropped.
template <typename Call>
Decision drop(Engine::Impl& impl, const Call& call, Decision decision, CUresult& result) noexcept {
  if constexpr (planted_bug != PlantedBug::dropped_launch) return decision;
  if (decision == Decision::held || !impl.drops()) return decision;
  if (decision == Decision::report) impl.passed(call, CUDA_SUCCESS);
  result = CUDA_SUCCESS;
  return Decision::held;
}

}  // namespace

Decision Engine::hold(const KernelCall& call, CUresult& result) noexcept {
  return drop(*impl_, call, impl_->hold(call, result), result);
}
Decision Engine::hold(const MemsetCall& call, CUresult& result) noexcept {
  return drop(*impl_, call, impl_->hold(call, result), result);
}
Decision Engine::hold(const CopyCall& call, CUresult& result) noexcept {
  return drop(*impl_, call, impl_->hold(call, result), result);
}
void Engine::passed(const KernelCall& call, CUresult result) noexcept { impl_->passed(call, result); }
void Engine::passed(const MemsetCall& call, CUresult result) noexcept { impl_->passed(call, result); }
void Engine::passed(const CopyCall& call, CUresult result) noexcept { impl_->passed(call, result); }

// ---- regions

namespace {

// Makes a pass ready for use; what a closed one keeps is memory only.
void open(OpenRegion& pass, Region& region, Thread* owner, std::uint64_t epoch) noexcept {
  pass.region = &region;
  pass.owner = owner;
  pass.state = OpenRegion::State::choosing;
  pass.closing.store(false, std::memory_order_relaxed);
  pass.epoch = epoch;
  pass.variant = nullptr;
  pass.cursor = 0;
  pass.holding = nullptr;
  pass.role_count = 0;
  pass.counters = {};
  pass.moved = 0;
  pass.pace.clear();
  pass.waits = {};
  pass.cached_lane = nullptr;
  pass.number = region.begin_pass();
}

}  // namespace

OpenRegion* Engine::enter(unsigned rule) noexcept {
  if (rule >= impl_->first_automatic || impl_->regions[rule] == nullptr || !active()) return nullptr;
  Region& region = *impl_->regions[rule];
  Thread* thread = impl_->this_thread();
  if (thread == nullptr) return nullptr;
  // The region around it goes on after this one: what it holds is issued first, and its sequence is cut here.
  if (OpenRegion* around = impl_->current_pass(*thread)) {
    impl_->note_break("a region inside");
    const PassGuard guard(*around);
    if (around->region != nullptr) impl_->flush_pass(*around, capture::Reason::early_order, "a region inside");
  }
  const bool process_scope = region.rule.scope == policy::Scope::process;
  const std::uint64_t epoch = impl_->epoch.load(std::memory_order_acquire);
  if (process_scope) {
    const std::lock_guard guard(impl_->process_lock);
    OpenRegion* pass = impl_->process_spare;
    if (pass != nullptr) impl_->process_spare = pass->outer;
    if (pass == nullptr) pass = new (std::nothrow) OpenRegion(true);
    if (pass == nullptr) return nullptr;
    const PassGuard pass_guard(*pass);
    open(*pass, region, thread, epoch);
    pass->outer = impl_->process_top.load(std::memory_order_relaxed);
    impl_->process_top.store(pass, std::memory_order_release);
    return pass;
  }
  OpenRegion* pass = thread->spare;
  if (pass != nullptr) thread->spare = pass->outer;
  if (pass == nullptr) pass = new (std::nothrow) OpenRegion(false);
  if (pass == nullptr) return nullptr;
  open(*pass, region, thread, epoch);
  pass->outer = std::exchange(thread->top, pass);
  return pass;
}

void Engine::leave(OpenRegion* pass) noexcept {
  if (pass == nullptr) return;
  if (pass->process_scope) {
    const std::lock_guard guard(impl_->process_lock);
    OpenRegion* above = nullptr;
    OpenRegion* at = impl_->process_top.load(std::memory_order_relaxed);
    while (at != nullptr && at != pass) above = std::exchange(at, at->outer);
    if (at == nullptr) return;
    if (above == nullptr) {
      impl_->process_top.store(pass->outer, std::memory_order_release);
    } else {
      above->outer = pass->outer;
    }
    const PassGuard pass_guard(*pass);
    impl_->finish(*pass, true);
    pass->region = nullptr;
    pass->outer = std::exchange(impl_->process_spare, pass);
    return;
  }
  Thread* thread = current_thread();
  if (thread == nullptr || pass->owner != thread) {
    {
      const std::lock_guard guard(impl_->threads_lock);
      if (pass->owner == nullptr) {  // its thread has ended, and finished it then
        delete pass;
        return;
      }
      // Ended by another thread: it may only say so, and issue what is held now.
      pass->closing.store(true, std::memory_order_release);
    }
    impl_->lanes.for_each_holding([&](Lane& lane) {
      const std::lock_guard guard(lane.lock);
      if (lane.holder != pass) return;
      impl_->keep_error(
          impl_->flush_locked(lane, capture::Reason::other_thread, "the range was ended by another thread"));
    });
    return;
  }
  OpenRegion** link = &thread->top;
  while (*link != nullptr && *link != pass) link = &(*link)->outer;
  if (*link == nullptr) return;
  *link = pass->outer;
  impl_->finish(*pass, true);
  pass->outer = std::exchange(thread->spare, pass);
}

void Engine::thread_ends() noexcept {
  Thread* thread = static_cast<Thread*>(std::exchange(thread_glance, nullptr));
  if (thread == nullptr || impl_ == nullptr) return;
  for (OpenRegion* pass = thread->top; pass != nullptr; pass = pass->outer) impl_->finish(*pass, false);
  const std::lock_guard guard(impl_->threads_lock);
  for (OpenRegion* pass = thread->top; pass != nullptr;) {
    OpenRegion* next = pass->outer;
    pass->owner = nullptr;  // leave() comes from another thread, and frees it
    if (pass->closing.load(std::memory_order_acquire)) delete pass;
    pass = next;
  }
  for (OpenRegion* pass = thread->spare; pass != nullptr;) delete std::exchange(pass, pass->outer);
  impl_->ended_launches_seen += thread->launches_seen.load(std::memory_order_relaxed);
  impl_->ended_outside_calls += thread->outside_calls.load(std::memory_order_relaxed);
  std::erase(impl_->threads, thread);
  delete thread;
}

// ---- control

void Engine::pause() noexcept {
  if (impl_ == nullptr) return;
  impl_->pauses.fetch_add(1, std::memory_order_acq_rel);
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
  impl_->order_all(true, "refrain_pause");
}

void Engine::resume() noexcept {
  if (impl_ == nullptr) return;
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);  // open passes have missed calls
  impl_->pauses.fetch_sub(1, std::memory_order_acq_rel);
}

void Engine::stop() noexcept {
  if (impl_ == nullptr) return;
  impl_->pauses.fetch_add(1 << 20, std::memory_order_acq_rel);
  impl_->epoch.fetch_add(1, std::memory_order_acq_rel);
  // A thread that is stuck in the driver with a lane's lock must not hang the exit of the process.
  constexpr std::int64_t patience_ns = 100'000'000;
  const std::int64_t deadline = now_ns() + patience_ns;
  impl_->lanes.for_each_holding([&](Lane& lane) {
    while (!lane.lock.try_lock()) {
      if (now_ns() > deadline) return;
      const timespec pause{0, 100'000};
      nanosleep(&pause, nullptr);
    }
    bool is_free = lane.issue_lock.try_lock();
    while (!is_free && now_ns() <= deadline) {
      const timespec pause{0, 100'000};
      nanosleep(&pause, nullptr);
      is_free = lane.issue_lock.try_lock();
    }
    if (is_free) {
      impl_->launch_handed_locked(lane);
      lane.issue_lock.unlock();
      impl_->flush_locked(lane, capture::Reason::early_order, "the end of the process");
    }
    lane.lock.unlock();
  });
}

void Engine::abandon() noexcept {
  if (impl_ != nullptr) impl_->pauses.fetch_add(1 << 20, std::memory_order_relaxed);
}

bool Engine::verdict(ArmVerdict& out) noexcept { return impl_ != nullptr && impl_->pace.verdict(out); }

void Engine::counters(capture::CountersRecord& record) noexcept {
  if (impl_ != nullptr) impl_->counters(record);
}

}  // namespace refrain::replay
