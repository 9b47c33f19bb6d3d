// Runs one scenario: scenarios NAME [--iterations N] [--wait each|end]; scenarios --list names them all;
// scenarios --list-is NAME... fails unless these are all.
#include <algorithm>
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

/// Whether the scenarios have exactly these names.
static bool list_is(const std::vector<std::string_view>& names) {
  auto missing = [&](const Registration* registration) {
    return std::find(names.begin(), names.end(), registration->name) == names.end();
  };
  const auto& all = registrations();
  for (const Registration* registration : all) {
    if (missing(registration)) std::fprintf(stderr, "not listed: %s\n", registration->name);
  }
  return names.size() == all.size() && std::none_of(all.begin(), all.end(), missing);
}

int main(int count, char** arguments) {
  if (count == 2 && std::string_view(arguments[1]) == "--list") {
    for (const Registration* registration : registrations()) std::puts(registration->name);
    return 0;
  }
  if (count > 1 && std::string_view(arguments[1]) == "--list-is")
    return list_is({arguments + 2, arguments + count}) ? 0 : 1;
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
