// The reader takes what other versions and killed processes leave, and refuses the rest by file and line.
#include "capture/log_reader.h"

#include <gtest/gtest.h>

#include <random>

#include "tests/capture/fuzz_log_reader.h"
#include "tests/capture/sample_log.h"

namespace refrain::tests {
namespace {

using namespace capture;

const std::string header = R"({"record":"header","time":0,"version":1})"
                           "\n";

struct Outcome {
  std::size_t records = 0;
  std::uint64_t unknown_records = 0, unknown_fields = 0;
  bool torn = false;
  std::string error;
  LogEntry last;
};

Outcome read_all(const std::string& text) {
  LogReader reader("log", fmemopen(const_cast<char*>(text.data()), text.size(), "r"));
  Outcome outcome;
  LogEntry entry;
  LogReader::Status status;
  while ((status = reader.next(entry)) == LogReader::Status::record) {
    ++outcome.records;
    outcome.last = entry;
  }
  EXPECT_EQ(reader.next(entry), status) << "the end stays the end";
  EXPECT_EQ(status == LogReader::Status::error, !reader.error().empty());
  outcome.unknown_records = reader.unknown_records();
  outcome.unknown_fields = reader.unknown_fields();
  outcome.torn = reader.torn();
  outcome.error = reader.error();
  return outcome;
}

TEST(LogReader, tells_time_and_line_of_each_record) {
  const Outcome outcome = read_all(sample_lines());
  EXPECT_EQ(outcome.records, sample_records().size());
  EXPECT_EQ(outcome.last.line, sample_records().size());
  EXPECT_DOUBLE_EQ(outcome.last.time, 1.75);
  EXPECT_EQ(outcome.unknown_fields, 0U);
}

TEST(LogReader, takes_a_log_that_was_cut_at_any_byte) {
  const std::string lines = sample_lines();
  const std::size_t header_end = lines.find('\n');
  std::size_t torn = 0;
  for (std::size_t size = 0; size <= lines.size(); ++size) {
    const Outcome outcome = read_all(lines.substr(0, size));
    if (size < header_end) {
      EXPECT_TRUE(outcome.error.starts_with("log:1: expected a header record, found")) << outcome.error;
      continue;
    }
    ASSERT_EQ(outcome.error, "") << size;
    // A line whose newline alone is missing is whole.
    const bool whole = size == header_end || lines[size - 1] == '\n' || (size < lines.size() && lines[size] == '\n');
    EXPECT_EQ(outcome.torn, !whole) << size;
    torn += outcome.torn ? 1U : 0U;
  }
  EXPECT_GT(torn, 1000U);
}

TEST(LogReader, passes_over_what_other_versions_add_and_counts_it) {
  const Outcome outcome = read_all(
      header +
      R"({"record":"weather","time":1,"sky":"blue"})"
      "\n"
      R"({"record":"graph","time":2,"region":"r","colour":"red","shape":{"a":[1]}})"
      "\n"
      R"({"record":"fallback","time":3,"region":"r","reason":"reason_of_tomorrow"})"
      "\n"
      R"({"record":"counters","time":4,"total":{"new":1},"regions":[{"region":"r","newer":2,"fallbacks":[{"reason":"reason_of_tomorrow","count":1},{"reason":"paused","count":2}]}]})"
      "\n");
  EXPECT_EQ(outcome.error, "");
  EXPECT_EQ(outcome.records, 3U);
  EXPECT_EQ(outcome.unknown_records, 2U);
  EXPECT_EQ(outcome.unknown_fields, 4U);
  const auto& region = std::get<CountersRecord>(outcome.last.record).regions.at(0);
  ASSERT_EQ(region.fallbacks.size(), 1U);
  EXPECT_EQ(region.fallbacks[0].count, 2U);
}

TEST(LogReader, absent_fields_keep_their_defaults) {
  const Outcome outcome = read_all(header + R"({"record":"sequence"})"
                                            "\n");
  ASSERT_EQ(outcome.records, 2U) << outcome.error;
  EXPECT_TRUE(std::get<SequenceRecord>(outcome.last.record).operations.empty());
}

struct Refusal {
  const char* name;
  std::string text;
  const char* error;
};

class LogReaderRefuses : public testing::TestWithParam<Refusal> {};

TEST_P(LogReaderRefuses, with_file_line_and_what_was_expected) {
  EXPECT_EQ(read_all(GetParam().text).error, GetParam().error);
}

INSTANTIATE_TEST_SUITE_P(
    All, LogReaderRefuses,
    testing::Values(
        Refusal{"empty", "", "log:1: expected a header record, found the end of the file"},
        Refusal{"torn_header", R"({"record":"hea)", "log:1: expected a header record, found an unfinished line"},
        Refusal{"no_header",
                R"({"record":"message","time":0})"
                "\n",
                "log:1: expected a header record as the first line of a capture log"},
        Refusal{"unknown_first",
                R"({"record":"weather","time":0})"
                "\n",
                "log:1: expected a header record as the first line of a capture log"},
        Refusal{"other_json", "{\"name\":1}\n", "log:1: expected a record with its kind in \"record\""},
        Refusal{"other_text", "Hello\n", "log:1: expected one JSON object, found text that is not JSON"},
        Refusal{"array", "[]\n", "log:1: expected one JSON object, found array"},
        Refusal{"version_2",
                R"({"record":"header","version":2})"
                "\n",
                "log:1: expected version 1 in the header, found 2; this log was written by another version of Refrain"},
        Refusal{
            "no_version",
            R"({"record":"header"})"
            "\n",
            "log:1: expected version 1 in the header, found none; this log was written by another version of Refrain"},
        Refusal{"two_headers", header + header, "log:2: expected a record of the log above, found another header"},
        Refusal{"damaged_line", header + "\n{\"record\":\"mess\n" + header,
                "log:3: expected one JSON object, found text that is not JSON"},
        Refusal{"zeros", header + std::string(10, '\0') + "\n",
                "log:2: expected one JSON object, found text that is not JSON"},
        Refusal{"wrong_type",
                header + R"({"record":"graph","region":7})"
                         "\n",
                "log:2: expected text in \"region\""},
        Refusal{"negative",
                header + R"({"record":"graph","nodes":-7})"
                         "\n",
                "log:2: expected a whole number of at least 0 in \"nodes\""},
        Refusal{"too_great",
                header + R"({"record":"graph","nodes":4294967296})"
                         "\n",
                "log:2: expected a whole number of at least 0 in \"nodes\""},
        Refusal{"fraction",
                header + R"({"record":"graph","nodes":1.5})"
                         "\n",
                "log:2: expected a whole number of at least 0 in \"nodes\""},
        Refusal{"two_dimensions",
                header + R"({"record":"sequence","operations":[{"kind":"kernel","grid":[1,2]}]})"
                         "\n",
                "log:2: expected an array of three whole numbers in \"grid\""},
        Refusal{"no_list",
                header + R"({"record":"sequence","operations":{}})"
                         "\n",
                "log:2: expected an array of objects in \"operations\""},
        Refusal{"unknown_kind",
                header + R"({"record":"sequence","operations":[{"kind":"dance"}]})"
                         "\n",
                "log:2: expected \"kernel\", \"memset\" or \"copy\" in \"kind\""},
        Refusal{"deep", header + std::string(100000, '[') + "\n", "log:2: expected an object nested at most 64 deep"},
        Refusal{"huge_number",
                header + R"({"record":"graph","time":1e999})"
                         "\n",
                "log:2: expected one JSON object, found text that is not JSON"}),
    [](const auto& param) { return std::string(param.param.name); });

TEST(LogReader, refuses_paths_that_are_no_files) {
  const TemporaryFolder folder;
  LogEntry entry;
  LogReader absent(folder.file("absent"));
  EXPECT_EQ(absent.next(entry), LogReader::Status::error);
  EXPECT_EQ(absent.error(), folder.file("absent") + ": expected a capture log: No such file or directory");
  LogReader directory(folder.path());
  EXPECT_EQ(directory.next(entry), LogReader::Status::error);
  EXPECT_EQ(directory.error(), folder.path().string() + ": expected a capture log, found a folder");
}

TEST(LogReader, refuses_a_line_longer_than_64_MiB_without_keeping_it) {
  const std::string line(LogReader::longest_line + 1, 'x');
  EXPECT_EQ(read_all(header + line).error, "log:2: expected a line of at most 64 MiB");
}

/// Changes a few bytes of a log, its structure included.
std::string mutated(std::string text, std::mt19937_64& random) {
  static const std::vector<std::string> pieces = {"{",
                                                  "}",
                                                  "[",
                                                  "]",
                                                  "\"",
                                                  ",",
                                                  ":",
                                                  "\n",
                                                  "null",
                                                  "-1",
                                                  "1e999",
                                                  "0.5",
                                                  "18446744073709551616",
                                                  "\\u0000",
                                                  "\\ud800",
                                                  "\xff",
                                                  std::string(1, '\0'),
                                                  "\"record\":\"counters\"",
                                                  "[[[[[[[[",
                                                  "true"};
  const std::size_t changes = 1 + random() % 6;
  for (std::size_t change = 0; change < changes && !text.empty(); ++change) {
    const std::size_t at = random() % text.size(), length = random() % 40;
    switch (random() % 6) {
      case 0: text[at] = static_cast<char>(random()); break;
      case 1: text.erase(at, length); break;
      case 2: text.insert(at, pieces[random() % pieces.size()]); break;
      case 3: text.insert(at, text.substr(random() % text.size(), length)); break;
      case 4: text.replace(at, std::min(length, text.size() - at), pieces[random() % pieces.size()]); break;
      default: text.resize(at); break;
    }
  }
  return text;
}

TEST(LogReader, survives_random_mutations) {
  constexpr std::uint64_t seeds = 3000;
  std::size_t readable = 0, refused = 0;
  for (std::uint64_t seed = 0; seed < seeds; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937_64 random(seed);
    const std::string text = mutated(sample_lines(), random);
    (read_and_show(text) == 2 ? refused : readable) += 1;
  }
  // Both ways out are taken often, so the mutations neither all fail at once nor all leave the log as it was.
  EXPECT_GT(readable, seeds / 20);
  EXPECT_GT(refused, seeds / 4);
}

TEST(LogReader, survives_the_fuzzers_corpus) {
  std::size_t files = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::filesystem::path(SOURCE_ROOT) / "tests/capture/corpus")) {
    SCOPED_TRACE(entry.path());
    const int code = read_and_show(read_file(entry.path()));
    // The name tells the exit code: 0-..., 1-..., 2-...
    EXPECT_EQ(std::to_string(code), entry.path().filename().string().substr(0, 1));
    ++files;
  }
  EXPECT_GE(files, 10U);
}

}  // namespace
}  // namespace refrain::tests
