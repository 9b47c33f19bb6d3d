// What the parser accepts, and what it refuses with which words.
#include "policy/parser.h"

#include <gtest/gtest.h>

#include <string>

#include "policy/document.h"
#include "tests/policy/support.h"

namespace refrain::tests {

using policy::Action;
using policy::ErrorList;
using policy::Mode;
using policy::ParseResult;
using policy::Scope;
using policy::Settings;

TEST(Parser, smallest_policy_gives_the_defaults) {
  const ParseResult result = parse(R"({"version": 1})");
  ASSERT_TRUE(result.ok) << first_error(result);
  EXPECT_TRUE(equal(result.settings, Settings{}));
  EXPECT_EQ(result.settings.source, "p.json");
}

TEST(Parser, every_part_reaches_the_settings) {
  const ParseResult result = parse(R"({
    "$schema": "policy.schema.json", "description": "all of it", "version": 1, "mode": "strict",
    "regions": [
      {"name": "n", "range": "r*", "domain": "d", "path": "p/*", "action": "observe", "scope": "process",
       "strict": ["parameters", "configuration"]},
      {"range": "second", "strict": ["configuration"]}],
    "operations": [{"kernel": "k*", "action": "graph"}, {"kernel": "e"}],
    "log": {"path": "logs/%h", "max_mib": 7}, "replay": {"patch": false}, "segment": {"min": 9, "max": 9}})");
  ASSERT_TRUE(result.ok) << first_error(result);
  Settings wanted;
  wanted.mode = Mode::strict;
  wanted.regions.push_back({"n", "r*", "d", "p/*", Action::observe, Scope::process, true, true});
  wanted.regions.push_back({"second", "second", "*", "*", Action::graph, Scope::thread, true, false});
  wanted.operations.push_back({"k*", Action::graph});
  wanted.operations.push_back({"e", Action::eager});
  wanted.log_path = "logs/%h";
  wanted.log_max_mib = 7;
  wanted.patch = false;
  wanted.segment_min = 9;
  wanted.segment_max = 9;
  EXPECT_TRUE(equal(result.settings, wanted));
}

TEST(Parser, byte_order_mark_is_tolerated_once) {
  EXPECT_TRUE(parse("\xEF\xBB\xBF{\"version\": 1}").ok);
  EXPECT_FALSE(parse("\xEF\xBB\xBF\xEF\xBB\xBF{\"version\": 1}").ok);
  EXPECT_FALSE(parse("\xEF\xBB{\"version\": 1}").ok);
  EXPECT_EQ(first_error("\xEF\xBB\xBF{\"version\": 2}"),
            "p.json:1:13: version: expected 1, the version of the format, found 2");
}

TEST(Parser, J1_unknown_keys_are_refused_with_the_nearest_known_one) {
  EXPECT_EQ(first_error(R"({"version": 1, "recording": {"skp": 1}})"),
            "p.json:1:30: recording.skp: expected one of skip, max_operations, found an unknown key; "
            "did you mean \"skip\"?");
  const auto meant = [](std::string_view text) {
    const ParseResult result = parse(text);
    EXPECT_FALSE(result.ok) << text;
    return result.errors.empty() ? "no error" : result.errors.front().nearest;
  };
  EXPECT_EQ(meant(R"({"version": 1, "region": []})"), "regions");
  EXPECT_EQ(meant(R"({"version": 1, "Mode": "off"})"), "mode");
  EXPECT_EQ(meant(R"({"vesrion": 1, "version": 1})"), "version");
  EXPECT_EQ(meant(R"({"version": 1, "regions": [{"range": "a", "acton": "graph"}]})"), "action");
  EXPECT_EQ(meant(R"({"version": 1, "operations": [{"kernel": "a", "kernal": "a"}]})"), "kernel");
  EXPECT_EQ(meant(R"({"version": 1, "limits": {"max_variants": 3}})"), "variants");
  EXPECT_EQ(meant(R"({"version": 1, "hold": {"max-hold-us": 30}})"), "max_hold_us");
  // In the wrong section: the full key.
  EXPECT_EQ(meant(R"({"version": 1, "build_after": 3})"), "replay.build_after");
  EXPECT_EQ(meant(R"({"version": 1, "log": {"graph_mib": 3}})"), "limits.graph_mib");
  EXPECT_EQ(meant(R"({"version": 1, "zzzzzzzz": 3})"), "");
  EXPECT_EQ(meant(R"({"version": 1, "": 3})"), "");
}

TEST(Parser, J1_wrong_words_are_refused_with_the_nearest_one) {
  EXPECT_EQ(first_error(R"({"version": 1, "mode": "replya"})"),
            "p.json:1:24: mode: expected one of off, observe, replay, strict, found \"replya\"; did you mean "
            "\"replay\"?");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"range": "a", "scope": "Process"}]})"),
            "p.json:1:52: regions[0].scope: expected one of thread, process, found \"Process\"; did you mean "
            "\"process\"?");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"range": "a", "strict": ["bytes"]}]})"),
            "p.json:1:54: regions[0].strict[0]: expected one of configuration, parameters, found \"bytes\"");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"range": "a", "strict": ["parameters", "parameters"]}]})"),
            "p.json:1:68: regions[0].strict[1]: expected each word once, found \"parameters\"");
}

