// A program that holds calls, when it is loaded under Refrain, and then ends, forks or starts others in one of many
// ways: life_held WAY. Its output is the result of every driver call and the contents of its buffers.
#include <pthread.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/programs/scenario.h"

extern char** environ;

namespace refrain::tests {
namespace {

constexpr unsigned n = 256;
const char* own_path = "";

/// Never destroyed: the ways decide what is called when the process ends.
struct Job {
  Scenario scenario{8, true};
  CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  CUstream stream = scenario.stream();
  Buffer data{n, 1}, sum{n, 2};

  void half(unsigned salt) const {
    launch(mix, {}, stream, data.address(), sum.address(), n, salt);
    launch(accumulate, {}, stream, sum.address(), data.address(), n);
  }
  void pass() const {
    half(1);
    half(3);
  }
  /// Afterwards the calls of a pass are held.
  void warm_up() const {
    for (int i = 0; i < 8; ++i) {
      const Range range("region life");
      pass();
      CALL(cuStreamSynchronize, stream);
    }
  }
  void read() const {
    CALL(cuStreamSynchronize, stream);
    const std::vector<unsigned> contents = sum.read();
    note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data(), sum.bytes())));
    publish();
  }
};

Job& job() {
  static Job& one = *new Job;
  return one;
}

/// The first half of a pass; the range stays open.
void begin_pass() {
  nvtxRangePushA("region life");
  job().half(1);
  publish();
}
void end_pass() {
  job().half(3);
  nvtxRangePop();
  job().read();
}

/// A thread of its own launches, pass after pass, on its own stream, until it is told to stop.
class Launcher {
 public:
  Launcher() : stream_(job().scenario.make_stream()), thread_([this] { work(); }) {}
  ~Launcher() {
    if (thread_.joinable()) stop();
  }
  Launcher(const Launcher&) = delete;
  Launcher& operator=(const Launcher&) = delete;
  void stop() {
    stop_ = true;
    thread_.join();
    note("launcher %s", passes_ > 0 ? "ran" : "did not run");
  }
  void detach() {
    while (passes_ < 20) usleep(100);
    thread_.detach();
  }

 private:
  void work() {
    in_worker = true;
    CALL(cuCtxSetCurrent, job().scenario.context());
    while (!stop_) {
      {
        const Range range("region launcher");
        for (int i = 0; i < 2; ++i) {
          launch(job().mix, {}, stream_, data_.address(), sum_.address(), n, 1u);
          launch(job().accumulate, {}, stream_, sum_.address(), data_.address(), n);
        }
      }
      CALL(cuStreamSynchronize, stream_);
      transcript.clear();
      ++passes_;
    }
  }

  Buffer data_{n, 3}, sum_{n, 4};
  CUstream stream_;
  std::atomic<bool> stop_{false};
  std::atomic<int> passes_{0};
  std::thread thread_;
};

void tell_end(const char* what, int status) {
  if (WIFEXITED(status)) note("%s ended with %d", what, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) note("%s ended by signal %d", what, WTERMSIG(status));
}

void wait_for(const char* what, pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  tell_end(what, status);
}

// ---- ends of the process

void at_exit_calls_the_driver() {
  job().half(3);
  job().read();
}

struct StaticObject {
  bool armed = false;
  ~StaticObject() {
    if (armed) at_exit_calls_the_driver();
  }
} static_object;

struct ThreadObject {
  bool armed = false;
  ~ThreadObject() {
    if (!armed) return;
    job().half(3);
    nvtxRangePop();
    CALL(cuStreamSynchronize, job().stream);
  }
};
thread_local ThreadObject thread_object;

