// Repeated operations outside of all ranges: found, held, and found again after whatever came between.
#include <algorithm>
#include <random>
#include <string_view>

#include "tests/replay/automatic_fixture.h"

namespace refrain::tests {
namespace {

TEST_F(Automatic, a_step_that_repeats_is_replayed_whole) {
  steps(6);
  const std::uint64_t found = replayed([&] { steps(10); });
  EXPECT_EQ(found, 10 * kernels);
  EXPECT_EQ(total().patched, 0u);
  EXPECT_TRUE(compared());
}

// Forward, backward and an optimizer that is one kernel again and again: each turn looks like the one before.
TEST_F(Automatic, the_end_of_a_loop_is_found_by_its_place_in_the_step) {
  constexpr std::uint64_t layers = 24, operations = layers * 2 + 1 + layers * 4 - 1 + layers * 2;
  auto looping_step = [&] {
    for (std::uint64_t layer = 0; layer < layers; ++layer) step(layer, 0, 2);
    one(2);
    for (std::uint64_t layer = 0; layer < layers; ++layer) step(layer, 3, layer + 1 < layers ? 7 : 6);
    for (std::uint64_t layer = 0; layer < 2 * layers; ++layer) one(8, layer);
  };
  for (int number = 0; number < 200; ++number) looping_step();
  constexpr std::uint64_t steps_seen = 50;
  const std::uint64_t found = replayed([&] {
    for (std::uint64_t number = 0; number < steps_seen; ++number) looping_step();
    program->synchronize();
  });
  EXPECT_GE(found, steps_seen * operations * 97 / 100);
  EXPECT_TRUE(compared());
}

// Turns of a few loops, in numbers that only the place in the step tells.
TEST_F(Automatic, loops_of_many_lengths_are_replayed_in_long_pieces) {
  constexpr unsigned loops = 60, steps_seen = 20;
  std::uint64_t operations = 0;
  auto looping_step = [&] {
    const std::uint64_t before = program->expected.size();
    step(5, 10, 20);
    for (unsigned loop = 0; loop < loops; ++loop) {
      const unsigned turns = 2 + loop * 7 % 5;
      for (unsigned turn = 0; turn < turns; ++turn) step(turn, 0, 3);
      one(3 + loop % 3, loop);
    }
    operations = program->expected.size() - before;
    program->synchronize();
  };
  for (unsigned number = 0; number < 200; ++number) looping_step();
  const int launches = RecordingDriver::calls["cuGraphLaunch"];
  const std::uint64_t found = replayed([&] {
    for (unsigned number = 0; number < steps_seen; ++number) looping_step();
  });
  EXPECT_GE(found, steps_seen * operations * 98 / 100);
  EXPECT_LE(RecordingDriver::calls["cuGraphLaunch"] - launches, steps_seen * operations / 9) << "6 a graph before";
  EXPECT_TRUE(compared());
}

// Experts without tokens are left out: what comes at a place of the step says nothing of the next step.
TEST_F(Automatic, experts_that_are_left_out_now_and_then_are_replayed_all_the_same) {
  std::mt19937 random(1);
  auto expert_step = [&] {
    step(5, 10, 20);
    for (unsigned layer = 0; layer < 8; ++layer) {
      step(layer, 20, 30);
      for (unsigned expert = 0; expert < 8; ++expert) {
        if (random() % 8 != 0) step(random(), 0, 7);
      }
      step(layer, 30, 36);
      if (layer % 2 != 0) program->synchronize();
    }
    step(1, 36, 40);
    program->synchronize();
  };
  for (unsigned number = 0; number < 150; ++number) expert_step();
  const std::uint64_t before = total().calls;
  const std::uint64_t found = replayed([&] {
    for (unsigned number = 0; number < 100; ++number) expert_step();
  });
  EXPECT_GE(found, (total().calls - before) * 95 / 100) << "89 before places told that";
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, a_step_without_any_wait_is_replayed_as_well) {
  for (int number = 0; number < 200; ++number) step();
  const std::uint64_t found = replayed([&] {
    for (int number = 0; number < 10; ++number) step();
  });
  program->synchronize();
  EXPECT_GE(found, 10 * kernels - 2 * kernels) << "what is held at the ends of the measurement is not counted yet";
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, moving_scalars_are_patched) {
  steps(6);
  const std::uint64_t found = replayed([&] {
    for (std::uint64_t number = 0; number < 10; ++number) steps(1, 100 + number);
  });
  EXPECT_EQ(found, 10 * kernels);
  EXPECT_GE(total().patched, 9 * kernels);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, an_operation_in_between_costs_a_part_of_one_step) {
  steps(6);
  auto interrupted = [&] {
    step(5, 0, 20);
    program->launch(spare, {memory});
    step(5, 20);
    program->synchronize();
  };
  for (int number = 0; number < 5; ++number) interrupted();
  const std::uint64_t found = replayed([&] {
    for (int number = 0; number < 10; ++number) interrupted();
  });
  EXPECT_GE(found, 10 * kernels) << "the branch is learnt";
  EXPECT_GE(replayed([&] { steps(3); }), 3 * kernels) << "and the old way is not forgotten";
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, finds_its_place_after_work_of_another_kind) {
  steps(6);
  for (int evaluation = 0; evaluation < 3; ++evaluation) {
    // Never the same twice.
    for (std::uint64_t number = 0; number < 15; ++number)
      program->launch(spare + (number * 7 + static_cast<std::uint64_t>(evaluation) * 3) % 20, {memory + number});
    step(5, 10, 30);
    program->synchronize();
    EXPECT_GE(replayed([&] { steps(2); }), kernels + kernels / 2);
  }
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, gradient_accumulation_and_layers_share_places) {
  auto layer = [&](std::uint64_t number) {
    for (std::uint64_t kernel = 0; kernel < 12; ++kernel)
      program->launch(200 + kernel, {memory + 65536 * number + 4096 * kernel, 5});
  };
  auto whole = [&] {
    for (int microbatch = 0; microbatch < 4; ++microbatch) {
      for (std::uint64_t number = 0; number < 6; ++number) layer(number);
      for (std::uint64_t number = 6; number-- > 0;) layer(number);
    }
    step(5, 20, 40);
    program->synchronize();
  };
  for (int number = 0; number < 12; ++number) whole();
  const std::uint64_t operations = 4 * 12 * 12 + 20;
  const std::uint64_t found = replayed([&] {
    for (int number = 0; number < 5; ++number) whole();
  });
  EXPECT_GE(found, 5 * operations * 9 / 10);
  const std::uint64_t patched = total().patched;
  for (int number = 0; number < 5; ++number) whole();
  EXPECT_LE(total().patched - patched, 5 * operations / 10) << "each layer has its own addresses in graphs of its own";
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, pieces_that_the_first_steps_cut_short_grow_together) {
  for (int number = 0; number < 8; ++number) with_allocations(true);
  for (int number = 0; number < 24; ++number) with_allocations(false);
  const int launches = RecordingDriver::calls["cuGraphLaunch"];
  EXPECT_EQ(replayed([&] { with_allocations(false); }), kernels);
  EXPECT_LE(RecordingDriver::calls["cuGraphLaunch"] - launches, 6) << "eight pieces of five before";
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, pieces_that_are_left_behind_are_launched_all_the_same) {
  policy::Settings settings = Program::automatic_settings();
  settings.issue_thread = true;
  settings.issue_above_us = 0;
  start_with_kernels(settings);
  for (int number = 0; number < 8; ++number) with_allocations(true);
  RecordingDriver::takes["cuGraphLaunch"] = 5'000'000;
  const int destroyed = RecordingDriver::calls["cuGraphExecDestroy"];
  for (int number = 0; number < 6; ++number) with_allocations(false);
  EXPECT_GT(RecordingDriver::calls["cuGraphExecDestroy"], destroyed);
  EXPECT_EQ(RecordingDriver::calls["launch of a destroyed graph"], 0);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, one_kernel_again_and_again) {
  for (int number = 0; number < 400; ++number) {
    one(0, static_cast<std::uint64_t>(number));
    if (number % 100 == 99) program->synchronize();
  }
  const std::uint64_t found = replayed([&] {
    for (std::uint64_t number = 0; number < 320; ++number) one(0, number);
    program->synchronize();
  });
  EXPECT_GE(found, 200u);
  const int launches = RecordingDriver::calls["cuGraphLaunch"];
  for (std::uint64_t number = 0; number < 320; ++number) one(0, number);
  program->synchronize();
  EXPECT_LE(RecordingDriver::calls["cuGraphLaunch"] - launches, 16) << "segments as long as they may be";
  EXPECT_TRUE(compared());
}

// Turns that are measured between two events, after two that are not. The first event comes in the midst of a piece,
// and so do the ends, in three of 22 turns: no reason to cut it, and what comes after the event is replayed again at
// once.
TEST_F(Automatic, a_piece_that_is_interrupted_begins_again) {
  constexpr std::uint64_t operations = 64, skipped = 2, measured = 20;
  auto turns = [&](std::uint64_t count) {
    for (std::uint64_t number = 0; number < count * operations; ++number)
      program->launch(200, {memory, number % operations}, 4);
  };
  auto block = [&] {
    turns(skipped);
    program->synchronize();
    program->launch(200, {memory, 5});  // the same kernel with another grid
    program->engine->order_stream(nullptr, replay::EntryPoint::cuEventRecord);
    turns(measured);
    program->engine->order_stream(nullptr, replay::EntryPoint::cuEventRecord);
    program->synchronize();
  };
  for (int number = 0; number < 10; ++number) block();
  constexpr std::uint64_t blocks = 20;
  const std::uint64_t found = replayed([&] {
    for (std::uint64_t number = 0; number < blocks; ++number) block();
  });
  EXPECT_GE(found, blocks * (skipped + measured) * operations * 99 / 100);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, random_order_costs_nothing_but_eager_calls) {
  std::uint64_t state = 1;
  for (int number = 0; number < 5000; ++number) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    one((state >> 33) % kernels, number);
    if (number % 50 == 0) program->synchronize();
  }
  program->synchronize();
  EXPECT_TRUE(compared());
  EXPECT_LE(total().variants, 64u);
}

TEST_F(Automatic, a_call_that_orders_in_the_midst_splits_the_piece_for_good) {
  auto ordered = [&] {
    step(5, 0, 13);
    program->engine->order_stream(nullptr, replay::EntryPoint::cuEventRecord);
    EXPECT_TRUE(compared()) << "nothing is held behind an ordering call";
    step(5, 13);
    program->synchronize();
  };
  for (int number = 0; number < 6; ++number) ordered();
  EXPECT_EQ(replayed([&] {
              for (int number = 0; number < 10; ++number) ordered();
            }),
            10 * kernels);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, each_stream_has_its_own_pieces) {
  const auto one_stream = reinterpret_cast<CUstream>(std::uintptr_t{78});
  const auto other_stream = reinterpret_cast<CUstream>(std::uintptr_t{80});
  auto both = [&] {
    for (std::uint64_t kernel = 0; kernel < 20; ++kernel) {
      program->launch(200 + kernel, {memory, 1}, 1, one_stream);
      program->launch(220 + kernel, {memory, 1}, 1, other_stream);
    }
  };
  for (int number = 0; number < 6; ++number) {
    both();
    program->engine->order_all(replay::EntryPoint::cuCtxSynchronize);
    program->engine->safe_point();
  }
  EXPECT_EQ(replayed([&] {
              for (int number = 0; number < 5; ++number) {
                both();
                program->engine->order_all(replay::EntryPoint::cuCtxSynchronize);
              }
            }),
            5 * 40u);
}

TEST_F(Automatic, kernels_that_stay_eager_end_a_piece) {
  start_with_an_eager_kernel();
  auto with_collective = [&] {
    step(5, 0, 20);
    program->launch(spare, {memory});
    step(5, 20);
    program->synchronize();
  };
  for (int number = 0; number < 6; ++number) with_collective();
  EXPECT_EQ(replayed([&] {
              for (int number = 0; number < 10; ++number) with_collective();
            }),
            10 * kernels);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, a_short_piece_before_what_stays_eager_is_kept) {
  start_with_an_eager_kernel();
  auto with_collectives = [&] {
    for (std::uint64_t from = 0; from < kernels; from += 8) {
      step(5, from, from + 8);
      program->launch(spare, {memory});
    }
    program->synchronize();
  };
  for (int number = 0; number < 10; ++number) with_collectives();
  const int builds = RecordingDriver::calls["cuGraphInstantiateWithFlags"];
  EXPECT_EQ(replayed([&] {
              for (int number = 0; number < 50; ++number) with_collectives();
            }),
            50 * kernels);
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], builds);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, code_that_is_unloaded_takes_its_pieces_along) {
  steps(8);
  EXPECT_GT(total().variants, 0u);
  program->engine->code_unloads(1);
  program->engine->context_ends(nullptr);
  EXPECT_EQ(total().variants, 0u);
  steps(8);
  EXPECT_EQ(replayed([&] { steps(2); }), 2 * kernels);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, every_failing_graph_call_ends_in_eager_launches) {
  for (const char* name : {"cuGraphCreate", "cuGraphAddKernelNode_v2", "cuGraphInstantiateWithFlags", "cuGraphLaunch",
                           "cuGraphExecKernelNodeSetParams_v2"}) {
    SetUp();
    steps(6);
    RecordingDriver::fails[name] = CUDA_ERROR_OUT_OF_MEMORY;
    for (std::uint64_t number = 0; number < 10; ++number) steps(1, number);
    EXPECT_TRUE(compared()) << name;
    RecordingDriver::fails.clear();
    steps(3);
    EXPECT_TRUE(compared()) << name;
  }
}

}  // namespace
}  // namespace refrain::tests
