// The fuzzing corpus of the NVTX functions and random programs, as an ordinary test.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>

#include "tests/nvtx/fuzz_ranges.h"

namespace refrain::tests {
namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> programs;
  for (const auto& entry : std::filesystem::directory_iterator(NVTX_CORPUS)) {
    std::ifstream file(entry.path(), std::ios::binary);
    programs.emplace_back(std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>());
  }
  EXPECT_GE(programs.size(), 5u);
  return programs;
}

TEST(NvtxFuzz, corpus_keeps_the_promises) {
  for (const std::string& program : corpus()) EXPECT_EQ(broken_range_promise(program), "");
}

TEST(NvtxFuzz, mutations_of_the_corpus_keep_the_promises) {
  const std::vector<std::string> programs = corpus();
  std::mt19937 random(20250301);
  for (int round = 0; round < 20000; ++round) {
    std::string program = programs[random() % programs.size()] + programs[random() % programs.size()];
    for (unsigned edits = 1 + random() % 8; edits > 0 && !program.empty(); --edits)
      program[random() % program.size()] = static_cast<char>(random());
    ASSERT_EQ(broken_range_promise(program), "") << round;
  }
}

TEST(NvtxFuzz, deep_nesting_keeps_its_levels) {
  std::string program(3000, '\1');
  for (std::size_t at = 1; at < program.size(); at += 2) program[at] = '\0';
  program.append(1600, '\3');
  EXPECT_EQ(broken_range_promise(program), "");
}

}  // namespace
}  // namespace refrain::tests
