// What the jobs of thin_loop.cu have in common: options, interleaved blocks under Refrain, the line of JSON.
//
// Owns: nothing beyond a call. Threads: one. Units: ms. Fails: with a line on stderr and exit code 2.
#pragma once

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "interpose/refrain.h"

/// One job: step() launches and returns.
class Job {
 public:
  virtual ~Job() = default;
  virtual void step() = 0;
  virtual void wait() = 0;
  virtual uint64_t checksum() = 0;
  virtual std::string about() { return ""; }
  /// A job that has a clock of its own gives the time of a block in ms; otherwise the host's clock counts.
  virtual void begin_block() {}
  virtual double end_block() { return -1; }
};

struct Options {
  bool queue = false, own_stream = false, exact = false, bare = false, bound = false;
  int steps = 1000, block_steps = 50, skip = 5, warm_up = 200;
  const char* out = nullptr;
};

inline Options parse(int count, char** words) {
  Options options;
  for (int i = 1; i < count; ++i) {
    const std::string_view word = words[i];
    const char* value = i + 1 < count ? words[i + 1] : "";
    if (word == "--stream")
      options.own_stream = true;
    else if (word == "--exact")
      options.exact = true;
    else if (word == "--bare")
      options.bare = true;
    else if (word == "--bound")
      options.bound = true;
    else if (word == "--mode")
      ++i, options.queue = std::string_view(value) == "queue";
    else if (word == "--steps")
      ++i, options.steps = std::atoi(value);
    else if (word == "--block-steps")
      ++i, options.block_steps = std::atoi(value);
    else if (word == "--skip")
      ++i, options.skip = std::atoi(value);
    else if (word == "--warm-up")
      ++i, options.warm_up = std::atoi(value);
    else if (word == "--out")
      ++i, options.out = value;
    else {
      std::fprintf(stderr, "thin_loop: unknown option %s\n", words[i]);
      std::exit(2);
    }
  }
  if (options.out == nullptr || options.steps < 1 || options.block_steps < 1) {
    std::fputs("thin_loop: --out FILE, and --steps and --block-steps of at least 1\n", stderr);
    std::exit(2);
  }
  return options;
}

/// FNV-1a.
constexpr uint64_t checksum_start = 14695981039346656037ull;
inline uint64_t add_bytes(uint64_t sum, const void* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) sum = (sum ^ static_cast<const unsigned char*>(bytes)[i]) * 1099511628211ull;
  return sum;
}

/// The counters that are told, in the order of their names in refrain.h.
class Counters {
 public:
  void add(const refrain_statistics& after, const refrain_statistics& before) {
    for (const Field& field : fields) sum_.*field.member += after.*field.member - before.*field.member;
  }
  std::string json() const {
    std::string text;
    for (const Field& field : fields) {
      text += std::string(text.empty() ? "{" : ", ") + '"' + field.name + "\": " + std::to_string(sum_.*field.member);
    }
    return text + "}";
  }

 private:
  struct Field {
    const char* name;
    uint64_t refrain_statistics::*member;
  };
  static constexpr Field fields[] = {{"launches_seen", &refrain_statistics::launches_seen},
                                     {"calls", &refrain_statistics::calls},
                                     {"held", &refrain_statistics::held},
                                     {"passed", &refrain_statistics::passed},
                                     {"replayed", &refrain_statistics::replayed},
                                     {"flushed", &refrain_statistics::flushed},
                                     {"patched", &refrain_statistics::patched},
                                     {"graph_launches", &refrain_statistics::graph_launches},
                                     {"fallbacks", &refrain_statistics::fallbacks}};
  refrain_statistics sum_{};
};

/// How steps run; `bound`: with dropped launches.
enum class Arm { eager, replay, bound };
constexpr const char* arm_names[] = {"eager", "replay", "bound"};

