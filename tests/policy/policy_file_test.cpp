#include "policy/policy_file.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <string>

#include "policy/document.h"
#include "tests/policy/support.h"
#include "tests/policy/temporary_folder.h"

namespace refrain::tests {

namespace {

/// What was found instead of a readable file.
std::string found(const std::string& path) {
  const policy::ParseResult result = policy::load_policy(path);
  EXPECT_FALSE(result.ok);
  EXPECT_EQ(result.settings.mode, policy::Mode::off);
  EXPECT_EQ(result.errors.size(), 1u);
  if (result.errors.empty()) return {};
  EXPECT_EQ(result.errors[0].line, 0u);
  EXPECT_EQ(result.errors[0].file, path);
  EXPECT_EQ(policy::to_string(result.errors[0]),
            path + ": expected a readable policy file, found " + result.errors[0].found);
  return result.errors[0].found;
}

}  // namespace

TEST(PolicyFile, what_cannot_be_read_is_told) {
  const TemporaryFolder folder;
  EXPECT_EQ(found(folder.path() / "missing.json"), "No such file or directory");
  EXPECT_EQ(found(folder.path()), "a folder");
  EXPECT_EQ(found(""), "an empty path");
  EXPECT_EQ(found(folder.write("empty.json", "")), "an empty file");
  EXPECT_EQ(found("/dev/null"), "a pipe or device");
  EXPECT_EQ(found(folder.write("large.json", std::string(policy::max_document_bytes + 1, ' '))),
            "more than 1048576 bytes");
  EXPECT_EQ(found(folder.write("file", "x") + "/p.json"), "Not a directory");
}

TEST(PolicyFile, unreadable_file_is_told) {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.json", R"({"version": 1})");
  ASSERT_EQ(::chmod(path.c_str(), 0), 0);
  ASSERT_EQ(::chmod(folder.path().c_str(), 0755), 0);
  const uid_t user = ::geteuid();
  constexpr uid_t nobody = 65534;  // root may read every file
  if (user == 0 && ::seteuid(nobody) != 0) GTEST_SKIP() << "root may read every file and cannot become another user";
  const std::string text = found(path);
  if (user == 0) {
    ASSERT_EQ(::seteuid(0), 0);
  }
  EXPECT_EQ(text, "Permission denied");
}

TEST(PolicyFile, pipe_without_writer_does_not_wait) {
  const TemporaryFolder folder;
  const std::string path = folder.path() / "pipe";
  ASSERT_EQ(::mkfifo(path.c_str(), 0600), 0);
  EXPECT_EQ(found(path), "a pipe or device");
}

TEST(PolicyFile, file_of_the_greatest_size_is_read) {
  const TemporaryFolder folder;
  std::string text = R"({"version": 1})";
  text.append(policy::max_document_bytes - text.size(), '\n');
  EXPECT_TRUE(policy::load_policy(folder.write("p.json", text)).ok);
}

}  // namespace refrain::tests
