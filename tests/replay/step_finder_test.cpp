// Steps found in made-up programs: as sequences of kernels, with what training does besides.
#include "replay/step_finder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

namespace refrain::tests {
namespace {

using replay::StepFinder;

/// Launches kernels by number, and notes where the finder saw a step begin.
class Program {
 public:
  explicit Program(std::uint64_t seed) : random_(seed) {}
  void launch(std::uint64_t kernel) {
    // As the engine does: the operation that comes and the five before it.
    std::uint64_t context = kernel + 1;
    for (unsigned back = 1; back < 6; ++back) context = context * 0x9e3779b97f4a7c15 + last_[(count_ - back) % 8];
    last_[count_ % 8] = kernel + 1;
    context ^= context >> 31;
    context *= 0xbf58476d1ce4e5b9;
    if (finder.operation((context ^ context >> 29) | 1)) begins.push_back(count_);
    ++count_;
  }
  /// `count` kernels that come in this order nowhere else.
  void block(std::uint64_t name, unsigned count) {
    for (unsigned index = 0; index < count; ++index) launch((name << 32) + index % 23 + (index * index) % 7 * 100);
  }
  void loop(unsigned times, const std::function<void()>& body) {
    for (unsigned time = 0; time < times; ++time) body();
  }
  unsigned random(unsigned least, unsigned most) {
    return std::uniform_int_distribution<unsigned>(least, most)(random_);
  }
  std::uint64_t count() const { return count_; }
  /// Steps begun since an operation.
  std::size_t begun(std::uint64_t since) const {
    return static_cast<std::size_t>(begins.end() - std::lower_bound(begins.begin(), begins.end(), since));
  }

  StepFinder finder;
  std::vector<std::uint64_t> begins;

