// Steps with and without replay are compared while the job runs, and the better way is kept.
#include <random>

#include "replay/pace.h"
#include "replay/replay_share.h"
#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

class Arms : public Engine {
 protected:
  static constexpr std::uint64_t kernels = 96;  // a step is not looked for in fewer than 64
  void SetUp() override {
    policy::Settings settings = Program::automatic_settings();
    settings.governor = true;
    start(settings);
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) RecordingDriver::add_function(200 + kernel, {8, 8});
    RecordingDriver::takes["cuLaunchKernel"] = 3'000;
  }
  void step() {
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel)
      program->launch(200 + kernel, {memory + 4096 * kernel, 5});
    program->synchronize();
  }
  /// Steps until there is a verdict, `most` at most.
  replay::ArmVerdict decide(int most = 20'000) {
    replay::ArmVerdict verdict;
    for (int number = 0; number < most && !program->engine->verdict(verdict); ++number) {
      step();
      executed();
    }
    return verdict;
  }
  /// Compares, and forgets what was executed: thousands of steps are a lot of text.
  void executed() {
    ASSERT_TRUE(compared());
    RecordingDriver::executed.clear();
    program->expected.clear();
  }
  int graph_launches(int steps) {
    const int before = RecordingDriver::calls["cuGraphLaunch"];
    for (int number = 0; number < steps; ++number) {
      step();
      executed();
    }
    return RecordingDriver::calls["cuGraphLaunch"] - before;
  }
};

TEST_F(Arms, replay_that_pays_is_kept) {
  RecordingDriver::takes["cuGraphLaunch"] = 2'000;
  const replay::ArmVerdict verdict = decide();
  ASSERT_EQ(verdict.measurements, 1u);
  EXPECT_EQ(verdict.arm, replay::Arm::replay);
  EXPECT_LT(verdict.ratio, 0.9);
  EXPECT_LT(verdict.replay_ms, verdict.eager_ms);
  EXPECT_GE(graph_launches(100), 100);
  EXPECT_FALSE(program->engine->passes(true));
}

TEST_F(Arms, replay_that_costs_more_than_it_saves_is_given_up) {
  RecordingDriver::takes["cuGraphLaunch"] = 300'000;
  const replay::ArmVerdict verdict = decide();
  ASSERT_EQ(verdict.measurements, 1u);
  EXPECT_EQ(verdict.arm, replay::Arm::eager);
  EXPECT_GT(verdict.ratio, 1.1);
  EXPECT_EQ(graph_launches(400), 0);
  EXPECT_TRUE(program->engine->passes(true)) << "nothing but a pass-through is left of a call";
}

TEST_F(Arms, without_the_governor_everything_is_replayed) {
  program = nullptr;
  start(Program::automatic_settings());
  for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) RecordingDriver::add_function(200 + kernel, {8, 8});
  RecordingDriver::takes["cuGraphLaunch"] = 100'000;
  graph_launches(100);
  EXPECT_GE(graph_launches(200), 200);
  replay::ArmVerdict verdict;
  EXPECT_FALSE(program->engine->verdict(verdict));
}

// Each step has its kernels in another order, but for a few at its end: most of what is recorded never comes again.
TEST_F(Arms, work_that_does_not_repeat_is_left_alone_until_it_does) {
  std::mt19937 random(1);
  auto mixed_step = [&] {
    for (std::uint64_t number = 0; number < kernels; ++number)
      program->launch(200 + (number < kernels - 12 ? random() % kernels : number), {memory + 4096 * number, 5});
    program->synchronize();
    executed();
  };
  auto times = [&] {
    capture::CountersRecord record;
    program->engine->counters(record);
    for (const auto& cause : record.regions.front().fallbacks) {
      if (cause.reason == capture::Reason::little_repeats) return cause.count;
    }
    return std::uint64_t{0};
  };
  mixed_step();
  int rounds = 1;
  for (; times() == 0 && rounds < 1000; ++rounds) mixed_step();
  ASSERT_EQ(times(), 1u);
  EXPECT_LT(rounds, 200);
  EXPECT_TRUE(program->engine->passes(true)) << "nothing but a pass-through is left of a call";
  auto built = [] { return RecordingDriver::calls["cuGraphInstantiateWithFlags"]; };
  const int before = built();
  program->engine->state_changes(replay::EntryPoint::cuCtxSetLimit);
  mixed_step();
  EXPECT_EQ(built(), before) << "what is not replayed needs no graphs";
  for (int number = 0; number < 20'000 && graph_launches(1) == 0; ++number) {
  }
  EXPECT_GT(built(), before);
  EXPECT_GE(graph_launches(100), 100) << "it was looked at again";
  EXPECT_EQ(times(), 1u);
}

