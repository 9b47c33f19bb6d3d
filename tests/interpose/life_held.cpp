// A program that holds calls, when it is loaded under Refrain, and then ends, forks or starts others in one of many
// ways: life_held WAY. Its output is the result of every driver call and the contents of its buffers.
#include "tests/interpose/life_held.h"

#include <sys/wait.h>

#include <cstdio>

namespace refrain::tests {

const char* own_path = "";

Job& job() {
  static Job& one = *new Job;
  return one;
}

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

void tell_end(const char* what, int status) {
  if (WIFEXITED(status)) note("%s ended with %d", what, WEXITSTATUS(status));
  if (WIFSIGNALED(status)) note("%s ended by signal %d", what, WTERMSIG(status));
}

void wait_for(const char* what, pid_t child) {
  int status = 0;
  waitpid(child, &status, 0);
  tell_end(what, status);
}

}  // namespace refrain::tests

int main(int count, char** arguments) {
  using namespace refrain::tests;
  own_path = arguments[0];
  if (count == 2 && std::string_view(arguments[1]) == "--list") {
    for (const Ways* ways : {&ends, &starts}) {
      for (const auto& [name, way] : *ways) std::puts(name.c_str());
    }
    return 0;
  }
  const std::string name = count == 2 ? arguments[1] : "";
  const Ways& ways = ends.contains(name) ? ends : starts;
  const auto way = ways.find(name);
  if (way == ways.end()) {
    std::fputs("usage: life_held WAY | --list\n", stderr);
    return 8;
  }
  if (way->second.run == first_use) return first_use();
  job().warm_up();
  if (way->second.in_a_pass) begin_pass();
  return way->second.run();
}
