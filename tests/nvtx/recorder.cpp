#include "tests/nvtx/recorder.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "interpose/nvtx_chain.h"
#include "interpose/nvtx_injection.h"
#include "interpose/ranges.h"
#include "policy/selector.h"
#include "policy/settings.h"

namespace refrain::tests {

namespace {

pid_t this_thread_id() { return static_cast<pid_t>(syscall(SYS_gettid)); }

/// A policy and its selector, kept until the process ends, as ranges.h demands.
struct Policy {
  explicit Policy(policy::Settings from) : settings(std::move(from)), selector(settings) {}
  policy::Settings settings;
  policy::Selector selector;
};

struct Record final : interpose::RangeEvents {
  void* opened(unsigned rule) noexcept override {
    if (refused.load()) return nullptr;
    if (auto* listen = listener.load()) listen(RecordedEvent::Kind::opened, rule);
    const std::scoped_lock guard(mutex);
    const std::uint64_t token = ++last_token;
    open[token] = rule;
    events.push_back({RecordedEvent::Kind::opened, rule, this_thread_id()});
    return reinterpret_cast<void*>(token);
  }
  void closed(void* token) noexcept override {
    RecordedEvent event{RecordedEvent::Kind::closed_unknown, 0, this_thread_id()};
    {
      const std::scoped_lock guard(mutex);
      if (const auto found = open.find(reinterpret_cast<std::uintptr_t>(token)); found != open.end()) {
        event.kind = RecordedEvent::Kind::closed;
        event.rule = found->second;
        open.erase(found);
      }
    }
    if (auto* listen = listener.load()) listen(event.kind, event.rule);
    const std::scoped_lock guard(mutex);
    events.push_back(event);
  }

  std::mutex mutex;
  std::vector<RecordedEvent> events;
  std::unordered_map<std::uintptr_t, unsigned> open;
  std::uint64_t last_token = 0;
  std::vector<std::unique_ptr<Policy>> policies;
  std::atomic<void (*)(RecordedEvent::Kind, unsigned)> listener{nullptr};
  std::atomic<bool> refused{false};
};

Record& record() {
  static auto* the_record = new Record;
  return *the_record;
}

bool set(const RecorderRule* rules, std::size_t count) {
  policy::Settings settings;
  for (std::size_t i = 0; i < count; ++i) {
    policy::RegionRule rule;
    rule.name = rule.range = rules[i].range;
    rule.domain = rules[i].domain;
    rule.path = rules[i].path;
    settings.regions.push_back(rule);
  }
  const std::scoped_lock guard(record().mutex);
  record().events.clear();
  record().open.clear();
  record().refused = false;
  record().policies.push_back(std::make_unique<Policy>(std::move(settings)));
  return interpose::set_range_events(&record(), &record().policies.back()->selector);
}

std::size_t take(RecordedEvent* events, std::size_t capacity) {
  const std::scoped_lock guard(record().mutex);
  std::vector<RecordedEvent>& recorded = record().events;
  const std::size_t count = std::min(capacity, recorded.size());
  std::copy_n(recorded.begin(), count, events);
  recorded.erase(recorded.begin(), recorded.begin() + static_cast<std::ptrdiff_t>(count));
  return count;
}

std::size_t open_count() {
  const std::scoped_lock guard(record().mutex);
  return record().open.size();
}

std::size_t unmatched_name(std::size_t index, char* out, std::size_t capacity) {
  const std::string_view name = interpose::unmatched_name(index);
  const std::size_t copied = name.copy(out, capacity - 1);
  out[copied] = '\0';
  return name.size();
}

constexpr Recorder table{
    .set = set,
    .clear = [] { interpose::clear_range_events(); },
    .take = take,
    .open_count = open_count,
    .on_event = [](void (*listener)(RecordedEvent::Kind, unsigned)) { record().listener = listener; },
    .refuse = [](bool refused) { record().refused = refused; },
    .set_chained_injection = [](const char* path) { interpose::set_chained_injection(path); },
    .thread_ends = [] { interpose::ranges_thread_ends(); },
    .rule_was_matched = [](unsigned rule) { return interpose::rule_was_matched(rule); },
    .unmatched_name_count = [] { return interpose::unmatched_name_count(); },
    .unmatched_name = unmatched_name,
    .unwatched_ranges = [] { return interpose::unwatched_ranges(); },
    .clients_attached = [] { return interpose::nvtx_clients().attached; },
    .clients_unwatched = [] { return interpose::nvtx_clients().unwatched; },
    .to_utf8 = [](const wchar_t* text, char* out,
                  std::size_t capacity) { return interpose::to_utf8(text, out, capacity); },
};

}  // namespace

}  // namespace refrain::tests

const refrain::tests::Recorder* nvtx_recorder() { return &refrain::tests::table; }
