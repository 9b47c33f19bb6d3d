// Records become lines and come back unchanged; the schema describes exactly what is written.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "capture/log_decode.h"
#include "capture/log_format.h"
#include "capture/log_reader.h"
#include "tests/capture/sample_log.h"
#include "tests/capture/schema_check.h"

namespace refrain::tests {
namespace {

using namespace capture;
using Json = nlohmann::json;

Json parsed(const LogRecord& record) { return Json::parse(LogFormat().line(record, 1.5)); }

const Json& schema() {
  static const Json schema =
      Json::parse(read_file(std::filesystem::path(SOURCE_ROOT) / "configs/capture-log.schema.json"));
  return schema;
}

const Json& schema_of(const Json& record) { return schema()["$defs"][record["record"].get<std::string>()]; }

TEST(LogFormat, every_kind_of_record_comes_back_as_it_was) {
  std::set<std::size_t> kinds;
  LogFormat format;
  for (const LogRecord& record : sample_records()) {
    const std::string line = format.line(record, 12.345678);
    ASSERT_EQ(line.find('\n'), line.size() - 1);
    DecodedLine decoded;
    ASSERT_EQ(decode(std::string_view(line).substr(0, line.size() - 1), decoded), Decoded::record) << decoded.expected;
    EXPECT_EQ(decoded.record.index(), record.index());
    EXPECT_EQ(decoded.unknown_fields, 0U) << line;
    EXPECT_DOUBLE_EQ(decoded.time, 12.345678);
    // The schema test below shows that a line holds every field, so equal lines mean equal records.
    EXPECT_EQ(format.line(decoded.record, decoded.time), line);
    kinds.insert(record.index());
  }
  EXPECT_EQ(kinds.size(), std::variant_size_v<LogRecord>);
}

TEST(LogFormat, fields_come_back_into_the_members_they_came_from) {
  const auto sequence = std::get<SequenceRecord>(sample_records()[1]);
  std::string line = LogFormat().line(sequence, 0);
  DecodedLine decoded;
  ASSERT_EQ(decode(line, decoded), Decoded::record);
  const auto& back = std::get<SequenceRecord>(decoded.record);
  ASSERT_EQ(back.operations.size(), 4U);
  EXPECT_EQ(back.operations[0].kind, OperationKind::memset);
  EXPECT_EQ(back.operations[2].name, sequence.operations[2].name);
  EXPECT_EQ(back.operations[2].grid, (Dimensions{128, 2, 3}));
  EXPECT_EQ(back.operations[2].block, (Dimensions{32, 4, 2}));
  EXPECT_EQ(back.operations[2].shared, 4096U);
  EXPECT_EQ(back.operations[2].role, 1U);
  EXPECT_EQ(back.operations[2].parameter_sizes, (std::vector<std::uint32_t>{8, 8, 4}));
  EXPECT_EQ(back.operations[2].attributes, (std::vector<std::uint32_t>{4, 6}));
  EXPECT_EQ(back.breaks[0].before, 2U);
  EXPECT_EQ(back.breaks[0].cause, "cuEventRecord");

  const auto counters = std::get<CountersRecord>(sample_records().back());
  ASSERT_EQ(decode(LogFormat().line(counters, 0), decoded), Decoded::record);
  const auto& again = std::get<CountersRecord>(decoded.record);
  EXPECT_TRUE(again.at_exit);
  EXPECT_EQ(again.total.passed, 610U);
  EXPECT_EQ(again.regions[0].patched, 95U);
  EXPECT_EQ(again.regions[0].fallbacks[1].reason, Reason::hold_expired);
  EXPECT_EQ(again.ranges_seen, counters.ranges_seen);
}

TEST(LogFormat, a_verdict_comes_back_into_the_members_it_came_from) {
  DecodedLine decoded;
  ASSERT_EQ(decode(LogFormat().line(VerdictRecord{"mlp", "eager", 1.5, 2.5, 1.25, 0.125, 0.0625, 9, 700}, 0), decoded),
            Decoded::record);
  const auto& verdict = std::get<VerdictRecord>(decoded.record);
  EXPECT_EQ(verdict.subject, "mlp");
  EXPECT_EQ(verdict.decision, "eager");
  EXPECT_EQ(verdict.eager_ms, 1.5);
  EXPECT_EQ(verdict.replay_ms, 2.5);
  EXPECT_EQ(verdict.ratio, 1.25);
  EXPECT_EQ(verdict.eager_variation, 0.125);
  EXPECT_EQ(verdict.replay_variation, 0.0625);
  EXPECT_EQ(verdict.pairs, 9U);
  EXPECT_EQ(verdict.steps, 700U);
}

TEST(LogFormat, the_policy_is_an_object_and_keeps_its_order) {
  HeaderRecord header;
  header.policy = R"({"version":1,"regions":[],"mode":"replay","alpha":2})";
  const std::string line = LogFormat().line(header, 0);
  EXPECT_TRUE(Json::parse(line)["policy"].is_object());
  DecodedLine decoded;
  ASSERT_EQ(decode(line, decoded), Decoded::record);
  EXPECT_EQ(std::get<HeaderRecord>(decoded.record).policy, header.policy);
  for (const std::string& odd : {std::string("not JSON"), std::string("[1]"), std::string(100, '['), std::string()}) {
    header.policy = odd;
    ASSERT_EQ(decode(LogFormat().line(header, 0), decoded), Decoded::record) << decoded.expected;
    EXPECT_EQ(std::get<HeaderRecord>(decoded.record).policy, odd);
  }
}

TEST(LogFormat, a_policy_of_any_depth_gives_a_line_that_can_be_read) {
  for (const std::size_t depth : {1U, 61U, 62U, 63U, 64U, 65U, 100000U}) {
    HeaderRecord header;
    for (std::size_t level = 1; level < depth; ++level) header.policy += "{\"a\":";
    header.policy += "{}" + std::string(depth - 1, '}');
    DecodedLine decoded;
    EXPECT_EQ(decode(LogFormat().line(header, 0), decoded), Decoded::record) << depth << decoded.expected;
  }
}

TEST(LogFormat, kernels_have_both_names_and_other_operations_none) {
  const Json operations = parsed(sample_records()[1])["operations"];
  EXPECT_EQ(operations[2]["name"], "_ZN7example12softmax_rowsIfEEvPT_PKS1_i");
  EXPECT_EQ(operations[2]["readable"], "void example::softmax_rows<float>(float*, float const*, int)");
  EXPECT_FALSE(operations[0].contains("name"));
  EXPECT_FALSE(operations[0].contains("grid"));
}

TEST(LogFormat, broken_text_is_repaired_and_long_text_is_cut) {
  MessageRecord message{"warning", "torn \xe2\x82 and \xff, a quote \" and a newline \n"};
  EXPECT_EQ(parsed(message)["text"], "torn \xef\xbf\xbd and \xef\xbf\xbd, a quote \" and a newline \n");
  FallbackRecord fallback;
  fallback.expected = std::string(300, 'x');
  for (int index = 0; index < 300; ++index) fallback.found += "\xc3\xa4";
  const Json json = parsed(fallback);
  EXPECT_EQ(json["expected"], std::string(197, 'x') + "...");
  EXPECT_EQ(json["found"].get<std::string>().size(), 197U * 2 + 3);
  EXPECT_EQ(bounded(std::string(200, 'x'), 200), std::string(200, 'x'));
  EXPECT_EQ(bounded(std::string(5000, '\x80'), 200), "...");
}

TEST(LogFormat, a_sequence_of_4096_operations_is_one_line_that_can_be_read) {
  SequenceRecord sequence;
  sequence.region = "long";
  OperationRecord operation;
  operation.name = "_Z" + std::string(3000, 'k');
  operation.parameter_sizes.assign(64, 8);
  sequence.operations.assign(4096, operation);
  const std::string line = LogFormat().line(sequence, 0);
  EXPECT_LT(line.size(), LogReader::longest_line);
  DecodedLine decoded;
  ASSERT_EQ(decode(line, decoded), Decoded::record) << decoded.expected;
  EXPECT_EQ(std::get<SequenceRecord>(decoded.record).operations.size(), 4096U);
}

TEST(LogFormat, a_sequence_too_long_for_a_line_becomes_a_message) {
  SequenceRecord sequence;
  sequence.region = "longer";
  OperationRecord operation;
  operation.name = std::string(4000, 'k');
  sequence.operations.assign(20000, operation);
  const Json json = parsed(sequence);
  EXPECT_EQ(json["record"], "message");
  EXPECT_EQ(json["text"], "the sequence of variant 0 of region longer with 20000 operations is too long for the log");
}

TEST(LogFormat, numbers_that_json_does_not_have_stay_readable) {
  GraphRecord graph;
  graph.microseconds = std::numeric_limits<double>::quiet_NaN();
  graph.device_bytes = std::numeric_limits<std::uint64_t>::max();
  DecodedLine decoded;
  ASSERT_EQ(decode(LogFormat().line(graph, 0), decoded), Decoded::record) << decoded.expected;
  EXPECT_EQ(std::get<GraphRecord>(decoded.record).device_bytes, std::numeric_limits<std::uint64_t>::max());
  VerdictRecord verdict{"the job", "replay", 1, 2, 3, 4, 5, 6, 7};
  for (const double odd : {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(),
                           std::numeric_limits<double>::max()}) {
    verdict.eager_ms = verdict.ratio = verdict.replay_variation = odd;
    EXPECT_EQ(violation(schema(), schema(), parsed(verdict)), "") << odd;
  }
}

TEST(LogSchema, describes_every_field_that_is_written_and_no_other) {
  std::set<std::string> kinds;
  for (const LogRecord& record : sample_records()) {
    const Json json = parsed(record);
    EXPECT_EQ(violation(schema(), schema(), json), "") << json;
    EXPECT_EQ(difference(schema(), schema_of(json), json), "") << json;
    kinds.insert(json["record"]);
  }
  EXPECT_EQ(kinds.size(), schema()["oneOf"].size());
  // What is optional occurs in the sample too.
  const Json kernel = parsed(sample_records()[1])["operations"][1], fallback = parsed(sample_records()[4]);
  EXPECT_EQ(kernel.size(), schema()["$defs"]["operation"]["properties"].size());
  EXPECT_EQ(fallback.size(), schema()["$defs"]["fallback"]["properties"].size());
}

TEST(LogSchema, knows_every_reason_and_the_version) {
  Json words = Json::array();
#define REASON(name, text) words.push_back(#name);
#include "capture/reasons.inc"
  EXPECT_EQ(schema()["$defs"]["fallback"]["properties"]["reason"]["enum"], words);
  EXPECT_EQ(schema()["$defs"]["region_counters"]["properties"]["fallbacks"]["items"]["properties"]["reason"]["enum"],
            words);
  EXPECT_EQ(schema()["$defs"]["header"]["properties"]["version"]["const"], log_version);
}

TEST(LogSchema, bounds_are_those_of_the_writer) {
  for (const LogRecord& extreme :
       {LogRecord(VerdictRecord{std::string(999, 's'), "eager", 1e300, 1e300, 1e300, 1e300, 1e300, ~0ULL, ~0ULL}),
        LogRecord(MessageRecord{std::string(9999, 'l'), std::string(9999, 't')}),
        LogRecord(FallbackRecord{std::string(999, 'r'), ~0U, ~0U, Reason::paused, std::string(9999, 'k'),
                                 std::string(999, 'e'), std::string(999, 'f')})}) {
    EXPECT_EQ(violation(schema(), schema(), parsed(extreme)), "");
  }
}

TEST(LogSchema, refuses_what_is_wrong) {
  const Json good = parsed(sample_records()[4]);
  Json bad = good;
  bad.erase("reason");
  EXPECT_EQ(violation(schema(), schema_of(good), bad), ".reason: is missing");
  bad = good;
  bad["reason"] = "no_reason";
  EXPECT_NE(violation(schema(), schema_of(good), bad), "");
  bad = good;
  bad["operation"] = -1;
  EXPECT_NE(violation(schema(), schema_of(good), bad), "");
  bad = good;
  bad["found"] = std::string(201, 'x');
  EXPECT_NE(violation(schema(), schema_of(good), bad), "");
  bad = good;
  bad["more"] = 1;
  EXPECT_EQ(difference(schema(), schema_of(good), bad), ".more: is in the log only");
}

TEST(Reasons, have_words_and_explanations) {
  std::set<std::string> words, explanations;
  std::size_t count = 0;
#define REASON(name, text)                       \
  EXPECT_STREQ(to_string(Reason::name), #name);  \
  EXPECT_STREQ(explanation(Reason::name), text); \
  words.insert(#name), explanations.insert(text), ++count;
#include "capture/reasons.inc"
  EXPECT_EQ(words.size(), count);
  EXPECT_EQ(explanations.size(), count);
  EXPECT_STREQ(to_string(static_cast<Reason>(255)), "unknown");
}

}  // namespace
}  // namespace refrain::tests
