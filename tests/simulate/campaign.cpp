#include "tests/simulate/campaign.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <mutex>
#include <sstream>
#include <thread>

#include "tests/simulate/generate.h"

namespace refrain::tests::simulate {
namespace {

/// Empty, or the first line in which they differ.
std::string first_difference(const std::string& bare, const std::string& refrain) {
  if (bare == refrain) return {};
  std::istringstream left(bare), right(refrain);
  std::string expected, found;
  while (true) {
    const bool has_left = static_cast<bool>(std::getline(left, expected));
    const bool has_right = static_cast<bool>(std::getline(right, found));
    if (has_left && has_right && expected == found) continue;
    return "answers: \"" + (has_left ? expected : "nothing") + "\" bare, \"" + (has_right ? found : "nothing") +
           "\" with Refrain\n";
  }
}

}  // namespace

Pair::Result Pair::compare(const Program& program) {
  Result result;
  result.bare = bare_.run(program);
  if (!result.bare.faults.empty()) {
    result.bare_is_wrong = true;
    result.divergence = "bare: " + result.bare.faults;
    return result;
  }
  result.refrain = refrain_.run(program);
  result.divergence = result.refrain.faults;
  const bool ended = result.refrain.decisions != 0;
  if (ended) result.divergence += first_difference(result.bare.answers, result.refrain.answers);
  if (ended && result.bare.executed != result.refrain.executed) {
    result.divergence += "executed: " + std::to_string(result.bare.executed) + " bare, " +
                         std::to_string(result.refrain.executed) + " with Refrain\n";
  }
  return result;
}

Totals run_seeds(const Place& place, std::uint64_t first, std::uint64_t count, int jobs) {
  Totals totals;
  std::mutex mutex;
  std::atomic<std::uint64_t> next{0};
  const auto start = std::chrono::steady_clock::now();
  const auto work = [&](int core) {
    Pair pair(place, core);
    for (std::uint64_t number = next++; number < count; number = next++) {
      const std::uint64_t seed = first + number;
      const Pair::Result result = pair.compare(generate(seed));
      const std::lock_guard lock(mutex);
      ++totals.seeds;
      totals.executed += result.refrain.executed;
      totals.held += result.refrain.held;
      totals.replayed += result.refrain.replayed;
      totals.flushed += result.refrain.flushed;
      totals.patched += result.refrain.patched;
      totals.decisions += result.refrain.decisions;
      if (result.divergence.empty()) continue;
      totals.failed.push_back(seed);
      std::printf("seed %llu diverges:\n%s", static_cast<unsigned long long>(seed), result.divergence.c_str());
      std::fflush(stdout);
    }
  };
  std::vector<std::thread> threads;
  for (int job = 0; job < jobs; ++job) threads.emplace_back(work, job);
  for (std::thread& thread : threads) thread.join();
  std::sort(totals.failed.begin(), totals.failed.end());
  totals.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return totals;
}

}  // namespace refrain::tests::simulate
