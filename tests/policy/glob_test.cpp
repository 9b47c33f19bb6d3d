#include "policy/glob.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

#include "policy/selector.h"

namespace refrain::tests {

using policy::glob_fault;
using policy::matches;

TEST(Glob, is_anchored_at_both_ends) {
  EXPECT_TRUE(matches("attn", "attn"));
  EXPECT_FALSE(matches("attn", "attn2"));
  EXPECT_FALSE(matches("attn", "1attn"));
  EXPECT_FALSE(matches("attn", ""));
  EXPECT_TRUE(matches("", ""));
  EXPECT_FALSE(matches("", "a"));
}

TEST(Glob, star_is_any_text_with_slashes_and_empty_text) {
  EXPECT_TRUE(matches("*", ""));
  EXPECT_TRUE(matches("*", "a/b"));
  EXPECT_TRUE(matches("a*", "a"));
  EXPECT_TRUE(matches("*attn*", "layer/self_attn/forward"));
  EXPECT_TRUE(matches("a*b*c", "a-b-b-c"));
  EXPECT_FALSE(matches("a*b*c", "a-c-b"));
  EXPECT_TRUE(matches("**", "x"));
  EXPECT_TRUE(matches("*ab", "aab"));
  EXPECT_TRUE(matches("*aab", "aaab"));
}

TEST(Glob, question_mark_is_one_character_not_one_byte) {
  EXPECT_TRUE(matches("a?c", "abc"));
  EXPECT_FALSE(matches("a?c", "ac"));
  EXPECT_TRUE(matches("a?c",
                      "a\xC3\xA9"
                      "c"));
  EXPECT_TRUE(matches("a?c",
                      "a\xF0\x9F\x98\x80"
                      "c"));
  EXPECT_TRUE(matches("a??c",
                      "a\xFF\xC3"
                      "c"));  // bytes that are not UTF-8 are characters of their own
  EXPECT_FALSE(matches("?", ""));
}

TEST(Glob, brackets_list_ranges_and_exclude) {
  EXPECT_TRUE(matches("[Aa]ttn", "Attn"));
  EXPECT_TRUE(matches("[Aa]ttn", "attn"));
  EXPECT_FALSE(matches("[Aa]ttn", "bttn"));
  EXPECT_TRUE(matches("l[0-9]", "l7"));
  EXPECT_FALSE(matches("l[0-9]", "lx"));
  EXPECT_FALSE(matches("l[!0-9]", "l7"));
  EXPECT_TRUE(matches("l[!0-9]", "lx"));
  EXPECT_TRUE(matches("[]x]", "]"));
  EXPECT_TRUE(matches("[a-]", "-"));
  EXPECT_TRUE(matches("[\\]]", "]"));
  EXPECT_TRUE(matches("[\\^]", "^"));
  EXPECT_TRUE(matches("[\xC3\xA0-\xC3\xBF]", "\xC3\xA9"));
  EXPECT_FALSE(matches("[\xC3\xA0-\xC3\xBF]", "e"));
}

TEST(Glob, backslash_takes_the_next_character_as_it_is) {
  EXPECT_TRUE(matches("a\\*b", "a*b"));
  EXPECT_FALSE(matches("a\\*b", "axb"));
  EXPECT_TRUE(matches("\\[x]", "[x]"));
  EXPECT_TRUE(matches("\\\\", "\\"));
  EXPECT_TRUE(matches("\\a", "a"));
}

TEST(Glob, N3_names_with_at_sign_and_slash_have_no_meaning_of_their_own) {
  EXPECT_TRUE(matches("a@b/c", "a@b/c"));
  EXPECT_FALSE(matches("a@b/c", "a@b"));
  EXPECT_TRUE(matches("*@*", "x/y@z"));
}

TEST(Glob, pathological_patterns_take_linear_time_on_a_megabyte) {
  const std::string text(1 << 20, 'a');
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_FALSE(matches("*a*a*a*a*b", text));
  EXPECT_FALSE(matches("*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*ab", text));
  EXPECT_FALSE(matches("*aaaaaaaaaaaaaaab", text));
  EXPECT_FALSE(matches("*?*?*?*?*[b-z]", text));
  EXPECT_TRUE(matches("*a*a*a*a*", text));
  EXPECT_TRUE(matches("*a*a*a*a*b", text + "b"));
  // Exponential matching would need longer than the universe lasts, quadratic matching hours.
  EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
}

TEST(Glob, faults_are_named) {
  for (const char* good : {"", "*", "a[b]c", "[]]", "[!]]", "[a-]", "[-a]", "\\[", "[\\^]", "a^", "[\\]]", "]"}) {
    EXPECT_EQ(glob_fault(good), nullptr) << good;
  }
  for (const char* bad : {"[", "a[", "[]", "[!", "[!]", "[a-", "[\\]", "x[ab"}) {
    ASSERT_NE(glob_fault(bad), nullptr) << bad;
    EXPECT_STREQ(glob_fault(bad), "a bracket [ that is not closed") << bad;
  }
  EXPECT_STREQ(glob_fault("a\\"), "a backslash with nothing after it");
  EXPECT_STREQ(glob_fault("[z-a]"), "a range in brackets that runs backwards");
  EXPECT_NE(glob_fault("[^a]"), nullptr);
}

TEST(Glob, malformed_patterns_are_survived_all_the_same) {
  for (const char* bad : {"[", "a[", "[!", "[a-", "\\", "[\\", "[a-\\", "*["}) {
    EXPECT_FALSE(matches(bad, "abc")) << bad;
  }
}

}  // namespace refrain::tests
