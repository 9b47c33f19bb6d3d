#include "capture/log_writer.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <string_view>
#include <thread>
#include <utility>

#include "capture/log_file.h"
#include "capture/log_format.h"

namespace refrain::capture {
namespace {

using Clock = std::chrono::steady_clock;

/// Longer waits would overflow the clock, and nobody waits so long.
constexpr std::chrono::milliseconds longest_wait = std::chrono::hours(24);

/// Waits for `reached` as long as `timeout`, in short turns: while the process or its machine stands still a deadline
/// passes although nobody could have written anything; so it costs one turn, and what is left is waited for.
template <typename Reached>
void wait_patiently(std::condition_variable& condition, std::unique_lock<std::mutex>& lock,
                    std::chrono::milliseconds timeout, Reached reached) {
  constexpr std::chrono::milliseconds turn(20);
  for (auto left = std::min(timeout, longest_wait); left > left.zero(); left -= turn) {
    if (condition.wait_for(lock, std::min(left, turn), reached)) return;
  }
}

/// Room that is kept for the last line, which says that the log is full.
constexpr std::uint64_t last_line_bytes = 256;

std::size_t memory_of(const std::vector<std::string>& texts) noexcept {
  std::size_t bytes = texts.size() * sizeof(std::string);
  for (const std::string& text : texts) bytes += text.size();
  return bytes;
}

std::size_t memory_of(const HeaderRecord& header) noexcept { return header.policy.size() + header.program.size(); }
std::size_t memory_of(const GraphRecord& graph) noexcept { return graph.region.size(); }
std::size_t memory_of(const MessageRecord& message) noexcept { return message.text.size(); }
std::size_t memory_of(const VerdictRecord& verdict) noexcept {
  return verdict.subject.size() + verdict.decision.size();
}
std::size_t memory_of(const FallbackRecord& fallback) noexcept {
  return fallback.region.size() + fallback.kernel.size() + fallback.expected.size() + fallback.found.size();
}

std::size_t memory_of(const SequenceRecord& sequence) noexcept {
  std::size_t bytes = sequence.region.size() + sequence.operations.size() * sizeof(OperationRecord);
  for (const OperationRecord& operation : sequence.operations) {
    bytes += operation.name.size() +
             (operation.parameter_sizes.size() + operation.attributes.size()) * sizeof(std::uint32_t);
  }
  for (const BreakRecord& cut : sequence.breaks) bytes += sizeof cut + cut.cause.size();
  return bytes;
}

std::size_t memory_of(const CountersRecord& counters) noexcept {
  std::size_t bytes = memory_of(counters.unmatched_rules) + memory_of(counters.ranges_seen);
  for (const RegionCounters& region : counters.regions) {
    bytes += sizeof region + region.region.size() + region.fallbacks.size() * sizeof(RegionCounters::Cause);
  }
  return bytes;
}

bool always_taken(const LogRecord& record) noexcept {
  const auto* counters = std::get_if<CountersRecord>(&record);
  return std::holds_alternative<HeaderRecord>(record) || (counters != nullptr && counters->at_exit);
}

struct Entry {
  LogRecord record;
  double time;
  std::size_t bytes;
};

}  // namespace

struct LogWriter::State {
  explicit State(const LogOptions& given) : options(given) {}

  const LogOptions options;
  const Clock::time_point start = Clock::now();
  std::mutex mutex;  // guards everything below
  std::condition_variable to_thread, from_thread;
  std::deque<Entry> queue;
  std::size_t queued_records = 0, queued_bytes = 0;  // with the one that is being written
  std::uint64_t accepted = 0, done = 0;              // records; done: written or dropped
  std::uint64_t dropped = 0;
  bool started = false, closing = false, hurry = false, finished = false;
  bool file_full = false;    // only what is always taken is written from here on
  bool ended_early = false;  // the file failed or is full
  std::string file_name;

  /// Whether the queue took the record.
  bool push(LogRecord&& record, std::size_t bytes) noexcept {
    const bool full =
        file_full || queued_records >= options.max_queued_records || queued_bytes + bytes > options.max_queued_bytes;
    if (closing || finished || (full && !always_taken(record))) return false;
    try {
      const std::chrono::duration<double> time = Clock::now() - start;
      queue.push_back({std::move(record), time.count(), bytes});
    } catch (...) {
      return false;
    }
    ++accepted;
    ++queued_records;
    queued_bytes += bytes;
    return true;
  }

  /// Ends the thread's life in the eyes of callers; what is still queued counts as dropped.
  void finish() noexcept {
    const std::lock_guard lock(mutex);
    dropped += queue.size();
    queue.clear();
    done = accepted;
    queued_records = queued_bytes = 0;
    finished = true;
    from_thread.notify_all();
  }

  void warn(std::string_view cause) const noexcept try {
    if (options.warn) options.warn(std::string(cause));
  } catch (...) {
    return;  // the callback had no memory left; there is nobody else to tell
  }
};

namespace {

/// What the thread does with each record: formats it, minds the size limit, writes it.
class Output {
 public:
  enum class Result { written, dropped, full, end };

  Output(std::uint64_t max_bytes) : max_bytes_(max_bytes) {}
  LogFile& file() noexcept { return file_; }

