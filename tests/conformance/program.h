// What the conformance programs have in common. Each one makes a few driver calls and notes the name of every result
// and every answer that is the same on all drivers; never an address, a handle or a time. The text must be the same on
// the simulated and on a real driver, and bare and under Refrain.
//
// Use:     PROGRAM(name) { ... p.stream() ... TELL(cuStreamQuery, stream); }
// Owns:    a Program's streams, events, buffers and flags live as long as the process; a body that runs again finds
// them
//          again, with their first contents, so that the second pass is like the first one.
// Threads: the main thread, and refrain::tests::Worker.
// Fails:   a setup call that fails ends the process with exit code 3.
#pragma once

#include <cstring>
#include <deque>
#include <string>
#include <type_traits>
#include <vector>

#include "tests/programs/driver_api.h"
#include "tests/programs/kernel_types.h"
#include "tests/programs/transcript.h"

namespace refrain::tests::conformance {

/// A driver function by the name of its symbol.
void* find_function(const char* name);

/// Notes "name RESULT" and gives the result back.
CUresult tell(const char* name, CUresult result);
const char* name_of(CUresult result);

/// One row of blocks.
struct Shape {
  unsigned grid = 2, block = 64, shared = 0;
};

/// Device memory of unsigned words.
struct Words {
  CUdeviceptr address = 0;
  std::size_t count = 0;
  std::size_t bytes() const { return count * 4; }
  CUdeviceptr at(std::size_t word) const { return address + word * 4; }
};

/// Host memory that the device sees too.
struct Flag {
  unsigned* host = nullptr;
  CUdeviceptr device = 0;
  void set(unsigned value) const { __atomic_store_n(host, value, __ATOMIC_RELEASE); }
  unsigned get() const { return __atomic_load_n(host, __ATOMIC_ACQUIRE); }
  /// Spins until it is `value` or more; false after ten seconds.
  bool wait(unsigned value) const;
};

class Program {
 public:
  Program();
  CUdevice device() const { return device_; }
  CUcontext context() const { return context_; }
  CUmodule module() const { return module_; }
  CUfunction kernel(const char* name) const;
  /// The same kernel as a library's; the library is loaded at the first use.
  CUlibrary library();
  CUkernel library_kernel(const char* name);
  /// A stream that has done a fill already; the n-th call of a pass gives the same one in each pass.
  CUstream stream(unsigned flags = CU_STREAM_NON_BLOCKING);
  CUevent event(unsigned flags = CU_EVENT_DISABLE_TIMING);
  /// Contents: `seed` + index, in each pass anew.
  Words words(std::size_t count, unsigned seed);
  /// Pinned host memory, zero, in each pass anew.
  Flag flag(std::size_t words = 16);
  /// Before the body runs again.
  void begin_pass();
  /// How often the body has run before.
  unsigned pass() const { return pass_; }

 private:
  struct Filled {
    Words words;
    unsigned seed;
  };
  struct Pinned {
    Flag flag;
    std::size_t words;
  };
  static void fill(const Filled& filled);
  CUdevice device_ = 0;
  CUcontext context_ = nullptr;
  CUmodule module_ = nullptr;
  CUlibrary library_ = nullptr;
  CUdeviceptr scratch_ = 0;
  std::deque<CUstream> streams_;
  std::deque<CUevent> events_;
  std::deque<Filled> words_;
  std::deque<Pinned> flags_;
  unsigned pass_ = 0;
  std::size_t next_stream_ = 0, next_event_ = 0, next_words_ = 0, next_flag_ = 0;
};

/// The PTX of the kernels of tests/programs.
const char* kernel_text();

/// Notes `count` words from `first` on, or the hash of all, as they are now: the writer must have been waited for.
void note_words(const char* title, const Words& words, std::size_t first = 0, std::size_t count = 4);
void note_hash(const char* title, const Words& words);
std::vector<unsigned> read(const Words& words);

/// Calls `result = cuLaunchKernel` with the arguments exactly as the kernel declares them, which are overwritten then.
template <typename... Arguments>
CUresult launch(CUfunction function, Shape shape, CUstream stream, Arguments... arguments) {
  static_assert((!std::is_same_v<Arguments, int> && ...), "kernels take unsigned values");
  void* parameters[] = {static_cast<void*>(&arguments)..., nullptr};
  const CUresult result =
      driver().cuLaunchKernel(function, shape.grid, 1, 1, shape.block, 1, 1, shape.shared, stream, parameters, nullptr);
  const auto spoil = [](auto& value) {
    std::memset(static_cast<void*>(&value), 0xee, sizeof value);
    asm volatile("" ::"r"(&value) : "memory");
  };
  (spoil(arguments), ...);
  spoil(parameters);
  return tell("cuLaunchKernel", result);
}

/// The parameters of a kernel node; `arguments` must outlive the use.
inline CUDA_KERNEL_NODE_PARAMS kernel_node(CUfunction function, Shape shape, void** arguments) {
  CUDA_KERNEL_NODE_PARAMS p{};
  p.func = function;
  p.gridDimX = shape.grid, p.gridDimY = p.gridDimZ = 1;
  p.blockDimX = shape.block, p.blockDimY = p.blockDimZ = 1;
  p.sharedMemBytes = shape.shared;
  p.kernelParams = arguments;
  return p;
}

struct Entry {
  Entry(const char* its_name, void (*its_body)(Program&), bool is_once);
  const char* name;
  void (*body)(Program&);
  bool once;  ///< it leaves the process in a state in which it cannot run again
};
const std::vector<const Entry*>& entries();

}  // namespace refrain::tests::conformance

/// One driver call, by any name of cuda.h. TELL notes its result, MUST ends the process when it is an error.
// The macro's argument is the name as cuda.h maps it to the interface that it declares: cuMemAlloc is cuMemAlloc_v2.
#define DRIVER(function)                                                                                  \
  ([]() -> decltype(&::function) {                                                                        \
    static const auto found =                                                                             \
        reinterpret_cast<decltype(&::function)>(::refrain::tests::conformance::find_function(#function)); \
    return found;                                                                                         \
  }())
#define TELL(function, ...) ::refrain::tests::conformance::tell(#function, DRIVER(function)(__VA_ARGS__))
#define MUST(function, ...) ::check(DRIVER(function)(__VA_ARGS__), #function)
#define QUIET(function, ...) DRIVER(function)(__VA_ARGS__)

#define PROGRAM_ENTRY(name, once)                                                               \
  static void program_##name(::refrain::tests::conformance::Program& p);                        \
  static const ::refrain::tests::conformance::Entry entry_##name(#name, &program_##name, once); \
  static void program_##name([[maybe_unused]] ::refrain::tests::conformance::Program& p)
#define PROGRAM(name) PROGRAM_ENTRY(name, false)
#define PROGRAM_ONCE(name) PROGRAM_ENTRY(name, true)
