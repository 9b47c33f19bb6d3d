// cuMemcpy*, cuMemset*.
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/copy.h"
#include "tests/simulated_driver/entry.h"

using namespace refrain::tests::simulated;

namespace {

constexpr CUmemorytype host = CU_MEMORYTYPE_HOST;
constexpr CUmemorytype device = CU_MEMORYTYPE_DEVICE;
constexpr CUmemorytype unified = CU_MEMORYTYPE_UNIFIED;

uint64_t number(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

CUDA_MEMCPY3D from_2d(const CUDA_MEMCPY2D& c) {
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = c.srcXInBytes;
  copy.srcY = c.srcY;
  copy.srcMemoryType = c.srcMemoryType;
  copy.srcHost = c.srcHost;
  copy.srcDevice = c.srcDevice;
  copy.srcArray = c.srcArray;
  copy.srcPitch = c.srcPitch;
  copy.dstXInBytes = c.dstXInBytes;
  copy.dstY = c.dstY;
  copy.dstMemoryType = c.dstMemoryType;
  copy.dstHost = c.dstHost;
  copy.dstDevice = c.dstDevice;
  copy.dstArray = c.dstArray;
  copy.dstPitch = c.dstPitch;
  copy.WidthInBytes = c.WidthInBytes;
  copy.Height = c.Height;
  copy.Depth = 1;
  return copy;
}

CUDA_MEMCPY3D from_peer(const CUDA_MEMCPY3D_PEER& c) {
  CUDA_MEMCPY3D copy{};
  copy.srcXInBytes = c.srcXInBytes;
  copy.srcY = c.srcY;
  copy.srcZ = c.srcZ;
  copy.srcMemoryType = c.srcMemoryType;
  copy.srcHost = c.srcHost;
  copy.srcDevice = c.srcDevice;
  copy.srcPitch = c.srcPitch;
  copy.srcHeight = c.srcHeight;
  copy.dstXInBytes = c.dstXInBytes;
  copy.dstY = c.dstY;
  copy.dstZ = c.dstZ;
  copy.dstMemoryType = c.dstMemoryType;
  copy.dstHost = c.dstHost;
  copy.dstDevice = c.dstDevice;
  copy.dstPitch = c.dstPitch;
  copy.dstHeight = c.dstHeight;
  copy.WidthInBytes = c.WidthInBytes;
  copy.Height = c.Height;
  copy.Depth = c.Depth;
  return copy;
}

CUresult fill(CUdeviceptr to, size_t pitch, unsigned value, unsigned element, size_t width, size_t height,
              CUstream stream, bool waits) {
  return issue_fill(stream, {to, pitch, value, element, width, height}, waits);
}

}  // namespace

SIM(cuMemcpy)(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return issue_copy(nullptr, linear_copy(unified, to, unified, from, bytes), true);
}
SIM(cuMemcpyAsync)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return issue_copy(stream, linear_copy(unified, to, unified, from, bytes), false);
}
SIM(cuMemcpyHtoD_v2)(CUdeviceptr to, const void* from, size_t bytes) {
  return issue_copy(nullptr, linear_copy(device, to, host, number(from), bytes), true);
}
SIM(cuMemcpyHtoDAsync_v2)(CUdeviceptr to, const void* from, size_t bytes, CUstream stream) {
  return issue_copy(stream, linear_copy(device, to, host, number(from), bytes), false);
}
SIM(cuMemcpyDtoH_v2)(void* to, CUdeviceptr from, size_t bytes) {
  return issue_copy(nullptr, linear_copy(host, number(to), device, from, bytes), true);
}
SIM(cuMemcpyDtoHAsync_v2)(void* to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return issue_copy(stream, linear_copy(host, number(to), device, from, bytes), false);
}
SIM(cuMemcpyDtoD_v2)(CUdeviceptr to, CUdeviceptr from, size_t bytes) {
  return issue_copy(nullptr, linear_copy(device, to, device, from, bytes), true);
}
SIM(cuMemcpyDtoDAsync_v2)(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return issue_copy(stream, linear_copy(device, to, device, from, bytes), false);
}
SIM(cuMemcpyPeer)(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes) {
  return issue_copy(nullptr, linear_copy(unified, to, unified, from, bytes), true);
}
SIM(cuMemcpyPeerAsync)(CUdeviceptr to, CUcontext, CUdeviceptr from, CUcontext, size_t bytes, CUstream stream) {
  return issue_copy(stream, linear_copy(unified, to, unified, from, bytes), false);
}
SIM(cuMemcpy2D_v2)(const CUDA_MEMCPY2D* copy) {
  return copy != nullptr ? issue_copy(nullptr, from_2d(*copy), true) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemcpy2DUnaligned_v2)(const CUDA_MEMCPY2D* copy) {
  return copy != nullptr ? issue_copy(nullptr, from_2d(*copy), true) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemcpy2DAsync_v2)(const CUDA_MEMCPY2D* copy, CUstream stream) {
  return copy != nullptr ? issue_copy(stream, from_2d(*copy), false) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemcpy3D_v2)(const CUDA_MEMCPY3D* copy) {
  return copy != nullptr ? issue_copy(nullptr, *copy, true) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemcpy3DAsync_v2)(const CUDA_MEMCPY3D* copy, CUstream stream) {
  return copy != nullptr ? issue_copy(stream, *copy, false) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemcpy3DPeer)(const CUDA_MEMCPY3D_PEER* copy) {
  return copy != nullptr ? issue_copy(nullptr, from_peer(*copy), true) : CUDA_ERROR_INVALID_VALUE;
}
SIM(cuMemcpy3DPeerAsync)(const CUDA_MEMCPY3D_PEER* copy, CUstream stream) {
  return copy != nullptr ? issue_copy(stream, from_peer(*copy), false) : CUDA_ERROR_INVALID_VALUE;
}

