#include "interpose/child_process.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace refrain::interpose {
namespace {

volatile sig_atomic_t child = 0;

void pass_on(int signal, siginfo_t* origin, void*) {
  // What a terminal sends, it sends to the child as well.
  if (origin->si_code == SI_KERNEL) return;
  const int error = errno;
  if (child > 0) kill(static_cast<pid_t>(child), signal);
  errno = error;
}

constexpr int passed_signals[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGCONT, SIGWINCH};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

[[noreturn]] void become(const std::vector<char*>& program, const std::vector<char*>& environment,
                         const sigset_t& mask) {
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  execvpe(program[0], program.data(), environment.data());
  const int error = errno;
  std::fprintf(stderr, "refrain: %s: %s\n", program[0], std::strerror(error));
  _exit(error == ENOENT ? 127 : 126);
}

int wait_for(pid_t process) {
  int status = 0;
  while (waitpid(process, &status, 0) < 0) {
    if (errno != EINTR) return 2;
  }
  return WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
}

}  // namespace

int run_child(const std::vector<std::string>& program, const std::vector<std::string>& environment) {
  const std::vector<char*> arguments = pointers(program);
  const std::vector<char*> variables = pointers(environment);
  // The signals wait until the child's number is known; a signal that was ignored stays ignored, for the child as well.
  sigset_t passed, mask;
  sigemptyset(&passed);
  for (const int signal : passed_signals) sigaddset(&passed, signal);
  sigprocmask(SIG_BLOCK, &passed, &mask);
  const pid_t process = fork();
  if (process == 0) become(arguments, variables, mask);
  if (process < 0) {
    std::fprintf(stderr, "refrain: cannot start a process: %s\n", std::strerror(errno));
    sigprocmask(SIG_SETMASK, &mask, nullptr);
    return 126;
  }
  child = process;
  for (const int signal : passed_signals) {
    struct sigaction now {
    }, before{};
    now.sa_sigaction = pass_on;
    now.sa_flags = SA_SIGINFO | SA_RESTART;
    if (sigaction(signal, nullptr, &before) == 0 && before.sa_handler != SIG_IGN) sigaction(signal, &now, nullptr);
  }
  sigprocmask(SIG_SETMASK, &mask, nullptr);
  return wait_for(process);
}

}  // namespace refrain::interpose
