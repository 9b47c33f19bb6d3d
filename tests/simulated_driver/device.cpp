#include "tests/simulated_driver/device.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/launch.h"

namespace refrain::tests::simulated {

unsigned resident_blocks(const Code& code, unsigned threads, size_t dynamic_shared) {
  if (threads == 0 || threads > 1024) return 0;
  const size_t shared = code.entry.static_shared + dynamic_shared + 1024;
  return static_cast<unsigned>(std::min<size_t>({32, 2048 / ((threads + 31) / 32 * 32), 233472 / shared}));
}

bool device_attribute(CUdevice_attribute attribute, CUdevice device, int* value) {
  struct Known {
    int attribute, value;
  };
  // Measured on an H200; those that are missing here are 0.
  static constexpr Known known[] = {
#include "tests/simulated_driver/device_attributes.inc"
  };
  if (attribute <= 0 || attribute >= CU_DEVICE_ATTRIBUTE_MAX) return false;
  *value = 0;
  for (const Known& one : known) {
    if (one.attribute == static_cast<int>(attribute)) *value = one.value;
  }
  if (attribute == CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) *value = device + 1;
  return true;
}

}  // namespace refrain::tests::simulated

using namespace refrain::tests::simulated;

namespace {

CUuuid uuid_of(CUdevice device) {
  CUuuid uuid{};
  std::memcpy(uuid.bytes, "refrain sim dev", 15);
  uuid.bytes[15] = static_cast<char>(device);
  return uuid;
}

CUresult max_active_blocks(int* blocks, CUfunction handle, int threads, size_t shared) {
  Callee callee;
  if (const CUresult result = find_callee(handle, &callee); result != CUDA_SUCCESS) return result;
  if (blocks == nullptr || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *blocks = static_cast<int>(resident_blocks(*callee.code(), static_cast<unsigned>(threads), shared));
  return CUDA_SUCCESS;
}

CUresult max_potential_block(int* grid, int* block, CUfunction handle, CUoccupancyB2DSize shared_of, size_t shared,
                             int limit) {
  Callee callee;
  if (const CUresult result = find_callee(handle, &callee); result != CUDA_SUCCESS) return result;
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const int most = static_cast<int>(callee.code()->entry.max_threads);
  unsigned best = 0;
  for (int threads = limit > 0 ? std::min(limit, most) : most; threads > 0; threads -= 32) {
    const size_t dynamic = shared_of != nullptr ? shared_of(threads) : shared;
    const unsigned blocks = resident_blocks(*callee.code(), static_cast<unsigned>(threads), dynamic);
    if (blocks * static_cast<unsigned>(threads) <= best) continue;
    best = blocks * static_cast<unsigned>(threads);
    *block = threads;
    *grid = static_cast<int>(blocks * multiprocessors);
  }
  return best != 0 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

}  // namespace

SIM(cuDeviceGetCount)(int* count) {
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = options().devices;
  return CUDA_SUCCESS;
}
SIM(cuDeviceGet)(CUdevice* device, int ordinal) {
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
  *device = ordinal;
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetName)(char* name, int length, CUdevice device) {
  if (name == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(name, static_cast<size_t>(length), "%s", device_name);
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetUuid_v2)(CUuuid* uuid, CUdevice device) {
  if (uuid == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *uuid = uuid_of(device);
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetUuid)(CUuuid* uuid, CUdevice device) { return sim_cuDeviceGetUuid_v2(uuid, device); }
SIM(cuDeviceTotalMem_v2)(size_t* bytes, CUdevice device) {
  if (bytes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *bytes = options().memory_bytes;
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetAttribute)(int* value, CUdevice_attribute attribute, CUdevice device) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return device_attribute(attribute, device, value) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuDeviceComputeCapability)(int* major, int* minor, CUdevice device) {
  if (major == nullptr || minor == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *major = 9;
  *minor = 0;
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetPCIBusId)(char* id, int length, CUdevice device) {
  if (id == nullptr || length <= 0) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  std::snprintf(id, static_cast<size_t>(length), "0000:%02x:00.0", device + 1);
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetByPCIBusId)(CUdevice* device, const char* id) {
  unsigned domain = 0, bus = 0;
  if (device == nullptr || id == nullptr || std::sscanf(id, "%x:%x", &domain, &bus) != 2)
    return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(static_cast<int>(bus) - 1)) return CUDA_ERROR_INVALID_DEVICE;
  *device = static_cast<int>(bus) - 1;
  return CUDA_SUCCESS;
}
SIM(cuDeviceCanAccessPeer)(int* can, CUdevice device, CUdevice peer) {
  if (can == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device) || !valid_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer;
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetP2PAttribute)(int* value, CUdevice_P2PAttribute, CUdevice device, CUdevice peer) {
  if (value == nullptr || device == peer) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device) || !valid_device(peer)) return CUDA_ERROR_INVALID_DEVICE;
  *value = 1;
  return CUDA_SUCCESS;
}
SIM(cuDeviceGetExecAffinitySupport)(int* supported, CUexecAffinityType, CUdevice device) {
  if (supported == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  *supported = 0;
  return CUDA_SUCCESS;
}

SIM(cuOccupancyMaxActiveBlocksPerMultiprocessor)(int* blocks, CUfunction function, int threads, size_t shared) {
  return max_active_blocks(blocks, function, threads, shared);
}
SIM(cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags)
(int* blocks, CUfunction function, int threads, size_t shared, unsigned) {
  return max_active_blocks(blocks, function, threads, shared);
}
SIM(cuOccupancyMaxPotentialBlockSize)
(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of, size_t shared, int limit) {
  return max_potential_block(grid, block, function, shared_of, shared, limit);
}
SIM(cuOccupancyMaxPotentialBlockSizeWithFlags)
(int* grid, int* block, CUfunction function, CUoccupancyB2DSize shared_of, size_t shared, int limit, unsigned) {
  return max_potential_block(grid, block, function, shared_of, shared, limit);
}
SIM(cuOccupancyAvailableDynamicSMemPerBlock)(size_t* bytes, CUfunction handle, int blocks, int threads) {
  Callee callee;
  if (const CUresult result = find_callee(handle, &callee); result != CUDA_SUCCESS) return result;
  if (bytes == nullptr || blocks <= 0 || threads <= 0) return CUDA_ERROR_INVALID_VALUE;
  *bytes = std::min<size_t>(233472 / static_cast<size_t>(blocks) - 1024, shared_per_block_optin) -
           callee.code()->entry.static_shared;
  return CUDA_SUCCESS;
}
