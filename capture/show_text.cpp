#include "capture/show_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "capture/closest_names.h"
#include "capture/demangle.h"
#include "capture/text_table.h"

namespace refrain::capture {
namespace {

using Align = TextTable::Align;

constexpr std::size_t kernel_width = 48;  ///< in tables with more to say
constexpr std::size_t operation_width = 100;
constexpr std::size_t most_hints = 100;  ///< rules that are explained; a policy rarely has more than ten
constexpr std::size_t names_in_hint = 3;
constexpr std::size_t most_verdicts = 10;  ///< when there are more, the last one of each subject is shown

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string share(std::uint64_t part, std::uint64_t whole) {
  return whole == 0 ? "-" : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string mebibytes(std::uint64_t bytes) { return fmt::format("{:.1f} MiB", static_cast<double>(bytes) / (1 << 20)); }

std::string section(const char* title, const TextTable& table) {
  return table.empty() ? std::string() : fmt::format("\n{}\n{}", title, table.text());
}

std::string or_dash(const std::string& text) { return text.empty() ? "-" : text; }

/// A name in a column of its own, and what there is to say.
std::string fact(std::string name, const std::string& value) {
  constexpr std::size_t name_width = 9;
  name.resize(std::max(name.size() + 1, name_width), ' ');
  return name + printable(or_dash(value)) + '\n';
}

std::vector<std::string> region_row(const RegionCounters& counters, const std::string& name) {
  return {name,
          number(counters.passes),
          number(counters.calls),
          number(counters.held),
          number(counters.replayed),
          share(counters.replayed, counters.calls),
          share(counters.patched, counters.replayed),
          number(counters.flushed),
          number(counters.passed),
          number(counters.graph_launches)};
}

std::string regions_text(const CountersRecord& counters) {
  TextTable table({{"region", Align::left},
                   {"passes", Align::right},
                   {"calls", Align::right},
                   {"held", Align::right},
                   {"replayed", Align::right},
                   {"share", Align::right},
                   {"patched", Align::right},
                   {"flushed", Align::right},
                   {"passed", Align::right},
                   {"graph launches", Align::right}});
  for (const RegionCounters& region : counters.regions) table.add(region_row(region, region.region));
  table.add(region_row(counters.total, "whole process"));
  return section("Regions (share: replayed of calls; patched: of replayed)", table);
}

std::string variants_text(const LogSummary& summary) {
  TextTable table({{"region", Align::left},
                   {"variant", Align::right},
                   {"pass", Align::right},
                   {"operations", Align::right},
                   {"segments", Align::right},
                   {"in graphs", Align::right},
                   {"builds", Align::right},
                   {"build ms", Align::right},
                   {"memory", Align::right},
                   {"breaks", Align::left}});
  for (const VariantSummary& variant : summary.variants) {
    std::string breaks;
    for (const auto& [cause, count] : variant.breaks) {
      breaks += (breaks.empty() ? "" : ", ") + (count > 1 ? fmt::format("{} x{}", cause, count) : cause);
    }
    const bool recorded = variant.pass > 0;
    table.add({variant.region, number(variant.variant), recorded ? number(variant.pass) : "-",
               recorded ? number(variant.operations) : "-", number(variant.segments.size()), number(variant.nodes),
               number(variant.builds), fmt::format("{:.2f}", variant.microseconds / 1000),
               mebibytes(variant.device_bytes), or_dash(breaks)});
  }
  return section("Variants (segments: those that became graphs, with the operations in them)", table);
}

/// How often a region met a cause; nothing when the log has no counters of it.
std::string times(const LogSummary& summary, const std::string& region, Reason reason) {
  if (!summary.counters) return {};
  for (const RegionCounters& counters : summary.counters->regions) {
    if (counters.region != region) continue;
    for (const RegionCounters::Cause& cause : counters.fallbacks) {
      if (cause.reason == reason) return number(cause.count);
    }
  }
  return {};
}

std::string fallbacks_text(const LogSummary& summary) {
  TextTable table({{"region", Align::left},
                   {"times", Align::right},
                   {"reason", Align::left},
                   {"variant", Align::right},
                   {"operation", Align::right},
                   {"kernel", Align::left},
                   {"expected", Align::left},
                   {"found", Align::left}});
  std::vector<FallbackRecord> sorted = summary.fallbacks;
  std::stable_sort(sorted.begin(), sorted.end(), [](const FallbackRecord& a, const FallbackRecord& b) {
    return std::tie(a.region, a.reason) < std::tie(b.region, b.reason);
  });
  std::set<std::pair<std::string, Reason>> told;
  for (const FallbackRecord& one : sorted) {
    const bool first = told.emplace(one.region, one.reason).second;
    table.add({one.region, first ? or_dash(times(summary, one.region, one.reason)) : "", to_string(one.reason),
               number(one.variant), number(one.operation), or_dash(short_name(demangle(one.kernel), kernel_width)),
               or_dash(one.expected), or_dash(one.found)});
  }
  if (summary.counters) {
    for (const RegionCounters& region : summary.counters->regions) {
      for (const RegionCounters::Cause& cause : region.fallbacks) {
        if (!told.emplace(region.region, cause.reason).second) continue;
        table.add({region.region, number(cause.count), to_string(cause.reason), "-", "-", "-", "-", "-"});
      }
    }
  }
  std::string text = section("Fallbacks (times: of region and reason)", table);
  std::set<Reason> reasons;
  for (const auto& [region, reason] : told) reasons.insert(reason);
  for (const Reason reason : reasons) text += fmt::format("  {}: {}\n", to_string(reason), explanation(reason));
  return text;
}

/// All verdicts, or the last one of each subject, in the order of time.
std::vector<const TimedVerdict*> chosen(const std::vector<TimedVerdict>& verdicts) {
  std::vector<const TimedVerdict*> result;
  std::set<std::string_view> subjects;
  for (auto at = verdicts.rbegin(); at != verdicts.rend(); ++at) {
    const bool last = subjects.insert(at->verdict.subject).second;
    if (last || verdicts.size() <= most_verdicts) result.push_back(&*at);
  }
  std::reverse(result.begin(), result.end());
  return result;
}

std::string verdicts_text(const LogSummary& summary) {
  TextTable table({{"time", Align::right},
                   {"subject", Align::left},
                   {"decision", Align::left},
                   {"eager ms", Align::right},
                   {"replay ms", Align::right},
                   {"ratio", Align::right},
                   {"eager variation", Align::right},
                   {"replay variation", Align::right},
                   {"pairs", Align::right},
                   {"steps", Align::right}});
  const auto percent = [](double fraction) { return fmt::format("{:.1f} %", 100 * fraction); };
  const std::vector<const TimedVerdict*> shown = chosen(summary.verdicts);
  for (const TimedVerdict* one : shown) {
    const VerdictRecord& verdict = one->verdict;
    table.add({fmt::format("{:.1f} s", one->time), or_dash(verdict.subject), or_dash(verdict.decision),
               fmt::format("{:.3f}", verdict.eager_ms), fmt::format("{:.3f}", verdict.replay_ms),
               fmt::format("{:.3f}", verdict.ratio), percent(verdict.eager_variation),
               percent(verdict.replay_variation), number(verdict.pairs), number(verdict.steps)});
  }
  std::string text = section("Verdicts (ms: of a step; ratio: replay over eager; variation: of a step)", table);
  const std::size_t left_out = summary.verdicts.size() - shown.size();
  if (left_out > 0) text += fmt::format("  {} earlier verdicts of these subjects were left out\n", left_out);
  return text;
}

std::string rules_text(const CountersRecord& counters) {
  std::string text;
  for (std::size_t index = 0; index < std::min(most_hints, counters.unmatched_rules.size()); ++index) {
    const std::string& rule = counters.unmatched_rules[index];
    text += fmt::format("rule     {} matched no range", printable(rule));
    const std::vector<std::string> names = closest(rule, counters.ranges_seen, names_in_hint);
    if (names.empty()) text += "; no other range was seen";
    for (std::size_t at = 0; at < names.size(); ++at) {
      text += (at == 0 ? "; the closest seen: " : ", ") + printable(names[at]);
    }
    text += '\n';
  }
  return text;
}

std::string state_text(const LogSummary& summary) {
  std::string text;
  const std::string moment = fmt::format("{:.1f} s", summary.counters ? summary.counters_time : summary.last_time);
  if (!summary.counters) {
    text += fmt::format("state    no counters: the log ends after {}, before the first ones\n", moment);
  } else if (!summary.counters->at_exit) {
    text += fmt::format("state    counters of {}; there are none of the process's end\n", moment);
  } else {
    text += fmt::format("state    complete, {}\n", moment);
  }
  if (summary.torn) text += "state    the last line is unfinished and was left out\n";
  if (summary.unknown_records > 0) {
    text += fmt::format("state    {} records that this version does not know were left out\n", summary.unknown_records);
  }
  for (const MessageRecord& message : summary.messages) {
    text += fact(printable(message.level.substr(0, 8)), message.text);
  }
  return text;
}

}  // namespace

std::string header_text(const LogSummary& summary) {
  const HeaderRecord& header = summary.header;
  const std::string rank = header.rank < 0 ? "no rank" : fmt::format("rank {}", header.rank);
  const int major = header.driver_version / 1000, minor = header.driver_version % 1000 / 10;
  return fact("program", header.program) + fact("host", fmt::format("{}, {}, pid {}", header.host, rank, header.pid)) +
         fact("started", header.started) + fact("device", header.device) +
         fact("driver", header.driver_version > 0 ? fmt::format("{}.{}", major, minor) : "") +
         fact("mode", header.mode) + fact("policy", header.policy_source) + fact("refrain", header.refrain_version);
}

std::string body_text(const LogSummary& summary) {
  std::string text;
  if (summary.counters) text += regions_text(*summary.counters);
  text += variants_text(summary) + verdicts_text(summary) + fallbacks_text(summary) + '\n';
  if (summary.counters) {
    const CountersRecord& counters = *summary.counters;
    text += fact("launches", number(counters.launches_seen) + " kernel launches seen");
    text += fact("memory", fmt::format("graphs use {} of {}, sequences {} of {} on the host",
                                       mebibytes(counters.total.graph_bytes), mebibytes(counters.graph_bytes_limit),
                                       mebibytes(counters.total.host_bytes), mebibytes(counters.host_bytes_limit)));
    text += rules_text(counters);
    text += fact("dropped", number(counters.records_dropped) + " records");
  }
  return text + state_text(summary);
}

std::string operations_text(const SequenceRecord& sequence) {
  TextTable table({{"operation", Align::right},
                   {"kind", Align::left},
                   {"stream", Align::right},
                   {"grid", Align::left},
                   {"block", Align::left},
                   {"shared", Align::right},
                   {"parameters", Align::right},
                   {"attributes", Align::left},
                   {"kernel", Align::left}});
  std::string text =
      fmt::format("region {}, variant {}, recorded in pass {}: {} operations\n", printable(sequence.region),
                  sequence.variant, sequence.pass, sequence.operations.size());
  std::map<std::uint32_t, std::string> breaks;
  for (const BreakRecord& one : sequence.breaks)
    breaks[one.before] += (breaks[one.before].empty() ? "" : ", ") + one.cause;
  const auto add_break = [&](std::uint32_t before) {
    if (const auto cut_here = breaks.find(before); cut_here != breaks.end()) {
      table.add({"", "break", "", "", "", "", "", "", cut_here->second});
      breaks.erase(cut_here);
    }
  };
  const auto dimensions = [](const Dimensions& one) { return fmt::format("{}x{}x{}", one.x, one.y, one.z); };
  for (std::uint32_t index = 0; index < sequence.operations.size(); ++index) {
    add_break(index);
    const OperationRecord& operation = sequence.operations[index];
    const bool kernel = operation.kind == OperationKind::kernel;
    std::string attributes;
    for (const std::uint32_t id : operation.attributes)
      attributes.append(attributes.empty() ? "" : " ").append(number(id));
    table.add({number(index), to_string(operation.kind), number(operation.role),
               kernel ? dimensions(operation.grid) : "", kernel ? dimensions(operation.block) : "",
               kernel ? number(operation.shared) : "", kernel ? number(operation.parameter_sizes.size()) : "",
               attributes, kernel ? or_dash(short_name(demangle(operation.name), operation_width)) : ""});
  }
  while (!breaks.empty()) add_break(breaks.begin()->first);
  return text + table.text();
}

}  // namespace refrain::capture
