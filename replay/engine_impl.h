// The engine's state, and its work by concept: hold.cpp (one call), choose.cpp (which variant), record.cpp (after a
// call that passed), finish.cpp (end of a pass), flush.cpp (issuing and launching what a lane holds), hand_over.cpp
// (launching by another thread), order.cpp, lifetime.cpp, safe_point.cpp (building), counters.cpp.
//
// Locks, in the order in which they may be taken: a process-scope pass, a lane, its issue_lock, `building`, a region.
// The lock of a table is taken alone, for a look-up.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <shared_mutex>
#include <string_view>
#include <vector>

#include "capture/log_writer.h"
#include "policy/selector.h"
#include "replay/build.h"
#include "replay/engine.h"
#include "replay/function_table.h"
#include "replay/lane.h"
#include "replay/match.h"
#include "replay/pace.h"
#include "replay/pass.h"
#include "replay/planted_bug.h"
#include "replay/region.h"
#include "replay/replay_share.h"
#include "replay/timer.h"

namespace refrain::replay {

/// The driver's name of an entry point.
const char* name_of(EntryPoint entry_point) noexcept;
Group group_of(EntryPoint entry_point) noexcept;

/// Takes the lock of a process-scope pass; a pass of thread scope needs none.
class PassGuard {
 public:
  explicit PassGuard(OpenRegion& pass) noexcept : pass_(pass.process_scope ? &pass : nullptr) {
    if (pass_ != nullptr) pass_->lock.lock();
  }
  ~PassGuard() {
    if (pass_ != nullptr) pass_->lock.unlock();
  }
  PassGuard(const PassGuard&) = delete;
  PassGuard& operator=(const PassGuard&) = delete;

 private:
  OpenRegion* pass_;
};

/// An executable graph that is no longer used but may still run.
struct RetiredGraph {
  CUgraph graph;
  CUgraphExec exec;
  CUcontext context;
  CUstream last_stream;
  CUevent done;  ///< recorded behind the last launch, once that was possible
  std::uint64_t bytes;
};

struct Engine::Impl : ProcessGlance {
  Impl(const Driver& driver_table, const policy::Settings& all_settings, capture::LogWriter* log_writer,
       Notify notify_function);

  const Driver& driver;
  const policy::Settings& settings;
  capture::LogWriter* const log;
  const Notify notify;
  const policy::Selector selector;
  FunctionTable functions;
  FunctionStates function_states;
  LaneTable lanes;
  Timer timer;                                   ///< keeps max_hold_us
  Timer issuer;                                  ///< launches what was handed over
  std::vector<std::unique_ptr<Region>> regions;  ///< one a rule; nullptr for rules that keep their ranges eager
  std::deque<policy::RegionRule> automatic_rules;
  std::size_t first_automatic = 0;              ///< in `regions`: the automatic ones come last
  std::atomic<std::size_t> automatic_taken{0};  ///< each belongs to a lane, once taken

  Pace pace;
  bool governs = false;                     ///< replay is measured against eager steps
  std::atomic<std::int64_t> doze_until{0};  ///< while `dozes`
  Lock share_lock;
  ReplayShare share;  ///< under `share_lock`
  std::atomic<std::uint64_t> builds_done{0};

  std::atomic<int> pauses{0};  ///< and stop(), which is never taken back
  /// Steps when what open passes rely on may have changed. No two engines of a process ever have the same one.
  std::atomic<std::uint64_t> epoch{1};
  std::atomic<bool> device_failed{false};
  /// True when nothing is issued at all (planted_bug.h).
  bool drops() const noexcept {
    if constexpr (planted_bug != PlantedBug::dropped_launch) return false;
    return launches_drop.load(std::memory_order_relaxed) && pauses.load(std::memory_order_relaxed) == 0;
  }
  std::atomic<int> captures_active{0};
  /// That wait for the issue thread. It looks at this word again and again, and at nothing that each call writes.
  alignas(64) std::atomic<std::uint32_t> segments_handed{0};
  alignas(64) std::atomic<std::uint64_t> memory_generation{1};
  std::atomic<bool> builds_pending{false};
  std::atomic<std::uint64_t> graph_bytes{0}, sequence_bytes{0}, fallbacks{0};

