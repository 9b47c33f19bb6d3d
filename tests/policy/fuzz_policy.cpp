// The parser under arbitrary bytes: entry point for libFuzzer, and the property that the corpus test checks.
#include "tests/policy/fuzz_policy.h"

#include <algorithm>
#include <cstdint>

#include "policy/describe.h"
#include "policy/glob.h"
#include "policy/parser.h"
#include "policy/selector.h"

namespace refrain::tests {

namespace {

std::string broken_error(const policy::PolicyError& error, std::string_view bytes) {
  if (error.line == 0 || error.column == 0) return "an error without a place";
  if (error.line > 1 + static_cast<unsigned>(std::count(bytes.begin(), bytes.end(), '\n'))) return "a line too many";
  if (error.column > bytes.size() + 1) return "a column too many";
  if (error.expected.empty() || error.found.empty()) return "an error without words";
  const std::string line = policy::to_string(error);
  if (line.size() > 4000) return "an error without bound";
  for (const char c : line) {
    if (static_cast<unsigned char>(c) < 0x20) return "a control character in an error";
  }
  return {};
}

std::string broken_settings(const policy::Settings& settings) {
  const std::string text = policy::to_json(settings, -1);
  const policy::ParseResult again = policy::parse_policy(text, "again");
  if (!again.ok) return "an effective policy that is refused: " + text;
  if (policy::to_json(again.settings, -1) != text) return "an effective policy that changes";
  if (settings.segment_min > settings.segment_max) return "crossed segment bounds";
  for (const policy::RegionRule& rule : settings.regions) {
    if (rule.name.empty() || rule.range.empty()) return "a region without name or range";
    if (policy::glob_fault(rule.range) != nullptr) return "a malformed pattern";
  }
  const policy::Selector selector(settings);
  const int rule = selector.region_rule("domain", "outer/range", "range");
  if (rule < -1 || rule >= static_cast<int>(settings.regions.size())) return "a rule that does not exist";
  selector.operation_rule("_Z6kernelv", "kernel()");
  return {};
}

}  // namespace

std::string broken_promise(std::string_view bytes) {
  const policy::ParseResult result = policy::parse_policy(bytes, "fuzz.json");
  if (result.ok != result.errors.empty()) return "ok and errors do not agree";
  if (result.errors.size() > policy::ErrorList::limit) return "too many errors";
  if (result.ok) return broken_settings(result.settings);
  if (result.settings.mode != policy::Mode::off) return "not off on an error";
  for (const policy::PolicyError& error : result.errors) {
    if (std::string broken = broken_error(error, bytes); !broken.empty()) return broken;
  }
  return {};
}

}  // namespace refrain::tests

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (!refrain::tests::broken_promise({reinterpret_cast<const char*>(data), size}).empty()) __builtin_trap();
  return 0;
}