TEST(ReplayShare, leaves_alone_what_hardly_repeats_for_longer_each_time) {
  constexpr std::int64_t step_ns = 10'000'000;
  constexpr std::uint64_t operations = 150;
  replay::ReplayShare share;
  std::int64_t now = 1;
  std::uint64_t seen = 0, replayed = 0;
  int steps = 0;
  auto rest_after = [&](std::uint64_t replayed_of_a_step, std::uint64_t period, int most = 10'000) {
    for (int step = 1; step <= most; ++step) {
      now += step_ns;
      seen += operations;
      replayed += replayed_of_a_step;
      steps = step;
      if (const std::int64_t rest = share.rest_ns(now, seen, replayed, period); rest != 0) return rest / step_ns / step;
    }
    return std::int64_t{0};
  };
  int first = 0;
  for (const std::int64_t times : {4, 16, 32, 64, 64}) {
    EXPECT_NEAR(static_cast<double>(rest_after(30, operations)), static_cast<double>(times), 2);
    if (times == 4) first = steps;
    EXPECT_NEAR(steps, times == 4 ? first : first / 2, 1) << "what was looked at once needs a shorter look";
    share.rested(now, seen, replayed);
  }
  EXPECT_EQ(rest_after(40, operations, first / 2 + 9 * first), 0) << "one in four is enough";
  EXPECT_EQ(rest_after(30, operations), 4) << "and what was before is forgotten";
  EXPECT_EQ(rest_after(0, 0, 3000), 0) << "where no step is known it takes longer to be sure";
  EXPECT_NE(rest_after(0, 0), 0);
}

/// Two lanes whose operations are fed by hand, on a clock that stands still unless told.
class PaceOfLanes : public testing::Test {
 protected:
  void steps(replay::LaneSteps& lane, int count, std::uint64_t operations) {
    for (int step = 0; step < count; ++step) {
      for (std::uint64_t operation = 0; operation < operations; ++operation) {
        const std::uint64_t token = (operation + 1) * 0x9e3779b97f4a7c15;
        if (lane.operation(token) && pace.step_begins(lane, now, 0, verdict)) ++verdicts;
      }
      now += pace.arm() == replay::Arm::replay ? 20'000'000 : 30'000'000;
    }
  }
  replay::Pace pace;
  replay::ArmVerdict verdict;
  std::int64_t now = 1;
  int verdicts = 0;
};

TEST_F(PaceOfLanes, the_busier_lane_tells_the_steps) {
  replay::LaneSteps idle, busy;
  steps(idle, 200, 100);
  steps(busy, 400, 400);
  EXPECT_EQ(verdicts, 2) << "one of each: the steps of the second are another job's";
  EXPECT_EQ(verdict.arm, replay::Arm::replay);
}

TEST_F(PaceOfLanes, a_lane_that_falls_silent_does_not_hold_the_arm) {
  replay::LaneSteps before, after;
  steps(before, 50, 400);  // in the midst of the measurement
  EXPECT_EQ(verdicts, 0);
  steps(after, 600, 300);
  EXPECT_GE(verdicts, 1);
  EXPECT_EQ(pace.arm(), replay::Arm::replay);
}

}  // namespace
}  // namespace refrain::tests
