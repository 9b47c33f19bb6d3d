#include "policy/command_check.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "policy/built_in.h"
#include "tests/policy/support.h"
#include "tests/policy/temporary_folder.h"

namespace refrain::tests {

namespace {

struct Checked {
  int status = -1;
  std::string out, err;
};

Checked check(const std::string& path, bool print_effective) {
  Checked run;
  char* out_text = nullptr;
  char* err_text = nullptr;
  std::size_t out_size = 0;
  std::size_t err_size = 0;
  std::FILE* out = ::open_memstream(&out_text, &out_size);
  std::FILE* err = ::open_memstream(&err_text, &err_size);
  run.status = policy::run_check(path, print_effective, out, err);
  std::fclose(out);
  std::fclose(err);
  run.out.assign(out_text, out_size);
  run.err.assign(err_text, err_size);
  std::free(out_text);
  std::free(err_text);
  return run;
}

}  // namespace

TEST(CommandCheck, faultless_policy_is_ok) {
  const TemporaryFolder folder;
  const std::string path = folder.write("p.json", R"({"version": 1})");
  const Checked run = check(path, false);
  EXPECT_EQ(run.status, 0);
  EXPECT_EQ(run.out, path + ": ok\n");
  EXPECT_EQ(run.err, "");
}

TEST(CommandCheck, effective_policy_can_be_used_as_a_policy) {
  const Checked run = check("built-in", true);
  EXPECT_EQ(run.status, 0);
  const std::size_t begin = run.out.find('{');
  const std::size_t end = run.out.find("\n}\n");
  ASSERT_NE(end, std::string::npos);
  const policy::ParseResult result = parse(run.out.substr(begin, end + 3 - begin));
  ASSERT_TRUE(result.ok) << first_error(result);
  EXPECT_TRUE(equal(result.settings, policy::built_in_settings()));
  EXPECT_NE(run.out.find("hold.max_hold_us"), std::string::npos);
}

TEST(CommandCheck, J1_every_fault_is_a_line_with_its_place) {
  const TemporaryFolder folder;
  const std::string path =
      folder.write("p.json", "{\n \"version\": 1,\n \"hold\": {\"max_hold_us\": 1},\n \"xode\": 1\n}\n");
  const Checked run = check(path, true);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.out, "");
  EXPECT_EQ(run.err,
            path + ":3:26: hold.max_hold_us: expected an integer from 10 to 10000000, found 1\n" + path +
                ":4:2: xode: expected one of $schema, description, version, mode, auto, regions, operations, "
                "recording, hold, segment, replay, limits, log, found an unknown key; did you mean \"mode\"?\n");
}

TEST(CommandCheck, missing_file_fails) {
  const Checked run = check("/nowhere/p.json", false);
  EXPECT_EQ(run.status, 1);
  EXPECT_EQ(run.err, "/nowhere/p.json: expected a readable policy file, found No such file or directory\n");
}

}  // namespace refrain::tests
