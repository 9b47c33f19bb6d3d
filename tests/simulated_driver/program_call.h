// Which driver calls the program itself makes, and which ones something between it and the driver makes.
//
// A hook forwards the program's call and may make others before and after it, all from the same library, so neither
// names nor return addresses tell them apart. Instead the program says, around each of its calls, what it calls and
// with which arguments; of the calls that arrive meanwhile on that thread, the first with that name and those very
// arguments is its own.
//
// Use:     tests/programs/program_function.h, through refrain_sim_program_call, which only the simulated driver
// exports. Threads: the statement is the thread's own.
#pragma once

#include <array>
#include <cstdint>
#include <cstring>

namespace refrain::tests {

/// Arguments as words, for comparing them; of what is larger than a word (handles of other processes) its beginning.
struct ArgumentWords {
  std::array<std::uint64_t, 16> words{};
  unsigned count = 0;

  template <class... Arguments>
  static ArgumentWords of(const Arguments&... arguments) {
    static_assert(sizeof...(Arguments) <= 16);
    ArgumentWords all;
    (all.add(arguments), ...);
    return all;
  }
  bool operator==(const ArgumentWords&) const = default;

 private:
  template <class Argument>
  void add(const Argument& argument) {
    constexpr auto bytes = sizeof argument < sizeof words[0] ? sizeof argument : sizeof words[0];
    std::memcpy(&words[count++], &argument, bytes);
  }
};

/// One call that the program makes now.
struct ProgramCall {
  const char* name;      ///< without the version: cuMemAlloc
  std::uint64_t number;  ///< of the program's calls of this name, from 1
  ArgumentWords arguments;
  bool arrived = false;  ///< the driver has seen it
};

}  // namespace refrain::tests

/// States the calling thread's present call, nullptr for none; returns what it stated before.
extern "C" __attribute__((visibility("default"))) refrain::tests::ProgramCall* refrain_sim_program_call(
    refrain::tests::ProgramCall* call);
