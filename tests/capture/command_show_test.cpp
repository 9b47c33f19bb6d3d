// What `refrain show` prints, and its exit codes.
#include "capture/command_show.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "capture/closest_names.h"
#include "capture/counter_check.h"
#include "capture/log_format.h"
#include "tests/capture/sample_log.h"

namespace refrain::tests {
namespace {

using namespace capture;

struct Shown {
  int code = -1;
  std::string out, err;
};

/// What a stream printed.
class Printed {
 public:
  Printed() : file_(std::tmpfile()) {}
  Printed(const Printed&) = delete;
  Printed& operator=(const Printed&) = delete;
  ~Printed() { std::fclose(file_); }
  std::FILE* file() const { return file_; }
  std::string text() const {
    std::string text;
    std::rewind(file_);
    for (int byte; (byte = std::fgetc(file_)) != EOF;) text += static_cast<char>(byte);
    return text;
  }

 private:
  std::FILE* file_;
};

Shown show(const std::string& log, const ShowOptions& options = {}) {
  const TemporaryFolder folder;
  const std::string name = folder.file("log.jsonl");
  write_file(name, log);
  Printed out, err;
  Shown shown;
  shown.code = run_show(name, options, out.file(), err.file());
  shown.out = out.text();
  shown.err = err.text();
  for (std::size_t at; (at = shown.err.find(folder.path())) != std::string::npos;) {
    shown.err.erase(at, folder.path().string().size() + 1);
  }
  return shown;
}

std::string lines_of(const std::vector<LogRecord>& records) {
  std::string lines;
  LogFormat format;
  for (const LogRecord& record : records) lines += format.line(record, 2.5);
  return lines;
}

/// The sample with other counters.
std::string with_counters(const CountersRecord& counters) {
  std::vector<LogRecord> records = sample_records();
  records.back() = counters;
  return lines_of(records);
}

CountersRecord sample_counters() { return std::get<CountersRecord>(sample_records().back()); }

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(Show, prints_the_golden_output) {
  const Shown shown = show(sample_lines());
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(shown.err, "");
  expect_golden("tests/capture/golden/example.jsonl", sample_lines());
  expect_golden("tests/capture/golden/show.txt", shown.out);
  expect_in_document("docs/capture-log.md", "example log", sample_lines());
  expect_in_document("docs/capture-log.md", "example show", shown.out);
}

TEST(Show, prints_the_golden_operations) {
  const Shown shown = show(sample_lines(), {false, "attention", {}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  expect_golden("tests/capture/golden/operations.txt", shown.out);
  expect_in_document("docs/capture-log.md", "example operations", shown.out);
}

TEST(Show, documentation_names_every_field_and_reason) {
  const std::string document = read_file(std::filesystem::path(SOURCE_ROOT) / "docs/capture-log.md");
  const auto schema =
      nlohmann::json::parse(read_file(std::filesystem::path(SOURCE_ROOT) / "configs/capture-log.schema.json"));
  for (const auto& [kind, definition] : schema["$defs"].items()) {
    for (const auto& [field, rule] : definition["properties"].items()) {
      EXPECT_TRUE(has(document, "| `" + field + "` |")) << kind << "." << field;
    }
  }
#define REASON(name, text) EXPECT_TRUE(has(document, "| `" #name "` | " text " |")) << #name;
#include "capture/reasons.inc"
}

TEST(Show, json_prints_the_last_counters) {
  std::vector<LogRecord> records = sample_records();
  CountersRecord earlier = sample_counters();
  earlier.launches_seen = 1;
  records.insert(records.end() - 1, earlier);
  const Shown shown = show(lines_of(records), {true, {}, {}});
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_EQ(nlohmann::json::parse(shown.out), nlohmann::json::parse(LogFormat().line(sample_counters(), 2.5)));
  const Shown none = show(lines_of({HeaderRecord{}}), {true, {}, {}});
  EXPECT_EQ(none.code, 2);
  EXPECT_EQ(
      none.err,
      "refrain show: log.jsonl: expected a counters record, found none: the process ended before its first one\n");
  EXPECT_EQ(none.out, "");
}

TEST(Show, bad_input_is_named_by_file_and_line) {
  const Shown shown = show(sample_lines() + "garbage\n");
  EXPECT_EQ(shown.code, 2);
  EXPECT_EQ(shown.err, "refrain show: log.jsonl:9: expected one JSON object, found text that is not JSON\n");
  EXPECT_EQ(shown.out, "");
}

TEST(Show, an_absent_region_or_variant_is_answered_with_those_there_are) {
  Shown shown = show(sample_lines(), {false, "atention", {}});
  EXPECT_EQ(shown.code, 2);
  EXPECT_EQ(shown.err,
            "refrain show: log.jsonl: expected a recorded region, found none named atention; recorded: attention\n");
  shown = show(sample_lines(), {false, "attention", 7});
  EXPECT_EQ(shown.code, 2);
  EXPECT_EQ(shown.err,
            "refrain show: log.jsonl: expected a recorded variant of region attention, found no 7; recorded: 2\n");
  EXPECT_EQ(show(sample_lines(), {false, "attention", 2}).code, 0);
}

TEST(Show, a_log_of_a_killed_process_is_shown_as_far_as_it_goes) {
  const std::string lines = sample_lines();
  const Shown shown = show(lines.substr(0, lines.size() - 5));
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "no counters: the log ends after 1.5 s, before the first ones")) << shown.out;
  EXPECT_TRUE(has(shown.out, "the last line is unfinished and was left out"));
  CountersRecord running = sample_counters();
  running.at_exit = false;
  EXPECT_TRUE(has(show(with_counters(running)).out, "counters of 2.5 s; there are none of the process's end"));
}

TEST(Show, names_from_the_log_cannot_steer_a_terminal) {
  CountersRecord counters = sample_counters();
  counters.regions[0].region = "evil\x1b[2Jname\nsecond \xc2\x9b line";
  const Shown shown = show(with_counters(counters));
  EXPECT_TRUE(has(shown.out, "evil?[2Jname?second ? line"));
  EXPECT_FALSE(has(shown.out, "\x1b"));
}

TEST(Show, columns_stay_aligned_with_long_and_non_ascii_names) {
  CountersRecord counters = sample_counters();
  counters.regions[0].region = "Grüße";
  counters.regions.push_back(counters.regions[0]);
  counters.regions[1].region = std::string(60, 'n');
  counters.total.calls = counters.total.passed = counters.total.held = 0;
  counters.at_exit = false;
  const std::vector<std::string> lines = split_lines(show(with_counters(counters)).out);
  const auto title =
      std::find_if(lines.begin(), lines.end(), [](const std::string& line) { return has(line, "passes"); });
  ASSERT_LT(title + 2, lines.end());
  const std::size_t column = title->find("passes") + 6;
  ASSERT_TRUE(title[1].starts_with("Grüße ") && title[2].starts_with("nnnn"));
  EXPECT_EQ(title[1].substr(column + 2 - 4, 4), " 100") << "two characters have two bytes";
  EXPECT_EQ(title[2].substr(column - 4, 4), " 100");
}

TEST(Show, J9_counters_that_add_up_give_exit_code_0) {
  const Shown shown = show(sample_lines());
  EXPECT_EQ(shown.code, 0);
  EXPECT_TRUE(has(shown.out, "check    counters add up: calls = held + passed, held = replayed + flushed\n"));
}

using Change = void (*)(CountersRecord&);

TEST(Show, J9_each_broken_equation_is_an_error_and_exit_code_1) {
  const std::vector<std::pair<Change, std::string>> changes = {
      {[](CountersRecord& c) { ++c.regions[0].calls; }, "region attention: calls 401 are not held 390 + passed 10"},
      {[](CountersRecord& c) { --c.regions[0].replayed; },
       "region attention: held 390 are not replayed 379 + flushed 10"},
      {[](CountersRecord& c) { c.regions[0].patched = 381; },
       "region attention: patched 381 are more than replayed 380"},
      {[](CountersRecord& c) { ++c.total.calls; }, "total: calls 1001 are not held 390 + passed 610"},
      {[](CountersRecord& c) { ++c.total.flushed; }, "total: held 390 are not replayed 380 + flushed 11"},
      {[](CountersRecord& c) { c.total.graph_launches = 0; },
       "total: graph launches 0 are less than the 190 of all regions"},
      {[](CountersRecord& c) { c.regions.push_back(c.regions[0]); },
       "total: held 390 are less than the 780 of all regions"},
      {[](CountersRecord& c) { c.total.held = c.total.passed = UINT64_MAX; }, "total: calls 1000 are not held"},
  };
  for (const auto& [change, message] : changes) {
    CountersRecord counters = sample_counters();
    change(counters);
    const Shown shown = show(with_counters(counters));
    EXPECT_EQ(shown.code, 1) << message;
    EXPECT_TRUE(has(shown.out, "check    error: " + message)) << message << "\n" << shown.out;
    EXPECT_TRUE(has(shown.err, "refrain show: log.jsonl: counters do not add up: " + message)) << shown.err;
    EXPECT_FALSE(has(shown.out, "counters add up"));
    EXPECT_EQ(show(with_counters(counters), {true, {}, {}}).code, 1) << "with --json as well";
  }
}

TEST(Show, J9_calls_held_just_then_are_no_error_in_a_running_process) {
  CountersRecord counters = sample_counters();
  for (RegionCounters* one : {&counters.regions[0], &counters.total}) one->held += 5, one->calls += 5;
  EXPECT_FALSE(violations(counters).empty());
  counters.at_exit = false;
  const Shown shown = show(with_counters(counters));
  EXPECT_EQ(shown.code, 0) << shown.err;
  EXPECT_TRUE(has(shown.out, "held = replayed + flushed + 5 held just then")) << shown.out;
  counters.regions.push_back(counters.regions[0]);
  EXPECT_EQ(show(with_counters(counters)).code, 0) << "regions and total are not of the very same moment";
  counters.total.replayed = 1000;
  EXPECT_EQ(show(with_counters(counters)).code, 1);
}

TEST(Show, J2_a_rule_that_matched_nothing_comes_with_the_closest_names) {
  CountersRecord counters = sample_counters();
  counters.unmatched_rules = {"*Attention*", "layer?/mlp"};
  counters.ranges_seen = {"optimizer", "self_attn", "layer12/mlp", "decoder_atention", "dispatch"};
  const Shown shown = show(with_counters(counters));
  EXPECT_TRUE(has(shown.out, "rule     *Attention* matched no range; the closest seen: decoder_atention, self_attn"))
      << shown.out;
  EXPECT_TRUE(has(shown.out, "rule     layer?/mlp matched no range; the closest seen: layer12/mlp,")) << shown.out;
  counters.ranges_seen.clear();
  EXPECT_TRUE(
      has(show(with_counters(counters)).out, "rule     *Attention* matched no range; no other range was seen\n"));
}

TEST(ClosestNames, J2_distance_counts_edits_from_the_glob_to_the_name) {
  EXPECT_EQ(distance("attention", "attention"), 0U);
  EXPECT_EQ(distance("Attention", "attention"), 0U);
  EXPECT_EQ(distance("attention", "ATTENTION"), 0U);
  EXPECT_EQ(distance("attention", "atention"), 1U);
  EXPECT_EQ(distance("attention", "self_attention"), 5U);
  EXPECT_EQ(distance("*attention*", "self_attention_7"), 0U);
  EXPECT_EQ(distance("layer?", "layer7"), 0U);
  EXPECT_EQ(distance("layer[0-9]", "layer12"), 1U);
  EXPECT_EQ(distance("a\\*b", "a*b"), 0U);
  EXPECT_EQ(distance("a\\*b", "axxb"), 2U);
  EXPECT_EQ(distance("", "abc"), 3U);
  EXPECT_EQ(distance("*", ""), 0U);
  EXPECT_EQ(distance("[", "["), 0U);
  EXPECT_EQ(distance("\\", "\\"), 0U);
  EXPECT_EQ(distance(std::string(1000, 'a'), std::string(1000, 'a')), 0U);
}

TEST(ClosestNames, J2_each_name_comes_once_and_the_closest_first) {
  EXPECT_EQ(closest("router", {"zebra", "Router", "routes", "Router", "rooter"}, 3),
            (std::vector<std::string>{"Router", "rooter", "routes"}));
  EXPECT_TRUE(closest("router", {}, 3).empty());
}

TEST(Show, a_build_that_is_repeated_counts_time_twice_and_memory_once) {
  std::vector<LogRecord> records = sample_records();
  records.insert(records.begin() + 4, GraphRecord{"attention", 2, 1, 2, 2, 5 << 20, 1000});
  const Shown shown = show(lines_of(records));
  bool found = false;
  for (const std::string& line : split_lines(shown.out)) {
    if (!line.starts_with("attention        2     1")) continue;
    found = true;
    EXPECT_EQ(line,
              "attention        2     1           4         2          4       3      1.05  6.0 MiB  cuEventRecord");
  }
  EXPECT_TRUE(found) << shown.out;
}

/// The lines of the table of verdicts below its titles, and what is said below it.
std::vector<std::string> verdict_lines(const std::string& shown) {
  const std::vector<std::string> lines = split_lines(shown);
  const auto title =
      std::find_if(lines.begin(), lines.end(), [](const std::string& l) { return l.starts_with("Verdicts"); });
  if (title == lines.end()) return {};
  return {title + 2, std::find(title, lines.end(), "")};
}

std::string log_of_verdicts(int job, int regions) {
  std::vector<LogRecord> records = {sample_records().front()};
  for (int index = 0; index < job; ++index) {
    VerdictRecord verdict{"the job", index + 1 == job ? "eager" : "replay", 1, 1, 1, 0, 0, 4, std::uint64_t(index)};
    records.emplace_back(verdict);
    if (index < regions) {
      verdict.subject = "region " + std::to_string(index);
      records.emplace_back(verdict);
    }
  }
  return lines_of(records);
}

TEST(Show, up_to_ten_verdicts_are_all_shown) {
  EXPECT_FALSE(has(show(log_of_verdicts(0, 0)).out, "Verdicts"));
  const std::vector<std::string> lines = verdict_lines(show(log_of_verdicts(8, 2)).out);
  ASSERT_EQ(lines.size(), 10U);
  EXPECT_TRUE(has(lines[0], "the job   replay")) << lines[0];
  EXPECT_TRUE(has(lines[9], "the job   eager")) << lines[9];
}

TEST(Show, of_more_verdicts_the_last_of_each_subject_is_shown) {
  std::vector<std::string> lines = verdict_lines(show(log_of_verdicts(9, 2)).out);
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_TRUE(has(lines[0], "region 0  replay")) << lines[0];
  EXPECT_TRUE(has(lines[1], "region 1  replay")) << lines[1];
  EXPECT_TRUE(has(lines[2], "the job   eager")) << lines[2];
  EXPECT_EQ(lines[3], "  8 earlier verdicts of these subjects were left out");
  lines = verdict_lines(show(log_of_verdicts(12, 12)).out);
  ASSERT_EQ(lines.size(), 14U) << "every subject has its last one, however many there are";
  EXPECT_EQ(lines[13], "  11 earlier verdicts of these subjects were left out");
}

TEST(Show, names_in_verdicts_cannot_steer_a_terminal) {
  const std::string shown =
      show(lines_of({sample_records().front(), VerdictRecord{"evil\x1b[2J", "ea\x1b", 1, 1, 1, 0, 0, 1, 1}})).out;
  EXPECT_TRUE(has(shown, "evil?[2J  ea?")) << shown;
  EXPECT_FALSE(has(shown, "\x1b"));
}

TEST(Show, causes_without_a_record_are_listed_from_the_counters) {
  const Shown shown = show(sample_lines());
  EXPECT_TRUE(has(shown.out, "hold_expired"));
  EXPECT_TRUE(has(shown.out, "hold_expired: held calls waited for max_hold_us"));
}

TEST(Show, output_that_cannot_be_written_is_an_error) {
  const TemporaryFolder folder;
  write_file(folder.file("log"), sample_lines());
  std::FILE* full = std::fopen("/dev/full", "w");
  Printed err;
  EXPECT_EQ(run_show(folder.file("log"), {}, full, err.file()), 2);
  EXPECT_EQ(err.text(), "refrain show: expected to write the output\n");
  std::fclose(full);
}

}  // namespace
}  // namespace refrain::tests
