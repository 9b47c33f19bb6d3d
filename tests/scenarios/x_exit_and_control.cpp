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

void first_half(const Scenario& scenario, const Buffer& data, const Buffer& sum, unsigned salt) {
  launch(scenario.kernel("mix"), {}, scenario.stream(), data.address(), sum.address(), n, salt);
  launch(scenario.kernel("accumulate"), {}, scenario.stream(), sum.address(), data.address(), n);
}

void second_half(const Scenario& scenario, const Buffer& data, const Buffer& sum) {
  launch(scenario.kernel("mix"), {}, scenario.stream(), data.address(), data.address(), n, 3u);
  launch(scenario.kernel("accumulate"), {}, scenario.stream(), sum.address(), data.address(), n);
}

void pass(const Scenario& scenario, const Buffer& data, const Buffer& sum, unsigned salt) {
  first_half(scenario, data, sum, salt);
  second_half(scenario, data, sum);
}

/// What the driver tells the child of a fork, as its exit code: a launch that would be the next one of the sequence,
/// and a question.
[[noreturn]] void end_as_child(CUfunction mix, CUstream stream, const Buffer& data) {
  CUdeviceptr address = data.address();
  unsigned count = n, salt = 3;
  void* parameters[] = {&address, &address, &count, &salt};
  const CUresult launched = driver().cuLaunchKernel(mix, 1, 1, 1, 32, 1, 1, 0, stream, parameters, nullptr);
  _exit(static_cast<int>(launched) * 16 + static_cast<int>(driver().cuStreamQuery(stream)));
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
  first_half(scenario, data, sum, 1);
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
  first_half(scenario, data, sum, 1);
  publish();
  std::thread([] { std::exit(8); }).join();
}

// The child of a program that holds calls gets the driver's refusals, and its parent goes on.
SCENARIO_OF(x7_fork_with_held_calls, 8) {
  const Buffer data(n, 1), sum(n, 2);
  passes(scenario, data, sum);
  {
    const Range range("region at exit");
    first_half(scenario, data, sum, 1);
    publish();
    const CUfunction mix = scenario.kernel("mix");
    const pid_t child = fork();
    if (child == 0) end_as_child(mix, scenario.stream(), data);
    int status = 0;
    waitpid(child, &status, 0);
    note("child %d", WIFEXITED(status) ? WEXITSTATUS(status) : -1);
    second_half(scenario, data, sum);
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
