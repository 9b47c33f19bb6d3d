// Ways in which a process starts others, and first use by many threads.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <vector>

#include "tests/interpose/life_held.h"

extern char** environ;

namespace refrain::tests {
namespace {

// ---- other processes

int fork_with_held_calls() {
  Launcher launcher;
  for (int i = 0; i < 20; ++i) {
    begin_pass();
    const pid_t child = fork();
    if (child == 0) _exit(i);
    wait_for("child", child);
    end_pass();
  }
  launcher.stop();
  publish();
  return 0;
}
/// The child ends as a program does, by exit(), and calls the driver before.
int fork_and_exit() {
  begin_pass();
  const pid_t child = fork();
  if (child == 0) {
    transcript.clear();
    nvtxRangePop();
    nvtxRangePushA("region life");
    CALL(cuLaunchKernel, job().mix, 1, 1, 1, 1, 1, 1, 0, job().stream, nullptr, nullptr);
    nvtxRangePop();
    CALL(cuStreamSynchronize, job().stream);
    CALL(cuInit, 0);
    publish();
    std::exit(33);
  }
  wait_for("child", child);
  end_pass();
  return 0;
}
int fork_in_a_fork() {
  begin_pass();
  const pid_t child = fork();
  if (child == 0) {
    const pid_t grandchild = fork();
    if (grandchild == 0) std::exit(34);
    wait_for("grandchild", grandchild);
    publish();
    std::exit(35);
  }
  wait_for("child", child);
  end_pass();
  return 0;
}
int start_another(const std::function<void()>& start) {
  Launcher launcher;
  begin_pass();
  start();
  end_pass();
  launcher.stop();
  publish();
  return 0;
}
int fork_and_execute() {
  return start_another([] {
    const pid_t child = fork();
    if (child == 0) {
      execl(own_path, own_path, "simple", nullptr);
      _exit(127);
    }
    wait_for("program", child);
  });
}
int vfork_and_execute() {
  return start_another([] {
    const pid_t child = vfork();
    if (child == 0) {
      execl(own_path, own_path, "simple", nullptr);
      _exit(127);
    }
    wait_for("program", child);
  });
}
int spawn() {
  return start_another([] {
    pid_t child = 0;
    const char* arguments[] = {own_path, "simple", nullptr};
    note("spawned %d", posix_spawn(&child, own_path, nullptr, nullptr, const_cast<char**>(arguments), environ));
    wait_for("program", child);
  });
}
int call_system() {
  return start_another([] {
    tell_end("shell", std::system((std::string("exec '") + own_path + "' simple; exit 3").c_str()));
    tell_end("shell", std::system("exit 4"));
  });
}
int open_pipe() {
  return start_another([] {
    FILE* pipe = popen((std::string("'") + own_path + "' simple").c_str(), "r");
    char line[256];
    while (pipe != nullptr && std::fgets(line, sizeof line, pipe) != nullptr) note("from the pipe: %.200s", line);
    tell_end("pipe", pclose(pipe));
  });
}
int replace_itself() {
  begin_pass();
  execl(own_path, own_path, "simple", nullptr);
  return 1;
}
int simple() {
  begin_pass();
  end_pass();
  return 9;
}

}  // namespace

// ---- first use

/// Sixteen threads begin with cuInit at the same moment; each one works for itself.
int first_use() {
  constexpr int count = 16;
  std::atomic<int> waiting{count};
  std::vector<std::unique_ptr<Worker>> workers;
  for (int i = 0; i < count; ++i) {
    workers.push_back(std::make_unique<Worker>([&waiting, i] {
      waiting.fetch_sub(1);
      while (waiting.load() > 0) sched_yield();
      CUcontext context = nullptr;
      CUmodule module = nullptr;
      CUstream stream = nullptr;
      CUfunction mix = nullptr, accumulate = nullptr;
      CALL(cuInit, 0);
      CALL(cuDevicePrimaryCtxRetain, &context, 0);
      CALL(cuCtxSetCurrent, context);
      CALL(cuModuleLoadData, &module, kernel_text());
      CALL(cuModuleGetFunction, &mix, module, "mix");
      CALL(cuModuleGetFunction, &accumulate, module, "accumulate");
      CALL(cuStreamCreate, &stream, CU_STREAM_NON_BLOCKING);
      const auto seed = static_cast<unsigned>(i);
      const Buffer data(n, seed), sum(n, seed + 100);
      for (int pass = 0; pass < 8; ++pass) {
        {
          const Range range("region first use");
          for (unsigned salt = 0; salt < 4; ++salt) {
            launch(mix, {}, stream, data.address(), sum.address(), n, salt);
            launch(accumulate, {}, stream, sum.address(), data.address(), n);
          }
        }
        CALL(cuStreamSynchronize, stream);
      }
      const std::vector<unsigned> contents = sum.read();
      note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), sum.bytes())));
      // In its own order, so that the thread's held calls are issued while others begin.
      CALL(cuStreamDestroy, stream);
    }));
  }
  for (auto& worker : workers) worker->join();
  publish();
  return 0;
}

const Ways starts = {
    {"fork-with-held-calls", {fork_with_held_calls, false}},
    {"fork-and-exit", {fork_and_exit, false}},
    {"fork-in-a-fork", {fork_in_a_fork, false}},
    {"fork-and-execute", {fork_and_execute, false}},
    {"vfork-and-execute", {vfork_and_execute, false}},
    {"spawn", {spawn, false}},
    {"system", {call_system, false}},
    {"pipe", {open_pipe, false}},
    {"replace-itself", {replace_itself, false}},
    {"simple", {simple, false}},
    {"first-use", {first_use, false}},
};

}  // namespace refrain::tests
