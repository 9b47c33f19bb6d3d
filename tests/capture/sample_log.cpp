#include "tests/capture/sample_log.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "capture/log_format.h"

namespace refrain::tests {
namespace {

using namespace capture;

const std::filesystem::path source_root = SOURCE_ROOT;

constexpr const char* fill =
    "_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_11FillFunctorIfEESt5arrayIPcLm1EEEEviT0_T1_";
constexpr const char* softmax = "_ZN7example12softmax_rowsIfEEvPT_PKS1_i";

OperationRecord kernel(const char* name, Dimensions grid, Dimensions block) {
  OperationRecord operation;
  operation.kind = OperationKind::kernel;
  operation.name = name;
  operation.grid = grid;
  operation.block = block;
  operation.shared = 4096;
  operation.role = 1;
  operation.parameter_sizes = {8, 8, 4};
  operation.attributes = {4, 6};
  return operation;
}

OperationRecord plain(OperationKind kind) {
  OperationRecord operation;
  operation.kind = kind;
  return operation;
}

HeaderRecord header() {
  HeaderRecord header;
  header.refrain_version = "0.1.0";
  header.host = "node7";
  header.program = "python train.py --steps 100";
  header.started = "2026-01-31T12:00:00Z";
  header.rank = 3;
  header.pid = 4711;
  header.device = "NVIDIA H200";
  header.driver_version = 13000;
  header.policy_source = "attention.json";
  header.policy = R"({"version":1,"regions":[{"range":"attention"},{"range":"rooter*"}]})";
  header.mode = "replay";
  return header;
}

CountersRecord counters() {
  RegionCounters region;
  region.region = "attention";
  region.passes = 100;
  region.calls = 400;
  region.held = 390;
  region.passed = 10;
  region.replayed = 380;
  region.flushed = 10;
  region.patched = 95;
  region.graph_launches = 190;
  region.variants = 1;
  region.graphs = 2;
  region.graph_bytes = 3 << 20;
  region.host_bytes = 1 << 19;
  region.fallbacks = {{Reason::different_function, 1}, {Reason::hold_expired, 2}};
  CountersRecord record;
  record.at_exit = true;
  record.regions = {region};
  record.total = region;
  record.total.region.clear();
  record.total.calls = 1000;
  record.total.passed = 610;
  record.launches_seen = 812;
  record.graph_bytes_limit = 256 << 20;
  record.host_bytes_limit = 128 << 20;
  record.records_dropped = 7;
  record.unmatched_rules = {"rooter*"};
  record.ranges_seen = {"Router", "optimizer_step", "dispatch"};
  return record;
}

}  // namespace

std::vector<LogRecord> sample_records() {
  SequenceRecord sequence;
  sequence.region = "attention";
  sequence.variant = 2;
  sequence.pass = 1;
  sequence.operations = {plain(OperationKind::memset), kernel(fill, {16, 1, 1}, {256, 1, 1}),
                         kernel(softmax, {128, 2, 3}, {32, 4, 2}), plain(OperationKind::copy)};
  sequence.breaks = {{2, "cuEventRecord"}};
  GraphRecord first{"attention", 2, 0, 0, 2, 1 << 20, 31.25}, second{"attention", 2, 1, 2, 2, 2 << 20, 18.5};
  FallbackRecord fallback;
  fallback.region = "attention";
  fallback.variant = 2;
  fallback.operation = 2;
  fallback.reason = Reason::different_function;
  fallback.kernel = softmax;
  fallback.expected = "softmax_rows<float>";
  fallback.found = "softmax_rows<double>";
  MessageRecord message{"warning", "region attention: eager fallback: another kernel than recorded"};
  VerdictRecord verdict{"the job", "replay", 14.5, 12.296, 0.848, 0.012, 0.021, 8, 512};
  return {header(), sequence, first, second, fallback, message, verdict, counters()};
}

std::string sample_lines() {
  LogFormat format;
  std::string lines;
  double time = 0;
  for (const LogRecord& record : sample_records()) {
    lines += format.line(record, time);
    time += 0.25;
  }
  return lines;
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "refrain-XXXXXX").string();
  if (mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string TemporaryFolder::only_file() const {
  std::vector<std::string> files;
  for (const auto& entry : std::filesystem::directory_iterator(path_)) files.push_back(entry.path().string());
  EXPECT_EQ(files.size(), 1U) << "in " << path_;
  return files.empty() ? std::string() : files.front();
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file) << path;
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

void write_file(const std::filesystem::path& path, const std::string& content) {
  std::ofstream file(path, std::ios::binary);
  file << content;
  EXPECT_TRUE(file.flush()) << path;
}

std::vector<std::string> split_lines(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

void expect_golden(const std::string& golden, const std::string& text) {
  const std::filesystem::path path = source_root / golden;
  if (std::getenv("ACCEPT") != nullptr) write_file(path, text);
  EXPECT_EQ(text, read_file(path)) << golden << "; ACCEPT=1 writes it anew";
}

void expect_in_document(const std::string& document, const std::string& name, const std::string& text) {
  const std::filesystem::path path = source_root / document;
  std::string content = read_file(path);
  const std::string begin = "<!-- begin " + name + " -->\n", end = "<!-- end " + name + " -->";
  const std::size_t first = content.find(begin), last = content.find(end);
  ASSERT_NE(first, std::string::npos) << begin;
  ASSERT_NE(last, std::string::npos) << end;
  const std::size_t start = first + begin.size();
  const std::string block = "```\n" + text + "```\n";
  if (std::getenv("ACCEPT") != nullptr) {
    content.replace(start, last - start, block);
    write_file(path, content);
    return;
  }
  EXPECT_EQ(block, content.substr(start, last - start)) << document << "; ACCEPT=1 writes it anew";
}

}  // namespace refrain::tests
