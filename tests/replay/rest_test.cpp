// Regions whose held calls need the timer: they rest while the program waits there without a call, not because it is
// slow, and are tried again.
#include <chrono>
#include <thread>

#include "replay/recording_pace.h"
#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

using capture::Reason;
using std::chrono::microseconds;

class AutomaticRest : public Engine {
 protected:
  static constexpr std::uint64_t kernels = 40;
  void start_with(std::uint32_t max_hold_us) {
    policy::Settings settings = Program::automatic_settings();
    settings.max_hold_us = max_hold_us;
    settings.segment_max = 8;
    start(settings);
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) RecordingDriver::add_function(200 + kernel, {8, 8});
  }
  /// One step; the program does something else for a while after each `every`th launch, the first time at `offset`.
  void step(microseconds pause, std::uint64_t every, std::uint64_t offset) {
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) {
      program->launch(200 + kernel, {memory + 4096 * kernel, 5});
      if (every != 0 && kernel % every == offset) std::this_thread::sleep_for(pause);
    }
    program->synchronize();
  }
  std::uint64_t held() { return program->counters().held; }
  std::uint64_t times(Reason reason) {
    capture::CountersRecord record;
    program->engine->counters(record);
    for (const capture::RegionCounters& region : record.regions) {
      for (const auto& cause : region.fallbacks) {
        if (cause.reason == reason) return cause.count;
      }
    }
    return 0;
  }
};

TEST_F(AutomaticRest, is_over_after_so_many_operations) {
  start_with(2'000);
  for (int number = 0; number < 6; ++number) step({}, 0, 0);
  for (std::uint64_t round = 0; round < 1000 && times(Reason::region_rests) == 0; ++round)
    step(microseconds(5000), 8, round % 7);
  ASSERT_GT(times(Reason::region_rests), 0u);
  step({}, 0, 0);
  const std::uint64_t before = held();
  for (int number = 0; number < 10; ++number) step({}, 0, 0);
  EXPECT_EQ(held(), before) << "it rests";
  for (int number = 0; number < 1000 && held() == before; ++number) step({}, 0, 0);
  EXPECT_GT(held(), before) << "it is tried again";
  EXPECT_TRUE(compared());
}

TEST_F(AutomaticRest, does_not_begin_where_the_program_is_only_slow) {
  start_with(24'000);
  for (int number = 0; number < 6; ++number) step({}, 0, 0);
  for (int number = 0; number < 4; ++number) step(microseconds(4000), 1, 0);
  EXPECT_GE(times(Reason::hold_expired), 10u) << "eight launches take longer than calls may be held";
  EXPECT_EQ(times(Reason::region_rests), 0u) << "but there is no wait";
  EXPECT_TRUE(compared());
}

TEST(RecordingPace, is_the_usual_time_without_the_longest) {
  replay::RecordingPace pace;
  EXPECT_EQ(pace.usual_ns(), 0);
  pace.operation(1000);
  EXPECT_EQ(pace.usual_ns(), 0) << "one operation has no pace";
  std::int64_t now = 1000;
  for (int number = 0; number < 20; ++number) pace.operation(now += number % 10 == 3 ? 5'000'000 : 4000 + number % 2);
  EXPECT_GE(pace.usual_ns(), 4000);
  EXPECT_LE(pace.usual_ns(), 4001);
  pace.clear();
  pace.operation(now += 1'000'000'000);
  pace.operation(now + 70);
  EXPECT_EQ(pace.usual_ns(), 70) << "what came before is forgotten";
}

// What is held of a slow program would wait longer than it may: its segments are short from the beginning.
TEST_F(Engine, segments_of_a_slow_program_are_complete_in_time) {
  auto most_of = [&](microseconds pause) {
    policy::Settings settings = Program::region_settings();
    settings.max_hold_us = 60'000;
    start(settings);
    auto run = [&] {
      program->in_region([&] {
        for (std::uint64_t number = 0; number < 64; ++number) {
          program->launch(first, {number, 10});
          if (pause != microseconds(0)) std::this_thread::sleep_for(pause);
        }
      });
      program->synchronize();
    };
    run();
    run();
    EXPECT_EQ(program->counters().replayed, 64u);
    return 64 / program->counters().graph_launches;
  };
  EXPECT_GE(most_of(microseconds(0)), 32u);
  const std::uint64_t slow = most_of(microseconds(1000));
  EXPECT_LE(slow, 20u) << "20 ms are a third of what calls may be held";
  EXPECT_GE(slow, 8u);
}

}  // namespace
}  // namespace refrain::tests
