// Promises that need more than one pass: every byte is patched, graphs follow what they rely on, limits hold.
#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

using replay::EntryPoint;

const CUstream one_stream = reinterpret_cast<CUstream>(std::uintptr_t{0x12});
const CUstream other_stream = reinterpret_cast<CUstream>(std::uintptr_t{0x14});

TEST_F(Engine, every_operation_of_a_segment_is_patched) {
  start();
  for (std::uint64_t step = 0; step < 6; ++step) {
    program->in_region([&] {
      program->launch(first, {step, 10});
      program->launch(second, {20, 21});
      program->launch(third, {30, step});
    });
    program->synchronize();
  }
  EXPECT_EQ(program->counters().replayed, 15u);
  EXPECT_EQ(program->counters().patched, 10u);
}

TEST_F(Engine, a_grid_alone_is_patched) {
  start();
  for (unsigned step = 0; step < 4; ++step) {
    program->in_region([&] {
      program->launch(first, {1, 10}, 4 + step);
      program->launch(second, {20, 21});
    });
    program->synchronize();
  }
  EXPECT_EQ(program->counters().replayed, 6u);
}

TEST_F(Engine, values_of_memsets_and_sizes_of_copies_are_patched) {
  start();
  for (unsigned step = 0; step < 6; ++step) {
    program->in_region([&] {
      program->memset(0x1000, step, 16);
      program->copy(0x3000, 0x2000, 64 + 4 * step);
      program->launch(first, {0x1000, 1});
    });
    program->synchronize();
  }
  EXPECT_EQ(program->counters().replayed, 15u);
}

TEST_F(Engine, attributes_of_a_launch_are_kept_by_replay_and_flush) {
  start();
  CUlaunchAttribute priority{};
  priority.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  priority.value.priority = -1;
  auto with_attribute = [&](bool interrupt) {
    program->in_region([&] {
      program->launch(first, {1, 10}, 1, nullptr, 32, {priority});
      if (interrupt) program->engine->order_all(EntryPoint::cuCtxSynchronize);
      program->launch(second, {20, 2});
    });
  };
  with_attribute(false);
  program->synchronize();
  with_attribute(true);
  with_attribute(false);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 2u);
  EXPECT_EQ(program->counters().flushed, 1u);
}

/// The attribute of a launch that need not wait for the kernel before it to end.
CUlaunchAttribute may_begin_early() {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  attribute.value.programmaticStreamSerializationAllowed = 1;
  return attribute;
}

TEST_F(Engine, kernels_that_may_begin_early_may_do_so_in_a_graph) {
  start();
  auto one_pass = [&](std::uint64_t value) {
    program->in_region([&] {
      program->launch(first, {value, 10});
      program->launch(second, {20, value}, 1, nullptr, 32, {may_begin_early()});
      program->launch(third, {value, 30});
      program->launch(second, {value, 30}, 1, nullptr, 32, {may_begin_early()});
    });
    program->synchronize();
  };
  for (std::uint64_t value = 0; value < 4; ++value) one_pass(value);
  EXPECT_EQ(program->counters().replayed, 12u);
}

TEST_F(Engine, a_driver_that_refuses_early_edges_gets_full_ones) {
  start();
  auto one_pass = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->memset(0x1000, 7, 16);
      program->launch(second, {20, 1});
      program->launch(third, {20, 1}, 1, nullptr, 32, {may_begin_early()});
    });
  };
  one_pass();
  RecordingDriver::fails["cuGraphAddDependencies_v2"] = CUDA_ERROR_INVALID_VALUE;
  program->synchronize();
  one_pass();
  EXPECT_EQ(program->counters().replayed, 4u);
  ASSERT_EQ(RecordingDriver::executed.size(), program->expected.size());
  program->expected.back().attributes = 0;  // in a graph with full edges nothing is left of it
  program->synchronize();
}

TEST_F(Engine, kernels_that_a_rule_keeps_eager_are_never_held) {
  policy::Settings settings = Program::region_settings();
  settings.operations.push_back({"ncclDevKernel*", policy::Action::eager});
  start(settings);
  RecordingDriver::add_function(301, {8, 8}, true, "ncclDevKernel_AllReduce");
  auto with_collective = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(second, {20, 2});
      program->launch(301, {3, 4});
      EXPECT_TRUE(compared()) << "it runs at once, and after what came before it";
      program->launch(third, {30, 31});
      program->launch(first, {5, 6});
    });
    program->synchronize();
  };
  for (int round = 0; round < 4; ++round) with_collective();
  EXPECT_EQ(program->counters().replayed, 3u * 4);
}

