#include "policy/json_tree.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace refrain::policy {
namespace {

TEST(JsonTree, writes_what_another_writer_writes) {
  const char* const texts[] = {
      "null",
      "true",
      "-3",
      "18446744073709551615",
      "0.1",
      "1e300",
      "2.0",
      "[]",
      "{}",
      R"("a\"b\\\u0001\n\u00e9")",
      R"({"b":[1,[],{},{"x":null}],"a":{"c":-1.5,"":"text"}})",
      R"([[[["deep"]],false]])",
      R"({"twice":1,"other":2,"twice":3})",
  };
  for (const char* text : texts) {
    const auto tree = JsonTree::parse(text);
    ASSERT_TRUE(tree.has_value()) << text;
    for (const int indent : {-1, 0, 2}) EXPECT_EQ(tree->dump(indent), nlohmann::ordered_json::parse(text).dump(indent));
  }
  for (const char* text : {"", "{", "[1,]", "{\"a\" 1}", "nul", "[1] 2"}) EXPECT_FALSE(JsonTree::parse(text)) << text;
}

TEST(JsonTree, repairs_text_that_is_not_utf8) {
  JsonTree tree;
  tree["\xff"] = "a\xc3";
  EXPECT_EQ(tree.dump(), "{\"\xef\xbf\xbd\":\"a\xef\xbf\xbd\"}");
}

}  // namespace
}  // namespace refrain::policy
