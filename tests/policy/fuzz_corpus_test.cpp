// The fuzzing corpus and its mutations, as an ordinary test.
#include <gtest/gtest.h>

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "tests/policy/fuzz_policy.h"
#include "tests/policy/support.h"

namespace refrain::tests {

namespace {

std::vector<std::string> corpus() {
  std::vector<std::string> texts;
  for (const auto& entry : std::filesystem::directory_iterator(source_root() / "tests" / "policy" / "corpus")) {
    texts.push_back(file_text(entry.path()));
  }
  for (const auto& path : shipped_policies()) texts.push_back(file_text(path));
  EXPECT_GT(texts.size(), 20u);
  return texts;
}

/// One random edit: a byte changed, bytes removed, or a piece of another text put in.
void mutate(std::string& text, const std::vector<std::string>& pieces, std::mt19937& random) {
  static constexpr std::string_view telling = "{}[]\",:\\0-.e*!\n\xEF\xC3\x00/#";
  const std::size_t at = text.empty() ? 0 : random() % text.size();
  switch (random() % 5) {
    case 0:
      if (!text.empty()) text[at] = static_cast<char>(random());
      break;
    case 1:
      if (!text.empty()) text[at] = telling[random() % telling.size()];
      break;
    case 2: text.erase(at, 1 + random() % 8); break;
    case 3: text.insert(at, 1, telling[random() % telling.size()]); break;
    default: {
      const std::string& other = pieces[random() % pieces.size()];
      if (!other.empty()) text.insert(at, other.substr(random() % other.size(), random() % 40));
    }
  }
}

}  // namespace

TEST(Fuzz, corpus_keeps_the_promises) {
  for (const std::string& text : corpus()) EXPECT_EQ(broken_promise(text), "") << text.substr(0, 200);
}

TEST(Fuzz, mutations_of_the_corpus_keep_the_promises) {
  const std::vector<std::string> texts = corpus();
  std::mt19937 random(20240607);
  for (int i = 0; i < 20000; ++i) {
    std::string text = texts[random() % texts.size()];
    for (unsigned edits = 1 + random() % 4; edits > 0; --edits) mutate(text, texts, random);
    ASSERT_EQ(broken_promise(text), "") << "mutation " << i << ":\n" << text;
  }
}

TEST(Fuzz, every_beginning_of_a_policy_is_survived) {
  const std::string text = file_text(source_root() / "configs" / "default.json");
  for (std::size_t size = 0; size < text.size(); ++size) ASSERT_EQ(broken_promise(text.substr(0, size)), "") << size;
}

}  // namespace refrain::tests
