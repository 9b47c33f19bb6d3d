// Every row of settings.inc: default, bounds, types, and agreement with the JSON schema.
#include <gtest/gtest.h>

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <type_traits>

#include "policy/setting_rows.h"
#include "tests/policy/support.h"

namespace refrain::tests {

using nlohmann::json;
using policy::ParseResult;
using policy::Settings;

namespace {

std::string policy_with(std::string_view key, const std::string& value) {
  const std::string section(key.substr(0, key.find('.')));
  const std::string name(key.substr(key.find('.') + 1));
  std::string others;
  // segment.min and segment.max must not cross: the other one makes room.
  if (key == "segment.min") others = R"("max": 10000, )";
  if (key == "segment.max") others = R"("min": 1, )";
  return R"({"version": 1, ")" + section + R"(": {)" + others + '"' + name + R"(": )" + value + "}}";
}

template <class Type>
void expect_accepted(const char* key, Type Settings::*member, Type value) {
  const std::string text = std::is_same_v<Type, bool> ? (value ? "true" : "false") : std::to_string(value);
  const ParseResult result = parse(policy_with(key, text));
  ASSERT_TRUE(result.ok) << first_error(result);
  EXPECT_EQ(result.settings.*member, value) << key;
}

void expect_refused(const char* key, const std::string& value) {
  const ParseResult result = parse(policy_with(key, value));
  EXPECT_FALSE(result.ok) << key << " took " << value;
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors.front().key, key);
  EXPECT_EQ(result.errors.front().found, value);
}

template <class Type>
void check_bounds(const char* key, Type Settings::*member, std::uint64_t initial, std::uint64_t low,
                  std::uint64_t high) {
  EXPECT_EQ(static_cast<std::uint64_t>(Settings{}.*member), initial) << key;
  expect_accepted(key, member, static_cast<Type>(low));
  expect_accepted(key, member, static_cast<Type>(high));
  for (const char* wrong : {"null", "\"1\"", "-1", "1.5", "1e2", "99999999999999999999999"}) expect_refused(key, wrong);
  if (std::is_same_v<Type, bool>) {
    expect_refused(key, "0");
    expect_refused(key, "1");
    return;
  }
  expect_refused(key, "true");
  expect_refused(key, std::to_string(high + 1));
  expect_refused(key, "4294967296");  // 2^32, which must not wrap to 0
  if (low > 0) expect_refused(key, std::to_string(low - 1));
}

}  // namespace

TEST(Settings, every_setting_keeps_its_bounds) {
#define SETTING(type, member, key, initial, low, high, unit, help) \
  check_bounds<type>(key, &Settings::member, initial, low, high);
#include "policy/settings.inc"
}

TEST(Settings, rows_are_the_list) {
  std::size_t row = 0;
  const auto rows = policy::setting_rows();
#define SETTING(type, member, row_key, row_initial, row_low, row_high, row_unit, row_help)        \
  ASSERT_LT(row, rows.size());                                                                    \
  EXPECT_EQ(rows[row].key, row_key);                                                              \
  EXPECT_EQ(rows[row].boolean, (std::is_same_v<type, bool>));                                     \
  EXPECT_EQ(rows[row].get(Settings{}), static_cast<std::uint64_t>(row_initial));                  \
  EXPECT_EQ(rows[row].section(), std::string(row_key).substr(0, std::string(row_key).find('.'))); \
  ++row;
#include "policy/settings.inc"
  EXPECT_EQ(row, rows.size());
}

TEST(Settings, sections_stand_together_in_the_list) {
  std::vector<std::string_view> seen;
  for (const policy::SettingRow& row : policy::setting_rows()) {
    if (!seen.empty() && seen.back() == row.section()) continue;
    EXPECT_EQ(std::count(seen.begin(), seen.end(), row.section()), 0) << row.section();
    seen.push_back(row.section());
  }
}

TEST(Schema, agrees_with_the_list_in_both_directions) {
  const json schema = json::parse(file_text(source_root() / "configs" / "policy.schema.json"));
  const json& top = schema.at("properties");
  std::size_t rows_in_schema = 0;
  for (const auto& [section, content] : top.items()) {
    if (!content.contains("properties")) continue;
    EXPECT_EQ(content.at("additionalProperties"), false) << section;
    rows_in_schema += content.at("properties").size();
  }
  EXPECT_EQ(rows_in_schema, policy::setting_rows().size() + 1);  // log.path is not in the list
  for (const policy::SettingRow& row : policy::setting_rows()) {
    const json& entry = top.at(std::string(row.section())).at("properties").at(std::string(row.name()));
    EXPECT_NE(entry.at("description").get<std::string>().find(row.help), std::string::npos) << row.key;
    if (row.boolean) {
      EXPECT_EQ(entry.at("type"), "boolean") << row.key;
      EXPECT_EQ(entry.at("default"), row.initial != 0) << row.key;
      continue;
    }
    EXPECT_EQ(entry.at("type"), "integer") << row.key;
    EXPECT_EQ(entry.at("default"), row.initial) << row.key;
    EXPECT_EQ(entry.at("minimum"), row.low) << row.key;
    EXPECT_EQ(entry.at("maximum"), row.high) << row.key;
  }
}

TEST(Schema, agrees_with_the_other_bounds_and_defaults) {
  const json schema = json::parse(file_text(source_root() / "configs" / "policy.schema.json"));
  const json& top = schema.at("properties");
  const json& region = schema.at("$defs").at("region").at("properties");
  const json& operation = schema.at("$defs").at("operation").at("properties");
  EXPECT_EQ(top.at("version").at("const"), policy::policy_version);
  EXPECT_EQ(top.at("regions").at("maxItems"), policy::max_rules);
  EXPECT_EQ(top.at("operations").at("maxItems"), policy::max_rules);
  EXPECT_EQ(top.at("log").at("properties").at("path").at("maxLength"), policy::max_path_bytes);
  EXPECT_EQ(region.at("name").at("maxLength"), policy::max_name_bytes);
  for (const char* key : {"range", "domain", "path"}) {
    EXPECT_EQ(region.at(key).at("maxLength"), policy::max_pattern_bytes);
  }
  EXPECT_EQ(operation.at("kernel").at("maxLength"), policy::max_pattern_bytes);
  EXPECT_EQ(region.at("domain").at("default"), policy::RegionRule{}.domain);
  EXPECT_EQ(region.at("path").at("default"), policy::RegionRule{}.path);
  const auto default_of = [](const json& entry) { return entry.at("default").get<std::string>(); };
  const ParseResult parsed = parse(
      R"({"version": 1, "mode": ")" + default_of(top.at("mode")) + R"(", "regions": [{"range": "a", "action": ")" +
      default_of(region.at("action")) + R"(", "scope": ")" + default_of(region.at("scope")) +
      R"("}], "operations": [{"kernel": "a", "action": ")" + default_of(operation.at("action")) + R"("}]})");
  const ParseResult plain = parse(R"({"version": 1, "regions": [{"range": "a"}], "operations": [{"kernel": "a"}]})");
  ASSERT_TRUE(parsed.ok && plain.ok) << first_error(parsed);
  EXPECT_TRUE(equal(parsed.settings, plain.settings));
}

}  // namespace refrain::tests
