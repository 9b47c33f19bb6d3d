#include "policy/environment.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <map>
#include <string>

#include "policy/built_in.h"
#include "tests/policy/support.h"
#include "tests/policy/temporary_folder.h"

namespace refrain::tests {

using policy::Environment;
using policy::Mode;

namespace {

Environment with(const std::map<std::string, std::string>& variables) {
  return policy::read_environment([&](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  });
}

}  // namespace

TEST(Environment, X7_nothing_set_is_silent_and_off) {
  const Environment result = with({});
  EXPECT_FALSE(result.wanted);
  EXPECT_FALSE(result.disabled);
  EXPECT_TRUE(result.errors.empty());
  EXPECT_EQ(result.settings.mode, Mode::off);
  EXPECT_EQ(with({{"REFRAIN_LOG", "x"}}).settings.mode, Mode::off);
}

TEST(Environment, policy_file_is_read_and_named) {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.json", R"({"version": 1, "mode": "strict", "log": {"path": "a"}})");
  const Environment result = with({{"REFRAIN_POLICY", path}});
  EXPECT_TRUE(result.wanted);
  EXPECT_TRUE(result.errors.empty());
  EXPECT_EQ(result.settings.mode, Mode::strict);
  EXPECT_EQ(result.settings.source, path);
  EXPECT_EQ(result.settings.log_path, "a");
}

TEST(Environment, built_in_policy_by_name_or_by_mode_alone) {
  const Environment by_name = with({{"REFRAIN_POLICY", "built-in"}});
  EXPECT_TRUE(equal(by_name.settings, policy::built_in_settings()));
  EXPECT_EQ(by_name.settings.source, "built-in");
  const Environment by_mode = with({{"REFRAIN_MODE", "observe"}});
  EXPECT_TRUE(by_mode.wanted);
  EXPECT_EQ(by_mode.settings.mode, Mode::observe);
  EXPECT_EQ(by_mode.settings.regions.size(), policy::built_in_settings().regions.size());
}

TEST(Environment, mode_and_log_override_the_file) {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.json", R"({"version": 1, "mode": "observe", "log": {"path": "a"}})");
  for (const auto& [word, mode] :
       std::map<std::string, Mode>{{"observe", Mode::observe}, {"replay", Mode::replay}, {"strict", Mode::strict}}) {
    EXPECT_EQ(with({{"REFRAIN_POLICY", path}, {"REFRAIN_MODE", word}}).settings.mode, mode);
  }
  EXPECT_EQ(with({{"REFRAIN_POLICY", path}, {"REFRAIN_LOG", "b/c"}}).settings.log_path, "b/c");
  EXPECT_EQ(with({{"REFRAIN_POLICY", path}, {"REFRAIN_LOG", ""}}).settings.log_path, "");
}

TEST(Environment, mode_off_is_off_without_a_word_even_with_a_faulty_policy) {
  const Environment result = with({{"REFRAIN_POLICY", "/nowhere/p.json"}, {"REFRAIN_MODE", "off"}});
  EXPECT_EQ(result.settings.mode, Mode::off);
  EXPECT_TRUE(result.errors.empty());
}

TEST(Environment, J3_disable_takes_0_1_true_false_only) {
  for (const char* on : {"1", "true"}) {
    const Environment result = with({{"REFRAIN_POLICY", "built-in"}, {"REFRAIN_DISABLE", on}});
    EXPECT_TRUE(result.disabled) << on;
    EXPECT_EQ(result.settings.mode, Mode::off) << on;
    EXPECT_TRUE(result.errors.empty()) << on;
  }
  for (const char* off : {"0", "false"}) {
    const Environment result = with({{"REFRAIN_POLICY", "built-in"}, {"REFRAIN_DISABLE", off}});
    EXPECT_FALSE(result.disabled) << off;
    EXPECT_EQ(result.settings.mode, Mode::replay) << off;
    EXPECT_TRUE(result.errors.empty()) << off;
  }
  for (const char* other : {"", "no", "off", "yes", "2", "TRUE", "False", " 0", "00", "0 "}) {
    const Environment result = with({{"REFRAIN_POLICY", "built-in"}, {"REFRAIN_DISABLE", other}});
    EXPECT_TRUE(result.disabled) << other;
    EXPECT_EQ(result.settings.mode, Mode::off) << other;
    ASSERT_EQ(result.errors.size(), 1u) << other;
    EXPECT_EQ(result.errors[0],
              std::string("REFRAIN_DISABLE: expected 0, 1, true or false, found \"") + other + "\"; Refrain is off");
  }
}

TEST(Environment, J3_mode_takes_its_four_words_only) {
  for (const char* other : {"", "0", "1", "on", "Off", "replay ", "STRICT"}) {
    const Environment result = with({{"REFRAIN_POLICY", "built-in"}, {"REFRAIN_MODE", other}});
    EXPECT_EQ(result.settings.mode, Mode::off) << other;
    ASSERT_EQ(result.errors.size(), 1u) << other;
    EXPECT_EQ(result.errors[0].find("REFRAIN_MODE: expected off, observe, replay or strict, found \""), 0u) << other;
  }
  EXPECT_EQ(with({{"REFRAIN_MODE", "relpay"}}).errors.at(0),
            "REFRAIN_MODE: expected off, observe, replay or strict, found \"relpay\"; did you mean \"replay\"?");
}

TEST(Environment, faulty_policy_is_one_line_and_off) {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.json", "{\"version\": 1,\n\"mod\": 1, \"hold\": 2}");
  const Environment result = with({{"REFRAIN_POLICY", path}, {"REFRAIN_MODE", "replay"}});
  EXPECT_EQ(result.settings.mode, Mode::off);
  EXPECT_TRUE(result.settings.regions.empty());
  ASSERT_EQ(result.errors.size(), 1u);
  EXPECT_EQ(result.errors[0].find(path + ":2:1: mod: expected one of "), 0u) << result.errors[0];
  EXPECT_NE(result.errors[0].find("did you mean \"mode\"? (and 1 more: refrain check " + path + ")"),
            std::string::npos);
}

TEST(Environment, every_fault_is_told) {
  const Environment result = with({{"REFRAIN_POLICY", "/nowhere/p.json"}, {"REFRAIN_MODE", "x"}});
  EXPECT_EQ(result.settings.mode, Mode::off);
  ASSERT_EQ(result.errors.size(), 2u);
  EXPECT_EQ(result.errors[1],
            "REFRAIN_POLICY: /nowhere/p.json: expected a readable policy file, found No such file or directory");
  EXPECT_EQ(with({{"REFRAIN_POLICY", ""}}).errors.size(), 1u);
}

}  // namespace refrain::tests
