// The one object that decides for every call: hold, or flush and pass.
//
// A hook asks hold(). Unless that held the call, everything that must come before it has been issued; the hook makes
// the program's own call with the program's own arguments, and reports it by passed() where hold() asked for that.
//
// Owns:    lanes, regions, variants, graphs, the function table, the timer.
// Threads: any; see lane.h and pass.h for the locks. No lock is held while the program's own call runs.
// Fails:   never to the caller: a failure inside ends in held calls issued one by one, or in Refrain switching itself
// off.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string_view>

#include "capture/operation.h"
#include "policy/settings.h"
#include "replay/driver.h"

namespace refrain::capture {
class LogWriter;
struct CountersRecord;
}  // namespace refrain::capture

namespace refrain::replay {

/// A kernel launch as the program passed it; pointers are the program's and valid only during its call.
struct KernelCall {
  CUfunction function = nullptr;
  CUstream stream =
      nullptr;  ///< nullptr or CU_STREAM_LEGACY: legacy; CU_STREAM_PER_THREAD: also for nullptr of a _ptsz name
  capture::Dimensions grid, block;
  unsigned shared = 0;
  unsigned attribute_count = 0;
  const CUlaunchAttribute* attributes = nullptr;
  bool cooperative = false;  ///< came by cuLaunchCooperativeKernel
  void** parameters = nullptr;
  void** extra = nullptr;
};

struct MemsetCall {
  CUstream stream = nullptr;
  capture::MemsetBytes bytes;
};

struct CopyCall {
  CUstream stream = nullptr;
  capture::CopyBytes bytes;
};

struct ArmVerdict;  ///< governor.h

/// What a person should know at once.
enum class Notice : std::uint8_t {
  region_off,     ///< a region failed too often; `subject` is its name
  device_failed,  ///< an error after which the context works no more; nothing is held from here on
};
/// `error`: the driver's name of the last error. Called from any thread, with a lock held: it must only print.
using Notify = void (*)(Notice notice, const char* subject, const char* error) noexcept;

/// What hold() did with a call.
enum class Decision : std::uint8_t {
  held,    ///< the hook returns hold()'s result
  pass,    ///< the hook makes the call
  report,  ///< the hook makes the call and tells passed() how it went
};

/// A region that is open on a thread, until it is left.
struct OpenRegion;

/// What the hooks of a thread look at and count before anything else: what the engine knows of the thread begins with
/// it.
struct ThreadGlance {
  OpenRegion* top = nullptr;                    ///< the innermost open region of thread scope
  std::atomic<std::uint64_t> launches_seen{0};  ///< written by this thread only
  std::atomic<std::uint64_t> outside_calls{0};

