// Host versions of kernels for the simulated driver.
//
// A program that brings PTX brings, for the simulated driver, a C++ function for each kernel beside it. The driver
// calls `refrain_sim_register` of the program (link it with -rdynamic) and of every library that REFRAIN_SIM_KERNELS
// names:
//
//   void saxpy(const KernelContext& kernel) {
//     const auto x = kernel.span<const float>(kernel.parameter<uint64_t>(0), n); ...
//   }
//   extern "C" void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
//     registry->register_kernel("saxpy", saxpy);
//   }
//
// A function is called once a launch and loops over blocks and threads itself. It needs nothing but this header: no
// symbol of the driver. On a real driver refrain_sim_register is never called.
//
// Fails: an access outside live memory makes the launch fail with CUDA_ERROR_ILLEGAL_ADDRESS, as on a device; the
// function goes on with bytes that belong to nobody.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace refrain::tests::simulated {

/// Place of one parameter in the parameter block.
struct ParameterPlace {
  size_t offset;
  size_t size;
};

/// One launch, as its kernel sees it.
struct KernelContext {
  struct Size {
    unsigned x, y, z;
    uint64_t count() const { return uint64_t{x} * y * z; }
  };

  const char* name;
  Size grid;
  Size block;
  unsigned dynamic_shared_bytes;
  uint64_t gridid;  ///< different for each launch
  const std::byte* parameters;
  const ParameterPlace* places;
  size_t parameter_count;
  const CUlaunchAttribute* attributes;
  unsigned attribute_count;
  void* memory;  ///< for `access`
  void* (*access)(void* memory, uint64_t address, size_t bytes, size_t alignment);
  void (*fault)(void* memory, CUresult error);

  uint64_t thread_count() const { return grid.count() * block.count(); }

  /// Parameter `index`, by value. Its size must be that of T.
  template <class T>
  T parameter(size_t index) const {
    T value{};
    if (index >= parameter_count || places[index].size != sizeof(T)) {
      fault(memory, CUDA_ERROR_LAUNCH_FAILED);
      return value;
    }
    std::memcpy(&value, parameters + places[index].offset, sizeof(T));
    return value;
  }

  /// The bytes of parameter `index`.
  std::span<const std::byte> parameter_bytes(size_t index) const {
    if (index >= parameter_count) return {};
    return {parameters + places[index].offset, places[index].size};
  }

  /// `count` elements of device memory.
  template <class T>
  std::span<T> span(uint64_t address, size_t count) const {
    return {static_cast<T*>(access(memory, address, count * sizeof(T), alignof(T))), count};
  }

  template <class T>
  T load(uint64_t address) const {
    T value;
    std::memcpy(&value, access(memory, address, sizeof(T), alignof(T)), sizeof(T));
    return value;
  }

  template <class T>
  void store(uint64_t address, const T& value) const {
    std::memcpy(access(memory, address, sizeof(T), alignof(T)), &value, sizeof(T));
  }

  /// The attribute of this launch, or null.
  const CUlaunchAttributeValue* attribute(CUlaunchAttributeID id) const {
    for (unsigned i = 0; i < attribute_count; ++i) {
      if (attributes[i].id == id) return &attributes[i].value;
    }
    return nullptr;
  }
};

using KernelBody = void (*)(const KernelContext&);

/// Where kernels are registered; given to refrain_sim_register.
struct Registry {
  void (*add)(Registry* registry, const char* name, KernelBody body);
  void register_kernel(const char* name, KernelBody body) { add(this, name, body); }
};

}  // namespace refrain::tests::simulated