TEST_F(Engine, a_stream_of_its_own_for_each_role) {
  start();
  auto on = [&](CUstream last) {
    program->in_region([&] {
      for (const CUstream stream : {one_stream, other_stream, last}) {
        program->launch(first, {1, 10}, 1, stream);
        program->launch(second, {20, 2}, 1, stream);
      }
    });
    program->synchronize();
  };
  for (int round = 0; round < 3; ++round) on(one_stream);
  EXPECT_EQ(program->counters().variants, 1u);
  on(other_stream);
  EXPECT_EQ(program->counters().variants, 2u) << "its last two belong to another role";
  const std::uint64_t held = program->counters().held;
  const CUstream third_stream = reinterpret_cast<CUstream>(std::uintptr_t{0x16});
  program->in_region([&] {
    program->launch(first, {1, 10}, 1, third_stream);
    program->launch(second, {20, 2}, 1, third_stream);
  });
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().held, held) << "a graph of one stream is launched on no other";
}

TEST_F(Engine, memory_that_was_released_makes_memsets_and_copies_be_patched_again) {
  start();
  auto fill = [&] {
    program->in_region([&] {
      program->memset(0x1000, 0, 16);
      program->copy(0x3000, 0x2000, 64);
    });
    program->synchronize();
  };
  for (int round = 0; round < 3; ++round) fill();
  EXPECT_EQ(program->counters().patched, 0u);
  program->engine->memory_ends();
  fill();
  EXPECT_EQ(program->counters().patched, 2u);
  fill();
  EXPECT_EQ(program->counters().patched, 2u);
}

TEST_F(Engine, code_that_is_unloaded_in_a_pass_is_not_used_by_its_rest) {
  policy::Settings settings = Program::region_settings();
  settings.segment_max = 2;
  start(settings);
  auto four = [&](bool unload) {
    program->in_region([&] {
      program->launch(first, {1, 10});
      program->launch(second, {20, 2});
      if (unload) program->engine->code_unloads(1);
      program->launch(third, {30, 31});
      if (unload) {
        EXPECT_TRUE(compared()) << "nothing is held for a graph of unloaded code";
      }
      program->launch(first, {3, 4});
    });
  };
  four(false);
  program->synchronize();
  four(true);
  EXPECT_TRUE(compared());
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], 1);
}

TEST_F(Engine, a_handle_of_unloaded_code_may_be_another_function_later) {
  start();
  pass();
  program->synchronize();
  pass();
  program->engine->code_unloads(1);
  RecordingDriver::add_function(first, {8});
  auto other = [&](std::uint64_t value) {
    program->in_region([&] {
      program->launch(first, {value});
      program->launch(second, {value, 2});
    });
    program->synchronize();
  };
  for (std::uint64_t round = 0; round < 3; ++round) other(round);
  EXPECT_TRUE(compared());
  EXPECT_EQ(program->counters().replayed, 3u + 4u);
}

TEST_F(Engine, a_state_that_launches_read_makes_graphs_be_built_again) {
  start();
  pass();
  program->synchronize();
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], 1);
  program->engine->state_changes(EntryPoint::cuCtxSetLimit);
  pass();
  program->synchronize();
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], 2);
  pass();
  EXPECT_TRUE(compared());
}

TEST_F(Engine, a_graph_is_destroyed_behind_its_last_launch) {
  start();
  auto on_stream = [&] {
    program->in_region([&] {
      program->launch(first, {1, 10}, 1, one_stream);
      program->launch(second, {20, 2}, 1, one_stream);
    });
  };
  on_stream();
  program->synchronize();
  on_stream();
  program->engine->code_unloads(1);
  RecordingDriver::fails["cuStreamQuery"] = CUDA_ERROR_NOT_READY;
  program->engine->safe_point();
  EXPECT_EQ(RecordingDriver::queries, std::vector<CUstream>{one_stream});
  EXPECT_EQ(RecordingDriver::events, std::vector<CUstream>{one_stream}) << "the stream still works";
  EXPECT_EQ(RecordingDriver::calls["cuGraphExecDestroy"], 1) << "when the event has passed";
}

