// L10: the program ends with calls held: by exit(), by a return from main(), by exit() in another thread. Control: it
// pauses and resumes Refrain in the middle of the run.
#include <sys/wait.h>
#include <unistd.h>

#include "interpose/refrain.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

constexpr unsigned n = 256;

/// Never destroyed by a scenario that ends the process: the program's own exit handlers make no driver call.
struct Buffers {
  Buffer data{n, 1}, sum{n, 2};
};

void pass(const Scenario& scenario, const Buffer& data, const Buffer& sum, unsigned salt) {
  const CUstream stream = scenario.stream();
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  launch(mix, {}, stream, data.address(), sum.address(), n, salt);
  launch(accumulate, {}, stream, sum.address(), data.address(), n);
  launch(mix, {}, stream, data.address(), data.address(), n, 3u);
  launch(accumulate, {}, stream, sum.address(), data.address(), n);
}

void passes(const Scenario& scenario, const Buffer& data, const Buffer& sum) {
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region at exit");
      pass(scenario, data, sum, 1);
    }
    ledger.take(scenario.stream());
  }
  ledger.close();
}

}  // namespace

SCENARIO_OF(l10_exit_with_held_calls, 8) {
  const auto& [data, sum] = *new Buffers;
  passes(scenario, data, sum);
  nvtxRangePushA("region at exit");
  pass(scenario, data, sum, 1);
  publish();
  std::exit(7);
}

SCENARIO_OF(l10_quick_exit_with_held_calls, 8) {
  const auto& [data, sum] = *new Buffers;
  passes(scenario, data, sum);
  nvtxRangePushA("region at exit");
  pass(scenario, data, sum, 1);
  publish();
  _exit(9);
}

SCENARIO_OF(l10_exit_in_another_thread, 8) {
  const auto& [data, sum] = *new Buffers;
  passes(scenario, data, sum);
  nvtxRangePushA("region at exit");
  pass(scenario, data, sum, 1);
  publish();
  std::thread([] { std::exit(8); }).join();
}

// A child process of a program that holds calls does no driver call and ends with its own code.
SCENARIO_OF(x7_fork_with_held_calls, 8) {
  const Buffer data(n, 1), sum(n, 2);
  passes(scenario, data, sum);
  {
    const Range range("region at exit");
    pass(scenario, data, sum, 1);
    publish();
    const pid_t child = fork();
    if (child == 0) _exit(5);
    int status = 0;
    waitpid(child, &status, 0);
    note("child %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    pass(scenario, data, sum, 1);
  }
  CALL(cuStreamSynchronize, scenario.stream());
  const std::vector<unsigned> contents = sum.read();
  note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), sum.bytes())));
}

// The functions exist only when Refrain is loaded; the program's work is the same.
SCENARIO(control_pause_and_resume) {
  const auto pause = reinterpret_cast<decltype(&::refrain_pause)>(dlsym(RTLD_DEFAULT, "refrain_pause"));
  const auto resume = reinterpret_cast<decltype(&::refrain_resume)>(dlsym(RTLD_DEFAULT, "refrain_resume"));
  const auto statistics = reinterpret_cast<decltype(&::refrain_stats)>(dlsym(RTLD_DEFAULT, "refrain_stats"));
  const Buffer data(n, 1), sum(n, 2);
  Ledger ledger(scenario, {&data, &sum});
  refrain_statistics before{}, after{};
  for (int i = 0; i < scenario.iterations(); ++i) {
    if (i == 32 && pause != nullptr) pause();
    if (i == 48 && resume != nullptr) resume();
    if (statistics != nullptr && (i == 32 || i == 48)) {
      refrain_statistics& into = i == 32 ? before : after;
      into.size = sizeof into;
      if (statistics(&into) != 0) std::fprintf(stderr, "refrain_stats failed\n");
    }
    {
      const Range range("region controlled");
      pass(scenario, data, sum, static_cast<unsigned>(i) / 10);
      // Half of a pass is held when the program pauses in the middle of a region.
      if (i == 56 && pause != nullptr) pause();
      if (i == 56 && resume != nullptr) resume();
      pass(scenario, data, sum, 4);
    }
    ledger.take(scenario.stream());
  }
  if (statistics != nullptr && after.replayed != before.replayed) note("replayed while paused");
  if (statistics != nullptr && after.calls - before.calls != after.passed - before.passed) note("held while paused");
  ledger.close();
}

}  // namespace refrain::tests
