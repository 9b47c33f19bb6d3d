// From the arguments of a driver function that can be held to the engine's value for the call.
//
// Each overload fits one signature and fills `call`; false when the arguments cannot be read, which no valid call does.
#pragma once

#include <concepts>

#include "interpose/entry_points.h"
#include "replay/engine.h"

namespace refrain::interpose {

using replay::CopyCall;
using replay::KernelCall;
using replay::MemsetCall;

inline bool describe(KernelCall& call, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                     void** parameters, void** extra) noexcept {
  call.function = function;
  call.stream = stream;
  call.grid = {grid_x, grid_y, grid_z};
  call.block = {block_x, block_y, block_z};
  call.shared = shared;
  call.parameters = parameters;
  call.extra = extra;
  return true;
}

/// A cooperative launch.
inline bool describe(KernelCall& call, CUfunction function, unsigned grid_x, unsigned grid_y, unsigned grid_z,
                     unsigned block_x, unsigned block_y, unsigned block_z, unsigned shared, CUstream stream,
                     void** parameters) noexcept {
  call.cooperative = true;
  return describe(call, function, grid_x, grid_y, grid_z, block_x, block_y, block_z, shared, stream, parameters,
                  nullptr);
}

inline bool describe(KernelCall& call, const CUlaunchConfig* config, CUfunction function, void** parameters,
                     void** extra) noexcept {
  if (config == nullptr || (config->numAttrs != 0 && config->attrs == nullptr)) return false;
  call.attribute_count = config->numAttrs;
  call.attributes = config->attrs;
  return describe(call, function, config->gridDimX, config->gridDimY, config->gridDimZ, config->blockDimX,
                  config->blockDimY, config->blockDimZ, config->sharedMemBytes, config->hStream, parameters, extra);
}

template <class Value>
concept MemsetValue =
    std::same_as<Value, unsigned char> || std::same_as<Value, unsigned short> || std::same_as<Value, unsigned int>;

template <MemsetValue Value>
bool describe(MemsetCall& call, CUdeviceptr destination, Value value, std::size_t elements, CUstream stream) noexcept {
  call.stream = stream;
  call.bytes = {destination, 0, elements, 1, value, sizeof(Value)};
  return true;
}

template <MemsetValue Value>
bool describe(MemsetCall& call, CUdeviceptr destination, std::size_t pitch, Value value, std::size_t width,
              std::size_t height, CUstream stream) noexcept {
  call.stream = stream;
  call.bytes = {destination, pitch, width, height, value, sizeof(Value)};
  return true;
}

inline bool describe(CopyCall& call, CUdeviceptr destination, CUdeviceptr source, std::size_t bytes,
                     CUstream stream) noexcept {
  call.stream = stream;
  call.bytes = {destination, source, bytes};
  return true;
}

}  // namespace refrain::interpose
