#include "capture/log_format.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "capture/json_depth.h"
#include "policy/json_tree.h"

namespace refrain::capture {
namespace {

using Json = policy::JsonTree;

/// `values` in full, or their first `most`.
template <typename Value>
Json listed(const std::vector<Value>& values, std::size_t most) {
  Json list = Json::array();
  const std::size_t count = std::min(values.size(), most);
  for (std::size_t index = 0; index < count; ++index) {
    if constexpr (std::is_same_v<Value, std::string>) {
      list.push_back(bounded(values[index], longest_region));
    } else {
      list.push_back(values[index]);
    }
  }
  return list;
}

/// Six decimals are enough, and more digits would be noise; 0 for what JSON has no number for.
double rounded(double value) noexcept {
  const double result = std::round(value * 1e6) / 1e6;
  return std::isfinite(result) ? result : 0.0;
}

Json begun(const char* kind, double time) {
  Json json;
  json["record"] = kind;
  json["time"] = rounded(time);
  return json;
}

/// The policy as an object, so that it can be queried; as text when it is not JSON.
Json policy_of(const std::string& text) {
  if (text.size() <= longest_policy && json_depth(text) <= deepest_json - 2) {
    std::optional<Json> policy = Json::parse(text);
    if (policy && policy->is_object()) return std::move(*policy);
  }
  return bounded(text, longest_policy);
}

Json object_of(const HeaderRecord& header, double time, ReadableNames&) {
  Json json = begun("header", time);
  json["version"] = log_version;
  json["refrain_version"] = bounded(header.refrain_version, longest_value);
  json["host"] = bounded(header.host, longest_value);
  json["program"] = bounded(header.program, longest_text);
  json["started"] = bounded(header.started, longest_value);
  json["rank"] = header.rank;
  json["pid"] = header.pid;
  json["device"] = bounded(header.device, longest_value);
  json["driver_version"] = header.driver_version;
  json["policy_source"] = bounded(header.policy_source, longest_text);
  json["policy"] = policy_of(header.policy);
  json["mode"] = bounded(header.mode, longest_value);
  return json;
}

Json array_of(const Dimensions& dimensions) {
  Json list = Json::array();
  for (const std::uint32_t size : {dimensions.x, dimensions.y, dimensions.z}) list.push_back(size);
  return list;
}

Json object_of(const OperationRecord& operation, ReadableNames& readable) {
  Json json;
  json["kind"] = to_string(operation.kind);
  if (operation.kind == OperationKind::kernel) {
    json["name"] = bounded(operation.name, longest_kernel);
    json["readable"] = bounded(readable.of(operation.name), longest_readable);
    json["grid"] = array_of(operation.grid);
    json["block"] = array_of(operation.block);
    json["shared"] = operation.shared;
  }
  json["role"] = operation.role;
  if (operation.kind == OperationKind::kernel) {
    json["parameter_sizes"] = listed(operation.parameter_sizes, most_parameters);
    json["attributes"] = listed(operation.attributes, most_parameters);
  }
  return json;
}

/// Everything but the operations: those can be many and are put in as text, one by one.
Json object_of(const SequenceRecord& sequence, double time, ReadableNames&) {
  Json json = begun("sequence", time);
  json["region"] = bounded(sequence.region, longest_region);
  json["variant"] = sequence.variant;
  json["pass"] = sequence.pass;
  Json& breaks = json["breaks"] = Json::array();
  for (const BreakRecord& cut : sequence.breaks) {
    Json& one = breaks.push_back({});
    one["before"] = cut.before;
    one["cause"] = bounded(cut.cause, longest_value);
  }
  return json;
}

Json object_of(const GraphRecord& graph, double time, ReadableNames&) {
  Json json = begun("graph", time);
  json["region"] = bounded(graph.region, longest_region);
  json["variant"] = graph.variant;
  json["segment"] = graph.segment;
  json["first_operation"] = graph.first_operation;
  json["nodes"] = graph.nodes;
  json["device_bytes"] = graph.device_bytes;
  json["microseconds"] = std::isfinite(graph.microseconds) ? graph.microseconds : 0.0;
  return json;
}

Json object_of(const FallbackRecord& fallback, double time, ReadableNames& readable) {
  Json json = begun("fallback", time);
  json["region"] = bounded(fallback.region, longest_region);
  json["variant"] = fallback.variant;
  json["operation"] = fallback.operation;
  json["reason"] = to_string(fallback.reason);
  json["explanation"] = explanation(fallback.reason);
  if (!fallback.kernel.empty()) {
    json["kernel"] = bounded(fallback.kernel, longest_kernel);
    json["readable"] = bounded(readable.of(fallback.kernel), longest_readable);
  }
  json["expected"] = bounded(fallback.expected, longest_value);
  json["found"] = bounded(fallback.found, longest_value);
  return json;
}

Json object_of(const RegionCounters& counters) {
  Json json;
  json["region"] = bounded(counters.region, longest_region);
  json["passes"] = counters.passes;
  json["calls"] = counters.calls;
  json["held"] = counters.held;
  json["passed"] = counters.passed;
  json["replayed"] = counters.replayed;
  json["flushed"] = counters.flushed;
  json["patched"] = counters.patched;
  json["graph_launches"] = counters.graph_launches;
  json["variants"] = counters.variants;
  json["graphs"] = counters.graphs;
  json["graph_bytes"] = counters.graph_bytes;
  json["host_bytes"] = counters.host_bytes;
  Json& causes = json["fallbacks"] = Json::array();
  for (const RegionCounters::Cause& cause : counters.fallbacks) {
    Json& one = causes.push_back({});
    one["reason"] = to_string(cause.reason);
    one["count"] = cause.count;
  }
  return json;
}

Json object_of(const CountersRecord& counters, double time, ReadableNames&) {
  Json json = begun("counters", time);
  json["at_exit"] = counters.at_exit;
  json["total"] = object_of(counters.total);
  json["launches_seen"] = counters.launches_seen;
  json["graph_bytes_limit"] = counters.graph_bytes_limit;
  json["host_bytes_limit"] = counters.host_bytes_limit;
  json["records_dropped"] = counters.records_dropped;
  Json& regions = json["regions"] = Json::array();
  const std::size_t count = std::min(counters.regions.size(), most_regions);
  for (std::size_t index = 0; index < count; ++index) regions.push_back(object_of(counters.regions[index]));
  json["unmatched_rules"] = listed(counters.unmatched_rules, most_names);
  json["ranges_seen"] = listed(counters.ranges_seen, most_names);
  return json;
}

Json object_of(const VerdictRecord& verdict, double time, ReadableNames&) {
  Json json = begun("verdict", time);
  json["subject"] = bounded(verdict.subject, longest_region);
  json["decision"] = bounded(verdict.decision, longest_value);
  json["eager_ms"] = rounded(verdict.eager_ms);
  json["replay_ms"] = rounded(verdict.replay_ms);
  json["ratio"] = rounded(verdict.ratio);
  json["eager_variation"] = rounded(verdict.eager_variation);
  json["replay_variation"] = rounded(verdict.replay_variation);
  json["pairs"] = verdict.pairs;
  json["steps"] = verdict.steps;
  return json;
}

Json object_of(const MessageRecord& message, double time, ReadableNames&) {
  Json json = begun("message", time);
  json["level"] = bounded(message.level, longest_value);
  json["text"] = bounded(message.text, longest_text);
  return json;
}

/// Adds `,"operations":[...]` to an object's text; false when the line would grow too long.
bool add_operations(std::string& line, const SequenceRecord& sequence, ReadableNames& readable) {
  if (line.size() > longest_line) return false;
  line.pop_back();
  line += ",\"operations\":[";
  for (std::size_t index = 0; index < sequence.operations.size(); ++index) {
    if (index > 0) line += ',';
    line += object_of(sequence.operations[index], readable).dump();
    if (line.size() > longest_line) return false;
  }
  line += "]}";
  return true;
}

}  // namespace

std::string bounded(std::string_view text, std::size_t characters) {
  if (text.size() <= characters) return std::string(text);
  std::size_t seen = 0, cut = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    // Bytes of the form 10xxxxxx continue a character, of at most four bytes when the text is UTF-8.
    const bool begins = (static_cast<unsigned char>(text[at]) & 0xc0) != 0x80;
    if (begins) ++seen;
    if (begins && seen + 3 == characters + 1) cut = at;
    if (seen > characters || at >= 4 * characters) return std::string(text.substr(0, cut)) + "...";
  }
  return std::string(text);
}

std::string LogFormat::line(const LogRecord& record, double time) {
  std::string line = std::visit([&](const auto& one) { return object_of(one, time, readable_).dump(); }, record);
  if (const auto* sequence = std::get_if<SequenceRecord>(&record)) {
    if (!add_operations(line, *sequence, readable_)) {
      const MessageRecord message{"warning", "the sequence of variant " + std::to_string(sequence->variant) +
                                                 " of region " + bounded(sequence->region, longest_region) + " with " +
                                                 std::to_string(sequence->operations.size()) +
                                                 " operations is too long for the log"};
      line = object_of(message, time, readable_).dump();
    }
  }
  line += '\n';
  return line;
}

std::string pretty(const LogRecord& record, double time) {
  LogFormat format;
  return Json::parse(format.line(record, time)).value_or(Json()).dump(2) + "\n";
}

}  // namespace refrain::capture
