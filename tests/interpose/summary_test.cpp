// What a process tells `refrain run` at its end.
#include "interpose/summary.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <limits>

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

TEST(Summary, line_for_a_person_tells_what_a_step_takes) {
  Summary summary = sample();
  summary.has_verdict = true;
  summary.eager_ms = 14.5;
  summary.replay_ms = 12.3;
  EXPECT_EQ(describe(summary),
            "750 of 1000 calls replayed (75.0 %) in 50 graph launches, 3 fallbacks; a step: eager 14.50 ms, "
            "replay 12.30 ms (0.848); log: /tmp/a folder/log.jsonl");
  summary.log.clear();
  summary.runs_eagerly = true;
  summary.eager_ms = 12.5;
  summary.replay_ms = 12.6;
  EXPECT_EQ(describe(summary),
            "750 of 1000 calls replayed (75.0 %) in 50 graph launches, 3 fallbacks; runs eagerly: replay 12.60 ms, "
            "eager 12.50 ms (1.008)");
  for (const double nothing : {0.0, -1.0, std::numeric_limits<double>::quiet_NaN()}) {
    summary.eager_ms = nothing;
    EXPECT_EQ(describe(summary), "750 of 1000 calls replayed (75.0 %) in 50 graph launches, 3 fallbacks");
  }
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

Summary read_back(std::string line) {
  Summary summary;
  if (!line.empty() && line.back() == '\n') line.pop_back();
  EXPECT_TRUE(read_report_line(line, summary)) << line;
  return summary;
}

TEST(Summary, report_without_a_verdict_is_as_it_always_was) {
  EXPECT_EQ(report_line(sample()), "refrain 1 4711 1 1000 750 50 3 /tmp/a folder/log.jsonl\n");
  EXPECT_FALSE(read_back(report_line(sample())).has_verdict);
  Summary summary = sample();
  summary.has_verdict = true;
  EXPECT_TRUE(read_report_line("refrain 1 4711 1 1000 750 50 3 x", summary));
  EXPECT_FALSE(summary.has_verdict) << "what was in it before is gone";
}

TEST(Summary, verdict_comes_back_with_any_log) {
  for (const char* log : {"", "/tmp/a folder/log.jsonl", "verdict=", "verdict=eager,1,2 x"}) {
    for (const bool eagerly : {false, true}) {
      Summary summary = sample();
      summary.log = log;
      summary.has_verdict = true;
      summary.runs_eagerly = eagerly;
      summary.eager_ms = 14.5;
      summary.replay_ms = 0.000123;
      const Summary read = read_back(report_line(summary));
      EXPECT_TRUE(read.has_verdict);
      EXPECT_EQ(read.runs_eagerly, eagerly);
      EXPECT_DOUBLE_EQ(read.eager_ms, 14.5);
      EXPECT_DOUBLE_EQ(read.replay_ms, 0.000123);
      EXPECT_EQ(read.fallbacks, 3u);
      EXPECT_EQ(read.log, log);
    }
  }
}

TEST(Summary, times_that_are_none_do_not_spoil_the_report) {
  Summary summary = sample();
  summary.has_verdict = true;
  for (const double odd : {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    summary.eager_ms = summary.replay_ms = odd;
    EXPECT_EQ(read_back(report_line(summary)).log, summary.log) << odd;
  }
}

TEST(Summary, what_only_looks_like_a_verdict_belongs_to_the_log) {
  for (const char* log : {"verdict=later,1,2 x", "verdict=eager,1 x", "verdict=eager,1,2", "verdict=eager,1,2x"}) {
    const Summary read = read_back(std::string("refrain 1 4711 1 1000 750 50 3 ") + log);
    EXPECT_FALSE(read.has_verdict) << log;
    EXPECT_EQ(read.log, log);
  }
}

TEST(Summary, other_lines_are_no_reports) {
  Summary summary;
  for (const char* line : {"", "refrain", "refrain 2 1 0 1 1 1 1 x", "refrain 1 1 0 1", "hello"}) {
    EXPECT_FALSE(read_report_line(line, summary)) << line;
  }
}

}  // namespace
}  // namespace refrain::interpose