 private:
  std::mt19937_64 random_;
  std::uint64_t last_[8] = {};
  std::uint64_t count_ = 8;
};

void forward(Program& program, unsigned layers = 12, unsigned size = 40) {
  program.block(1, 9);
  program.loop(layers, [&] { program.block(2, size); });
  program.block(3, 14);
}

void backward(Program& program, unsigned layers = 12, unsigned size = 40) {
  program.block(4, 21);
  program.loop(layers, [&] { program.block(5, 2 * size); });
  program.block(6, 5);
}

void optimizer(Program& program) {
  program.block(7, 12);
  program.loop(30, [&] { program.block(8, 6); });
}

void train(Program& program) {
  forward(program);
  backward(program);
  optimizer(program);
}

void evaluate(Program& program, unsigned batches) {
  program.loop(batches, [&] {
    program.block(20, 11);
    forward(program);
    program.block(21, 30);
  });
}

/// Runs steps and says how many were found, from `from` on, and how often the finder changed its mind since.
struct Found {
  double a_step;  ///< begins, over the steps
  std::uint64_t changes;
};
Found run(Program& program, unsigned steps, unsigned from, const std::function<void(unsigned)>& step) {
  std::uint64_t since = 0, generation = 0;
  for (unsigned index = 0; index < steps; ++index) {
    if (index == from) {
      since = program.count();
      generation = program.finder.generation();
    }
    step(index);
  }
  return {static_cast<double>(program.begun(since)) / (steps - from), program.finder.generation() - generation};
}

TEST(StepFinder, finds_the_step_of_a_training_loop) {
  Program program(1);
  program.block(100, 5000);
  const Found found = run(program, 200, 40, [&](unsigned) { train(program); });
  EXPECT_EQ(found.a_step, 1);
  EXPECT_EQ(found.changes, 0u);
  EXPECT_NEAR(static_cast<double>(program.finder.period()), 1681, 30);
  EXPECT_FALSE(program.finder.lost());
  EXPECT_LE(program.finder.generation(), 3u);
}

TEST(StepFinder, small_steps) {
  Program program(1);
  const Found found = run(program, 5000, 200, [&](unsigned) {
    program.loop(3, [&] { program.block(1, 13); });
    program.loop(3, [&] { program.block(2, 20); });
    program.block(3, 10);
  });
  EXPECT_EQ(found.a_step, 1);
  EXPECT_EQ(found.changes, 0u);
}

TEST(StepFinder, one_step_of_100000_operations) {
  Program program(1);
  const Found found = run(program, 80, 60, [&](unsigned) {
    forward(program, 60, 500);
    backward(program, 60, 500);
    program.loop(400, [&] { program.block(8, 25); });
  });
  EXPECT_EQ(found.a_step, 1);
  EXPECT_EQ(found.changes, 0u);
  EXPECT_LE(program.finder.generation(), 12u) << "loops taken for the step on the way";
}

// Steps or microbatches, but the same to the end. Where an evaluation every few steps is a good part of all operations,
// a few steps with their evaluation look like a step: a loop, and what comes after it. So it is for 16 of 300 shapes.
TEST(StepFinder, programs_of_any_shape) {
  unsigned coarse = 0;
  const unsigned seeds = std::getenv("REFRAIN_TEST_PRINT") != nullptr ? 300 : 20;
  for (unsigned seed = 1; seed <= seeds; ++seed) {
    Program program(seed);
    const unsigned layers = program.random(1, 40), size = program.random(5, 80), micro = program.random(1, 6);
    const unsigned parameters = program.random(1, 200), kernels = program.random(1, 8), other = program.random(0, 500);
    const unsigned every = program.random(5, 100), batches = program.random(0, 20), noise = program.random(0, 5000);
    for (unsigned index = 0; index < noise; ++index) program.launch(program.random(1'000'000, 2'000'000));
    unsigned begun = 0;
    const Found found = run(program, 1500, 1000, [&](unsigned index) {
      const std::uint64_t before = program.count();
      program.loop(micro, [&] {
        forward(program, layers, size);
        program.block(50, other);
        backward(program, layers, size);
      });
      program.loop(parameters, [&] { program.block(8, kernels); });
      if (index >= 1000) begun += program.begun(before) > 0 ? 1 : 0;
      if (index % every == 0) evaluate(program, batches);
    });
    EXPECT_EQ(found.changes, 0u) << seed;
    // After an evaluation the marker may be preceded by something else, and be another context.
    if (begun + 500 / every + 1 >= 500) continue;
    ++coarse;
    EXPECT_NEAR(found.a_step * every, 1, 0.1) << seed << ", every " << every;
  }
  if (std::getenv("REFRAIN_TEST_PRINT") != nullptr) std::printf("%u of %u shapes with evaluation\n", coarse, seeds);
  EXPECT_LE(coarse, seeds / 6);
}

// Batches of an evaluation may count as steps or not, but every step of the training does.
TEST(StepFinder, evaluation_does_not_end_the_workload) {
  for (const unsigned batches : {3u, 20u, 60u}) {
    Program program(1);
    std::size_t begun = 0;
    const Found found = run(program, 1000, 300, [&](unsigned index) {
      const std::uint64_t before = program.count();
      train(program);
      if (index >= 300) begun += program.begun(before);
      if (index % 50 == 49) evaluate(program, batches);
      if (index % 10 == 9) program.block(30, 7);
      if (index % 200 == 199) program.block(31, 3000);
    });
    EXPECT_EQ(begun, 700u) << batches;
    EXPECT_EQ(found.changes, 0u) << batches;
    EXPECT_LE(program.finder.generation(), 3u) << batches;
  }
}

// The evaluation is long enough to be taken for the workload, and comes first.
TEST(StepFinder, an_evaluation_as_long_as_the_training_between) {
  Program program(1);
  evaluate(program, 100);
  const Found found = run(program, 6000, 3500, [&](unsigned index) {
    train(program);
    if (index % 200 == 199) evaluate(program, 1000);
  });
  EXPECT_GE(found.a_step, 0.99) << "steps of the training, batches of the evaluation, or both";
  EXPECT_EQ(found.changes, 0u);
}

TEST(StepFinder, gradient_accumulation_is_found_as_microbatches_or_as_steps) {
  for (const unsigned micro : {2u, 4u, 8u, 16u}) {
    Program program(1);
    const Found found = run(program, 200, 100, [&](unsigned) {
      program.loop(micro, [&] {
        forward(program);
        backward(program);
      });
      optimizer(program);
    });
    EXPECT_TRUE(found.a_step == 1 || found.a_step == micro) << found.a_step;
    EXPECT_EQ(found.changes, 0u);
  }
}

TEST(StepFinder, pipeline_schedule) {
  for (const unsigned micro : {8u, 16u, 64u}) {
    Program program(1);
    const unsigned ahead = 4;
    const Found found = run(program, 300, 150, [&](unsigned) {
      program.loop(ahead, [&] { forward(program); });
      program.loop(micro - ahead, [&] {
        forward(program);
        backward(program);
      });
      program.loop(ahead, [&] { backward(program); });
      optimizer(program);
    });
    // A place where a backward pass follows a forward pass comes less often.
    EXPECT_TRUE(found.a_step == 1 || found.a_step == micro || found.a_step == micro - ahead)
        << micro << ": " << found.a_step;
    EXPECT_EQ(found.changes, 0u) << micro;
  }
}

TEST(StepFinder, experts_of_random_count) {
  for (unsigned seed = 1; seed <= 50; ++seed) {
    Program program(seed);
    const Found found = run(program, 400, 100, [&](unsigned index) {
      const auto layers = [&](std::uint64_t attention, std::uint64_t expert) {
        program.loop(8, [&] {
          program.block(attention, 30);
          program.loop(program.random(1, 16), [&] { program.block(expert, 6); });
        });
      };
      program.block(1, 9);
      layers(2, 3);
      program.block(4, 21);
      layers(5, 6);
      optimizer(program);
      if (index % 50 == 49) evaluate(program, 10);
    });
    EXPECT_NEAR(found.a_step, 1.1, 0.12) << "with the batches of the evaluation or without; seed " << seed;
    EXPECT_EQ(found.changes, 0u) << seed;
  }
}

TEST(StepFinder, another_workload_is_told_and_found) {
  Program program(1);
  run(program, 500, 0, [&](unsigned) { train(program); });
  const std::uint64_t before = program.finder.generation();
  const auto other = [&](unsigned) {
    program.loop(5, [&] { program.block(41, 100); });
    program.loop(5, [&] { program.block(42, 150); });
    program.block(43, 700);
  };
  const Found found = run(program, 500, 200, other);
  EXPECT_GT(program.finder.generation(), before);
  EXPECT_EQ(found.a_step, 1);
  EXPECT_EQ(found.changes, 0u);
}

// Its marker is of both: the length of the step tells.
TEST(StepFinder, steps_of_another_length_are_another_workload) {
  Program program(1);
  run(program, 500, 0, [&](unsigned) { train(program); });
  const std::uint64_t before = program.finder.generation();
  const Found found = run(program, 500, 200, [&](unsigned) {
    forward(program, 24);
    backward(program, 24);
    optimizer(program);
  });
  EXPECT_GT(program.finder.generation(), before);
  EXPECT_EQ(found.a_step, 1);
  EXPECT_EQ(found.changes, 0u);
}

TEST(StepFinder, the_end_of_the_workload_is_told) {
  Program program(1);
  run(program, 100, 0, [&](unsigned) { train(program); });
  EXPECT_FALSE(program.finder.lost());
  for (unsigned index = 0; index < 20'000; ++index) program.launch(1'000'000 + index);
  EXPECT_TRUE(program.finder.lost());
  for (unsigned index = 0; index < 5'000'000; ++index) program.launch(2'000'000 + index);
  EXPECT_EQ(program.finder.period(), 0u);
}

TEST(StepFinder, noise_has_no_steps) {
  for (unsigned seed = 1; seed <= 5; ++seed) {
    for (const unsigned kinds : {1u, 3u, 10u, 100u, 10'000u, 1'000'000u}) {
      std::mt19937_64 random(seed);
      StepFinder finder;
      std::size_t begins = 0;
      for (unsigned index = 0; index < 1'000'000; ++index)
        begins += finder.operation((random() % kinds + 1) * 0x9e3779b97f4a7c15 | 1) ? 1 : 0;
      EXPECT_EQ(begins, 0u) << seed << ' ' << kinds;
    }
  }
}

// Layers in no order: every context comes again and again, none of them evenly.
TEST(StepFinder, pieces_in_random_order_have_no_steps) {
  std::size_t wrong = 0;
  for (unsigned seed = 1; seed <= 40; ++seed) {
    Program program(seed);
    while (program.count() < 1'000'000) program.block(program.random(1, 30), program.random(20, 200));
    wrong += program.begins.empty() ? 0 : 1;
  }
  EXPECT_EQ(wrong, 0u);
}

TEST(StepFinder, costs_little) {
  static_assert(sizeof(StepFinder) < 16 << 10);
  const auto ns = [](std::vector<std::uint64_t>& contexts, StepFinder& finder, unsigned rounds) {
    const auto start = std::chrono::steady_clock::now();
    std::uint64_t begins = 0;
    for (unsigned round = 0; round < rounds; ++round)
      for (const std::uint64_t context : contexts) begins += finder.operation(context) ? 1 : 0;
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    EXPECT_LE(begins, std::uint64_t{rounds} * contexts.size());
    return took.count() / static_cast<double>(rounds * contexts.size());
  };
  std::mt19937_64 random(1);
  std::vector<std::uint64_t> step(2000), noise(1'000'000);
  for (auto& context : step) context = random() | 1;
  for (auto& context : noise) context = random() | 1;
  StepFinder steady, searching;
  ns(step, steady, 100);
  ASSERT_EQ(steady.period(), 2000u);
  RecordProperty("ns_steady_x1000", static_cast<int>(ns(step, steady, 5000) * 1000));
  RecordProperty("ns_searching_x1000", static_cast<int>(ns(noise, searching, 3) * 1000));
  if (std::getenv("REFRAIN_TEST_PRINT") != nullptr)
    std::printf("steady %.2f ns, searching %.2f ns\n", ns(step, steady, 5000), ns(noise, searching, 1));
}

}  // namespace
}  // namespace refrain::tests
