#include "policy/describe.h"

#include <fmt/core.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <random>
#include <string>

#include "policy/built_in.h"
#include "policy/setting_rows.h"
#include "tests/policy/support.h"

namespace refrain::tests {

using policy::Settings;

namespace {

/// Settings with every field at a value of its own, within the bounds.
Settings arbitrary_settings(std::mt19937& random) {
  Settings settings;
  settings.mode = static_cast<policy::Mode>(random() % 4);
  settings.automatic = random() % 2 == 0;
  for (unsigned i = random() % 4; i > 0; --i) {
    settings.regions.push_back({"n\"\\\n\t" + std::to_string(random()), "r\\*[!a-z]\xC3\xA9" + std::to_string(random()),
                                random() % 2 ? "" : "d*", "p/" + std::to_string(random()),
                                static_cast<policy::Action>(random() % 3), static_cast<policy::Scope>(random() % 2),
                                random() % 2 == 0, random() % 2 == 0});
  }
  for (unsigned i = random() % 4; i > 0; --i) {
    settings.operations.push_back({"k*" + std::to_string(random()), static_cast<policy::Action>(random() % 3)});
  }
  for (const policy::SettingRow& row : policy::setting_rows()) {
    row.set(settings, std::uniform_int_distribution<std::uint64_t>(row.low, row.high)(random));
  }
  if (settings.segment_min > settings.segment_max) std::swap(settings.segment_min, settings.segment_max);
  settings.log_path = "logs/" + std::to_string(random());
  return settings;
}

}  // namespace

TEST(Describe, json_round_trips_through_the_parser) {
  std::mt19937 random(7);
  for (int i = 0; i < 500; ++i) {
    const Settings settings = arbitrary_settings(random);
    for (const int indent : {2, -1}) {
      const std::string text = policy::to_json(settings, indent);
      const policy::ParseResult result = parse(text);
      ASSERT_TRUE(result.ok) << first_error(result) << '\n' << text;
      ASSERT_TRUE(equal(result.settings, settings)) << text;
    }
  }
}

TEST(Describe, json_gives_every_key_and_can_be_one_line) {
  const std::string line = policy::to_json(policy::built_in_settings(), -1);
  EXPECT_EQ(line.find('\n'), std::string::npos);
  const nlohmann::json json = nlohmann::json::parse(line);
  for (const policy::SettingRow& row : policy::setting_rows()) {
    EXPECT_TRUE(json.at(std::string(row.section())).contains(std::string(row.name()))) << row.key;
  }
  EXPECT_TRUE(json.at("log").contains("path"));
}

TEST(Describe, bytes_that_are_not_utf8_do_not_stop_it) {
  Settings settings;
  settings.log_path = "a\xFF\xC3";
  EXPECT_TRUE(parse(policy::to_json(settings)).ok);
}

TEST(Describe, table_has_a_line_for_every_setting) {
  Settings settings;
  settings.max_hold_us = 4321;
  const std::string table = policy::settings_table(settings);
  EXPECT_EQ(static_cast<std::size_t>(std::count(table.begin(), table.end(), '\n')), policy::setting_rows().size() + 1);
  for (const policy::SettingRow& row : policy::setting_rows()) {
    const std::size_t at = table.find(fmt::format("\n{} ", row.key));
    ASSERT_NE(at, std::string::npos) << row.key;
    const std::string line = table.substr(at + 1, table.find('\n', at + 1) - at - 1);
    EXPECT_NE(line.find(std::string(row.unit)), std::string::npos) << line;
    EXPECT_TRUE(line.ends_with(row.help)) << line;
  }
  EXPECT_NE(table.find("4321  us"), std::string::npos);
}

}  // namespace refrain::tests
