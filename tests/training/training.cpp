// A training job as frameworks run it, on the driver interface alone: NVTX ranges around attention, router and
// preprocessing, kernels in every form of launch, expert launches that follow the data, backward on a second thread.
//
//   training [--steps N] [--layers N] [--own-stream] [--dump FILE] [--statistics FILE]
//
// Prints the loss of each step and a checksum of every byte of device memory; FILE of --dump gets all of those bytes at
// the end and all losses. Output and dump are the same for every run on one device. --statistics writes what
// Refrain did from the third step on, if it is loaded.
#include <cinttypes>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "tests/training/model.h"
#include "tests/training/optimizer.h"
#include "tests/training/statistics.h"
#include "tests/training/worker.h"

namespace refrain::tests::training {
namespace {

struct Options {
  unsigned steps = 30, layers = 6;
  bool own_stream = false;
  std::string dump, statistics;
};

/// Ends the program with exit code 2 when an argument is wrong.
Options parse(int count, char** arguments) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string name = arguments[i];
    const char* value = i + 1 < count ? arguments[i + 1] : nullptr;
    if (name == "--own-stream") {
      options.own_stream = true;
      continue;
    }
    if (name == "--steps" && value != nullptr) {
      options.steps = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    } else if (name == "--layers" && value != nullptr) {
      options.layers = static_cast<unsigned>(std::strtoul(value, nullptr, 10));
    } else if (name == "--dump" && value != nullptr) {
      options.dump = value;
    } else if (name == "--statistics" && value != nullptr) {
      options.statistics = value;
    } else {
      std::fprintf(stderr, "training: unknown argument or missing value: %s\n", name.c_str());
      std::exit(2);
    }
    ++i;
  }
  if (options.steps == 0 || options.layers == 0) {
    std::fputs("training: --steps and --layers must be at least 1\n", stderr);
    std::exit(2);
  }
  return options;
}

std::uint64_t checksum(const std::vector<unsigned char>& bytes) {
  std::uint64_t sum = 0xcbf29ce484222325u;
  for (std::size_t i = 0; i + 8 <= bytes.size(); i += 8) {  // blocks are multiples of 512 bytes
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + i, 8);
    sum = (sum ^ word) * 0x100000001b3u;
    sum ^= sum >> 29;
  }
  return sum;
}

/// A sequence that can be learnt: each token follows from the one before, from a start that differs by step.
void make_batch(unsigned step, std::vector<unsigned>& tokens, std::vector<unsigned>& targets) {
  unsigned token = step * 7 % vocabulary;
  for (unsigned row = 0; row < rows; ++row) {
    tokens[row] = token;
    token = (token * 5 + 3 + (row % 13 == 12 ? step : 0)) % vocabulary;
    targets[row] = token;
  }
}

bool write_dump(const std::string& path, const std::vector<unsigned char>& bytes, const std::vector<float>& losses) {
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (file == nullptr) return false;
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file) == bytes.size() &&
                       std::fwrite(losses.data(), sizeof(float), losses.size(), file) == losses.size();
  return std::fclose(file) == 0 && written;
}

int run(const Options& options) {
  const Device device(options.own_stream);
  Memory memory;
  Model model(device, memory, options.layers);
  Optimizer optimizer(device, memory, model.kernels(), model.parameters());
  Worker backward([&device] { device.make_current(); });
  std::optional<refrain_statistics> before;
  std::vector<unsigned> tokens(rows), targets(rows);
  std::vector<float> losses;
  std::vector<unsigned char> contents;
  for (unsigned step = 1; step <= options.steps; ++step) {
    if (step == 3) before = statistics();
    make_batch(step, tokens, targets);
    model.forward(tokens, targets, options.layers, true);
    backward.run([&model] { model.backward(); });
    optimizer.step(step);
    losses.push_back(model.loss());
    contents = memory.contents();
    std::printf("step %u loss %a checksum %016" PRIx64 "\n", step, static_cast<double>(losses.back()),
                checksum(contents));
    if (step % 10 != 0) continue;
    make_batch(step + 1000, tokens, targets);
    model.forward(tokens, targets, (options.layers + 1) / 2, false);
    losses.push_back(model.loss());
    std::printf("evaluation after step %u loss %a\n", step, static_cast<double>(losses.back()));
  }
  device.synchronize();
  contents = memory.contents();
  std::printf("%zu bytes of device memory, checksum %016" PRIx64 "\n", contents.size(), checksum(contents));
  if (!options.statistics.empty() && !write_statistics(options.statistics, before, statistics())) return 4;
  if (!options.dump.empty() && !write_dump(options.dump, contents, losses)) return 4;
  return 0;
}

}  // namespace
}  // namespace refrain::tests::training

int main(int count, char** arguments) {
  const int result = refrain::tests::training::run(refrain::tests::training::parse(count, arguments));
  if (result != 0) std::fputs("training: an output file cannot be written\n", stderr);
  return result;
}