TEST_F(Engine, graphs_of_what_the_program_has_left_behind_make_room) {
  policy::Settings settings = Program::region_settings();
  settings.max_graph_mib = 1;
  settings.max_variants = 4096;
  settings.segment_max = 2;
  start(settings);
  constexpr std::uint64_t bodies = 12, begin = 1000;
  for (std::uint64_t body = 0; body < 2 * bodies; ++body) RecordingDriver::add_function(begin + body, {8, 8});
  auto passes_of = [&](std::uint64_t from, int rounds) {
    const std::uint64_t before = program->counters().replayed;
    for (int round = 0; round < rounds; ++round) {
      for (std::uint64_t body = from; body < from + bodies; ++body) {
        program->in_region([&] {
          for (std::uint64_t index = 0; index < 4; ++index) program->launch(begin + body, {index, body});
        });
        program->synchronize();
      }
    }
    return program->counters().replayed - before;
  };
  const std::uint64_t some = passes_of(0, 20);
  EXPECT_GT(some, 0u);
  EXPECT_LT(some, 20 * bodies * 4 * 3 / 4) << "there is no room for all";
  EXPECT_GT(program->counters().graph_bytes, std::uint64_t{1} << 19);
  EXPECT_LE(program->counters().graph_bytes, std::uint64_t{1} << 20);
  const int made = RecordingDriver::calls["cuGraphInstantiateWithFlags"];
  passes_of(0, 20);
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], made) << "what is used keeps its room";
  std::uint64_t looks = 0;
  for (const auto& cause : program->counters().fallbacks)
    looks += cause.reason == capture::Reason::memory_limit ? cause.count : 0;
  EXPECT_GT(looks, 0u);
  EXPECT_LE(looks, 1u + 40u) << "one look for room in as many passes as there are variants";
  passes_of(bodies, 20);
  EXPECT_GT(passes_of(bodies, 20), 0u) << "the first ones have made room";
  EXPECT_LE(program->counters().graph_bytes, std::uint64_t{1} << 20);
}

TEST_F(Engine, without_memory_for_sequences_or_graphs_everything_passes) {
  policy::Settings settings = Program::region_settings();
  settings.max_host_mib = 0;
  start(settings);
  for (int round = 0; round < 4; ++round) {
    pass();
    program->synchronize();
  }
  EXPECT_EQ(program->counters().variants, 0u);
  settings.max_host_mib = 256;
  settings.max_graph_mib = 0;
  start(settings);
  for (int round = 0; round < 4; ++round) {
    pass();
    program->synchronize();
  }
  EXPECT_EQ(program->counters().held, 0u);
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], 0);
}

// A variant grows where it is cut; what is taken off the sum when it goes is what it had come to.
TEST_F(Engine, the_host_memory_of_variants_adds_up) {
  auto host_bytes = [&] {
    capture::CountersRecord record;
    program->engine->counters(record);
    EXPECT_EQ(record.total.host_bytes, record.regions.front().host_bytes);
    return record.total.host_bytes;
  };
  // Five segments, however slow the machine is.
  constexpr std::uint64_t operations = 130, of_segment = 26;
  auto interrupted = [&](std::uint64_t before) {
    program->in_region([&] {
      for (std::uint64_t number = 0; number < operations; ++number) {
        if (number == before) program->engine->order_all(EntryPoint::cuMemAlloc_v2);
        program->launch(first, {number, 10});
      }
    });
    program->synchronize();
  };
  policy::Settings settings = Program::region_settings();
  settings.segment_max = 32;
  start(settings);
  interrupted(operations);
  const std::uint64_t whole = host_bytes();
  EXPECT_GT(whole, operations * sizeof(capture::Operation));
  for (std::uint64_t place = of_segment / 2; place < operations; place += of_segment) {
    for (int round = 0; round < 6; ++round) interrupted(place);
  }
  EXPECT_GT(host_bytes(), whole) << "cut";
  program->engine->code_unloads(1);
  EXPECT_EQ(program->counters().variants, 0u);
  EXPECT_EQ(host_bytes(), 0u);
}

}  // namespace
}  // namespace refrain::tests
