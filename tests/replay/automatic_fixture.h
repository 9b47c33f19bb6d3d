// What the tests of repeated operations outside of all ranges begin with.
#pragma once

#include "tests/replay/engine_fixture.h"

namespace refrain::tests {

/// A training step of many kernels, none of them in a range.
class Automatic : public Engine {
 protected:
  static constexpr std::uint64_t kernels = 40, spare = 900;
  void SetUp() override { start_with_kernels(Program::automatic_settings()); }
  void start_with_kernels(const policy::Settings& settings) {
    program = nullptr;
    start(settings);
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) RecordingDriver::add_function(200 + kernel, {8, 8});
    for (std::uint64_t kernel = 0; kernel < 20; ++kernel) RecordingDriver::add_function(spare + kernel, {8});
  }
  /// The same with kernel `spare` kept eager by the policy, as collectives are.
  void start_with_an_eager_kernel() {
    policy::Settings settings = Program::automatic_settings();
    settings.operations.push_back({"kernel_900", policy::Action::eager});
    start_with_kernels(settings);
  }
  /// A step that is interrupted by what orders after each fifth kernel, or not.
  void with_allocations(bool allocates) {
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) {
      if (allocates && kernel % 5 == 4) program->engine->order_all(replay::EntryPoint::cuMemAlloc_v2);
      one(kernel);
    }
    program->synchronize();
  }
  void one(std::uint64_t kernel, std::uint64_t scalar = 5) {
    program->launch(200 + kernel, {memory + 4096 * kernel, scalar});
  }
  void step(std::uint64_t scalar = 5, std::uint64_t from = 0, std::uint64_t to = kernels) {
    for (std::uint64_t kernel = from; kernel < to; ++kernel) one(kernel, scalar);
  }
  void steps(int count, std::uint64_t scalar = 5) {
    for (int number = 0; number < count; ++number) {
      step(scalar);
      program->synchronize();
    }
  }
  /// Operations replayed while `body` runs.
  template <typename Body>
  std::uint64_t replayed(Body body) {
    const std::uint64_t before = total().replayed;
    body();
    return total().replayed - before;
  }
  capture::RegionCounters total() {
    capture::CountersRecord record;
    program->engine->counters(record);
    EXPECT_EQ(record.total.calls, record.total.held + record.total.passed);
    EXPECT_EQ(record.total.held, record.total.replayed + record.total.flushed);
    capture::RegionCounters sum;
    sum.calls = record.total.calls;
    sum.replayed = record.total.replayed;
    sum.patched = record.total.patched;
    sum.variants = record.total.variants;
    sum.graphs = record.total.graphs;
    return sum;
  }
};

}  // namespace refrain::tests