  Result write(const Entry& entry) noexcept try {
    if (full_ && !always_taken(entry.record)) return Result::full;
    const std::string line = format_.line(entry.record, entry.time);
    const bool fits = file_.bytes() + line.size() + last_line_bytes <= max_bytes_;
    if (fits || always_taken(entry.record)) return file_.write(line) ? Result::written : Result::end;
    const MessageRecord message{"warning", "the log has reached its limit of " + std::to_string(max_bytes_) +
                                               " bytes; only the counters at the end are written after this line"};
    full_ = true;
    return file_.write(format_.line(message, entry.time)) ? Result::full : Result::end;
  } catch (...) {
    return Result::dropped;
  }

 private:
  std::uint64_t max_bytes_;
  bool full_ = false;
  LogFile file_;
  LogFormat format_;
};

}  // namespace

LogWriter::LogWriter(const LogOptions& options) noexcept : process_(getpid()) {
  try {
    if (!options.path.empty()) state_ = std::make_shared<State>(options);
  } catch (...) {
    state_.reset();
  }
}

LogWriter::~LogWriter() { close(std::chrono::seconds(1)); }

bool LogWriter::inert() const noexcept {
  // The lock may be held for ever in a child of fork, so the child must not even try it.
  return !state_ || abandoned_.load(std::memory_order_relaxed) || getpid() != process_;
}

bool LogWriter::write(LogRecord&& record) noexcept try {
  if (inert()) return false;
  State& state = *state_;
  const std::size_t bytes = sizeof(Entry) + std::visit([](const auto& one) noexcept { return memory_of(one); }, record);
  bool first = false;
  {
    const std::lock_guard lock(state.mutex);
    if (!state.push(std::move(record), bytes)) {
      ++state.dropped;
      return false;
    }
    first = !std::exchange(state.started, true);
  }
  if (first) {
    start();
  } else {
    state.to_thread.notify_one();
  }
  return true;
} catch (...) {
  return false;
}

void LogWriter::start() noexcept {
  // The thread inherits the mask: the program's handlers never run on it.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  bool running = false;
  try {
    std::thread([state = state_] { run(*state); }).detach();
    running = true;
  } catch (...) {
    running = false;
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (running) return;
  {
    const std::lock_guard lock(state_->mutex);
    state_->ended_early = true;
  }
  state_->finish();
  state_->warn("no capture log: its thread cannot be started");
}

void LogWriter::run(State& state) noexcept {
  pthread_setname_np(pthread_self(), "refrain-log");
  std::string failure;
  try {
    failure = write_all(state);
  } catch (...) {
    failure = "no capture log";  // short of memory; so short a text needs none
    const std::lock_guard lock(state.mutex);
    state.ended_early = true;
  }
  if (!failure.empty()) state.warn(failure);
  state.finish();
}

std::string LogWriter::write_all(State& state) {
  Output output(state.options.max_bytes);
  LogFile& file = output.file();
  bool good = file.open(state.options.path, {host_name(), state.options.rank, getpid()});
  std::unique_lock lock(state.mutex);
  if (good) state.file_name = file.name();
  while (good) {
    state.to_thread.wait(lock, [&] { return !state.queue.empty() || state.closing; });
    if (state.queue.empty() || state.hurry) break;
    Output::Result result;
    std::size_t bytes = 0;
    {
      const Entry entry = std::move(state.queue.front());
      state.queue.pop_front();
      bytes = entry.bytes;
      lock.unlock();
      result = output.write(entry);
    }
    good = result != Output::Result::end;
    lock.lock();
    if (result != Output::Result::written) ++state.dropped;
    state.file_full |= result == Output::Result::full;
    --state.queued_records;
    state.queued_bytes -= bytes;
    ++state.done;
    state.from_thread.notify_all();
  }
  state.ended_early = !good || state.file_full;
  lock.unlock();
  if (file.error().empty()) return {};
  return "no capture log from here on: " + file.name() + ": " + file.error();
}

bool LogWriter::flush(std::chrono::milliseconds timeout) noexcept {
  if (inert()) return false;
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const std::uint64_t target = state.accepted, dropped_before = state.dropped;
  wait_patiently(state.from_thread, lock, timeout, [&] { return state.done >= target || state.finished; });
  return state.done >= target && state.dropped == dropped_before && !state.file_full && !state.ended_early;
}

bool LogWriter::close(std::chrono::milliseconds timeout) noexcept {
  if (inert()) return false;
  State& state = *state_;
  std::unique_lock lock(state.mutex);
  const std::uint64_t dropped_before = state.dropped;
  state.closing = true;
  if (!state.started) return true;
  state.to_thread.notify_all();
  wait_patiently(state.from_thread, lock, timeout, [&] { return state.finished; });
  state.hurry = true;
  return state.finished && state.dropped == dropped_before && !state.ended_early;
}

std::uint64_t LogWriter::dropped() const noexcept {
  if (inert()) return 0;
  const std::lock_guard lock(state_->mutex);
  return state_->dropped;
}

std::string LogWriter::file_name() const {
  if (inert()) return {};
  const std::lock_guard lock(state_->mutex);
  return state_->file_name;
}

}  // namespace refrain::capture
