// Repeated operations outside of all ranges whose addresses come back, or never do.
#include "tests/replay/automatic_fixture.h"

namespace refrain::tests {
namespace {

/// Layers of one structure, as a transformer has them: each operation has a weight of its layer, an activation that
/// comes back in each `period`-th step, and a workspace that all share.
class AutomaticLayers : public Automatic {
 protected:
  static constexpr std::uint64_t first = 1000, in_layer = 12, layers = 12, operations = 2 * layers * in_layer;
  void SetUp() override {
    policy::Settings settings = Program::automatic_settings();
    settings.max_graph_mib = 256;  // a graph for each address a layer has
    start(settings);
    for (std::uint64_t kernel = 0; kernel < 2 * in_layer; ++kernel)
      RecordingDriver::add_function(first + kernel, {8, 8, 8});
  }
  void layer(std::uint64_t number, std::uint64_t from, std::uint64_t activations) {
    for (std::uint64_t kernel = 0; kernel < in_layer; ++kernel) {
      const std::uint64_t place = number * in_layer + kernel;
      program->launch(first + from + kernel,
                      {memory + 0x1000 * place, memory + 0x1000000 + 0x1000 * place + activations, memory + 0x8000000});
    }
  }
  void many(int steps, std::uint64_t period) {
    for (int number = 0; number < steps; ++number, ++count_) {
      const std::uint64_t activations = 0x200000 * (count_ % period);
      for (std::uint64_t each = 0; each < layers; ++each) layer(each, 0, activations);
      for (std::uint64_t each = layers; each-- > 0;) layer(each, in_layer, activations);
      if (count_ % 4 == 3) program->synchronize();
    }
  }
  double patched_share(int steps, std::uint64_t period) {
    const std::uint64_t before = total().patched;
    const std::uint64_t found = replayed([&] { many(steps, period); });
    EXPECT_GE(found, static_cast<std::uint64_t>(steps) * operations * 97 / 100);
    return static_cast<double>(total().patched - before) / static_cast<double>(found);
  }

 private:
  std::uint64_t count_ = 0;
};

TEST_F(AutomaticLayers, addresses_that_come_back_need_no_patch) {
  for (const std::uint64_t period : {1u, 2u, 3u, 7u}) {
    SetUp();
    many(60, period);
    EXPECT_LE(patched_share(21, period), 0.1) << "period " << period;
    program->synchronize();  // a piece may reach into the next step
    EXPECT_TRUE(compared());
  }
}

TEST_F(AutomaticLayers, addresses_that_never_come_back_are_patched_and_nothing_grows) {
  many(60, 1 << 20);
  const std::uint64_t variants = total().variants, builds = RecordingDriver::calls["cuGraphInstantiateWithFlags"];
  EXPECT_GE(patched_share(20, 1 << 20), 0.5);
  EXPECT_EQ(total().variants, variants);
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], static_cast<int>(builds));
  EXPECT_TRUE(compared());
}

TEST_F(AutomaticLayers, graphs_for_addresses_that_have_not_come_back_are_given_up) {
  many(60, 1 << 20);
  const std::uint64_t graphs = total().graphs;
  many(400, 1 << 20);
  EXPECT_LE(total().graphs, graphs / 2);
  EXPECT_GE(patched_share(20, 1 << 20), 0.5);
  EXPECT_TRUE(compared());
}

TEST_F(Automatic, addresses_that_never_return_do_not_fill_the_memory) {
  std::uint64_t base = memory;
  auto moving = [&] {
    for (std::uint64_t kernel = 0; kernel < kernels; ++kernel) program->launch(200 + kernel, {base + 4096 * kernel, 5});
    base += 1 << 20;
    program->synchronize();
  };
  for (int number = 0; number < 300; ++number) moving();
  const std::uint64_t variants = total().variants, builds = RecordingDriver::calls["cuGraphInstantiateWithFlags"];
  EXPECT_EQ(replayed([&] {
              for (int number = 0; number < 100; ++number) moving();
            }),
            100 * kernels);
  EXPECT_EQ(total().variants, variants);
  EXPECT_EQ(RecordingDriver::calls["cuGraphInstantiateWithFlags"], static_cast<int>(builds));
  EXPECT_TRUE(compared());
}

}  // namespace
}  // namespace refrain::tests
