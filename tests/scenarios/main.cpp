// Runs one scenario: scenarios NAME [--iterations N] [--wait each|end]; scenarios --list names them all.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/programs/scenario.h"

using namespace refrain::tests;

static int run(const Registration& registration, int iterations, bool wait_each) {
  {
    Scenario scenario(iterations > 0 ? iterations : registration.iterations, wait_each);
    registration.run(scenario);
  }
  publish();
  return 0;
}

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--list") {
    for (const Registration* registration : registrations()) std::puts(registration->name);
    return 0;
  }
  int iterations = 0;
  bool wait_each = true;
  for (int i = 2; i + 1 < count; i += 2) {
    const std::string_view option = arguments[i], value = arguments[i + 1];
    if (option == "--iterations") iterations = std::atoi(arguments[i + 1]);
    if (option == "--wait") wait_each = value == "each";
  }
  for (const Registration* registration : registrations()) {
    if (count > 1 && std::string_view(arguments[1]) == registration->name) {
      return run(*registration, iterations, wait_each);
    }
  }
  std::fprintf(stderr, "usage: %s NAME [--iterations N] [--wait each|end] | --list\n", arguments[0]);
  return 2;
}
