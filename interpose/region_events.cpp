#include "interpose/region_events.h"

#include "interpose/guard.h"
#include "interpose/ranges.h"

namespace refrain::interpose {
namespace {

/// A region is opened and closed as a call is looked at: the engine may issue what is held meanwhile.
struct RegionEvents final : RangeEvents {
  void* opened(unsigned rule) noexcept override {
    replay::Engine* engine = enter();
    if (engine == nullptr) return nullptr;
    replay::OpenRegion* region = engine->enter(rule);
    leave();
    return region;
  }
  void closed(void* token) noexcept override {
    replay::Engine* engine = enter();
    if (engine == nullptr) return;
    engine->leave(static_cast<replay::OpenRegion*>(token));
    leave();
  }
};

constinit RegionEvents region_events;

}  // namespace

bool connect_ranges(const policy::Selector& selector) noexcept { return set_range_events(&region_events, &selector); }

void disconnect_ranges() noexcept { clear_range_events(); }

void report_ranges(const policy::Settings& settings, capture::CountersRecord& counters) {
  for (unsigned rule = 0; rule < settings.regions.size(); ++rule) {
    if (!rule_was_matched(rule)) counters.unmatched_rules.push_back(settings.regions[rule].range);
  }
  for (std::size_t i = 0; i < unmatched_name_count(); ++i) counters.ranges_seen.emplace_back(unmatched_name(i));
}

}  // namespace refrain::interpose
