// A program for the engine's tests: it makes calls through the engine as the hooks do, and remembers what eager would
// have executed.
#pragma once

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <vector>

#include "capture/log_record.h"
#include "replay/engine.h"
#include "tests/replay/recording_driver.h"

namespace refrain::tests {

class Program {
 public:
  explicit Program(policy::Settings chosen = region_settings(), capture::LogWriter* log = nullptr)
      : settings(std::move(chosen)), driver(RecordingDriver::start()) {
    engine = std::make_unique<replay::Engine>(driver, settings, log);
  }

  /// The timer and the issue thread stay out of tests that are not about them.
  static policy::Settings quiet_settings() {
    policy::Settings settings;
    settings.max_hold_us = 10'000'000;
    settings.issue_thread = false;
    return settings;
  }
  static policy::Settings region_settings() {
    policy::Settings settings = quiet_settings();
    settings.regions.push_back({"region", "region"});
    return settings;
  }
  static policy::Settings automatic_settings() {
    policy::Settings settings = quiet_settings();
    settings.automatic = true;
    settings.governor = false;
    return settings;
  }

  /// cuLaunchKernel as a hook makes it, or cuLaunchKernelEx for a launch with attributes; the arguments are spoiled
  /// when it returns.
  CUresult launch(std::uint64_t function, std::vector<std::uint64_t> values, unsigned grid = 1,
                  CUstream stream = nullptr, unsigned block = 32, std::vector<CUlaunchAttribute> attributes = {}) {
    std::vector<void*> pointers;
    pointers.reserve(values.size());
    for (std::uint64_t& value : values) pointers.push_back(&value);
    replay::KernelCall call;
    call.function = reinterpret_cast<CUfunction>(function);
    call.stream = stream;
    call.grid = {grid, 1, 1};
    call.block = {block, 1, 1};
    call.parameters = pointers.data();
    call.attributes = attributes.data();
    call.attribute_count = static_cast<unsigned>(attributes.size());
    const bool valid = grid != 0 && block <= 1024;
    if (valid) {
      Executed operation{function, {}, grid, block, 0, stream, false, RecordingDriver::context, call.attribute_count};
      for (const std::uint64_t& value : values) {
        const auto* bytes = reinterpret_cast<const std::uint8_t*>(&value);
        operation.bytes.insert(operation.bytes.end(), bytes, bytes + sizeof value);
      }
      expected.push_back(operation);
    }
    CUresult result = CUDA_SUCCESS;
    const replay::Decision decision = engine->hold(call, result);
    if (decision == replay::Decision::held) {
      for (std::uint64_t& value : values) value = 0xeeeeeeeeeeeeeeee;
      return result;
    }
    CUlaunchConfig config{grid, 1, 1, block, 1, 1, 0, stream, attributes.data(), call.attribute_count};
    result = driver.cuLaunchKernelEx(&config, call.function, pointers.data(), nullptr);
    if (decision == replay::Decision::report) engine->passed(call, result);
    return result != CUDA_SUCCESS ? result : engine->take_error();
  }

  CUresult memset(std::uint64_t address, unsigned value, std::uint64_t words) {
    replay::MemsetCall call;
    call.bytes = {address, 0, words, 1, value, 4};
    expect_words({address, value, words});
    CUresult result = CUDA_SUCCESS;
    const replay::Decision decision = engine->hold(call, result);
    if (decision == replay::Decision::held) return result;
    result = driver.cuMemsetD32Async(address, value, words, nullptr);
    if (decision == replay::Decision::report) engine->passed(call, result);
    return result;
  }

  CUresult copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    replay::CopyCall call;
    call.bytes = {to, from, bytes};
    expect_words({to, from, bytes});
    CUresult result = CUDA_SUCCESS;
    const replay::Decision decision = engine->hold(call, result);
    if (decision == replay::Decision::held) return result;
    result = driver.cuMemcpyDtoDAsync_v2(to, from, bytes, nullptr);
    if (decision == replay::Decision::report) engine->passed(call, result);
    return result;
  }

  /// cuCtxSynchronize as a hook makes it. Everything must have executed by then, in order.
  void synchronize() {
    engine->order_all(replay::EntryPoint::cuCtxSynchronize);
    EXPECT_TRUE(RecordingDriver::executed == expected);
    engine->safe_point();
  }

  template <typename Body>
  void in_region(Body body) {
    replay::OpenRegion* region = engine->enter(0);
    body();
    engine->leave(region);
  }

  capture::RegionCounters counters() {
    capture::CountersRecord record;
    engine->counters(record);
    EXPECT_EQ(record.total.calls, record.total.held + record.total.passed);
    EXPECT_EQ(record.total.held, record.total.replayed + record.total.flushed);
    return record.regions.empty() ? capture::RegionCounters{} : record.regions.front();
  }

  /// A memset or copy on the legacy stream.
  void expect_words(std::array<std::uint64_t, 3> words) {
    Executed operation;
    const auto* bytes = reinterpret_cast<const std::uint8_t*>(words.data());
    operation.bytes.assign(bytes, bytes + sizeof words);
    operation.context = RecordingDriver::context;
    expected.push_back(operation);
  }

  policy::Settings settings;
  const replay::Driver& driver;
  std::unique_ptr<replay::Engine> engine;
  std::vector<Executed> expected;
};

}  // namespace refrain::tests
