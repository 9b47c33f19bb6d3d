// What each stream must execute, as the program passed it, beside what the simulated device executed.
//
// Owns:    both lists of every stream.
// Threads: those of the schedule, of which one runs at a time.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulated_driver/observer.h"

namespace refrain::tests::simulate::model {

/// Fills of one of these addresses name a stream: their value is its number.
void begin(std::uint64_t marker, std::uint64_t other_marker);
/// From here on every operation counts; before, the device works for the setup.
void watch();

/// So many operations of a stream.
struct Place {
  int stream = 0;
  std::size_t count = 0;
};
/// The program passed this operation to the stream of that number, behind what must have begun before it begins.
/// `bytes` as in observer.h.
void expect(int stream, std::string operation, const std::vector<Place>& before);
/// Operations passed to the stream so far.
std::size_t expected(int stream);
/// The call that was expected last on the stream was refused.
void take_back(int stream);
/// The device is about to execute it.
void executes(const simulated::Executed& operation);

/// Operations that the device executed, markers not counted.
std::uint64_t executed();
/// A line for each stream that did not execute what was passed to it; empty when all did.
std::string differences();

/// An operation in the one form that is compared.
std::string operation(const char* kind, const char* name, const unsigned (&grid)[3], const unsigned (&block)[3],
                      unsigned shared, const std::byte* bytes, std::size_t size);

}  // namespace refrain::tests::simulate::model
