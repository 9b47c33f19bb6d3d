// The functions of refrain.h.
#include <cstring>

#include "capture/log_record.h"
#include "interpose/guard.h"
#include "interpose/process.h"
#include "interpose/refrain.h"

namespace refrain::interpose {
namespace {

refrain_statistics statistics_of(replay::Engine& engine) {
  capture::CountersRecord counters;
  engine.counters(counters);
  refrain_statistics result{};
  result.launches_seen = counters.launches_seen;
  result.calls = counters.total.calls;
  result.held = counters.total.held;
  result.passed = counters.total.passed;
  result.replayed = counters.total.replayed;
  result.flushed = counters.total.flushed;
  result.patched = counters.total.patched;
  result.graph_launches = counters.total.graph_launches;
  result.graph_bytes = counters.total.graph_bytes;
  for (const auto& region : counters.regions) {
    result.region_calls += region.calls;
    result.region_replayed += region.replayed;
  }
  result.fallbacks = counters.fallbacks;
  result.host_bytes = counters.total.host_bytes;
  return result;
}

}  // namespace
}  // namespace refrain::interpose

extern "C" {

[[gnu::visibility("default")]] void refrain_pause(void) { refrain::interpose::pause(); }
[[gnu::visibility("default")]] void refrain_resume(void) { refrain::interpose::resume(); }

[[gnu::visibility("default")]] int refrain_stats(refrain_statistics* statistics) try {
  refrain::replay::Engine* engine = refrain::interpose::running_engine();
  if (engine == nullptr || statistics == nullptr) return -1;
  constexpr std::size_t least = offsetof(refrain_statistics, launches_seen) + sizeof statistics->launches_seen;
  if (statistics->size < least) return -1;
  refrain_statistics result = refrain::interpose::statistics_of(*engine);
  result.size = statistics->size < sizeof result ? statistics->size : sizeof result;
  std::memcpy(statistics, &result, result.size);
  return 0;
} catch (...) {
  return -1;
}
}
