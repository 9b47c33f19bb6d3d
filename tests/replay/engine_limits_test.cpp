// When the engine stops holding: regions that need the timer, and a device that works no more.
#include <algorithm>
#include <chrono>
#include <thread>

#include "replay/rest.h"
#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

using capture::Reason;

std::uint64_t times(const capture::RegionCounters& counters, Reason reason) {
  for (const auto& cause : counters.fallbacks) {
    if (cause.reason == reason) return cause.count;
  }
  return 0;
}

policy::Settings short_hold() {
  policy::Settings settings = Program::region_settings();
  settings.max_hold_us = 50;
  return settings;
}

TEST_F(Engine, a_region_that_waits_without_a_call_is_taken_off_holding_and_gets_another_try) {
  start(short_hold());
  // The program waits after one launch, then after two, and so on: no single place is to blame.
  auto waiting = [&](int place) {
    program->in_region([&] {
      for (int number = 0; number < 6; ++number) {
        program->launch(first, {1, 10});
        if (number == place) std::this_thread::sleep_for(std::chrono::milliseconds(2));
      }
    });
  };
  waiting(-1);
  program->synchronize();
  int round = 0;
  while (round < 1000 && times(program->counters(), Reason::region_rests) == 0) waiting(round++ % 5);
  ASSERT_GT(times(program->counters(), Reason::region_rests), 0u);
  EXPECT_GE(times(program->counters(), Reason::hold_expired), 8u);
  const std::uint64_t held = program->counters().held;
  for (int pass = 0; pass < 30; ++pass) waiting(-1);
  EXPECT_EQ(program->counters().held, held) << "it rests";
  for (int pass = 0; pass < 60; ++pass) waiting(-1);
  EXPECT_GT(program->counters().held, held) << "it is tried again";
  EXPECT_TRUE(compared());
}

TEST_F(Engine, rests_longer_each_time_and_forgives_what_is_long_past) {
  replay::Rest rest;
  auto until_rest = [&](std::uint64_t from, std::uint64_t step) {
    std::uint64_t pass = from;
    for (int expiry = 0; expiry < 100; ++expiry, pass += step) {
      if (rest.timer_was_needed(pass)) return pass;
    }
    return std::uint64_t{0};
  };
  const std::uint64_t once = until_rest(1, 1);
  ASSERT_NE(once, 0u);
  const std::uint64_t length = rest.until() - once;
  EXPECT_TRUE(rest.rests(rest.until()));
  EXPECT_FALSE(rest.rests(rest.until() + 1));
  const std::uint64_t twice = until_rest(rest.until() + 1, 1);
  EXPECT_EQ(rest.until() - twice, 2 * length);
  EXPECT_EQ(until_rest(rest.until() + 1, 40), 0u) << "an expiry now and then is no reason";
}

int notices = 0;

TEST_F(Engine, passes_everything_once_the_device_is_broken) {
  start();
  notices = 0;
  program->engine = std::make_unique<replay::Engine>(program->driver, program->settings, nullptr,
                                                     [](replay::Notice notice, const char*, const char*) noexcept {
                                                       notices += notice == replay::Notice::device_failed;
                                                     });
  pass();
  program->synchronize();
  pass();
  EXPECT_EQ(program->counters().replayed, 3u);
  const int builds = RecordingDriver::calls["cuGraphInstantiateWithFlags"];
  RecordingDriver::fails["cuGraphLaunch"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  RecordingDriver::fails["cuLaunchKernel"] = CUDA_ERROR_ILLEGAL_ADDRESS;
  for (int round = 0; round < 5; ++round) {
    pass();
    program->engine->order_all(replay::EntryPoint::cuCtxSynchronize);
    program->engine->safe_point();
  }
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], 2) << "not once more after the one that failed";
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], builds);
  EXPECT_EQ(program->counters().held, 6u);
  EXPECT_FALSE(program->engine->active());
  EXPECT_EQ(notices, 1);
}

TEST_F(Engine, the_same_calls_on_another_stream_are_a_variant_of_their_own) {
  start();
  auto on = [&](std::uintptr_t stream) {
    program->in_region([&] {
      program->launch(first, {1, 10}, 1, reinterpret_cast<CUstream>(stream));
      program->launch(second, {20, 2}, 1, reinterpret_cast<CUstream>(stream));
    });
    program->synchronize();
  };
  for (int round = 0; round < 4; ++round) {
    on(0x12);
    on(0x14);
  }
  EXPECT_EQ(program->counters().variants, 2u);
  EXPECT_EQ(program->counters().replayed, 2u * 2 * 3) << "every pass but the first one of each stream";
}

TEST_F(Engine, an_error_of_one_launch_breaks_nothing) {
  start();
  pass();
  program->synchronize();
  EXPECT_EQ(program->launch(first, {1, 10}, 0), CUDA_ERROR_INVALID_VALUE);
  EXPECT_TRUE(program->engine->active());
  pass();
  EXPECT_EQ(program->counters().replayed, 3u);
}

TEST_F(Engine, says_when_a_region_is_off) {
  start();
  notices = 0;
  program->engine = std::make_unique<replay::Engine>(
      program->driver, program->settings, nullptr,
      [](replay::Notice notice, const char* subject, const char*) noexcept {
        notices += notice == replay::Notice::region_off && std::string_view(subject) == "region";
      });
  RecordingDriver::fails["cuGraphInstantiateWithFlags"] = CUDA_ERROR_OUT_OF_MEMORY;
  for (int round = 0; round < 40; ++round) {
    pass();
    program->synchronize();
  }
  EXPECT_EQ(notices, 1);
  EXPECT_TRUE(compared());
}

}  // namespace
}  // namespace refrain::tests