  // Passes of process scope are never freed: a thread may look at one that has just been closed.
  Lock process_lock;
  OpenRegion* process_spare = nullptr;

  Lock threads_lock;
  std::vector<Thread*> threads;
  std::uint64_t ended_launches_seen = 0, ended_outside_calls = 0;

  /// Shared while graphs are built or destroyed, exclusive while something that they use is marked as ending: code,
  /// streams and contexts do not end under a build, and no capture of the program begins. Who builds only tries it.
  std::shared_mutex building;
  Lock retired_lock;
  std::vector<RetiredGraph> retired;
  std::atomic<bool> has_retired{false};
  Lock captures_lock;
  std::vector<CUstream> capturing;  ///< streams where the program began a capture
  std::atomic<std::int64_t> next_counters_ns{0};

  // ---- engine.cpp
  Thread* this_thread() noexcept;
  /// The pass that the thread's calls belong to, or nullptr. Finishes passes that another thread closed.
  OpenRegion* current_pass(Thread& thread) noexcept;

  // ---- hold.cpp
  template <typename Call>
  Decision hold(const Call& call, CUresult& result) noexcept;
  template <typename Call>
  Decision follow(const Call& call, Thread& thread, OpenRegion& pass, Lane& lane, CUresult& result) noexcept;
  template <typename Call>
  bool take(const Call& call, OpenRegion& pass, Lane& lane, CUresult& result) noexcept;
  bool is_acceptable(const KernelCall& call, const Variant& variant, std::uint32_t index) const noexcept;
  bool is_acceptable(const MemsetCall& call, const Variant& variant, std::uint32_t index) const noexcept;
  bool is_acceptable(const CopyCall& call, const Variant& variant, std::uint32_t index) const noexcept;
  bool is_memory_as_recorded(const Variant& variant, std::uint32_t index) const noexcept;
  bool is_known_memory(std::uint64_t address, std::uint64_t bytes) const noexcept;
  Lane* lane_of(CUstream stream, CUstream& cached_stream, CUcontext& cached_context, Lane*& cached_lane) noexcept;
  bool is_capturing(CUstream stream) noexcept;
  void begin_hold(Lane& lane, OpenRegion& pass, std::uint32_t first) noexcept;

  // ---- automatic.cpp: operations outside of all ranges
  template <typename Call>
  Decision hold_automatic(const Call& call, Thread& thread, CUresult& result) noexcept;
  template <typename Call>
  Decision follow_automatic(const Call& call, Thread& thread, OpenRegion& pass, Lane& lane, CUresult& result) noexcept;
  template <typename Call>
  void find_place(const Call& call, std::uint64_t token, OpenRegion& pass, Lane& lane) noexcept;
  template <typename Call>
  Variant* begun_anywhere(const Call& call, std::uint64_t token, Region& region, Lane& lane,
                          const StepPlace* in_step) noexcept;
  OpenRegion* automatic_pass(Lane& lane) noexcept;
  /// The program waited for the device on this thread: the piece that it was in ends here.
  void end_piece_of(Thread& thread) noexcept;
  bool ends_before(OpenRegion& pass, std::uint64_t token) noexcept;
  /// What came after the last piece. `tells`: whether it says that a short piece ended where it had to, or for no need.
  void note_end(Region& region, bool ordered, bool waited, bool tells) noexcept;
  void count_unplaced(OpenRegion& pass, std::uint64_t token) noexcept;
  void finish_piece(OpenRegion& pass) noexcept;
  /// Builds what a piece asked for when it ended. No lock may be held.
  void build_when_due(OpenRegion& pass) noexcept;
  /// `found`: one word for what came instead, of which it does not know.
  void lose_place(OpenRegion& pass, capture::Reason reason, std::uint64_t found = 0) noexcept;
  /// The segment that the pass is in was issued before it was complete: the rest of it can only pass.
  static bool is_broken(OpenRegion& pass) noexcept;
  void begin_piece(OpenRegion& pass) noexcept;
  static bool rests(OpenRegion& pass) noexcept;
  bool make_room_for_variant(Region& region) noexcept;

