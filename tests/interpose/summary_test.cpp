// What a process tells `refrain run` at its end.
#include "interpose/summary.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>

#include "interpose/run_report.h"

namespace refrain::interpose {
namespace {

Summary sample() {
  Summary summary;
  summary.calls = 1000;
  summary.replayed = 750;
  summary.graph_launches = 50;
  summary.fallbacks = 3;
  summary.strict = true;
  summary.pid = 4711;
  summary.log = "/tmp/a folder/log.jsonl";
  return summary;
}

TEST(Summary, line_for_a_person_gives_share_and_log) {
  EXPECT_EQ(describe(sample()),
            "750 of 1000 calls replayed (75.0 %) in 50 graph launches, 3 fallbacks; log: /tmp/a folder/log.jsonl");
  EXPECT_EQ(describe(Summary{}), "0 of 0 calls replayed (0.0 %) in 0 graph launches, 0 fallbacks");
}

TEST(Summary, report_reaches_the_command_line_and_is_removed) {
  std::string path;
  {
    const RunReport report;
    path = report.path();
    ASSERT_FALSE(path.empty());
    setenv(report_variable, path.c_str(), 1);
    append_report(sample());
    append_report(Summary{});
    const std::vector<Summary> read = report.read();
    ASSERT_EQ(read.size(), 2u);
    EXPECT_EQ(read[0].replayed, 750u);
    EXPECT_EQ(read[0].fallbacks, 3u);
    EXPECT_TRUE(read[0].strict);
    EXPECT_EQ(read[0].pid, 4711);
    EXPECT_EQ(read[0].log, "/tmp/a folder/log.jsonl");
    EXPECT_FALSE(read[1].strict);
    EXPECT_EQ(read[1].log, "");
  }
  // Gone: a process that ends later must not create it again.
  append_report(sample());
  EXPECT_EQ(access(path.c_str(), F_OK), -1);
  unsetenv(report_variable);
}

TEST(Summary, other_lines_are_no_reports) {
  Summary summary;
  for (const char* line : {"", "refrain", "refrain 2 1 0 1 1 1 1 x", "refrain 1 1 0 1", "hello"}) {
    EXPECT_FALSE(read_report_line(line, summary)) << line;
  }
}

}  // namespace
}  // namespace refrain::interpose
