// The engine against a driver that notes what it gets: each promise once, and every failure of a driver call.
#include <algorithm>
#include <chrono>

#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

TEST_F(Engine, records_the_first_pass_and_replays_the_next) {
  start();
  pass();
  program->synchronize();
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], 0);
  const int eager = RecordingDriver::calls["cuLaunchKernel"];
  pass();
  EXPECT_TRUE(compared());
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], 1);
  EXPECT_EQ(RecordingDriver::calls["cuLaunchKernel"], eager);
  EXPECT_EQ(program->counters().replayed, 3u);
  EXPECT_EQ(program->counters().patched, 0u);
}

TEST_F(Engine, holds_until_the_segment_is_complete) {
  start();
  pass();
  program->synchronize();
  replay::OpenRegion* region = program->engine->enter(0);
  program->launch(first, {1, 10});
  program->launch(second, {20, 2});
  EXPECT_EQ(RecordingDriver::executed.size(), 3u) << "two calls are held";
  program->launch(third, {30, 31});
  EXPECT_TRUE(compared());
  program->engine->leave(region);
}

TEST_F(Engine, patches_only_what_changed) {
  start();
  pass();
  program->synchronize();
  RecordingDriver::calls.clear();
  pass(7);
  EXPECT_TRUE(compared());
  EXPECT_EQ(RecordingDriver::calls["cuGraphExecKernelNodeSetParams_v2"], 1);
  pass(7);
  EXPECT_EQ(RecordingDriver::calls["cuGraphExecKernelNodeSetParams_v2"], 1) << "equal to the last pass";
  pass(8, 9);
  EXPECT_EQ(RecordingDriver::calls["cuGraphExecKernelNodeSetParams_v2"], 3);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 9u);
}

TEST_F(Engine, another_kernel_issues_what_is_held_in_order_and_becomes_a_variant) {
  start();
  pass();
  program->synchronize();
  auto branched = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(branch, {40, 41});
      program->launch(third, {30, 31});
    });
  };
  branched();
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().flushed, 1u);
  program->synchronize();
  branched();
  branched();
  pass();
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().variants, 2u);
  EXPECT_GT(program->counters().replayed, 0u);
}

/// A region of 64 launches, each after so much work of the program, recorded and replayed once: how many graphs that
/// were.
class SlowProgram : public Engine {
 protected:
  std::uint64_t graphs_of(std::chrono::microseconds each, std::uint32_t segment_min) {
    policy::Settings settings = Program::region_settings();
    settings.segment_min = segment_min;
    program = nullptr;
    start(settings);
    for (int round = 0; round < 2; ++round) {
      program->in_region([&] {
        for (std::uint64_t index = 0; index < 64; ++index) {
          const auto end = std::chrono::steady_clock::now() + each;
          while (std::chrono::steady_clock::now() < end) {
          }
          program->launch(first, {index, 10});
        }
      });
      program->synchronize();
    }
    EXPECT_EQ(program->counters().replayed, 64u);
    return program->counters().graph_launches;
  }
};

TEST_F(SlowProgram, has_shorter_segments) {
  using std::chrono::microseconds;
  EXPECT_EQ(graphs_of(microseconds(20), 2), 2u);
  EXPECT_EQ(graphs_of(microseconds(20), 40), 1u) << "no shorter than the policy wants";
#ifndef __SANITIZE_THREAD__  // there no program is fast
  constexpr int tries = 20;  // a machine that does something else meanwhile makes it slow
  std::uint64_t fewest = 64;
  for (int number = 0; number < tries && fewest != 1; ++number)
    fewest = std::min(fewest, graphs_of(microseconds(0), 2));
  EXPECT_EQ(fewest, 1u);
#endif
}

TEST_F(Engine, a_shorter_and_a_longer_pass_lose_nothing) {
  start();
  pass();
  program->synchronize();
  program->in_region([&] { program->launch(first, {1, 10}); });
  EXPECT_TRUE(compared());
  program->in_region([&] {
    for (int round = 0; round < 2; ++round) {
      program->launch(first, {1, 10});
      program->launch(second, {20, 2});
      program->launch(third, {30, 31});
    }
  });
  EXPECT_TRUE(compared());
  for (int round = 0; round < 5; ++round) pass();
  EXPECT_TRUE(compared());
}