/// Refrain, or the library of the bound, or nothing.
struct Library {
  void (*pause)() = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "refrain_pause"));
  void (*resume)() = reinterpret_cast<void (*)()>(dlsym(RTLD_DEFAULT, "refrain_resume"));
  void (*drop)(int) = reinterpret_cast<void (*)(int)>(dlsym(RTLD_DEFAULT, "refrain_drop"));
  int (*stats)(refrain_statistics*) = reinterpret_cast<int (*)(refrain_statistics*)>(dlsym(RTLD_DEFAULT,
                                                                                           "refrain_stats"));

  void begin(Arm arm) const {
    if (pause == nullptr || arm == Arm::replay) return;
    pause();
    if (arm == Arm::bound) drop(1), resume();
  }
  void end(Arm arm) const {
    if (pause == nullptr || arm == Arm::replay) return;
    if (arm == Arm::bound) pause(), drop(0);
    resume();
  }

  bool read(refrain_statistics& statistics) const {
    statistics = {};
    statistics.size = sizeof statistics;
    return stats != nullptr && stats(&statistics) == 0;
  }
};

/// One block as JSON: ms a step, and when each step returned.
inline std::string measure_block(Job& job, const Options& options, const char* arm) {
  using Clock = std::chrono::steady_clock;
  const auto ms = [](Clock::duration time) { return std::chrono::duration<double, std::milli>(time).count(); };
  std::vector<double> times;
  times.reserve(static_cast<size_t>(options.block_steps));
  job.begin_block();
  const Clock::time_point began = Clock::now();
  Clock::time_point last = began;
  for (int i = 0; i < options.block_steps; ++i) {
    job.step();
    const Clock::time_point now = Clock::now();
    times.push_back(ms(now - last));
    last = now;
  }
  const double own = job.end_block();
  job.wait();
  const Clock::time_point end = Clock::now();
  times.back() += ms(end - last);
  const double total = own >= 0 ? own : ms(end - began);
  std::string text = std::string(R"({"arm": ")") + arm + R"(", "ms_per_step": )" +
                     std::to_string(total / options.block_steps) + R"(, "steps_ms": [)";
  for (size_t i = 0; i < times.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(times[i]);
  return text + "]}";
}

inline std::string hexadecimal(uint64_t value) {
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(value));
  return text;
}

inline int write(const Options& options, const std::string& text) {
  std::FILE* file = std::fopen(options.out, "w");
  if (file == nullptr || std::fputs((text + "\n").c_str(), file) < 0 || std::fclose(file) != 0) {
    std::fprintf(stderr, "thin_loop: cannot write %s\n", options.out);
    return 2;
  }
  return 0;
}

/// Warm-up, blocks of both arms in changing order, the result.
inline int run(Job& job, const Options& options) {
  if (options.exact) {
    for (int i = 0; i < options.steps; ++i) job.step();
    return write(options, "{\"checksum\": \"" + hexadecimal(job.checksum()) + "\"}");
  }
  for (int i = 0; i < options.warm_up; ++i) {
    job.step();
    if (i % options.block_steps == options.block_steps - 1) job.wait();
  }
  job.wait();
  const Library library;
  refrain_statistics before{}, after{};
  const bool active = library.read(before) && (!options.bound || library.drop != nullptr);
  if (!active && !options.bare) {
    std::fputs("thin_loop: no library with refrain_pause and, for --bound, refrain_drop, or it is off\n", stderr);
    return 2;
  }
  Counters counters;
  bool counted = false;
  std::string blocks;
  std::vector<Arm> arms = {Arm::eager, Arm::replay};
  if (options.bound) arms.push_back(Arm::bound);
  for (int round = 0; round < options.steps / options.block_steps; ++round) {
    for (const Arm arm : arms) {
      library.begin(arm);
      for (int i = 0; i < options.skip; ++i) job.step();
      job.wait();
      const bool read = library.read(before);
      blocks += (blocks.empty() ? "" : ",\n ") + measure_block(job, options, arm_names[static_cast<int>(arm)]);
      if (arm == Arm::replay && read && library.read(after)) counters.add(after, before), counted = true;
      library.end(arm);
    }
    std::next_permutation(arms.begin(), arms.end());  // so that a drift does not favour one
  }
  const std::string memory = library.read(after) ? "\"graph_bytes\": " + std::to_string(after.graph_bytes) +
                                                       ", \"host_bytes\": " + std::to_string(after.host_bytes) + ", "
                                                 : "";
  const std::string sum = !options.bound ? ", \"checksum\": \"" + hexadecimal(job.checksum()) + "\"" : "";
  return write(options, "{" + job.about() + memory + "\"counters\": " + (counted ? counters.json() : "null") +
                            ", \"blocks\": [" + blocks + "]" + sum + "}");
}
