// The device as the training program uses it: one context, one stream, kernels loaded from a module and a library, and
// launches in every form.
//
// Owns:    the primary context's use, module, library, stream.
// Threads: any thread that called make_current(); the program never launches from two threads at once.
// Fails:   a driver error ends the program with exit code 3.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <span>

namespace refrain::tests::training {

enum class Handle { function, library };
enum class Form { parameters, extra, extended, cooperative };

/// A loaded kernel: `function` may be a CUkernel cast to CUfunction, as the CUDA runtime passes it.
struct LoadedKernel {
  CUfunction function = nullptr;
  Form form = Form::parameters;
};

/// One parameter of a launch: where it is and how the kernel's parameter block holds it.
struct Argument {
  const void* address;
  std::size_t size, alignment;
};

class Device {
 public:
  /// `own_stream`: a non-blocking stream of its own instead of the NULL stream.
  explicit Device(bool own_stream);
  ~Device();
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  /// Makes the context current on the calling thread.
  void make_current() const;
  LoadedKernel load(const char* name, Handle handle, Form form) const;
  void launch(const LoadedKernel& kernel, unsigned threads, std::span<const Argument> arguments) const;
  void fill(void* destination, unsigned char value, std::size_t bytes) const;
  void fill_words(void* destination, unsigned value, std::size_t words) const;
  void copy(void* destination, const void* source, std::size_t bytes) const;
  /// From pageable memory, which the driver reads during the call.
  void copy_in(void* destination, const void* source, std::size_t bytes) const;
  /// Waits for the stream, then returns what is at `source`.
  void copy_out(void* pinned, const void* source, std::size_t bytes) const;
  void synchronize() const;

 private:
  CUcontext context_ = nullptr;
  CUdevice device_ = 0;
  CUmodule module_ = nullptr;
  CUlibrary library_ = nullptr;
  CUstream stream_ = nullptr;
  bool cooperative_ = false;
};

}  // namespace refrain::tests::training
