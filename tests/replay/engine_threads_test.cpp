// Regions and held calls across threads.
#include <thread>

#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

TEST_F(Engine, a_region_ended_by_another_thread_after_its_own_has_ended) {
  start();
  pass();
  program->synchronize();
  replay::OpenRegion* region = nullptr;
  std::thread owner([&] {
    region = program->engine->enter(0);
    program->launch(first, {1, 10});
    program->engine->thread_ends();
  });
  owner.join();
  EXPECT_TRUE(compared()) << "the end of the thread issues what it held";
  program->engine->leave(region);
  pass();
  EXPECT_TRUE(compared());
}

TEST_F(Engine, a_region_ended_by_another_thread_while_its_own_goes_on) {
  start();
  pass();
  program->synchronize();
  replay::OpenRegion* region = program->engine->enter(0);
  program->launch(first, {1, 10});
  std::thread([&] { program->engine->leave(region); }).join();
  EXPECT_TRUE(compared());
  program->launch(second, {20, 2});
  EXPECT_TRUE(compared()) << "outside of the region now";
  pass();
  EXPECT_TRUE(compared());
}

TEST_F(Engine, a_process_wide_region_takes_the_calls_of_every_thread) {
  policy::Settings settings = Program::region_settings();
  settings.regions.front().scope = policy::Scope::process;
  start(settings);
  auto threaded = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10});
      std::thread([&] { program->launch(second, {20, 2}); }).join();
      program->launch(third, {30, 31});
    });
  };
  threaded();
  program->synchronize();
  for (int round = 0; round < 4; ++round) threaded();
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 12u);
}

TEST_F(Engine, work_of_another_thread_is_not_part_of_a_thread_s_region) {
  start();
  auto threaded = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(second, {20, 2});
      std::thread([&] { program->launch(branch, {5, 6}); }).join();
      program->launch(third, {30, 31});
    });
  };
  threaded();
  program->synchronize();
  threaded();
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().calls, 6u);
}

TEST_F(Engine, a_held_call_is_issued_in_bounded_time_without_any_further_call) {
  policy::Settings settings = Program::region_settings();
  settings.max_hold_us = 2000;
  start(settings);
  pass();
  program->synchronize();
  replay::OpenRegion* region = program->engine->enter(0);
  program->launch(first, {1, 10});
  for (int waited = 0; waited < 2000 && RecordingDriver::executed_count < 4; ++waited) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  program->launch(second, {20, 2});
  program->launch(third, {30, 31});
  program->engine->leave(region);
  EXPECT_EQ(program->counters().flushed, 1u);
  EXPECT_TRUE(compared());
}

}  // namespace
}  // namespace refrain::tests