  // ---- arms.cpp: replay or eager steps
  /// True when the job is left alone from here on.
  bool note_operation(OpenRegion& pass, std::uint64_t token) noexcept;
  bool is_left_alone(OpenRegion& pass) noexcept;
  CallCounters automatic_counters() noexcept;
  void doze(std::int64_t until_ns) noexcept;
  void wake_when_due() noexcept;
  void leave_piece(OpenRegion& pass) noexcept;
  void log_verdict(const ArmVerdict& verdict) noexcept;

  // ---- choose.cpp
  template <typename Call>
  Verdict expect(const Call& call, OpenRegion& pass, Lane& lane) noexcept;
  template <typename Call>
  void choose(const Call& call, OpenRegion& pass, Lane& lane) noexcept;
  /// True when the call may be the first operation of the variant.
  template <typename Call>
  bool begins(const Call& call, const Variant& variant, const Region& region, const Lane& lane) const noexcept;
  /// A piece that has a graph begins with this call, in the midst of the one that the automatic pass follows.
  template <typename Call>
  bool begins_again(const Call& call, OpenRegion& pass, Lane& lane) noexcept;
  static constexpr unsigned surely_same = 75;  ///< percent of the addresses
  /// The variant that this call most likely begins, among those that begin at `context`, or nullptr. `oldest`: one that
  /// would do, not built yet. The region's lock must be held.
  template <typename Call>
  Variant* likeliest(const Call& call, Region& region, Lane& lane, std::uint64_t context, const StepPlace* in_step,
                     Variant*& oldest) noexcept;
  /// `chosen`, or one to patch in its stead while it is not launched yet. The region's lock must be held.
  template <typename Call>
  Variant* launched_twin(const Call& call, Region& region, Lane& lane, Variant& chosen) noexcept;
  template <typename Call>
  bool switch_variant(const Call& call, OpenRegion& pass, Lane& lane, capture::Reason reason) noexcept;
  bool role_fits(const Variant& variant, std::uint16_t role, const Lane& lane) const noexcept;
  /// The streams that the pass has used so far are those of the variant, in the same roles.
  bool roles_fit(const Variant& variant, const OpenRegion& pass) const noexcept;
  bool bind_role(OpenRegion& pass, std::uint16_t role, Lane& lane) noexcept;
  /// True when the region may have one more variant. The region's lock must be held.
  bool may_record(const Region& region, capture::Reason& reason) const noexcept;

  // ---- record.cpp
  template <typename Call>
  void passed(const Call& call, CUresult result) noexcept;
  template <typename Call>
  void step_on(const Call& call, CUresult result, Thread& thread, OpenRegion& pass) noexcept;
  template <typename Call>
  void record(const Call& call, OpenRegion& pass, Lane& lane, After after, capture::Reason why,
              std::uint64_t token) noexcept;
  bool learn_configuration(const capture::Operation& operation, OpenRegion& pass, capture::Reason why) noexcept;
  template <typename Call>
  void note_mismatch(const Call& call, OpenRegion& pass, capture::Reason reason,
                     const capture::Function* function) noexcept;
  void note(OpenRegion& pass, capture::Reason reason, const char* expected, const char* found) noexcept;
  /// Counts it. True when it shall be told in the log as well.
  bool note_cause(OpenRegion& pass, capture::Reason reason) noexcept;
  void log_cause(const OpenRegion& pass, capture::Reason reason, std::string_view expected, std::string_view found);