TEST(Parser, version_is_required_and_known) {
  EXPECT_EQ(first_error("{}"), "p.json:1:1: expected the key \"version\", found none");
  for (const char* wrong : {"0", "2", "1.0", "\"1\"", "true", "null", "-1", "18446744073709551617"}) {
    EXPECT_EQ(first_error(std::string("{\"version\": ") + wrong + "}"),
              std::string("p.json:1:13: version: expected 1, the version of the format, found ") + wrong);
  }
}

TEST(Parser, patterns_must_be_there_well_formed_and_short) {
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"name": "x"}]})"),
            "p.json:1:28: regions[0]: expected the key \"range\", found none");
  EXPECT_EQ(first_error(R"({"version": 1, "operations": [{"action": "eager"}]})"),
            "p.json:1:31: operations[0]: expected the key \"kernel\", found none");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"range": ""}]})"),
            "p.json:1:38: regions[0].range: expected a string that is not empty, found \"\"");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"range": "a[b"}]})"),
            "p.json:1:38: regions[0].range: expected a well-formed pattern, found a bracket [ that is not closed in "
            "\"a[b\"");
  for (const char* key : {"domain", "path"}) {
    EXPECT_FALSE(parse(std::string(R"({"version": 1, "regions": [{"range": "a", ")") + key + R"(": "["}]})").ok);
  }
  EXPECT_FALSE(parse(R"({"version": 1, "operations": [{"kernel": "a\\"}]})").ok);
  EXPECT_TRUE(parse(R"({"version": 1, "regions": [{"range": "a", "domain": ""}]})").ok);
  EXPECT_FALSE(parse(R"({"version": 1, "regions": [{"range": "a", "path": ""}]})").ok);
  EXPECT_FALSE(parse(R"({"version": 1, "regions": [{"range": "a", "name": ""}]})").ok);
  EXPECT_FALSE(parse(R"({"version": 1, "regions": [{"range": "a\u0000b"}]})").ok);
  const auto with_range = [](std::size_t size) {
    return R"({"version": 1, "regions": [{"range": ")" + std::string(size, 'a') + R"("}]})";
  };
  EXPECT_TRUE(parse(with_range(policy::max_pattern_bytes)).ok);
  EXPECT_FALSE(parse(with_range(policy::max_pattern_bytes + 1)).ok);
}

TEST(Parser, repeated_keys_are_refused_at_every_level) {
  EXPECT_EQ(first_error(R"({"version": 1, "version": 1})"),
            "p.json:1:16: version: expected each key once, found it a second time");
  EXPECT_EQ(first_error(R"({"version": 1, "hold": {"max_hold_us": 20, "max_hold_us": 20}})"),
            "p.json:1:44: hold.max_hold_us: expected each key once, found it a second time");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": [{"range": "a"}, {"range": "a", "r\u0061nge": "b"}]})"),
            "p.json:1:59: regions[1].range: expected each key once, found it a second time");
}

TEST(Parser, text_that_is_not_strict_json_is_refused) {
  const auto error = [](std::string_view text) {
    const ParseResult result = parse(text);
    EXPECT_FALSE(result.ok) << text;
    EXPECT_EQ(result.errors.size(), 1u) << text;
    EXPECT_EQ(result.settings.mode, Mode::off);
    return first_error(result);
  };
  EXPECT_EQ(error(""), "p.json:1:1: expected a value, found the end of the text");
  EXPECT_EQ(error("{\"version\": 1,}"), "p.json:1:15: expected a key in double quotes, found }");
  EXPECT_EQ(error("{\"version\" 1}"), "p.json:1:12: version: expected ':' after the key, found 1");
  EXPECT_EQ(error("{\"version\": 1} x"), "p.json:1:16: expected valid JSON, found invalid literal");
  EXPECT_EQ(error("{\"version\": 1}\n{}"), "p.json:2:1: expected nothing after the end of the policy, found {");
  EXPECT_EQ(error("{\"version\": 1"), "p.json:1:14: expected ',' or '}', found the end of the text");
  EXPECT_EQ(error("{\"regions\": [1,,2]}"), "p.json:1:16: regions: expected a value, found ,");
  EXPECT_EQ(error("{\n// no\n\"version\": 1}"), "p.json:2:1: expected JSON, which has no comments, found a comment");
  EXPECT_EQ(error("{\"version\": 1} # no"), "p.json:1:16: expected JSON, which has no comments, found a comment");
  EXPECT_EQ(error(std::string("{\"version\": 1}\0{", 16)), "p.json:1:15: expected JSON text, found a NUL byte");
  EXPECT_EQ(error("{\"mode\": 'off'}"), "p.json:1:10: mode: expected valid JSON, found invalid literal");
  for (const char* bad :
       {"{\"mode\": \"a\nb\"}", "{\"mode\": \"\xFF\"}", "{\"mode\": \"\\q\"}", "{\"mode\": \"\\ud800\"}",
        "{\"version\": 01}", "{\"version\": NaN}", "{\"version\": 1e999}", "{\"version\": +1}", "[", "{\"version", "\"",
        "{'version': 1}", "{version: 1}", "tru", "\xEF", "]"}) {
    error(bad);
  }
}

