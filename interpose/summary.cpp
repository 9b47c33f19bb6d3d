#include "interpose/summary.h"

#include <fcntl.h>
#include <fmt/core.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#include "interpose/quiet_write.h"

namespace refrain::interpose {

std::string describe(const Summary& summary) {
  const double share =
      summary.calls == 0 ? 0 : 100.0 * static_cast<double>(summary.replayed) / static_cast<double>(summary.calls);
  std::string line = fmt::format("{} of {} calls replayed ({:.1f} %) in {} graph launches, {} fallbacks",
                                 summary.replayed, summary.calls, share, summary.graph_launches, summary.fallbacks);
  if (!summary.log.empty()) line += fmt::format("; log: {}", summary.log);
  return line;
}

std::string report_line(const Summary& summary) {
  return fmt::format("refrain 1 {} {} {} {} {} {} {}\n", summary.pid, summary.strict ? 1 : 0, summary.calls,
                     summary.replayed, summary.graph_launches, summary.fallbacks, summary.log);
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
  summary.log = text.substr(static_cast<std::size_t>(used));
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
