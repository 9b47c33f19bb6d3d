// What the engine's tests begin with.
#pragma once

#include <chrono>
#include <thread>

#include "tests/replay/program.h"

namespace refrain::tests {

inline constexpr std::uint64_t memory = 0x7f0000000000;  // where addresses begin
inline constexpr std::uint64_t first = 101, second = 102, third = 103, branch = 104;

/// An engine with one region, and a program whose pass is three launches.
class Engine : public testing::Test {
 protected:
  void start(policy::Settings settings = Program::region_settings()) {
    program = std::make_unique<Program>(std::move(settings));
    for (const std::uint64_t function : {first, second, third, branch}) RecordingDriver::add_function(function, {8, 8});
  }
  /// What a test leaves open on this thread is not the next one's.
  void TearDown() override {
    if (program != nullptr && program->engine != nullptr) program->engine->thread_ends();
  }
  void pass(std::uint64_t a = 1, std::uint64_t b = 2) {
    program->in_region([&] {
      program->launch(first, {a, 10});
      program->launch(second, {20, b});
      program->launch(third, {30, 31});
    });
  }
  /// Until everything has executed, or for 8 seconds.
  void wait_for_all() {
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(8);
    while (RecordingDriver::executed_count.load(std::memory_order_acquire) < program->expected.size() &&
           std::chrono::steady_clock::now() < end) {
      std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }
  bool compared() { return RecordingDriver::executed == program->expected; }
  std::unique_ptr<Program> program;
};

}  // namespace refrain::tests
