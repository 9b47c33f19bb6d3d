// Line and column of every key and of every value, proven by breaking each of them once in a text with arbitrary white
// space.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <random>
#include <string>
#include <vector>

#include "policy/describe.h"
#include "policy/parser.h"
#include "tests/policy/support.h"

namespace refrain::tests {

namespace {

struct Token {
  std::string text;
  bool is_key = false;
  bool is_value = false;  ///< a string, number or word that is not a key
};

/// The tokens of a text that is known to be valid.
std::vector<Token> tokens_of(const std::string& text) {
  std::vector<Token> tokens;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t begin = i;
    if (std::isspace(static_cast<unsigned char>(text[i])) != 0) {
      ++i;
      continue;
    }
    if (std::string_view("{}[],:").find(text[i]) != std::string_view::npos) {
      if (text[i] == ':') tokens.back().is_key = true;
      if (text[i] == ':') tokens.back().is_value = false;
      tokens.push_back({text.substr(i++, 1)});
      continue;
    }
    if (text[i] == '"') {
      for (++i; text[i] != '"'; ++i) i += text[i] == '\\' ? 1 : 0;
      ++i;
    } else {
      i = text.find_first_of(" \n,]}", i);
    }
    tokens.push_back({text.substr(begin, i - begin), false, true});
  }
  return tokens;
}

struct Place {
  unsigned line = 1, column = 1;
};

/// Writes the tokens with random white space between them; tells where token `watched` came to stand.
std::string write(const std::vector<Token>& tokens, std::size_t watched, std::mt19937& random, Place& place) {
  static constexpr std::array<const char*, 7> spaces{"", " ", "\n", "\t", "\r\n", "  \n  ", "\n\n\t"};
  std::string text;
  Place here;
  const auto append = [&](std::string_view piece) {
    for (const char c : piece) {
      text += c;
      if (c == '\n') {
        here = {here.line + 1, 1};
      } else if ((static_cast<unsigned char>(c) & 0xC0) != 0x80) {
        ++here.column;
      }
    }
  };
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    append(spaces[random() % spaces.size()]);
    if (i == watched) place = here;
    append(tokens[i].text);
  }
  return text;
}

/// A policy with every key, awkward strings included.
std::vector<Token> complete_policy() {
  const policy::ParseResult parsed = parse(R"({"version": 1,
    "regions": [{"range": "a\"b\\\\*: ,{}[!x]", "name": "caf\u00e9 \ud83d\ude00", "strict": ["parameters"]},
                {"range": "*", "strict": ["configuration", "parameters"]}],
    "operations": [{"kernel": "n\\[ccl"}, {"kernel": "k", "action": "graph"}], "log": {"path": "a:b,c"}})");
  EXPECT_TRUE(parsed.ok) << first_error(parsed);
  return tokens_of(policy::to_json(parsed.settings));
}

void expect_error_at(const std::vector<Token>& tokens, std::size_t broken, std::mt19937& random) {
  for (const std::string_view mark : {"", "\xEF\xBB\xBF"}) {
    Place place;
    const std::string text = std::string(mark) + write(tokens, broken, random, place);
    const policy::ParseResult result = parse(text);
    EXPECT_FALSE(result.ok);
    const bool found = std::any_of(result.errors.begin(), result.errors.end(), [&](const policy::PolicyError& error) {
      return error.line == place.line && error.column == place.column;
    });
    EXPECT_TRUE(found) << "no error at " << place.line << ':' << place.column << ", but " << first_error(result)
                       << "\nin:\n"
                       << text;
  }
}

}  // namespace

TEST(Position, every_value_is_told_with_its_line_and_column) {
  std::mt19937 random(1);
  const std::vector<Token> tokens = complete_policy();
  unsigned values = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_value) continue;
    std::vector<Token> broken = tokens;
    broken[i].text = "null";
    expect_error_at(broken, i, random);
    ++values;
  }
  EXPECT_GT(values, 35u);
}

TEST(Position, every_key_is_told_with_its_line_and_column) {
  std::mt19937 random(2);
  const std::vector<Token> tokens = complete_policy();
  unsigned keys = 0;
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (!tokens[i].is_key) continue;
    std::vector<Token> broken = tokens;
    broken[i].text.insert(1, "\xC3\xA9");
    expect_error_at(broken, i, random);
    ++keys;
  }
  EXPECT_GT(keys, 40u);
}

TEST(Position, a_token_that_does_not_belong_is_told_with_its_line_and_column) {
  std::mt19937 random(3);
  const std::vector<Token> tokens = complete_policy();
  for (std::size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i].text == ":") continue;  // there a colon belongs
    std::vector<Token> broken = tokens;
    broken.insert(broken.begin() + static_cast<std::ptrdiff_t>(i), Token{":"});
    Place place;
    const policy::ParseResult result = parse(write(broken, i, random, place));
    ASSERT_EQ(result.errors.size(), 1u);
    EXPECT_EQ(result.errors.front().found, ":");
    EXPECT_EQ(result.errors.front().line, place.line) << i;
    EXPECT_EQ(result.errors.front().column, place.column) << i;
  }
}

TEST(Position, lines_end_with_line_feed_whatever_comes_before_it) {
  EXPECT_EQ(first_error("{\r\n\r\n  \"version\": 1,\r\n\t\"x\": 1}").substr(0, 11), "p.json:4:2:");
  EXPECT_EQ(first_error("{\"description\": \"\xC3\xA9\xF0\x9F\x98\x80\", \"version\": 3}").substr(0, 12),
            "p.json:1:34:");
}

}  // namespace refrain::tests
