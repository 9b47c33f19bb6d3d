// Registers the host versions of the kernels with the simulated driver. A real driver never calls this.
#include <memory>
#include <tuple>
#include <utility>

#include "tests/simulated_driver/kernels.h"
#include "tests/training/host_bodies.h"

namespace refrain::tests::training {
namespace {

using simulated::KernelContext;

/// A parameter as the body takes it, read from the launch.
template <typename P>
struct Read {
  Read(const KernelContext& kernel, std::size_t index) : value(kernel.parameter<P>(index)) {}
  P value;
};

template <typename T>
struct Read<Pointer<T>> {
  Read(const KernelContext& kernel, std::size_t index)
      : window(std::make_unique<Window<T>>(kernel, kernel.parameter<std::uint64_t>(index))), value(*window) {}
  std::unique_ptr<Window<T>> window;
  Pointer<T> value;
};

template <>
struct Read<bodies::Table> {
  Read(const KernelContext& kernel, std::size_t index)
      : raw(kernel.parameter<TensorTable>(index)),
        windows(std::make_unique<Window<float>[]>(4 * TensorTable::capacity)) {
    for (unsigned t = 0; t < TensorTable::capacity && t < raw.tensors; ++t) {
      open(kernel, t, 0, raw.values, value.values);
      open(kernel, t, 1, raw.gradients, value.gradients);
      open(kernel, t, 2, raw.first, value.first);
      open(kernel, t, 3, raw.second, value.second);
      value.counts[t] = raw.counts[t];
    }
    value.tensors = raw.tensors;
  }
  void open(const KernelContext& kernel, unsigned t, unsigned kind, float* const* from, bodies::Floats* to) {
    Window<float>& window = windows[kind * TensorTable::capacity + t];
    window = Window<float>(kernel, reinterpret_cast<std::uint64_t>(from[t]));
    to[t] = bodies::Floats(window);
  }
  TensorTable raw;
  std::unique_ptr<Window<float>[]> windows;
  bodies::HostTable value{};
};

template <typename... P, std::size_t... index>
void run(void (*body)(P...), const KernelContext& kernel, std::index_sequence<index...>) {
  std::tuple<Read<P>...> parameters{Read<P>(kernel, index)...};
  const unsigned threads = static_cast<unsigned>(kernel.thread_count());
  for (unsigned thread = 0; thread < threads; ++thread) {
    bodies::thread_index = thread;
    body(std::get<index>(parameters).value...);
  }
}

template <typename... P>
void run(void (*body)(P...), const KernelContext& kernel) {
  run(body, kernel, std::index_sequence_for<P...>{});
}

}  // namespace
}  // namespace refrain::tests::training

extern "C" __attribute__((visibility("default"))) void refrain_sim_register(
    refrain::tests::simulated::Registry* registry);

extern "C" void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
  using namespace refrain::tests;
#define KERNEL(name, handle, form) \
  registry->register_kernel(       \
      #name, [](const simulated::KernelContext& kernel) { training::run(&training::bodies::name, kernel); });
#include "tests/training/kernel_list.inc"
}
