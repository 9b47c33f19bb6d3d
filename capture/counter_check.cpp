#include "capture/counter_check.h"

#include <fmt/format.h>

namespace refrain::capture {
namespace {

/// a + b, or the greatest number where that is out of range.
std::uint64_t sum(std::uint64_t a, std::uint64_t b) noexcept { return a + b < a ? UINT64_MAX : a + b; }

void check(const RegionCounters& counters, const std::string& name, bool final, std::vector<std::string>& found) {
  if (counters.calls != sum(counters.held, counters.passed)) {
    found.push_back(
        fmt::format("{}: calls {} are not held {} + passed {}", name, counters.calls, counters.held, counters.passed));
  }
  const std::uint64_t ended = sum(counters.replayed, counters.flushed);
  if (final ? counters.held != ended : counters.held < ended) {
    found.push_back(fmt::format("{}: held {} are not replayed {} + flushed {}", name, counters.held, counters.replayed,
                                counters.flushed));
  }
  if (counters.patched > counters.replayed) {
    found.push_back(fmt::format("{}: patched {} are more than replayed {}", name, counters.patched, counters.replayed));
  }
}

struct Column {
  const char* name;
  std::uint64_t RegionCounters::*value;
};

constexpr Column columns[] = {
    {"calls", &RegionCounters::calls},
    {"held", &RegionCounters::held},
    {"passed", &RegionCounters::passed},
    {"replayed", &RegionCounters::replayed},
    {"flushed", &RegionCounters::flushed},
    {"patched", &RegionCounters::patched},
    {"graph launches", &RegionCounters::graph_launches},
};

}  // namespace

std::vector<std::string> violations(const CountersRecord& counters) {
  std::vector<std::string> found;
  for (const RegionCounters& region : counters.regions) {
    check(region, "region " + region.region, counters.at_exit, found);
  }
  check(counters.total, "total", counters.at_exit, found);
  if (!counters.at_exit) return found;
  for (const Column& column : columns) {
    std::uint64_t regions = 0;
    for (const RegionCounters& region : counters.regions) regions = sum(regions, region.*column.value);
    const std::uint64_t total = counters.total.*column.value;
    if (regions > total) {
      found.push_back(fmt::format("total: {} {} are less than the {} of all regions", column.name, total, regions));
    }
  }
  return found;
}

}  // namespace refrain::capture
