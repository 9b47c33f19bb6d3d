#include "interpose/summary.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "interpose/quiet_write.h"

namespace refrain::interpose {
namespace {

/// How the report names the arm that won.
constexpr const char* eager_word = "eager";
constexpr const char* replay_word = "replay";

/// What a step takes eagerly and with replay, the one that won at the end; empty when nothing was measured.
std::string describe_verdict(const Summary& summary) {
  if (!summary.has_verdict || !(summary.eager_ms > 0)) return {};
  const double ratio = summary.replay_ms / summary.eager_ms;
  return summary.runs_eagerly ? fmt::format("; runs eagerly: replay {:.2f} ms, eager {:.2f} ms ({:.3f})",
                                            summary.replay_ms, summary.eager_ms, ratio)
                              : fmt::format("; a step: eager {:.2f} ms, replay {:.2f} ms ({:.3f})", summary.eager_ms,
                                            summary.replay_ms, ratio);
}

/// Whole numbers are read the same in every locale.
std::uint64_t nanoseconds(double milliseconds) noexcept {
  constexpr double most = 1e12;  // a step of years is none
  return milliseconds > 0 ? static_cast<std::uint64_t>(std::llround(std::min(milliseconds, most) * 1e6)) : 0;
}

/// Reads the verdict in front of the log's name, where there is one. How many characters it takes.
std::size_t read_verdict(const char* text, Summary& summary) {
  char word[8] = {};
  unsigned long eager = 0, replay = 0;
  int used = 0;
  summary.has_verdict = std::sscanf(text, "verdict=%7[a-z],%lu,%lu%n", word, &eager, &replay, &used) == 3 && used > 0 &&
                        text[used] == ' ' &&
                        (std::strcmp(word, eager_word) == 0 || std::strcmp(word, replay_word) == 0);
  if (!summary.has_verdict) return 0;
  summary.runs_eagerly = std::strcmp(word, eager_word) == 0;
  summary.eager_ms = static_cast<double>(eager) / 1e6;
  summary.replay_ms = static_cast<double>(replay) / 1e6;
  return static_cast<std::size_t>(used) + 1;
}

}  // namespace

std::string describe(const Summary& summary) {
  const double share =
      summary.calls == 0 ? 0 : 100.0 * static_cast<double>(summary.replayed) / static_cast<double>(summary.calls);
  std::string line = fmt::format("{} of {} calls replayed ({:.1f} %) in {} graph launches, {} fallbacks",
                                 summary.replayed, summary.calls, share, summary.graph_launches, summary.fallbacks);
  line += describe_verdict(summary);
  if (!summary.log.empty()) line += fmt::format("; log: {}", summary.log);
  return line;
}

std::string report_line(const Summary& summary) {
  std::string verdict;
  if (summary.has_verdict) {
    verdict = fmt::format("verdict={},{},{} ", summary.runs_eagerly ? eager_word : replay_word,
                          nanoseconds(summary.eager_ms), nanoseconds(summary.replay_ms));
  }
  // The log's name goes to the end of the line: it may hold anything.
  return fmt::format("refrain 1 {} {} {} {} {} {} {}{}\n", summary.pid, summary.strict ? 1 : 0, summary.calls,
                     summary.replayed, summary.graph_launches, summary.fallbacks, verdict, summary.log);
}

bool read_report_line(std::string_view line, Summary& summary) {
  const std::string text(line);
  int strict = 0, used = 0;
  unsigned long calls = 0, replayed = 0, launches = 0, fallbacks = 0;
  if (std::sscanf(text.c_str(), "refrain 1 %ld %d %lu %lu %lu %lu %n", &summary.pid, &strict, &calls, &replayed,
                  &launches, &fallbacks, &used) != 6 ||
      used == 0) {
    return false;
  }
  summary.strict = strict != 0;
  summary.calls = calls;
  summary.replayed = replayed;
  summary.graph_launches = launches;
  summary.fallbacks = fallbacks;
  const auto rest = static_cast<std::size_t>(used);
  summary.log = text.substr(rest + read_verdict(text.c_str() + rest, summary));
  return true;
}

void append_report(const Summary& summary) noexcept {
  try {
    const char* path = std::getenv(report_variable);
    if (path == nullptr || *path == 0) return;
    const int file = open(path, O_WRONLY | O_APPEND | O_CLOEXEC | O_NOFOLLOW);  // never created: it is somebody's
    if (file < 0) return;
    const std::string line = report_line(summary);
    write_quietly(file, line.data(), line.size());
    close(file);
  } catch (...) {
  }
}

}  // namespace refrain::interpose
