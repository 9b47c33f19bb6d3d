// simulate: see scripts/simulate, which finds the arguments.
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "tests/simulate/campaign.h"
#include "tests/simulate/expand.h"
#include "tests/simulate/generate.h"
#include "tests/simulate/shrink.h"

using namespace refrain::tests::simulate;

namespace {

constexpr const char* usage =
    "simulate --library FILE --driver-folder FOLDER [--seeds COUNT] [--first SEED] [--jobs COUNT]\n"
    "         [--seed SEED | --program FILE] [--print] [--twice COUNT] [--shrink-first COUNT]\n";

struct Options {
  Place place;
  std::map<std::string, std::string> values;
  bool has(const char* name) const { return values.count(name) != 0; }
  std::uint64_t number(const char* name, std::uint64_t otherwise) const {
    return has(name) ? std::stoull(values.at(name)) : otherwise;
  }
};

Options read_options(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string word = words[i];
    if (word == "--print")
      options.values["print"] = "";
    else if (word.starts_with("--") && i + 1 < count)
      options.values[word.substr(2)] = words[++i];
    else
      throw std::runtime_error(usage);
  }
  options.place.program = "/proc/self/exe";
  char path[4096];
  if (realpath("/proc/self/exe", path) != nullptr) options.place.program = path;
  options.place.library = options.values["library"];
  options.place.driver_folder = options.values["driver-folder"];
  return options;
}

/// Shrinks a program that diverges, prints it, and how to run it again.
void explain(Pair& pair, const Program& program, const std::string& how) {
  const bool bare_is_wrong = pair.compare(program).bare_is_wrong;
  const auto fails = [&](const Program& candidate) {
    const Pair::Result result = pair.compare(candidate);
    return !result.divergence.empty() && result.bare_is_wrong == bare_is_wrong;
  };
  constexpr int most_runs = 12000;
  const Program small = shrink(program, fails, most_runs);
  const std::string text = to_text(small);
  std::printf("%sshrunk to %zu calls:\n%s\nwhat it calls:\n%s", pair.compare(small).divergence.c_str(),
              count_calls(small), text.c_str(), describe(expand(small)).c_str());
  std::printf(
      "\nrun it again: scripts/simulate %s\nor, with the program above in a file: scripts/simulate --program FILE\n",
      how.c_str());
}

int run_one(const Options& options, const Program& program, const std::string& how) {
  if (options.has("print")) {
    std::printf("%s\n%s", to_text(program).c_str(), describe(expand(program)).c_str());
    return 0;
  }
  Pair pair(options.place, 0);
  const Pair::Result result = pair.compare(program);
  std::printf("%llu operations executed, %llu replayed, %llu flushed, %llu decisions of the schedule\n",
              static_cast<unsigned long long>(result.refrain.executed),
              static_cast<unsigned long long>(result.refrain.replayed),
              static_cast<unsigned long long>(result.refrain.flushed),
              static_cast<unsigned long long>(result.refrain.decisions));
  if (result.divergence.empty()) {
    std::printf("no divergence\n");
    return 0;
  }
  std::printf("diverges:\n%s", result.divergence.c_str());
  explain(pair, program, how);
  return 1;
}

/// Each seed twice in processes of their own: the whole schedule must be the same, byte for byte.
int run_twice(const Options& options) {
  Pair first(options.place, 0), second(options.place, 0);
  std::uint64_t differing = 0;
  const std::uint64_t count = options.number("twice", 1), begin = options.number("first", 1);
  for (std::uint64_t seed = begin; seed < begin + count; ++seed) {
    const Program program = generate(seed);
    const Outcome one = first.with_refrain(program, true), other = second.with_refrain(program, true);
    const bool same = !one.trace.empty() && one.trace == other.trace && one.answers == other.answers &&
                      one.schedule_hash == other.schedule_hash && one.replayed == other.replayed;
    if (same) continue;
    ++differing;
    std::size_t at = 0;
    while (at < one.trace.size() && at < other.trace.size() && one.trace[at] == other.trace[at]) ++at;
    const std::size_t from = at > 200 ? at - 200 : 0;
    std::printf("seed %llu: byte %zu of the trace: ...%s\n--- against ...%s\n", static_cast<unsigned long long>(seed),
                at, one.trace.substr(from, 300).c_str(), other.trace.substr(from, 300).c_str());
  }
  std::printf("%llu seeds twice, %llu differ\n", static_cast<unsigned long long>(count),
              static_cast<unsigned long long>(differing));
  return differing == 0 ? 0 : 1;
}

int run_campaign(const Options& options) {
  const std::uint64_t count = options.number("seeds", 100), first = options.number("first", 1);
  const int jobs = static_cast<int>(options.number("jobs", std::thread::hardware_concurrency()));
  const Totals totals = run_seeds(options.place, first, count, jobs);
  const auto percent = [](std::uint64_t part, std::uint64_t of) {
    return of == 0 ? 0.0 : 100.0 * static_cast<double>(part) / static_cast<double>(of);
  };
  std::uint64_t left = options.number("shrink-first", 1);
  for (const std::uint64_t seed : totals.failed) {
    if (left-- == 0) break;
    Pair pair(options.place, 0);
    std::printf("\nseed %llu\n", static_cast<unsigned long long>(seed));
    explain(pair, generate(seed), "--seed " + std::to_string(seed));
  }
  if (!totals.failed.empty()) {
    std::printf("failing seeds:");
    for (const std::uint64_t seed : totals.failed) std::printf(" %llu", static_cast<unsigned long long>(seed));
    std::printf("\n");
  }
  std::printf("%llu operations executed, %llu held\n", static_cast<unsigned long long>(totals.executed),
              static_cast<unsigned long long>(totals.held));
  std::printf("%llu operations replayed (%.1f %% of those executed), %llu patched\n",
              static_cast<unsigned long long>(totals.replayed), percent(totals.replayed, totals.executed),
              static_cast<unsigned long long>(totals.patched));
  std::printf("%.1f seeds per second, %.1f decisions of the schedule a seed\n",
              static_cast<double>(totals.seeds) / totals.seconds,
              static_cast<double>(totals.decisions) / static_cast<double>(totals.seeds));
  std::printf("%llu seeds, %zu divergences\n", static_cast<unsigned long long>(totals.seeds), totals.failed.size());
  return totals.failed.empty() ? 0 : 1;
}

}  // namespace

int main(int count, char** words) try {
  if (count == 3 && std::strcmp(words[1], "--serve") == 0) return serve(std::atoi(words[2]));
  const Options options = read_options(count, words);
  if (options.has("program")) {
    std::ifstream file(options.values.at("program"));
    std::ostringstream text;
    text << file.rdbuf();
    return run_one(options, parse(text.str()), "--program " + options.values.at("program"));
  }
  if (options.has("seed"))
    return run_one(options, generate(options.number("seed", 1)), "--seed " + options.values.at("seed"));
  if (options.has("twice")) return run_twice(options);
  return run_campaign(options);
} catch (const std::exception& error) {
  std::fprintf(stderr, "%s\n", error.what());
  return 2;
}
