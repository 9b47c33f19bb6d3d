#include "interpose/process.h"

#include <pthread.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdlib>

#include "capture/log_record.h"
#include "interpose/guard.h"
#include "interpose/message.h"
#include "interpose/region_events.h"
#include "interpose/start.h"
#include "interpose/summary.h"
#include "replay/governor.h"

namespace refrain::interpose {
namespace {

enum class Stage : int { idle, starting, running, ended, off, abandoned };

constinit std::atomic<Stage> stage{Stage::idle};
constinit std::atomic<Running*> running{nullptr};
constinit std::atomic<int> pauses{0};

/// The child of a fork has the parent's memory but not its threads, its contexts or its log: everything passes.
void abandon_child() noexcept {
  stage.store(Stage::abandoned, std::memory_order_relaxed);
  details::engine.store(nullptr, std::memory_order_relaxed);
  Running* process = running.load(std::memory_order_relaxed);
  if (process == nullptr) return;
  disconnect_ranges();
  process->engine->abandon();
  if (process->log != nullptr) process->log->abandon();
}

/// The longest that the end of the process is delayed for the log.
constexpr std::chrono::milliseconds log_patience{1000};

void report(Running& process) {
  capture::CountersRecord counters;
  process.engine->counters(counters);
  counters.at_exit = true;
  report_ranges(process.environment.settings, counters);
  Summary summary;
  summary.calls = counters.total.calls;
  summary.replayed = counters.total.replayed;
  summary.graph_launches = counters.total.graph_launches;
  summary.fallbacks = counters.fallbacks;
  summary.strict = process.environment.settings.mode == policy::Mode::strict;
  summary.pid = getpid();
  replay::ArmVerdict verdict;
  summary.has_verdict = process.engine->verdict(verdict);
  summary.runs_eagerly = verdict.arm == replay::Arm::eager;
  summary.eager_ms = verdict.eager_ms;
  summary.replay_ms = verdict.replay_ms;
  if (process.log != nullptr) {
    process.log->write(std::move(counters));
    process.log->close(log_patience);
    summary.log = process.log->file_name();
  }
  if (summary.replayed != 0 || summary.fallbacks != 0 || summary.has_verdict)
    say(Message::summary, "%s", describe(summary).c_str());
  if (summary.strict && summary.fallbacks != 0) {
    say(Message::strict, "strict: %llu fallbacks; `refrain show` tells where and why",
        static_cast<unsigned long long>(summary.fallbacks));
  }
  append_report(summary);
}

/// Registered after cuInit, so it runs before the driver's own handler. Other threads may still be in hooks.
void end_process() noexcept {
  Stage expected = Stage::running;
  if (!stage.compare_exchange_strong(expected, Stage::ended)) return;
  Running* process = running.load(std::memory_order_acquire);
  details::thread_state = ThreadState::inside;
  process->engine->stop();
  details::engine.store(nullptr, std::memory_order_release);
  disconnect_ranges();
  try {
    report(*process);
  } catch (...) {
  }
  leave();
}

}  // namespace

void driver_initialised(const LoadedDriver& driver) noexcept {
  if (stage.load(std::memory_order_relaxed) != Stage::idle) return;
  Stage expected = Stage::idle;
  if (!stage.compare_exchange_strong(expected, Stage::starting)) return;
  std::unique_ptr<Running> made = start(driver);
  if (made == nullptr || !watch_thread_ends() || !connect_ranges(*made->selector) ||
      pthread_atfork(nullptr, nullptr, abandon_child) != 0 || std::atexit(end_process) != 0) {
    stage.store(Stage::off, std::memory_order_relaxed);
    return;
  }
  Running* process = made.release();
  for (int i = pauses.load(); i > 0; --i) process->engine->pause();
  running.store(process, std::memory_order_release);
  stage.store(Stage::running, std::memory_order_release);
  details::engine.store(process->engine.get(), std::memory_order_release);
}

replay::Engine* running_engine() noexcept {
  if (stage.load(std::memory_order_acquire) != Stage::running) return nullptr;
  return running.load(std::memory_order_acquire)->engine.get();
}

void stop_holding() noexcept {
  replay::Engine* engine = enter();
  if (engine == nullptr) return;
  engine->stop();
  leave();
}

void pause() noexcept {
  pauses.fetch_add(1);
  replay::Engine* engine = enter();
  if (engine == nullptr) return;
  engine->pause();
  leave();
}

void resume() noexcept {
  int count = pauses.load();
  do {
    if (count == 0) return;
  } while (!pauses.compare_exchange_weak(count, count - 1));
  replay::Engine* engine = enter();
  if (engine == nullptr) return;
  engine->resume();
  leave();
}

}  // namespace refrain::interpose