SIM(cuMemsetD8_v2)(CUdeviceptr to, unsigned char value, size_t count) {
  return fill(to, 0, value, 1, count, 1, nullptr, true);
}
SIM(cuMemsetD16_v2)(CUdeviceptr to, unsigned short value, size_t count) {
  return fill(to, 0, value, 2, count, 1, nullptr, true);
}
SIM(cuMemsetD32_v2)(CUdeviceptr to, unsigned value, size_t count) {
  return fill(to, 0, value, 4, count, 1, nullptr, true);
}
SIM(cuMemsetD2D8_v2)(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height) {
  return fill(to, pitch, value, 1, width, height, nullptr, true);
}
SIM(cuMemsetD2D16_v2)(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height) {
  return fill(to, pitch, value, 2, width, height, nullptr, true);
}
SIM(cuMemsetD2D32_v2)(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height) {
  return fill(to, pitch, value, 4, width, height, nullptr, true);
}
SIM(cuMemsetD8Async)(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  return fill(to, 0, value, 1, count, 1, stream, false);
}
SIM(cuMemsetD16Async)(CUdeviceptr to, unsigned short value, size_t count, CUstream stream) {
  return fill(to, 0, value, 2, count, 1, stream, false);
}
SIM(cuMemsetD32Async)(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  return fill(to, 0, value, 4, count, 1, stream, false);
}
SIM(cuMemsetD2D8Async)
(CUdeviceptr to, size_t pitch, unsigned char value, size_t width, size_t height, CUstream stream) {
  return fill(to, pitch, value, 1, width, height, stream, false);
}
SIM(cuMemsetD2D16Async)
(CUdeviceptr to, size_t pitch, unsigned short value, size_t width, size_t height, CUstream stream) {
  return fill(to, pitch, value, 2, width, height, stream, false);
}
SIM(cuMemsetD2D32Async)(CUdeviceptr to, size_t pitch, unsigned value, size_t width, size_t height, CUstream stream) {
  return fill(to, pitch, value, 4, width, height, stream, false);
}
