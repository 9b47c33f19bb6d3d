// The kernels as callable objects, typed by their bodies: kernels.add(threads, out, left, right, count).
#pragma once

#include "tests/training/device.h"
#include "tests/training/host_bodies.h"

namespace refrain::tests::training {

template <typename Signature>
class Kernel;

template <typename... P>
class Kernel<void(P...)> {
 public:
  Kernel(const Device& device, const char* name, Handle handle, Form form)
      : device_(device), loaded_(device.load(name, handle, form)) {}
  /// By reference, so that padding reaches the launch as the caller left it.
  void operator()(unsigned threads, const typename LaunchType<P>::type&... values) const {
    const Argument arguments[] = {Argument{&values, sizeof values, alignof(typename LaunchType<P>::type)}...};
    device_.launch(loaded_, threads, arguments);
  }

 private:
  const Device& device_;
  LoadedKernel loaded_;
};

/// One member for each kernel of the list.
class Kernels {
 public:
  explicit Kernels(const Device& device) : device_(device) {}

 private:
  const Device& device_;

 public:
#define KERNEL(name, handle, form) Kernel<decltype(bodies::name)> name{device_, #name, Handle::handle, Form::form};
#include "tests/training/kernel_list.inc"
};

}  // namespace refrain::tests::training
