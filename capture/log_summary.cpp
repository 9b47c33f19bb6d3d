#include "capture/log_summary.h"

#include <tuple>
#include <variant>

namespace refrain::capture {
namespace {

/// Adds records to a summary, one by one.
class Reduction {
 public:
  Reduction(const std::string& region, LogSummary& summary) : region_(region), summary_(summary) {}

  void operator()(HeaderRecord& header) { summary_.header = std::move(header); }
  void operator()(MessageRecord& message) { summary_.messages.push_back(std::move(message)); }
  void operator()(FallbackRecord& fallback) { summary_.fallbacks.push_back(std::move(fallback)); }
  void operator()(VerdictRecord& verdict) { summary_.verdicts.push_back({summary_.last_time, std::move(verdict)}); }
  void operator()(CountersRecord& counters) { summary_.counters = std::move(counters); }

  void operator()(SequenceRecord& sequence) {
    VariantSummary& variant = variant_of(sequence.region, sequence.variant);
    forget_graphs(variant);
    variant.pass = sequence.pass;
    variant.operations = sequence.operations.size();
    variant.breaks.clear();
    std::map<std::string, std::size_t> place;
    for (const BreakRecord& cut : sequence.breaks) {
      const auto [at, is_new] = place.emplace(cut.cause, variant.breaks.size());
      if (is_new) variant.breaks.emplace_back(cut.cause, 0);
      ++variant.breaks[at->second].second;
    }
    if (region_.empty() || sequence.region != region_) return;
    summary_.sequences[sequence.variant] = std::move(sequence);
  }

  void operator()(GraphRecord& graph) {
    VariantSummary& variant = variant_of(graph.region, graph.variant);
    GraphRecord& last = graphs_[{graph.region, graph.variant, graph.segment}];
    variant.nodes += std::uint64_t{graph.nodes} - last.nodes;
    variant.device_bytes += graph.device_bytes - last.device_bytes;
    variant.microseconds += graph.microseconds;
    variant.segments.insert(graph.segment);
    ++variant.builds;
    last = std::move(graph);
  }

 private:
  /// A variant that is recorded anew begins without graphs; what building the old ones took still counts.
  void forget_graphs(VariantSummary& variant) {
    for (const std::uint32_t segment : variant.segments) graphs_.erase({variant.region, variant.variant, segment});
    variant.segments.clear();
    variant.nodes = variant.device_bytes = 0;
  }

  VariantSummary& variant_of(const std::string& region, std::uint32_t variant) {
    const auto [at, is_new] = variants_.emplace(std::pair{region, variant}, summary_.variants.size());
    if (is_new) {
      summary_.variants.emplace_back();
      summary_.variants.back().region = region;
      summary_.variants.back().variant = variant;
    }
    return summary_.variants[at->second];
  }

  const std::string& region_;
  LogSummary& summary_;
  std::map<std::pair<std::string, std::uint32_t>, std::size_t> variants_;
  std::map<std::tuple<std::string, std::uint32_t, std::uint32_t>, GraphRecord> graphs_;
};

}  // namespace

bool summarize(LogReader& log, const std::string& region, LogSummary& summary) {
  Reduction reduction(region, summary);
  LogEntry entry;
  for (;;) {
    const LogReader::Status status = log.next(entry);
    if (status == LogReader::Status::error) return false;
    if (status == LogReader::Status::end) break;
    summary.last_time = entry.time;
    if (std::holds_alternative<CountersRecord>(entry.record)) summary.counters_time = entry.time;
    std::visit(reduction, entry.record);
  }
  summary.unknown_records = log.unknown_records();
  summary.torn = log.torn();
  return true;
}

}  // namespace refrain::capture
