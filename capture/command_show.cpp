#include "capture/command_show.h"

#include <fmt/format.h>

#include "capture/counter_check.h"
#include "capture/log_format.h"
#include "capture/log_reader.h"
#include "capture/log_summary.h"
#include "capture/show_text.h"
#include "capture/text_table.h"

namespace refrain::capture {
namespace {

constexpr int good = 0, does_not_add_up = 1, bad_input = 2;

int complain(std::FILE* err, const std::string& what) {
  const std::string line = printable(what) + "\n";
  std::fputs(("refrain show: " + line).c_str(), err);
  return bad_input;
}

bool print(std::FILE* out, const std::string& text) noexcept {
  return std::fwrite(text.data(), 1, text.size(), out) == text.size() && std::fflush(out) == 0;
}

/// The sequence that the options ask for; nullptr when the log has none.
const SequenceRecord* chosen(const LogSummary& summary, const ShowOptions& options) {
  if (summary.sequences.empty()) return nullptr;
  if (!options.variant) return &summary.sequences.begin()->second;
  const auto found = summary.sequences.find(*options.variant);
  return found == summary.sequences.end() ? nullptr : &found->second;
}

/// What the log holds instead of what was asked for.
std::string alternatives(const LogSummary& summary, const ShowOptions& options) {
  std::string text;
  if (summary.sequences.empty()) {
    std::set<std::string> regions;
    for (const VariantSummary& variant : summary.variants) {
      if (variant.pass > 0) regions.insert(variant.region);
    }
    for (const std::string& region : regions) text += (text.empty() ? "" : ", ") + region;
    return fmt::format("expected a recorded region, found none named {}; recorded: {}", options.operations,
                       text.empty() ? "none" : text);
  }
  for (const auto& [variant, sequence] : summary.sequences)
    text += (text.empty() ? "" : ", ") + std::to_string(variant);
  return fmt::format("expected a recorded variant of region {}, found no {}; recorded: {}", options.operations,
                     options.variant.value_or(0), text);
}

int show(const std::string& path, const ShowOptions& options, std::FILE* out, std::FILE* err) {
  LogReader log(path);
  LogSummary summary;
  if (!summarize(log, options.operations, summary)) return complain(err, log.error());
  if (options.json && !summary.counters) {
    return complain(err, path + ": expected a counters record, found none: the process ended before its first one");
  }
  const std::vector<std::string> broken = summary.counters ? violations(*summary.counters) : std::vector<std::string>();
  std::string text;
  if (options.json) {
    text = pretty(*summary.counters, summary.counters_time);
  } else if (!options.operations.empty()) {
    const SequenceRecord* sequence = chosen(summary, options);
    if (sequence == nullptr) return complain(err, path + ": " + alternatives(summary, options));
    return print(out, operations_text(*sequence)) ? good : complain(err, "expected to write the output");
  } else {
    text = header_text(summary) + body_text(summary);
    if (summary.counters && broken.empty()) {
      const char* equation = "check    counters add up: calls = held + passed, held = replayed + flushed";
      const RegionCounters& total = summary.counters->total;
      const std::uint64_t waiting = total.held - total.replayed - total.flushed;
      text += waiting == 0 ? fmt::format("{}\n", equation) : fmt::format("{} + {} held just then\n", equation, waiting);
    }
    for (const std::string& one : broken) text += fmt::format("check    error: {}\n", printable(one));
  }
  if (!print(out, text)) return complain(err, "expected to write the output");
  for (const std::string& one : broken) complain(err, fmt::format("{}: counters do not add up: {}", path, one));
  return broken.empty() ? good : does_not_add_up;
}

}  // namespace

int run_show(const std::string& path, const ShowOptions& options, std::FILE* out, std::FILE* err) noexcept try {
  return show(path, options, out, err);
} catch (...) {
  std::fputs("refrain show: short of memory\n", err);
  return bad_input;
}

}  // namespace refrain::capture
