// Complete segments that the issue thread launches: nothing may be able to tell, except by time.
#include <chrono>
#include <random>
#include <thread>

#include "tests/replay/automatic_fixture.h"

namespace refrain::tests {
namespace {

constexpr std::int64_t millisecond = 1'000'000;
constexpr std::int64_t long_time = 500 * millisecond;  // no thread is kept from running for so long

/// An engine that hands every complete segment over, and a program of one region with three launches.
class HandOver : public Engine {
 protected:
  static policy::Settings handing_settings() {
    policy::Settings settings = Program::region_settings();
    settings.issue_thread = true;
    settings.issue_above_us = 0;
    return settings;
  }
  void SetUp() override {
    start(handing_settings());
    learn();
  }
  /// Records the region and builds its graph.
  void learn() {
    pass();
    program->synchronize();
    const std::uint64_t before = program->counters().replayed;
    pass();
    program->synchronize();
    ASSERT_EQ(program->counters().replayed, before + 3);
  }
  /// Until the issue thread is inside the driver with a graph that has been handed over since `launches` had begun.
  void wait_until_inside(int launches) {
    while (RecordingDriver::launches_begun == launches) std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
  bool is_executed() { return RecordingDriver::executed_count.load() == program->expected.size(); }
};

TEST_F(HandOver, a_complete_segment_is_launched_without_any_further_call) {
  pass(3, 4);
  wait_for_all();
  EXPECT_TRUE(compared());
}

TEST_F(HandOver, the_program_does_not_wait_for_the_launch) {
  RecordingDriver::takes["cuGraphLaunch"] = long_time;
  pass(3, 4);
  EXPECT_FALSE(is_executed());
  wait_for_all();
  EXPECT_TRUE(compared());
}

TEST_F(HandOver, what_comes_later_on_the_stream_comes_after_it) {
  RecordingDriver::takes["cuGraphLaunch"] = millisecond;
  for (std::uint64_t round = 0; round < 20; ++round) {
    pass(round, round);
    if (round % 2 == 0) std::this_thread::sleep_for(std::chrono::microseconds(40 * round));
    program->launch(branch, {round, 7});
    EXPECT_TRUE(compared());
  }
}

TEST_F(HandOver, every_pass_runs_with_the_bytes_that_it_was_given) {
  RecordingDriver::takes["cuGraphLaunch"] = 300'000;
  for (std::uint64_t round = 0; round < 50; ++round) pass(round, 1000 + round);
  program->synchronize();
  EXPECT_EQ(program->counters().replayed, 3u + 150u);
}

TEST_F(HandOver, more_segments_than_can_wait) {
  policy::Settings settings = handing_settings();
  settings.segment_min = 1;
  settings.segment_max = 1;
  program = nullptr;
  start(settings);
  auto many = [&](std::uint64_t value) {
    program->in_region([&] {
      for (std::uint64_t index = 0; index < 40; ++index) program->launch(first, {value, index});
    });
  };
  many(1);
  program->synchronize();
  RecordingDriver::takes["cuGraphLaunch"] = 100'000;
  for (std::uint64_t round = 2; round < 8; ++round) many(round);
  program->synchronize();
  EXPECT_EQ(program->counters().replayed, 6u * 40u);
}

TEST_F(HandOver, a_graph_that_cannot_be_patched_or_launched_ends_in_calls_one_by_one) {
  for (const char* fault : {"cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"}) {
    program = nullptr;
    start(handing_settings());
    learn();
    RecordingDriver::fails[fault] = CUDA_ERROR_INVALID_VALUE;
    pass(5, 6);
    wait_for_all();
    EXPECT_TRUE(compared());
    RecordingDriver::fails.clear();
    program->synchronize();
    const capture::RegionCounters counters = program->counters();
    EXPECT_EQ(counters.flushed, 3u);
    EXPECT_EQ(counters.replayed, 3u);
    EXPECT_EQ(program->engine->take_error(), CUDA_SUCCESS);
    pass(7, 8);
    program->synchronize();
    EXPECT_EQ(program->counters().replayed, 6u) << "its graph was built again";
  }
}

// Layer after layer is the same sequence, and comes again before it is launched.
TEST_F(HandOver, what_comes_again_before_it_is_launched_is_not_waited_for) {
  RecordingDriver::takes["cuGraphLaunch"] = 2 * millisecond;
  auto twice = [&](std::uint64_t value) {
    pass(value, 1);
    pass(value, 2);
  };
  for (std::uint64_t round = 0; round < 8; ++round) {
    twice(round);
    program->synchronize();
  }
  EXPECT_EQ(program->counters().variants, 2u);
  RecordingDriver::takes["cuGraphLaunch"] = long_time;
  twice(100);
  EXPECT_EQ(RecordingDriver::executed_count.load() + 6, program->expected.size());
  program->synchronize();
  RecordingDriver::takes["cuGraphLaunch"] = 100'000;
  for (std::uint64_t round = 0; round < 200; ++round) {
    twice(round);
    program->synchronize();
  }
  EXPECT_EQ(program->counters().variants, 2u);
}

TEST_F(HandOver, what_is_rarely_waited_for_gets_no_twin) {
  for (std::uint64_t round = 0; round < 200; ++round) {
    RecordingDriver::takes["cuGraphLaunch"] = round % 20 == 0 ? millisecond : 0;
    pass(round, 1);
    if (round % 20 == 0) pass(round, 2);
    program->synchronize();
  }
  EXPECT_EQ(program->counters().variants, 1u);
}

TEST_F(HandOver, what_waits_for_itself_gets_one_twin_until_that_is_built) {
  policy::Settings settings = handing_settings();
  settings.build_after = 1'000'000;
  program = nullptr;
  start(settings);
  learn();
  RecordingDriver::takes["cuGraphLaunch"] = 500'000;
  for (std::uint64_t round = 0; round < 60; ++round) pass(round, 1);
  EXPECT_EQ(program->counters().variants, 2u);
  program->synchronize();
}

TEST_F(HandOver, an_error_is_told_by_the_next_call) {
  RecordingDriver::fails["cuGraphLaunch"] = CUDA_ERROR_INVALID_VALUE;
  RecordingDriver::fails["cuLaunchKernel"] = CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  pass(5, 6);
  program->engine->order_all(replay::EntryPoint::cuCtxSynchronize);
  EXPECT_EQ(program->engine->take_error(), CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES);
}

TEST_F(HandOver, what_ends_its_code_its_stream_or_its_memory_comes_after_it) {
  RecordingDriver::takes["cuGraphLaunch"] = millisecond;
  pass(5, 6);
  program->engine->memory_ends();
  EXPECT_TRUE(compared());
  pass(6, 6);
  program->engine->code_unloads(0);
  EXPECT_TRUE(compared());
  learn();
  pass(7, 6);
  program->engine->context_ends(RecordingDriver::context);
  EXPECT_TRUE(compared());
}

TEST_F(HandOver, a_change_of_state_comes_after_it_and_builds_anew) {
  RecordingDriver::takes["cuGraphLaunch"] = millisecond;
  for (std::uint64_t round = 0; round < 10; ++round) {
    pass(round, 6);
    if (round % 3 == 0) program->engine->state_changes(replay::EntryPoint::cuCtxSetLimit);
    EXPECT_TRUE(round % 3 != 0 || compared());
  }
  program->synchronize();
}

TEST_F(HandOver, an_event_query_of_another_thread_does_not_wait_for_a_launch_in_progress) {
  RecordingDriver::takes["cuGraphLaunch"] = long_time;
  const int launches = RecordingDriver::launches_begun;
  pass(5, 6);
  wait_until_inside(launches);
  std::thread([&] { program->engine->order_all(replay::EntryPoint::cuEventQuery); }).join();
  EXPECT_FALSE(is_executed());
  program->synchronize();
}

TEST_F(HandOver, a_segment_whose_thread_is_kept_inside_the_driver_is_launched_in_time) {
  policy::Settings settings = handing_settings();
  settings.max_hold_us = 2000;
  program = nullptr;
  start(settings);
  const CUstream streams[] = {reinterpret_cast<CUstream>(0x10), reinterpret_cast<CUstream>(0x20)};
  auto on = [&](CUstream stream) {
    program->in_region([&] {
      program->launch(first, {1, 10}, 1, stream);
      program->launch(second, {20, 2}, 1, stream);
    });
  };
  for (int round = 0; round < 3; ++round) {
    for (const CUstream stream : streams) on(stream);
    program->synchronize();
  }
  ASSERT_EQ(program->counters().replayed, 8u);
  RecordingDriver::takes["cuGraphLaunch"] = long_time;
  const auto begin = std::chrono::steady_clock::now();
  const int launches = RecordingDriver::launches_begun;
  on(streams[0]);
  wait_until_inside(launches);
  on(streams[1]);
  wait_for_all();
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::nanoseconds(long_time * 19 / 10)) << "one by one";
}

TEST_F(HandOver, the_end_of_the_process_does_not_wait_for_ever) {
  RecordingDriver::takes["cuGraphLaunch"] = 3 * long_time;
  const int launches = RecordingDriver::launches_begun;
  pass(5, 6);
  wait_until_inside(launches);
  program->engine->stop();
  EXPECT_FALSE(is_executed());
  wait_for_all();
  EXPECT_TRUE(compared());
}

TEST_F(HandOver, the_end_of_the_process_launches_it) {
  for (std::uint64_t round = 0; round < 20; ++round) {
    program = nullptr;
    start(handing_settings());
    learn();
    pass(round, 6);
    program->engine->stop();
    EXPECT_TRUE(compared());
    EXPECT_EQ(program->counters().replayed, 6u);
  }
}

TEST_F(HandOver, nothing_is_handed_over_where_it_does_not_pay_or_is_not_wanted) {
  for (const bool wanted : {true, false}) {
    policy::Settings settings = Program::region_settings();
    settings.issue_thread = wanted;
    settings.issue_above_us = wanted ? 1'000'000 : 0;  // no program is that slow
    program = nullptr;
    start(settings);
    learn();
    for (std::uint64_t round = 0; round < 100; ++round) {
      pass(round, round);
      EXPECT_TRUE(is_executed());
    }
  }
}

TEST_F(HandOver, a_slow_program_hands_over_its_segments) {
  policy::Settings settings = Program::region_settings();
  settings.issue_thread = true;
  program = nullptr;
  start(settings);
  auto slow = [&](std::uint64_t value) {
    program->in_region([&] {
      for (std::uint64_t index = 0; index < 8; ++index) {
        const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(10);
        while (std::chrono::steady_clock::now() < end) {
        }
        program->launch(first, {value, index});
      }
    });
  };
  slow(1);
  program->synchronize();
  RecordingDriver::takes["cuGraphLaunch"] = long_time;
  slow(2);
  EXPECT_FALSE(is_executed()) << "changed: by the issue thread";
  program->synchronize();
  slow(2);
  EXPECT_FALSE(is_executed()) << "unchanged: the launch alone takes long enough";
  program->synchronize();
}

// The program waits for the device, which waits for the last launch: the issue thread would only be in between.
TEST_F(Automatic, what_comes_just_before_a_wait_is_launched_by_the_programs_thread) {
  policy::Settings settings = Program::automatic_settings();
  settings.issue_thread = true;
  auto slowly = [this](std::uint64_t from, std::uint64_t to) {
    for (std::uint64_t kernel = from; kernel < to; ++kernel) {
      const auto end = std::chrono::steady_clock::now() + std::chrono::microseconds(15);
      while (std::chrono::steady_clock::now() < end) {
      }
      one(kernel);
    }
  };
  start_with_kernels(settings);
  for (int number = 0; number < 10; ++number) {
    slowly(0, kernels);
    program->synchronize();
  }
  RecordingDriver::takes["cuGraphLaunch"] = 20 * millisecond;
  slowly(0, 4);
  EXPECT_LT(RecordingDriver::executed_count.load(), program->expected.size()) << "long before the wait";
  EXPECT_GE(replayed([&] { slowly(4, kernels); }), kernels - 4);
  EXPECT_EQ(RecordingDriver::executed_count.load(), program->expected.size());
  program->synchronize();
  RecordingDriver::takes.clear();
  for (int number = 0; number < 20; ++number) slowly(0, kernels);  // the waits of the first steps come no more
  wait_for_all();
  ASSERT_TRUE(compared());
  RecordingDriver::takes["cuGraphLaunch"] = 20 * millisecond;
  slowly(0, kernels);
  EXPECT_LT(RecordingDriver::executed_count.load(), program->expected.size());
  program->synchronize();
}

TEST_F(HandOver, random_passes_run_as_they_were_called) {
  for (unsigned seed = 1; seed <= 12; ++seed) {
    policy::Settings settings = handing_settings();
    std::mt19937 random(seed);
    settings.segment_min = 1;
    settings.segment_max = 1 + random() % 5;
    settings.max_hold_us = random() % 2 == 0 ? 200 : 1'000'000;
    program = nullptr;
    start(settings);
    RecordingDriver::takes["cuGraphLaunch"] = static_cast<std::int64_t>(random() % 3) * 20'000;
    for (int round = 0; round < 120; ++round) {
      const std::uint64_t value = random() % 3 == 0 ? random() % 100 : 1;
      const bool other_way = random() % 6 == 0;
      program->in_region([&] {
        for (std::uint64_t index = 0; index < 12; ++index) {
          program->launch(index == 6 && other_way ? branch : first + index % 3, {value + index, index});
        }
      });
      if (random() % 8 == 0) program->launch(branch, {value, 1});
      if (random() % 4 == 0) program->synchronize();
      if (random() % 40 == 0) program->engine->state_changes(replay::EntryPoint::cuCtxSetLimit);
    }
    program->synchronize();
    EXPECT_GT(program->counters().replayed, 100u) << "seed " << seed;
    ASSERT_FALSE(HasFailure()) << "seed " << seed;
  }
}

}  // namespace
}  // namespace refrain::tests
