#include "tests/simulate/server.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "tests/programs/driver_api.h"

namespace refrain::tests::simulate {
namespace {

constexpr int request_descriptor = 3, answer_descriptor = 4;
constexpr int patience_ms = 60'000;  ///< of the real clock, for one program; the schedule finds most hangs itself

bool write_all(int descriptor, const std::string& bytes) {
  std::size_t done = 0;
  while (done < bytes.size()) {
    const ssize_t wrote = write(descriptor, bytes.data() + done, bytes.size() - done);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += static_cast<std::size_t>(wrote);
  }
  return true;
}

bool read_all(int descriptor, void* to, std::size_t size) {
  auto* bytes = static_cast<char*>(to);
  while (size != 0) {
    const ssize_t got = read(descriptor, bytes, size);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<std::size_t>(got);
  }
  return true;
}

std::string with_size(const std::string& bytes) {
  const std::uint64_t size = bytes.size();
  return std::string(reinterpret_cast<const char*>(&size), sizeof size) + bytes;
}

bool read_sized(int descriptor, std::string& bytes) {
  std::uint64_t size = 0;
  if (!read_all(descriptor, &size, sizeof size)) return false;
  bytes.resize(size);
  return read_all(descriptor, bytes.data(), size);
}

constexpr std::uint64_t Outcome::*numbers[] = {&Outcome::schedule_hash, &Outcome::decisions, &Outcome::executed,
                                               &Outcome::calls,         &Outcome::held,      &Outcome::replayed,
                                               &Outcome::flushed,       &Outcome::patched};
constexpr std::string Outcome::*texts[] = {&Outcome::answers, &Outcome::faults, &Outcome::trace};

std::string pack(const Outcome& outcome) {
  std::string bytes;
  for (const auto number : numbers) bytes.append(reinterpret_cast<const char*>(&(outcome.*number)), 8);
  for (const auto text : texts) bytes += with_size(outcome.*text);
  return bytes;
}

bool unpack(int descriptor, Outcome& outcome) {
  for (const auto number : numbers) {
    if (!read_all(descriptor, &(outcome.*number), 8)) return false;
  }
  for (const auto text : texts) {
    if (!read_sized(descriptor, outcome.*text)) return false;
  }
  return true;
}

int outcome_pipe = -1;

void stuck(const std::string& state) {
  Outcome outcome;
  outcome.faults = "stuck: " + state + '\n';
  write_all(outcome_pipe, pack(outcome));
  _exit(0);
}

void place_policy(const Program& program) {
  const int file = memfd_create("policy", 0);
  const std::string text = policy_of(program);
  if (file < 0 || !write_all(file, text)) _exit(3);
  setenv("REFRAIN_POLICY", ("/proc/self/fd/" + std::to_string(file)).c_str(), 1);
}

[[noreturn]] void run_in_child(const std::string& text, bool keep_trace) {
  std::string fault;
  try {
    const Program program = parse(text);
    place_policy(program);
    write_all(outcome_pipe, pack(execute(program, keep_trace, stuck)));
    _exit(0);
  } catch (const std::exception& error) {
    fault = error.what();
  }
  Outcome outcome;
  outcome.faults = fault + '\n';
  write_all(outcome_pipe, pack(outcome));
  _exit(0);
}

Outcome supervise(const std::string& text, bool keep_trace) {
  int ends[2];
  Outcome outcome;
  outcome.faults = "no process\n";
  if (pipe2(ends, O_CLOEXEC) != 0) return outcome;
  const pid_t child = fork();
  if (child == 0) {
    outcome_pipe = ends[1];
    run_in_child(text, keep_trace);
  }
  close(ends[1]);
  pollfd waiting{ends[0], POLLIN, 0};
  const bool in_time = poll(&waiting, 1, patience_ms) > 0;
  if (!in_time) kill(child, SIGKILL);
  Outcome found;
  const bool complete = in_time && unpack(ends[0], found);
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (complete) return found;
  outcome.faults = !in_time              ? "no end within the time\n"
                   : WIFSIGNALED(status) ? "crashed: signal " + std::to_string(WTERMSIG(status)) + '\n'
                                         : "ended early: exit code " + std::to_string(WEXITSTATUS(status)) + '\n';
  return outcome;
}

}  // namespace

int serve(int core) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(core, &set);
  sched_setaffinity(0, sizeof set, &set);  // a turn is handed over faster on one core; without it all works the same
  driver();
  std::string request;
  while (read_sized(request_descriptor, request)) {
    const bool keep_trace = !request.empty() && request[0] == '+';
    if (!write_all(answer_descriptor, pack(supervise(request.substr(1), keep_trace)))) return 1;
  }
  return 0;
}

Server::Server(const Place& place, bool with_refrain, int core) {
  int requests[2], answers[2];
  if (pipe2(requests, O_CLOEXEC) != 0 || pipe2(answers, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
  process_ = fork();
  if (process_ == 0) {
    // Above the two numbers first: one pipe may have a number that the other gets.
    const int in = fcntl(requests[0], F_DUPFD, 10), out = fcntl(answers[1], F_DUPFD, 10);
    dup2(in, request_descriptor);
    dup2(out, answer_descriptor);
    close(in);
    close(out);
    for (const char* name : {"LD_PRELOAD", "NVTX_INJECTION64_PATH", "REFRAIN_POLICY", "REFRAIN_LOG", "REFRAIN_MODE",
                             "REFRAIN_DISABLE", "REFRAIN_SIM_FAIL", "REFRAIN_SIM_TRACE", "REFRAIN_SIM_CALLS"})
      unsetenv(name);
    setenv("LD_LIBRARY_PATH", place.driver_folder.c_str(), 1);
    setenv("REFRAIN_SIM_REUSE_HANDLES", "1", 1);
    if (with_refrain) {
      setenv("LD_PRELOAD", place.library.c_str(), 1);
      setenv("REFRAIN_POLICY", "given later", 1);
      // What it says to a person is not compared.
      if (const int nowhere = open("/dev/null", O_WRONLY); nowhere >= 0) dup2(nowhere, STDERR_FILENO);
    }
    const std::string number = std::to_string(core);
    execl(place.program.c_str(), place.program.c_str(), "--serve", number.c_str(), nullptr);
    _exit(127);
  }
  close(requests[0]);
  close(answers[1]);
  to_ = requests[1];
  from_ = answers[0];
}

Server::~Server() {
  close(to_);
  close(from_);
  waitpid(process_, nullptr, 0);
}

Outcome Server::run(const Program& program, bool keep_trace) {
  Outcome outcome;
  const std::string request = (keep_trace ? "+" : "-") + to_text(program);
  if (!write_all(to_, with_size(request)) || !unpack(from_, outcome)) throw std::runtime_error("the server has ended");
  return outcome;
}

}  // namespace refrain::tests::simulate
