// Decides by measurement whether replay pays: blocks of steps run eagerly and with replay in turn, and what is not
// certainly faster with replay runs eagerly. Looks again now and then, for which one step in 100 runs in the arm that
// has lost, and starts anew when the workload has changed.
//
// Owns:    the times of one block and two numbers for each block of a measurement, 2 KiB. Allocates nothing.
// Threads: one at a time; guarded by the caller.
// Units:   nanoseconds of a monotonic clock in; milliseconds in the verdict.
// Fails:   differences below its noise are not seen; the error rates are in tests/replay/governor_test.cpp.
#pragma once

#include <array>
#include <cstdint>

namespace refrain::replay {

enum class Arm : std::uint8_t { replay, eager };

struct ArmVerdict {
  enum class Phase : std::uint8_t { warming, measuring, decided };
  Phase phase = Phase::warming;
  Arm arm = Arm::replay;               ///< what won, once decided
  double replay_ms = 0, eager_ms = 0;  ///< a step, medians over the blocks
  double ratio = 1;                    ///< replay over eager, median over the pairs of blocks
  double cv_replay = 0, cv_eager = 0;  ///< of a step within its block, medians over the blocks
  std::uint32_t pairs = 0;             ///< of blocks, in the last measurement
  std::uint32_t measurements = 0;      ///< ended since the beginning
  std::uint64_t steps_measured = 0;    ///< since the beginning
  std::uint64_t steps_lost = 0;        ///< in the arm that had lost, since it had
};

class Governor {
 public:
  /// A step begins. What it and those after it shall run with, until the next call.
  /// `built_something`: during the step that has ended, the engine built what it will replay.
  Arm step(std::int64_t now_ns, bool built_something = false) noexcept;
  /// What has been measured is no longer of this workload.
  void workload_changed() noexcept;
  const ArmVerdict& verdict() const noexcept { return verdict_; }
  /// True when it has decided and measures nothing now.
  bool watches() const noexcept { return state_ == State::decided; }
  /// Steps went by that it was not told of, in the arm that it had said last.
  void slept(std::int64_t now_ns) noexcept;

 private:
  static constexpr std::uint32_t most_steps = 64;  ///< of a block
  static constexpr std::uint32_t most_pairs = 64;  ///< of short blocks, and of long ones:
  static constexpr std::uint32_t most_full_pairs = 24;
  enum class State : std::uint8_t { waiting, warming, measuring, decided, checking };

  void warm(std::int64_t took, bool built_something) noexcept;
  void begin_blocks(State state, std::uint32_t steps) noexcept;
  void measure(std::int64_t took, bool built_something) noexcept;
  void end_pair() noexcept;
  void end_check(double ratio) noexcept;
  void decide(Arm arm, double ratio) noexcept;
  void await_check() noexcept;
  void watch(std::int64_t took) noexcept;
  void use(Arm arm) noexcept;
  Arm arm_of_block() const noexcept;

  State state_ = State::warming;
  Arm arm_ = Arm::replay;
  std::int64_t now_ = 0;
  bool started_ = false;
  bool known_ = false;  ///< the verdict is of this workload
  std::uint64_t steps_ = 0, armed_at_ = 0;
  std::uint32_t warmed_ = 0, quiet_ = 0;
  std::uint64_t wait_ = 0, backoff_ = 0;  ///< steps until it warms up again
  std::array<std::int64_t, most_steps> times_{};
  std::uint32_t filled_ = 0;  ///< of times_
  bool builds_always_ = false;
  bool pilot_ = false;  ///< short blocks, in which a clear difference is looked for
  std::uint32_t full_steps_ = 0, block_steps_ = 0, block_ = 0, skip_ = 0, pilot_skip_ = 0, dropped_ = 0;
  struct Block {
    float ns = 0, cv = 0;
  };
  std::array<std::array<Block, most_pairs>, 2> blocks_{};
  std::int64_t longest_ = 0;  ///< what a step may take to count
  std::uint64_t next_check_ = 0, spent_ = 0, spent_since_ = 0;
  std::int64_t next_check_ns_ = 0;
  std::uint32_t against_ = 0;  ///< checks in a row that contradicted the verdict
  double usual_ns_ = 0;        ///< of a step in the arm that won, soon after it had
  std::uint32_t unusual_ = 0;
  ArmVerdict verdict_;
};

}  // namespace refrain::replay
