#include "tests/simulate/execute.h"

#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>

#include <deque>
#include <thread>

#include "interpose/refrain.h"
#include "tests/simulate/model.h"
#include "tests/simulate/schedule.h"
#include "tests/simulate/worker.h"

namespace refrain::tests::simulate {
namespace {

void read_statistics(Outcome& outcome) {
  const auto read = reinterpret_cast<decltype(&::refrain_stats)>(dlsym(RTLD_DEFAULT, "refrain_stats"));
  refrain_statistics found{};
  found.size = sizeof found;
  if (read == nullptr || read(&found) != 0) return;
  outcome.calls = found.calls;
  outcome.held = found.held;
  outcome.replayed = found.replayed;
  outcome.flushed = found.flushed;
  outcome.patched = found.patched;
  if (found.calls != found.held + found.passed) outcome.faults += "counters: calls are not held + passed\n";
  if (found.held != found.replayed + found.flushed) outcome.faults += "counters: held are not replayed + flushed\n";
}

schedule::Plan plan_of(const Program& program, bool keep_trace) {
  schedule::Plan plan;
  plan.seed = static_cast<std::uint64_t>(program.seed);
  plan.calls = static_cast<unsigned>(program.calls);
  plan.locks = static_cast<unsigned>(program.locks);
  plan.pace = static_cast<unsigned>(program.pace);
  plan.slips = static_cast<unsigned>(program.slips);
  plan.keep_trace = keep_trace;
  return plan;
}

}  // namespace

Outcome execute(const Program& program, bool keep_trace, void (*stuck)(const std::string& state)) {
  const std::vector<Strip> strips = expand(program);
  nvtxInitialize(nullptr);
  schedule::begin(plan_of(program, keep_trace), stuck);
  const World world = make_world();
  std::deque<StrandObjects> objects;
  std::deque<StrandWorker> workers;
  int streams = 0;
  model::begin(world.marker[0], world.marker[1]);
  for (std::size_t i = 0; i < strips.size(); ++i) {
    objects.push_back(make_strand(world, program.strands[i], static_cast<int>(i), streams));
    streams += static_cast<int>(program.strands[i].streams.size());
    workers.emplace_back(world, objects.back(), strips[i]);
  }
  for (int context = 0; context < 2; ++context) {
    check(driver().cuCtxSetCurrent(world.contexts[context]), "cuCtxSetCurrent");
    check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
  }
  model::watch();
  std::vector<std::thread> threads;
  for (std::size_t i = 0; i < strips.size(); ++i) {
    for (int helper = 0; helper <= program.strands[i].helpers; ++helper)
      threads.emplace_back([&worker = workers[i], helper] { worker.run(helper); });
  }
  for (std::thread& thread : threads) thread.join();
  Outcome outcome;
  for (int context = 0; context < 2; ++context) {
    check(driver().cuCtxSetCurrent(world.contexts[context]), "cuCtxSetCurrent");
    outcome.answers += "at the end " + std::to_string(driver().cuCtxSynchronize()) + '\n';
  }
  schedule::end();
  for (const StrandWorker& worker : workers) outcome.answers += worker.answers();
  read_statistics(outcome);
  outcome.faults += model::differences();
  outcome.executed = model::executed();
  outcome.schedule_hash = schedule::hash();
  outcome.decisions = schedule::decisions();
  outcome.trace = schedule::trace();
  return outcome;
}

}  // namespace refrain::tests::simulate

// ---- what the simulated driver tells and asks

namespace {

void entered(const char* name) { refrain::tests::simulate::schedule::yield_in_call(name); }

void executing(const refrain::tests::simulated::Executed& operation) {
  refrain::tests::simulate::schedule::yield_in_call(operation.kind);
  refrain::tests::simulate::model::executes(operation);
}

}  // namespace

extern "C" {
extern __attribute__((visibility("default"))) const refrain::tests::simulated::Observer refrain_sim_observer;
const refrain::tests::simulated::Observer refrain_sim_observer = {entered, executing};
}
