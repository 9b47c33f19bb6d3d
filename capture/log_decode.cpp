#include "capture/log_decode.h"

#include <concepts>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "capture/json_depth.h"

namespace refrain::capture {
namespace {

// Keeps the order of the keys, so that the policy comes out as it was written.
using Json = nlohmann::ordered_json;

template <typename Value>
bool read(const Json& json, std::vector<Value>& list);

bool read(const Json& json, std::string& text) {
  if (!json.is_string()) return false;
  text = json.get_ref<const std::string&>();
  return true;
}

bool read(const Json& json, bool& value) {
  if (!json.is_boolean()) return false;
  value = json.get<bool>();
  return true;
}

bool read(const Json& json, double& value) {
  if (!json.is_number()) return false;
  value = json.get<double>();
  return true;
}

template <std::integral Value>
bool read(const Json& json, Value& value) {
  if (json.is_number_unsigned()) {
    const auto number = json.get<std::uint64_t>();
    if (number > static_cast<std::uint64_t>(std::numeric_limits<Value>::max())) return false;
    value = static_cast<Value>(number);
    return true;
  }
  if (!std::signed_integral<Value> || !json.is_number_integer()) return false;
  const auto number = json.get<std::int64_t>();
  if (number < static_cast<std::int64_t>(std::numeric_limits<Value>::min())) return false;
  value = static_cast<Value>(number);
  return true;
}

bool read(const Json& json, Dimensions& dimensions) {
  return json.is_array() && json.size() == 3 && read(json[0], dimensions.x) && read(json[1], dimensions.y) &&
         read(json[2], dimensions.z);
}

bool read(const Json& json, OperationKind& kind) {
  if (!json.is_string()) return false;
  for (const OperationKind known : {OperationKind::kernel, OperationKind::memset, OperationKind::copy}) {
    if (json.get_ref<const std::string&>() == to_string(known)) kind = known;
  }
  return json.get_ref<const std::string&>() == to_string(kind);
}

std::optional<Reason> reason_of(const std::string& word) noexcept {
#define REASON(name, text) \
  if (word == #name) return Reason::name;
#include "capture/reasons.inc"
  return std::nullopt;
}

/// The fields of one object, each read at most once; what is left at the end is unknown.
class Fields {
 public:
  explicit Fields(const Json& object, DecodedLine& result) : object_(object), result_(result) {}

  template <typename Value>
  void take(const char* name, Value& value, const char* expected) {
    const auto found = object_.find(name);
    if (found == object_.end()) return;
    ++taken_;
    if (!read(*found, value) && result_.expected.empty())
      result_.expected = std::string(expected) + " in \"" + name + "\"";
  }

  template <typename Value, typename ReadOne>
  void take_each(const char* name, std::vector<Value>& list, ReadOne read_one) {
    const auto found = object_.find(name);
    if (found == object_.end()) return;
    ++taken_;
    if (!found->is_array()) return expect("an array of objects", name);
    for (const Json& element : *found) {
      if (!element.is_object()) return expect("an array of objects", name);
      Fields fields(element, result_);
      Value value;
      if (read_one(fields, value)) list.push_back(std::move(value));
      fields.count_unknown();
    }
  }

  const Json* find(const char* name) {
    const auto found = object_.find(name);
    if (found == object_.end()) return nullptr;
    ++taken_;
    return &*found;
  }

  void ignore(const char* name) { taken_ += object_.contains(name) ? 1U : 0U; }
  void count_unknown() { result_.unknown_fields += object_.size() - taken_; }
  DecodedLine& result() { return result_; }

 private:
  void expect(const char* expected, const char* name) {
    if (result_.expected.empty()) result_.expected = std::string(expected) + " in \"" + name + "\"";
  }

  const Json& object_;
  DecodedLine& result_;
  std::size_t taken_ = 0;
};

template <typename Value>
bool read(const Json& json, std::vector<Value>& list) {
  if (!json.is_array()) return false;
  list.reserve(json.size());
  for (const Json& element : json) {
    if (!read(element, list.emplace_back())) return false;
  }
  return true;
}

constexpr const char* text = "text";
constexpr const char* count = "a whole number of at least 0";
constexpr const char* number = "a number";
constexpr const char* integer = "a whole number";
constexpr const char* texts = "an array of texts";
constexpr const char* counts = "an array of whole numbers";
constexpr const char* dimensions = "an array of three whole numbers";

bool decode(Fields& fields, HeaderRecord& header) {
  int version = 0;
  fields.take("version", version, integer);
  if (version != log_version) {
    fields.result().expected = "version " + std::to_string(log_version) + " in the header, found " +
                               (version == 0 ? "none" : std::to_string(version)) +
                               "; this log was written by another version of Refrain";
    return false;
  }
  fields.take("refrain_version", header.refrain_version, text);
  fields.take("host", header.host, text);
  fields.take("program", header.program, text);
  fields.take("started", header.started, text);
  fields.take("rank", header.rank, integer);
  fields.take("pid", header.pid, integer);
  fields.take("device", header.device, text);
  fields.take("driver_version", header.driver_version, integer);
  fields.take("policy_source", header.policy_source, text);
  if (const Json* policy = fields.find("policy")) {
    header.policy = policy->is_string() ? policy->get_ref<const std::string&>()
                                        : policy->dump(-1, ' ', false, Json::error_handler_t::replace);
  }
  fields.take("mode", header.mode, text);
  return true;
}

bool decode(Fields& fields, OperationRecord& operation) {
  fields.take("kind", operation.kind, "\"kernel\", \"memset\" or \"copy\"");
  fields.take("name", operation.name, text);
  fields.ignore("readable");
  fields.take("grid", operation.grid, dimensions);
  fields.take("block", operation.block, dimensions);
  fields.take("shared", operation.shared, count);
  fields.take("role", operation.role, count);
  fields.take("parameter_sizes", operation.parameter_sizes, counts);
  fields.take("attributes", operation.attributes, counts);
  return true;
}

bool decode(Fields& fields, BreakRecord& cut) {
  fields.take("before", cut.before, count);
  fields.take("cause", cut.cause, text);
  return true;
}

bool decode(Fields& fields, SequenceRecord& sequence) {
  fields.take("region", sequence.region, text);
  fields.take("variant", sequence.variant, count);
  fields.take("pass", sequence.pass, count);
  fields.take_each("operations", sequence.operations,
                   [](Fields& inner, OperationRecord& operation) { return decode(inner, operation); });
  fields.take_each("breaks", sequence.breaks, [](Fields& inner, BreakRecord& cut) { return decode(inner, cut); });
  return true;
}

bool decode(Fields& fields, GraphRecord& graph) {
  fields.take("region", graph.region, text);
  fields.take("variant", graph.variant, count);
  fields.take("segment", graph.segment, count);
  fields.take("first_operation", graph.first_operation, count);
  fields.take("nodes", graph.nodes, count);
  fields.take("device_bytes", graph.device_bytes, count);
  fields.take("microseconds", graph.microseconds, number);
  return true;
}

/// False when the word is one of another version.
bool decode_reason(Fields& fields, Reason& reason) {
  std::string word;
  fields.take("reason", word, text);
  const std::optional<Reason> known = reason_of(word);
  if (known) reason = *known;
  return known.has_value();
}

bool decode(Fields& fields, FallbackRecord& fallback) {
  fields.take("region", fallback.region, text);
  fields.take("variant", fallback.variant, count);
  fields.take("operation", fallback.operation, count);
  const bool known = decode_reason(fields, fallback.reason);
  fields.ignore("explanation");
  fields.take("kernel", fallback.kernel, text);
  fields.ignore("readable");
  fields.take("expected", fallback.expected, text);
  fields.take("found", fallback.found, text);
  return known;
}

bool decode(Fields& fields, RegionCounters::Cause& cause) {
  fields.take("count", cause.count, count);
  return decode_reason(fields, cause.reason);
}

bool decode(Fields& fields, RegionCounters& counters) {
  fields.take("region", counters.region, text);
  fields.take("passes", counters.passes, count);
  fields.take("calls", counters.calls, count);
  fields.take("held", counters.held, count);
  fields.take("passed", counters.passed, count);
  fields.take("replayed", counters.replayed, count);
  fields.take("flushed", counters.flushed, count);
  fields.take("patched", counters.patched, count);
  fields.take("graph_launches", counters.graph_launches, count);
  fields.take("variants", counters.variants, count);
  fields.take("graphs", counters.graphs, count);
  fields.take("graph_bytes", counters.graph_bytes, count);
  fields.take("host_bytes", counters.host_bytes, count);
  fields.take_each("fallbacks", counters.fallbacks,
                   [](Fields& inner, RegionCounters::Cause& cause) { return decode(inner, cause); });
  return true;
}

bool decode(Fields& fields, CountersRecord& counters) {
  fields.take("at_exit", counters.at_exit, "true or false");
  if (const Json* total = fields.find("total"); total != nullptr && total->is_object()) {
    Fields inner(*total, fields.result());
    decode(inner, counters.total);
    inner.count_unknown();
  } else if (total != nullptr) {
    fields.result().expected = "an object in \"total\"";
  }
  fields.take("launches_seen", counters.launches_seen, count);
  fields.take("graph_bytes_limit", counters.graph_bytes_limit, count);
  fields.take("host_bytes_limit", counters.host_bytes_limit, count);
  fields.take("records_dropped", counters.records_dropped, count);
  fields.take_each("regions", counters.regions,
                   [](Fields& inner, RegionCounters& region) { return decode(inner, region); });
  fields.take("unmatched_rules", counters.unmatched_rules, texts);
  fields.take("ranges_seen", counters.ranges_seen, texts);
  return true;
}

bool decode(Fields& fields, VerdictRecord& verdict) {
  fields.take("subject", verdict.subject, text);
  fields.take("decision", verdict.decision, text);
  fields.take("eager_ms", verdict.eager_ms, number);
  fields.take("replay_ms", verdict.replay_ms, number);
  fields.take("ratio", verdict.ratio, number);
  fields.take("eager_variation", verdict.eager_variation, number);
  fields.take("replay_variation", verdict.replay_variation, number);
  fields.take("pairs", verdict.pairs, count);
  fields.take("steps", verdict.steps, count);
  return true;
}

bool decode(Fields& fields, MessageRecord& message) {
  fields.take("level", message.level, text);
  fields.take("text", message.text, text);
  return true;
}

template <typename Record>
Decoded decode_as(Fields& fields, DecodedLine& result) {
  const bool known = decode(fields, result.record.emplace<Record>());
  if (!result.expected.empty()) return Decoded::malformed;
  if (!known) return Decoded::unknown;
  fields.count_unknown();
  return Decoded::record;
}

Decoded decode_object(const Json& object, DecodedLine& result) {
  Fields fields(object, result);
  std::string kind;
  fields.take("record", kind, text);
  fields.take("time", result.time, "a number of seconds");
  if (kind.empty() && result.expected.empty()) result.expected = "a record with its kind in \"record\"";
  if (!result.expected.empty()) return Decoded::malformed;
  if (kind == "header") return decode_as<HeaderRecord>(fields, result);
  if (kind == "sequence") return decode_as<SequenceRecord>(fields, result);
  if (kind == "graph") return decode_as<GraphRecord>(fields, result);
  if (kind == "fallback") return decode_as<FallbackRecord>(fields, result);
  if (kind == "counters") return decode_as<CountersRecord>(fields, result);
  if (kind == "verdict") return decode_as<VerdictRecord>(fields, result);
  if (kind == "message") return decode_as<MessageRecord>(fields, result);
  return Decoded::unknown;
}

}  // namespace

Decoded decode(std::string_view line, DecodedLine& result) noexcept try {
  result = DecodedLine{};
  if (json_depth(line) > deepest_json) {
    result.expected = "an object nested at most " + std::to_string(deepest_json) + " deep";
    return Decoded::malformed;
  }
  const Json json = Json::parse(line, nullptr, false);
  if (json.is_discarded()) {
    result.expected = "one JSON object, found text that is not JSON";
    return Decoded::not_json;
  }
  if (!json.is_object()) {
    result.expected = std::string("one JSON object, found ") + json.type_name();
    return Decoded::malformed;
  }
  return decode_object(json, result);
} catch (...) {
  // Only memory can be short here; a short text needs none of it.
  result.expected = "a shorter line";
  return Decoded::malformed;
}

}  // namespace refrain::capture
