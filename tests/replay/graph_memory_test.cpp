// Which of many sequences have graphs where there is no memory for all: data decides which of them a step takes.
#include <algorithm>
#include <random>

#include "replay/region.h"
#include "tests/replay/automatic_fixture.h"

namespace refrain::tests {
namespace {

/// Sequences of six launches between two waits, which take two graphs each, with memory for eight graphs.
class GraphMemory : public Automatic {
 protected:
  static constexpr std::uint64_t in_sequence = 6, base = 2000, most = 100;
  void SetUp() override {
    policy::Settings settings = Program::automatic_settings();
    settings.max_graph_mib = 1;
    start_with_kernels(settings);
    for (std::uint64_t kernel = 0; kernel < most * in_sequence; ++kernel)
      RecordingDriver::add_function(base + kernel, {8, 8});
  }
  void sequence(std::uint64_t which) {
    for (std::uint64_t kernel = 0; kernel < in_sequence; ++kernel)
      program->launch(base + which * in_sequence + kernel, {memory + 4096 * kernel, which});
    program->synchronize();
  }
  /// Steps of the first `common` sequences and of `more` of the `rare` ones after them, which take turns.
  void steps_of(int count, std::uint64_t common, std::uint64_t more, std::uint64_t rare) {
    for (int step = 0; step < count; ++step, turn_ += more) {
      for (std::uint64_t which = 0; which < common; ++which) sequence(which);
      for (std::uint64_t which = 0; which < more; ++which) sequence(common + (turn_ + which) % rare);
    }
  }
  /// Launches of the first `common` sequences that graphs made while `body` runs.
  template <typename Body>
  std::uint64_t by_graph(std::uint64_t common, Body body) {
    const auto before = static_cast<std::ptrdiff_t>(RecordingDriver::executed.size());
    body();
    return static_cast<std::uint64_t>(std::count_if(
        RecordingDriver::executed.begin() + before, RecordingDriver::executed.end(), [&](const Executed& operation) {
          return operation.by_graph && operation.function >= base && operation.function < base + common * in_sequence;
        }));
  }
  int builds() { return RecordingDriver::calls["cuGraphInstantiateWithFlags"]; }

 private:
  std::uint64_t turn_ = 0;
};

TEST_F(GraphMemory, what_comes_in_each_step_has_graphs) {
  constexpr std::uint64_t common = 4, steps_seen = 48;
  steps_of(400, common, 2, 96);
  EXPECT_EQ(by_graph(common, [&] { steps_of(steps_seen, common, 2, 96); }), steps_seen * common * in_sequence);
  EXPECT_TRUE(compared());
}

// There is room for one more than what always comes: the others would take turns, and be built anew each time.
TEST_F(GraphMemory, what_comes_too_rarely_is_not_built_again_and_again) {
  steps_of(200, 3, 2, 96);
  const int before = builds();
  EXPECT_LE(before, 10) << "and what is new gets none for its first time";
  steps_of(400, 3, 2, 96);
  EXPECT_LE(builds(), before + 2);
  EXPECT_TRUE(compared());
}

// As after an evaluation: what needs memory meanwhile takes what it needs, and no more.
TEST_F(GraphMemory, what_comes_back_finds_most_of_its_graphs) {
  steps_of(20, 4, 0, 1);
  EXPECT_EQ(total().graphs, 8u);
  for (int number = 0; number < 40; ++number) sequence(50);
  EXPECT_EQ(total().graphs, 8u);
  const int before = builds();
  EXPECT_EQ(by_graph(4, [&] { steps_of(1, 4, 0, 1); }), 3 * in_sequence);
  EXPECT_EQ(builds(), before);
  EXPECT_TRUE(compared());
}

/// Steps that begin alike and go on in another order each time.
class ComesOnce : public Automatic {
 protected:
  void steps_with_head(int count, std::uint64_t head) {
    for (int number = 0; number < count; ++number) {
      step(5, 0, head);
      for (std::uint64_t at = head; at < kernels; ++at) one(head + random_() % (kernels - head));
      program->synchronize();
    }
  }
  static int builds() { return RecordingDriver::calls["cuGraphInstantiateWithFlags"]; }

 private:
  std::mt19937 random_{1};
};

TEST_F(ComesOnce, what_came_once_gets_no_graphs) {
  steps_with_head(200, 8);
  EXPECT_GE(total().variants, 30u) << "all of them with the head";
  EXPECT_LE(builds(), 8);
  EXPECT_TRUE(compared());
}

TEST_F(ComesOnce, the_part_that_comes_again_is_replayed) {
  constexpr std::uint64_t head = 24;
  steps_with_head(60, head);
  EXPECT_GE(replayed([&] { steps_with_head(40, head); }), 40 * head / 2);
  EXPECT_TRUE(compared());
}

TEST(Region, the_variant_that_was_left_behind_for_longest_is_given_up_first) {
  const policy::RegionRule rule{"region", "region"};
  replay::Region region(rule, true);
  capture::Function function;
  for (const std::uint64_t use : {3u, 7u, 10u, 1u}) {
    capture::Sequence sequence;
    capture::Operation operation;
    operation.function = &function;
    sequence.append(operation, {}, {});
    region.variants.push_back(std::make_unique<replay::Variant>(std::move(sequence), 0, 1, 4));
    region.variants.back()->last_use = use;
    region.variants.back()->segments[0].state = replay::Segment::State::built;
  }
  region.variants[3]->segments[0].state = replay::Segment::State::waits;
  region.passes = 18;
  EXPECT_EQ(region.left_behind(), region.variants[0].get());
  region.variants[0]->busy = true;
  EXPECT_EQ(region.left_behind(), region.variants[1].get());
  region.variants[1]->handed = 1;
  EXPECT_EQ(region.left_behind(), nullptr);
  ++region.passes;
  EXPECT_EQ(region.left_behind(), region.variants[2].get());
}

}  // namespace
}  // namespace refrain::tests