TEST_F(Engine, a_refused_launch_is_passed_and_does_not_disturb_the_sequence) {
  start();
  pass();
  program->synchronize();
  program->in_region([&] {
    program->launch(first, {1, 10});
    EXPECT_EQ(program->launch(second, {20, 2}, 1, nullptr, 2048), CUDA_ERROR_INVALID_VALUE);
    program->launch(second, {20, 2});
    program->launch(third, {30, 31});
  });
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().variants, 1u);
}

TEST_F(Engine, a_smaller_configuration_is_patched_a_larger_block_is_not_held) {
  start();
  auto shaped = [&](unsigned grid, unsigned block) {
    program->in_region([&] {
      program->launch(first, {1, 10}, grid, nullptr, block);
      program->launch(second, {20, 2});
    });
  };
  shaped(4, 64);
  program->synchronize();
  shaped(9, 32);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 2u);
  shaped(4, 128);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 2u) << "a larger block than any before is the driver's to judge";
  shaped(4, 128);
  EXPECT_EQ(program->counters().replayed, 4u) << "the driver has accepted it";
  EXPECT_EQ(program->counters().variants, 1u);
}

TEST_F(Engine, memsets_are_held_and_patched) {
  start();
  auto set = [&](std::uint64_t address) {
    program->in_region([&] {
      program->memset(address, 0, 16);
      program->launch(first, {address, 1});
    });
  };
  set(0x1000);
  program->synchronize();
  set(0x2000);
  set(0x3000);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 4u);
}

TEST_F(Engine, a_fill_outside_of_known_memory_is_the_driver_s_to_refuse) {
  start();
  auto set = [&](std::uint64_t address, std::uint64_t words) {
    program->in_region([&] {
      program->memset(address, 0, words);
      program->launch(first, {address, 1});
    });
  };
  set(0x1000, 16);
  program->synchronize();
  set(0x1000, 16);
  EXPECT_EQ(program->counters().replayed, 2u);
  set(0xfff0, 16);
  EXPECT_EQ(program->counters().replayed, 2u) << "it ends behind the memory";
  EXPECT_TRUE(compared());
}

TEST_F(Engine, an_ordering_call_issues_what_is_held_and_the_pass_goes_on) {
  policy::Settings settings = Program::region_settings();
  settings.segment_max = 2;
  start(settings);
  auto four = [&](bool interrupt) {
    program->in_region([&] {
      program->launch(first, {1, 10});
      if (interrupt) {
        program->engine->order_stream(nullptr, replay::EntryPoint::cuEventRecord);
        EXPECT_TRUE(compared()) << "nothing may be held across the call";
      }
      program->launch(second, {20, 2});
      program->launch(third, {30, 31});
      program->launch(first, {3, 4});
    });
  };
  four(false);
  program->synchronize();
  four(true);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().flushed, 1u);
  EXPECT_EQ(program->counters().replayed, 2u) << "the second segment is held again";
}

TEST_F(Engine, a_function_attribute_set_again_changes_nothing_and_another_value_builds_again) {
  start();
  pass();
  program->synchronize();
  const void* function = reinterpret_cast<const void*>(first);
  auto set = [&](int value) {
    program->engine->function_state_changes(function, 8, value, replay::EntryPoint::cuFuncSetAttribute);
    program->engine->function_state_changed(function, 8, value);
  };
  set(1);
  program->synchronize();
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], 2);
  set(1);
  pass();
  program->synchronize();
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], 2);
  set(2);
  program->synchronize();
  pass();
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], 3);
  EXPECT_TRUE(compared());
}

TEST_F(Engine, a_place_that_is_interrupted_every_time_becomes_a_cut) {
  start();
  auto interrupted = [&](bool interrupt) {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(second, {20, 2});
      if (interrupt) program->engine->order_stream(nullptr, replay::EntryPoint::cuEventRecord);
      program->launch(third, {30, 31});
      program->launch(first, {3, 4});
    });
    program->synchronize();
  };
  interrupted(false);
  for (int round = 0; round < 10; ++round) interrupted(true);
  EXPECT_LE(program->counters().flushed, 2u * 3) << "after three times the segment ends there";
  EXPECT_GE(program->counters().replayed, 4u * 6);
  EXPECT_TRUE(compared());
}

