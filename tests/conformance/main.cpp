// conformance NAME [--repeat N] [--range]   runs one program and prints its transcript
// conformance --list                        names all programs
//
// --repeat N: the body runs N times in one process, unless it can run only once. --range: each time inside an NVTX
// range.
#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdlib>
#include <string>
#include <string_view>

#include "tests/conformance/program.h"

using namespace refrain::tests;
using conformance::Entry;

static int run(const Entry& entry, int passes, bool range) {
  conformance::Program program;
  const std::string name = std::string("region ") + entry.name;
  for (int pass = 0; pass < (entry.once ? 1 : passes); ++pass) {
    if (pass != 0) program.begin_pass();
    const bool in_range = range && (pass != 0 || entry.once);
    if (in_range) nvtxRangePushA(name.c_str());
    entry.body(program);
    if (in_range) nvtxRangePop();
    publish();
    QUIET(cuCtxSynchronize);  // what is queued still executes; a program that left a fault has one here
  }
  return 0;
}

int main(int count, char** arguments) {
  auto all = conformance::entries();
  std::sort(all.begin(), all.end(), [](const Entry* a, const Entry* b) { return std::string_view(a->name) < b->name; });
  const std::string_view first = count > 1 ? arguments[1] : "";
  if (first == "--list") {
    for (const Entry* entry : all) std::puts(entry->name);
    return 0;
  }
  int passes = 1;
  bool range = false;
  for (int i = 2; i < count; ++i) {
    const std::string_view option = arguments[i];
    if (option == "--range") range = true;
    if (option == "--repeat" && i + 1 < count) passes = std::atoi(arguments[++i]);
  }
  for (const Entry* entry : all) {
    if (first == entry->name) return run(*entry, passes, range);
  }
  std::fprintf(stderr, "usage: %s NAME [--repeat N] [--range] | --list\n", arguments[0]);
  return 2;
}