  // ---- finish.cpp
  /// `may_build`: the thread goes on and may build graphs here.
  void finish(OpenRegion& pass, bool may_build) noexcept;
  /// Of segments that came again and have none, at the next safe point.
  void ask_for_graphs(const Region& region, Variant& variant) noexcept;
  void demote(OpenRegion& pass) noexcept;
  Variant* settle(Region& region, OpenRegion& pass, bool& is_new_short) noexcept;
  void learn_cut(Variant& variant) noexcept;
  /// Brings the sum of host memory up to date with this variant.
  void count_memory(Variant& variant) noexcept;
  void drop_useless_copies(Region& region) noexcept;
  Variant* keep_addresses(Region& region, OpenRegion& pass, Variant& done) noexcept;
  /// nullptr where there is no room for it.
  Variant* add_copy(Region& region, OpenRegion& pass, const Variant& model) noexcept;
  void add_twin_when_due(Region& region, OpenRegion& pass, Variant& done) noexcept;
  Variant* add_variant(Region& region, OpenRegion& pass, capture::Sequence&& sequence, const Variant* model) noexcept;
  void release(Region& region, Variant& variant) noexcept;
  void erase_dropped(Region& region) noexcept;

  // ---- flush.cpp
  /// A driver call gave `error`. When the context is broken by it, nothing is held or built from here on.
  void notice_error(CUresult error) noexcept;
  void keep_error(CUresult error) noexcept;
  CUresult launch_locked(Lane& lane) noexcept;
  CUresult launch_graph(Lane& lane, Variant& variant, Segment& segment, std::uint64_t& patched,
                        capture::Reason& reason) noexcept;
  CUresult issue_each(Lane& lane, Variant& variant, std::uint32_t first, std::uint32_t count) noexcept;
  CUresult flush_locked(Lane& lane, capture::Reason reason, const char* cause) noexcept;
  void note_expiry(Region& region, std::uint32_t variant, std::uint32_t operation) noexcept;
  void log_fallback(const Region& region, std::uint32_t variant, std::uint32_t operation, capture::Reason reason,
                    std::string_view found) noexcept;
  void flush(Lane& lane, capture::Reason reason, const char* cause) noexcept;
  void flush_pass(OpenRegion& pass, capture::Reason reason, const char* cause) noexcept;
  void end_hold(Lane& lane) noexcept;
  void fail_segment(Region& region, Variant& variant, Segment& segment, capture::Reason reason,
                    CUresult error) noexcept;
  static bool expire(void* impl, std::int64_t deadline) noexcept;
  void expire_locked(Lane& lane, bool goes_on) noexcept;

  // ---- hand_over.cpp
  /// Leaves the complete segment that `lane` holds to the issue thread, if that pays. The lane's lock must be held.
  bool hand_over(Lane& lane) noexcept;
  /// Launches what was handed over on `lane`; on return it is on the stream. First error.
  CUresult launch_handed(Lane& lane) noexcept;
  CUresult launch_handed_locked(Lane& lane) noexcept;
  CUresult launch_oldest(Lane& lane) noexcept;
  /// The same for every lane that the pass has used.
  void launch_handed_of(OpenRegion& pass) noexcept;
  /// By a thread of our own: what was handed over before `deadline`, where no other thread is at it.
  void launch_handed_before(Lane& lane, std::int64_t deadline) noexcept;
  static bool issue_handed(void* impl, std::int64_t deadline) noexcept;

  // ---- order.cpp
  void order_stream(CUstream stream, const char* cause) noexcept;
  void order_coupled(const Lane& lane) noexcept;
  void order_all(bool wait_for_issuing, const char* cause) noexcept;
  void note_break(const char* cause) noexcept;

  // ---- lifetime.cpp
  void capture_ended_on(CUstream stream) noexcept;

  // ---- safe_point.cpp
  void build_pending(Region* only) noexcept;
  bool build(Region& region, Variant& variant) noexcept;
  bool deserves_graphs(const Region& region, const Variant& variant) const noexcept;
  bool make_room(std::uint64_t bytes) noexcept;
  void retire(Segment& segment) noexcept;
  void collect_retired() noexcept;

  // ---- counters.cpp
  void counters(capture::CountersRecord& record) noexcept;
  /// At the end of a pass.
  void log_counters_when_due() noexcept;
  /// Also where no pass ends.
  void log_counters_when_due(std::int64_t now_ns) noexcept;
};

}  // namespace refrain::replay