TEST_F(Engine, a_launch_refused_every_time_becomes_a_cut) {
  start();
  for (int round = 0; round < 12; ++round) {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(second, {20, 2});
      EXPECT_EQ(program->launch(third, {30, 31}, 1, nullptr, 2048), CUDA_ERROR_INVALID_VALUE);
      program->launch(third, {30, 31});
      program->launch(first, {3, 4});
    });
    program->synchronize();
  }
  EXPECT_GE(program->counters().replayed, 4u * 6);
  EXPECT_TRUE(compared());
}

TEST_F(Engine, unloaded_code_drops_the_graphs_that_use_it) {
  start();
  pass();
  program->synchronize();
  pass();
  program->engine->code_unloads(1);
  EXPECT_EQ(program->counters().variants, 0u);
  program->engine->safe_point();
  EXPECT_EQ(RecordingDriver::calls["cuGraphExecDestroy"], 1);
  RecordingDriver::add_function(first, {8, 8});
  pass();
  EXPECT_TRUE(compared());
}

TEST_F(Engine, unknown_layout_stays_eager_and_cuts_the_sequence) {
  start();
  RecordingDriver::add_function(205, {8}, false);
  auto mixed = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(second, {2, 10});
      program->launch(205, {5});
      program->launch(first, {3, 10});
      program->launch(second, {4, 10});
    });
  };
  mixed();
  program->synchronize();
  mixed();
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 4u);
  EXPECT_EQ(program->counters().flushed, 0u);
}

TEST_F(Engine, pause_passes_everything_and_resume_goes_on) {
  start();
  pass();
  program->synchronize();
  program->engine->pause();
  const int graphs = RecordingDriver::calls["cuGraphLaunch"];
  pass();
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], graphs);
  program->engine->resume();
  pass();
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], graphs + 1);
  EXPECT_TRUE(compared());
}

TEST_F(Engine, addresses_that_move_everywhere_are_patched_and_bounded) {
  policy::Settings settings = Program::region_settings();
  settings.max_variants = 4;
  start(settings);
  for (std::uint64_t step = 0; step < 200; ++step) {
    program->in_region([&] {
      program->launch(first, {memory + step, memory + step + 1});
      program->launch(second, {memory + step * 3, memory + step});
      program->launch(third, {memory + step, memory + step});
    });
    program->synchronize();
  }
  EXPECT_LE(program->counters().variants, 4u);
  EXPECT_GE(program->counters().replayed, 3u * 195);
}

TEST_F(Engine, moving_scalars_and_padding_make_no_variant) {
  start();
  for (std::uint64_t step = 0; step < 50; ++step) {
    program->in_region([&] {
      program->launch(first, {memory, step * 0x9e3779b97f4a7c15});
      program->launch(second, {memory, step});
    });
    program->synchronize();
  }
  EXPECT_EQ(program->counters().variants, 1u);
  EXPECT_EQ(program->counters().replayed, 2u * 49);
}

TEST_F(Engine, layers_of_one_name_get_a_variant_each_and_need_no_patch) {
  start();
  for (int step = 0; step < 12; ++step) {
    for (std::uint64_t layer = 0; layer < 6; ++layer) {
      program->in_region([&] {
        program->launch(first, {memory + layer * 100, 1});
        program->launch(second, {memory + layer * 100, 2});
        program->launch(third, {memory + layer * 100, 3});
      });
    }
    program->synchronize();
    if (step == 9) RecordingDriver::calls.clear();
  }
  EXPECT_EQ(RecordingDriver::calls["cuGraphExecKernelNodeSetParams_v2"], 0);
  EXPECT_EQ(RecordingDriver::calls["cuLaunchKernel"], 0);
}

// Each driver call that building and replaying needs, failing for ever: the program's calls execute all the same.
class Failing : public Engine, public testing::WithParamInterface<const char*> {};

TEST_P(Failing, every_call_is_executed_once_and_in_order) {
  start();
  RecordingDriver::fails[GetParam()] = CUDA_ERROR_UNKNOWN;
  for (std::uint64_t step = 0; step < 40; ++step) {
    pass(step, step / 3);
    program->synchronize();
  }
  EXPECT_TRUE(compared());
  EXPECT_LE(RecordingDriver::calls[GetParam()], 40 * 3) << "a bounded number of tries";
  RecordingDriver::fails.clear();
  pass();
  EXPECT_TRUE(compared());
}

INSTANTIATE_TEST_SUITE_P(Calls, Failing,
                         testing::Values("cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags",
                                         "cuGraphExecKernelNodeSetParams_v2", "cuGraphLaunch"));

}  // namespace
}  // namespace refrain::tests
