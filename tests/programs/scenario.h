// What the scenario programs have in common: a device, a stream, the kernels, buffers with known contents, NVTX ranges,
// launches whose arguments are spoiled as soon as the call returns, and a ledger of every iteration's outputs.
//
// Use:   SCENARIO(name) { ... scenario ... } in a file of its own; all of them are linked into one program that runs
//        the one named on its command line.
// Fails: a setup call that fails ends the program with exit code 3; calls that a scenario makes are only noted.
#pragma once

#include <nvtx3/nvToolsExt.h>

#include <cstring>
#include <string_view>
#include <type_traits>
#include <vector>

#include "tests/programs/driver_api.h"
#include "tests/programs/transcript.h"

namespace refrain::tests {

/// An NVTX range of the default domain, open while it lives.
class Range {
 public:
  explicit Range(const char* name) { nvtxRangePushA(name); }
  ~Range() { nvtxRangePop(); }
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

/// One row of blocks.
struct Shape {
  unsigned grid = 4, block = 64, shared = 0;
};

/// Overwrites `value` in a way that the compiler keeps.
template <typename Value>
void spoil(Value& value) {
  std::memset(static_cast<void*>(&value), 0xee, sizeof value);
  asm volatile("" ::"r"(&value) : "memory");
}

/// cuLaunchKernel with `arguments` exactly as the kernel declares them; they are overwritten when the call returns.
template <typename... Arguments>
CUresult launch(CUfunction function, Shape shape, CUstream stream, Arguments... arguments) {
  static_assert((!std::is_same_v<Arguments, int> && ...), "kernels take unsigned values");
  void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
  const CUresult result =
      CALL(cuLaunchKernel, function, shape.grid, 1, 1, shape.block, 1, 1, shape.shared, stream, parameters, nullptr);
  (spoil(arguments), ...);
  spoil(parameters);
  return result;
}

/// Device memory with contents that `seed` determines.
class Buffer {
 public:
  Buffer(std::size_t words, unsigned seed);
  ~Buffer();
  Buffer(Buffer&& other) noexcept : address_(other.address_), words_(other.words_) { other.address_ = 0; }
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;
  Buffer& operator=(Buffer&&) = delete;
  CUdeviceptr address() const { return address_; }
  std::size_t words() const { return words_; }
  std::size_t bytes() const { return words_ * 4; }
  std::vector<unsigned> read() const;  ///< what it holds; the writer must have been waited for

 private:
  CUdeviceptr address_ = 0;
  std::size_t words_ = 0;
};

/// Host memory that kernels see, for flags between host and device.
class MappedFlag {
 public:
  MappedFlag();
  ~MappedFlag();
  MappedFlag(const MappedFlag&) = delete;
  MappedFlag& operator=(const MappedFlag&) = delete;
  CUdeviceptr device() const { return device_; }
  void set(unsigned value) const { __atomic_store_n(host_, value, __ATOMIC_RELEASE); }
  unsigned get() const { return __atomic_load_n(host_, __ATOMIC_ACQUIRE); }
  /// Spins, without any driver call, until the device has written `value` or more. False after five seconds;
  /// a program that is not told twice gives up.
  bool wait(unsigned value) const;

 private:
  unsigned* host_ = nullptr;
  CUdeviceptr device_ = 0;
};

/// The program's setup and options.
class Scenario {
 public:
  Scenario(int iterations, bool wait_each);
  int iterations() const { return iterations_; }
  bool wait_each() const { return wait_each_; }  ///< the host waits for the device after every iteration
  CUdevice device() const { return device_; }
  CUcontext context() const { return context_; }
  CUmodule module() const { return module_; }
  CUstream stream() const { return stream_; }  ///< non-blocking
  CUfunction kernel(const char* name) const;   ///< of the loaded module
  /// A stream that has done one fill already: the trace numbers streams by their first work, and it shall not depend on
  /// time.
  CUstream make_stream(unsigned flags = CU_STREAM_NON_BLOCKING) const;
  CUevent make_event(unsigned flags = CU_EVENT_DISABLE_TIMING) const;

 private:
  int iterations_;
  bool wait_each_;
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUstream stream_ = nullptr;
  CUdeviceptr filled_ = 0;
};

/// The PTX text of all kernels.
const char* kernel_text();

/// The hashes of some buffers at the end of every iteration. Either the host waits and reads each time, or the device
/// copies into a history that is read at the end, so that the program never waits for the device.
class Ledger {
 public:
  /// `takes`: how often take() is called at most; 0: once an iteration.
  Ledger(const Scenario& scenario, std::vector<const Buffer*> outputs, int takes = 0);
  ~Ledger();
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;
  /// After an iteration whose writes to the outputs are ordered before `stream`'s next operation.
  void take(CUstream stream);
  /// Once, after the last iteration.
  void close();

 private:
  bool wait_each_;
  std::vector<const Buffer*> outputs_;
  std::size_t words_ = 0;
  std::size_t taken_ = 0;
  std::size_t capacity_ = 0;
  CUdeviceptr history_ = 0;
};

/// A sequence of numbers that is the same in every run.
class Numbers {
 public:
  explicit Numbers(std::uint64_t seed) : state_(seed * 2654435761u + 1) {}
  unsigned next() {
    state_ = state_ * 6364136223846793005ull + 1442695040888963407ull;
    return static_cast<unsigned>(state_ >> 33);
  }
  unsigned below(unsigned limit) { return next() % limit; }

 private:
  std::uint64_t state_;
};

/// One named scenario of the program.
struct Registration {
  Registration(const char* scenario_name, void (*function)(Scenario&), int default_iterations);
  const char* name;
  void (*run)(Scenario&);
  int iterations;
};
const std::vector<Registration*>& registrations();

}  // namespace refrain::tests

/// Defines and registers a scenario that runs `count` iterations unless the command line says otherwise.
#define SCENARIO_OF(name, count)                                                     \
  static void name(::refrain::tests::Scenario& scenario);                            \
  static ::refrain::tests::Registration registration_of_##name(#name, &name, count); \
  static void name([[maybe_unused]] ::refrain::tests::Scenario& scenario)
#define SCENARIO(name) SCENARIO_OF(name, 64)
