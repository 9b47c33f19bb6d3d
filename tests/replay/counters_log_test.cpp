// Counters come into the log while the job runs, whatever its passes are.
#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>

#include "capture/log_writer.h"
#include "tests/replay/program.h"

namespace refrain::tests {
namespace {

using namespace std::chrono_literals;

/// An engine whose log tells the counters each second.
class CountersLog : public testing::Test {
 protected:
  void start(policy::Settings settings) {
    folder_ = std::filesystem::temp_directory_path() / ("refrain-counters-" + std::to_string(getpid()));
    std::filesystem::create_directories(folder_);
    log_ = std::make_unique<capture::LogWriter>(capture::LogOptions{.path = (folder_ / "log.jsonl").string()});
    settings.log_interval_s = 1;
    program = std::make_unique<Program>(std::move(settings), log_.get());
  }
  void TearDown() override {
    program->engine->thread_ends();
    program = nullptr;
    log_ = nullptr;
    std::filesystem::remove_all(folder_);
  }
  int counters_told() {
    EXPECT_TRUE(log_->flush(20s));
    std::ifstream file(log_->file_name());
    int told = 0;
    for (std::string line; std::getline(file, line);) told += line.starts_with(R"({"record":"counters")") ? 1 : 0;
    return told;
  }
  /// Steps until more than `before` are told, as they must be after a second of them, or for 8 seconds: a job that is
  /// left alone for ten is not watched again in that time.
  template <typename Step>
  bool are_told_after(int before, Step step) {
    const auto end = std::chrono::steady_clock::now() + 8s;
    while (std::chrono::steady_clock::now() < end) {
      for (int number = 0; number < 100; ++number) step();
      if (counters_told() > before) return true;
    }
    return false;
  }
  std::unique_ptr<Program> program;

 private:
  std::filesystem::path folder_;
  std::unique_ptr<capture::LogWriter> log_;
};

TEST_F(CountersLog, are_told_though_no_region_has_many_passes) {
  constexpr unsigned rules = 40, rounds = 60;
  policy::Settings settings = Program::quiet_settings();
  for (unsigned rule = 0; rule < rules; ++rule) settings.regions.push_back({"range " + std::to_string(rule), "region"});
  start(settings);
  RecordingDriver::add_function(101, {8});
  for (unsigned round = 0; round < rounds; ++round) {
    for (unsigned rule = 0; rule < rules; ++rule) {
      replay::OpenRegion* pass = program->engine->enter(rule);
      if (rule % 2 != 0) program->launch(101, {rule});
      program->engine->leave(pass);
    }
    std::this_thread::sleep_for(20ms);
  }
  EXPECT_GE(counters_told(), 1);
}

TEST_F(CountersLog, are_told_of_pieces_of_which_every_other_one_is_lost) {
  start(Program::automatic_settings());
  constexpr std::uint64_t kernels = 40;
  for (std::uint64_t kernel = 0; kernel <= kernels; ++kernel) RecordingDriver::add_function(200 + kernel, {8});
  unsigned number = 0;
  EXPECT_TRUE(are_told_after(0, [&] {
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) {
      const bool other = kernel % 16 == 15 && number % 2 != 0;
      program->launch(200 + (other ? kernels : kernel), {kernel});
    }
    program->synchronize();
    ++number;
  }));
}

TEST_F(CountersLog, are_told_of_a_job_that_is_left_alone) {
  policy::Settings settings = Program::automatic_settings();
  settings.governor = true;
  start(settings);
  constexpr std::uint64_t kernels = 96;
  for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) RecordingDriver::add_function(200 + kernel, {8});
  RecordingDriver::takes["cuLaunchKernel"] = 3'000;
  RecordingDriver::takes["cuGraphLaunch"] = 300'000;
  auto step = [&] {
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) program->launch(200 + kernel, {kernel});
    program->synchronize();
    RecordingDriver::executed.clear();
    program->expected.clear();
  };
  for (int number = 0; number < 20'000 && !program->engine->passes(true); ++number) step();
  ASSERT_TRUE(program->engine->passes(true)) << "it runs eagerly, and is not watched for a while";
  EXPECT_TRUE(are_told_after(counters_told(), step));
}

TEST_F(CountersLog, are_not_told_before_the_time_has_come) {
  start(Program::region_settings());
  const auto begin = std::chrono::steady_clock::now();
  for (int pass = 0; pass < 1000; ++pass) program->in_region([] {});
  if (std::chrono::steady_clock::now() - begin < 900ms) {
    EXPECT_EQ(counters_told(), 0);
  }
}

}  // namespace
}  // namespace refrain::tests