TEST(Parser, other_shapes_are_refused_by_type) {
  EXPECT_EQ(first_error("[]"), "p.json:1:1: expected an object, found an array");
  EXPECT_EQ(first_error("null"), "p.json:1:1: expected an object, found null");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": {}})"),
            "p.json:1:27: regions: expected an array of objects, found an object");
  EXPECT_EQ(first_error(R"({"version": 1, "regions": ["attn"]})"),
            "p.json:1:28: regions[0]: expected an object, found \"attn\"");
  EXPECT_EQ(first_error(R"({"version": 1, "hold": 5})"), "p.json:1:24: hold: expected an object, found 5");
  EXPECT_EQ(first_error(R"({"version": 1, "log": {"path": 5}})"), "p.json:1:32: log.path: expected a string, found 5");
  EXPECT_EQ(first_error(R"({"version": 1, "mode": true})"),
            "p.json:1:24: mode: expected one of off, observe, replay, strict, found true");
}

TEST(Parser, segment_bounds_must_not_cross) {
  EXPECT_EQ(first_error(R"({"version": 1, "segment": {"min": 10, "max": 9}})"),
            "p.json:1:46: segment.max: expected at least segment.min, 10, found 9");
  EXPECT_EQ(first_error(R"({"version": 1, "segment": {"min": 65}})"),
            "p.json:1:35: segment.min: expected at most segment.max, 64, found 65");
  EXPECT_EQ(first_error(R"({"version": 1, "segment": {"max": 1}})"),
            "p.json:1:35: segment.max: expected at least segment.min, 2, found 1");
}

TEST(Parser, size_depth_and_numbers_of_values_are_bounded) {
  std::string text = R"({"version": 1})";
  text.append(policy::max_document_bytes - text.size(), ' ');
  EXPECT_TRUE(parse(text).ok);
  EXPECT_EQ(first_error(text + ' '), "p.json:1:1: expected at most 1048576 bytes, found 1048577 bytes");
  const std::string deep(500000, '[');
  EXPECT_EQ(first_error(deep),
            "p.json:1:17: [0][0][0][0][0][0][0][0][0][0][0][0][0][0][0]: expected at most 16 levels "
            "of nesting, found more");
  std::string zeros = "[0";
  for (int i = 0; i < 70000; ++i) zeros += ",0";
  EXPECT_NE(first_error(zeros + "]").find("at most 65536 values"), std::string::npos);
  std::string keys = "{";
  for (int i = 0; i < 300; ++i) keys += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_NE(first_error(keys + "\"version\": 1}").find("at most 256 keys"), std::string::npos);
  std::string rules = R"({"version": 1, "operations": [{"kernel": "a"})";
  for (std::size_t i = 1; i < policy::max_rules; ++i) rules += R"(,{"kernel": "a"})";
  EXPECT_TRUE(parse(rules + "]}").ok);
  EXPECT_NE(first_error(rules + R"(,{"kernel": "a"}]})").find("at most 1024 rules"), std::string::npos);
}

TEST(Parser, all_faults_are_told_in_the_order_of_the_text) {
  const ParseResult result = parse(R"({
    "mode": "on",
    "segment": {"min": 50, "max": 40},
    "regions": [{"rang": "x"}, {"range": "["}],
    "mode": "off"
  })");
  EXPECT_FALSE(result.ok);
  std::vector<std::string> keys;
  for (const policy::PolicyError& error : result.errors) keys.push_back(error.key);
  const std::vector<std::string> wanted{
      "", "mode", "segment.max", "regions[0]", "regions[0].rang", "regions[1].range", "mode"};
  EXPECT_EQ(keys, wanted);
  EXPECT_TRUE(equal(result.settings, [] {
    Settings off;
    off.mode = Mode::off;
    return off;
  }()));
}

TEST(Parser, number_of_faults_told_is_bounded) {
  std::string text = R"({"version": 1, "operations": [0)";
  for (int i = 0; i < 100; ++i) text += ", 0";
  EXPECT_EQ(parse(text + "]}").errors.size(), ErrorList::limit);
  EXPECT_EQ(ErrorList::limit, 20u);
}

TEST(Parser, J5_what_is_found_is_bounded_and_stays_on_one_line) {
  const std::string line = first_error(R"({"version": 1, "mode": ")" + std::string(5000, 'x') + "\"}");
  EXPECT_LT(line.size(), 250u);
  const std::string key = first_error("{\"version\": 1, \"a\\nb" + std::string(5000, 'x') + "\": 1}");
  EXPECT_LT(key.size(), 400u);
  EXPECT_EQ(key.find('\n'), std::string::npos);
  EXPECT_NE(key.find("a\\x0ab"), std::string::npos);
}

}  // namespace refrain::tests