int end_return() { return 24; }
int end_exit() { std::exit(21); }
int end_now() { _exit(22); }
int end_quick() {
  std::at_quick_exit([] { at_exit_calls_the_driver(); });
  std::quick_exit(23);
}
int end_abort() { std::abort(); }
int end_terminated() { return std::raise(SIGTERM); }
int end_killed() { return std::raise(SIGKILL); }
int end_segment_fault() { return std::raise(SIGSEGV); }
int end_uncaught() { throw std::runtime_error("nobody catches it"); }
int end_exit_handler() {
  std::atexit([] { at_exit_calls_the_driver(); });
  std::exit(26);
}
int end_static_destructor() {
  static_object.armed = true;
  std::exit(27);
}
int end_exit_of_a_thread() {
  std::thread([] { std::exit(28); }).join();
  return 1;
}
int end_exit_while_a_thread_launches() {
  (new Launcher)->detach();
  std::exit(29);
}
int end_main_thread_only() {
  std::thread([] {
    usleep(50000);
    CALL(cuCtxSetCurrent, job().scenario.context());
    job().read();
    std::fputs(transcript.c_str(), stdout);
    std::exit(30);
  }).detach();
  pthread_exit(nullptr);
}

// ---- ends of a thread

/// `end` runs in a thread with half a pass held; then the main thread reads.
int end_of_thread(void (*end)()) {
  std::thread([end] {
    in_worker = true;
    CALL(cuCtxSetCurrent, job().scenario.context());
    begin_pass();
    end();
  }).join();
  job().read();
  return 0;
}
int thread_returns() {
  return end_of_thread([] {});
}
int thread_exits() {
  return end_of_thread([] { pthread_exit(nullptr); });
}
int thread_destroys() {
  return end_of_thread([] { thread_object.armed = true; });
}
int thread_throws_inside() {
  return end_of_thread([] {
    try {
      const Range range("region inside");
      throw std::runtime_error("caught");
    } catch (const std::runtime_error&) {
    }
  });
}
int thread_cancelled() {
  pthread_t thread{};
  static std::atomic<bool> ready{false};
  pthread_create(
      &thread, nullptr,
      [](void*) -> void* {
        in_worker = true;
        CALL(cuCtxSetCurrent, job().scenario.context());
        begin_pass();
        ready = true;
        for (;;) pause();
      },
      nullptr);
  while (!ready) usleep(100);
  pthread_cancel(thread);
  void* result = nullptr;
  pthread_join(thread, &result);
  note("cancelled %d", result == PTHREAD_CANCELED);
  job().read();
  return 0;
}
int many_threads_end() {
  for (int i = 0; i < 50; ++i) {
    std::thread([] {
      in_worker = true;
      CALL(cuCtxSetCurrent, job().scenario.context());
      begin_pass();
      job().half(3);
      nvtxRangePop();
    }).join();
  }
  job().read();
  return 0;
}

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

struct Way {
  int (*run)();
  bool in_a_pass;
};
const std::map<std::string, Way> ways = {
    {"return", {end_return, true}},
    {"exit", {end_exit, true}},
    {"_exit", {end_now, true}},
    {"quick_exit", {end_quick, true}},
    {"abort", {end_abort, true}},
    {"terminated", {end_terminated, true}},
    {"killed", {end_killed, true}},
    {"segment-fault", {end_segment_fault, true}},
    {"uncaught-exception", {end_uncaught, true}},
    {"exit-handler", {end_exit_handler, true}},
    {"static-destructor", {end_static_destructor, true}},
    {"exit-of-a-thread", {end_exit_of_a_thread, true}},
    {"exit-while-a-thread-launches", {end_exit_while_a_thread_launches, true}},
    {"main-thread-only", {end_main_thread_only, true}},
    {"thread-returns", {thread_returns, false}},
    {"thread-exits", {thread_exits, false}},
    {"thread-destroys", {thread_destroys, false}},
    {"thread-throws-inside", {thread_throws_inside, false}},
    {"thread-cancelled", {thread_cancelled, false}},
    {"many-threads-end", {many_threads_end, false}},
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

}  // namespace
}  // namespace refrain::tests

int main(int count, char** arguments) {
  using namespace refrain::tests;
  own_path = arguments[0];
  if (count == 2 && std::string_view(arguments[1]) == "--list") {
    for (const auto& [name, way] : ways) std::puts(name.c_str());
    return 0;
  }
  const auto way = ways.find(count == 2 ? arguments[1] : "");
  if (way == ways.end()) {
    std::fputs("usage: life_held WAY | --list\n", stderr);
    return 8;
  }
  if (way->second.run == first_use) return first_use();
  job().warm_up();
  if (way->second.in_a_pass) begin_pass();
  return way->second.run();
}