  static void add(std::atomic<std::uint64_t>& counter) noexcept {
    counter.store(counter.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
};
[[gnu::tls_model("initial-exec")]] extern constinit thread_local ThreadGlance* thread_glance;

/// The same for the process.
struct ProcessGlance {
  std::atomic<OpenRegion*> process_top{nullptr};  ///< the innermost open region of process scope
  std::atomic<int> lanes_holding{0};
  std::atomic<CUresult> pending_error{CUDA_SUCCESS};  ///< of a held call, issued later: the next call returns it
  CUresult take_error() noexcept {
    if (pending_error.load(std::memory_order_relaxed) == CUDA_SUCCESS) [[likely]]
      return CUDA_SUCCESS;
    return pending_error.exchange(CUDA_SUCCESS, std::memory_order_acq_rel);
  }
  std::atomic<bool> automatic{false};  ///< operations outside of all ranges are watched as well
  std::atomic<bool> dozes{false};      ///< they would be, but the job runs eagerly and is left alone for a while
};

class Engine {
 public:
  /// `driver` and `settings` must outlive the engine; `log` and `notify` may be nullptr.
  Engine(const Driver& driver, const policy::Settings& settings, capture::LogWriter* log,
         Notify notify = nullptr) noexcept;
  ~Engine();
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;

  // ---- stream operations that can be held
  /// True, and counted, when no region is open here and nothing is held anywhere: the hook just makes the call.
  bool passes(bool is_launch) noexcept {
    ThreadGlance* thread = thread_glance;
    if (thread == nullptr || thread->top != nullptr || glance_ == nullptr) return false;
    if (glance_->process_top.load(std::memory_order_acquire) != nullptr) return false;
    if (glance_->lanes_holding.load(std::memory_order_acquire) != 0) return false;
    if (glance_->automatic.load(std::memory_order_relaxed)) return false;
    if (glance_->pending_error.load(std::memory_order_relaxed) != CUDA_SUCCESS) return false;
    constexpr std::uint64_t look = 1024;  // at the clock, once in so many calls
    if (glance_->dozes.load(std::memory_order_relaxed) &&
        thread->outside_calls.load(std::memory_order_relaxed) % look == 0)
      return false;
    if (is_launch) ThreadGlance::add(thread->launches_seen);
    ThreadGlance::add(thread->outside_calls);
    return true;
  }
  Decision hold(const KernelCall& call, CUresult& result) noexcept;
  Decision hold(const MemsetCall& call, CUresult& result) noexcept;
  Decision hold(const CopyCall& call, CUresult& result) noexcept;
  /// After hold() said `report` and the program's own call returned `result`.
  void passed(const KernelCall& call, CUresult result) noexcept;
  void passed(const MemsetCall& call, CUresult result) noexcept;
  void passed(const CopyCall& call, CUresult result) noexcept;

  /// After a call that passed returned CUDA_SUCCESS: what the program must still be told of a held call.
  CUresult take_error() noexcept { return glance_ != nullptr ? glance_->take_error() : CUDA_SUCCESS; }

  // ---- order: before a call that is passed
  /// Work or an ordering call on `stream` (as in KernelCall).
  void order_stream(CUstream stream, EntryPoint cause) noexcept;
  /// A call that waits, asks how far the device is, allocates, observes, or is not modelled.
  void order_all(EntryPoint cause) noexcept;
  /// After the program itself waited for the device successfully: graphs may be built here.
  void safe_point() noexcept;

  // ---- lifetime and state: before the call that takes something away
  void code_unloads(std::uint64_t owner) noexcept;  ///< module or library handle
  void context_ends(CUcontext context) noexcept;    ///< nullptr: any
  void stream_ends(CUstream stream) noexcept;
  void memory_ends() noexcept;                    ///< memory is freed, unmapped or unregistered
  void state_changes(EntryPoint cause) noexcept;  ///< function, context or stream state that launches read
  /// The program sets `which` of a function or kernel to `value`: before the call. Frameworks set the same value before
  /// every launch, and a value that is there already changes nothing.
  void function_state_changes(const void* function, int which, int value, EntryPoint cause) noexcept;
  void function_state_changed(const void* function, int which, int value) noexcept;  ///< after the call succeeded
  // ---- the program's own capture
  void capture_begins(CUstream stream) noexcept;  ///< before the call
  void capture_began(CUstream stream, CUresult result) noexcept;
  void capture_ended(CUstream stream) noexcept;  ///< after the call, whatever it returned

  // ---- regions: `rule` is an index into settings.regions
  OpenRegion* enter(unsigned rule) noexcept;  ///< nullptr: not watched
  void leave(OpenRegion* region) noexcept;    ///< from any thread
  /// The calling thread ends: its open regions are closed, what they hold is issued.
  void thread_ends() noexcept;

  // ---- control
  void pause() noexcept;  ///< flush, then pass everything until resume()
  void resume() noexcept;
  /// Flush everything and pass everything from here on; at exit and on an internal fault.
  void stop() noexcept;
  /// In a forked child: touch nothing, forward everything.
  void abandon() noexcept;
  void counters(capture::CountersRecord& record) noexcept;
  /// What was measured of the job's steps with and without replay, last; false while nothing was.
  bool verdict(ArmVerdict& out) noexcept;
  /// True while calls should be offered to hold(): not paused, stopped or abandoned.
  bool active() const noexcept;

  struct Impl;  ///< engine_impl.h

 private:
  std::unique_ptr<Impl> impl_;
  ProcessGlance* glance_ = nullptr;  ///< of impl_
};

}  // namespace refrain::replay
