#include "tests/simulated_driver/copy.h"

#include <cstring>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/memory.h"

namespace refrain::tests::simulated {
namespace {

CUresult read_side(CUmemorytype type, const void* host, CUdeviceptr device, size_t pitch, size_t height,
                   const size_t (&at)[3], const Copy& copy, CopySide* side) {
  if (type == CU_MEMORYTYPE_ARRAY) return CUDA_ERROR_NOT_SUPPORTED;
  if (type != CU_MEMORYTYPE_HOST && type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_UNIFIED)
    return CUDA_ERROR_INVALID_VALUE;
  uint64_t base = device;
  if (type == CU_MEMORYTYPE_HOST) base = reinterpret_cast<uint64_t>(host);
  if (copy.height > 1 && pitch != 0 && pitch < at[0] + copy.width) return CUDA_ERROR_INVALID_VALUE;
  side->pitch = pitch != 0 ? pitch : at[0] + copy.width;
  side->slice = side->pitch * (height != 0 ? height : at[1] + copy.height);
  side->address = base + at[0] + at[1] * side->pitch + at[2] * side->slice;
  const uint64_t last = side->address + (copy.depth - 1) * side->slice + (copy.height - 1) * side->pitch;
  if (known_to_calls(side->address, 1)) {
    return known_to_calls(side->address, last + copy.width - side->address) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  }
  if (type == CU_MEMORYTYPE_DEVICE || device_region().contains(side->address)) return CUDA_ERROR_INVALID_VALUE;
  if (side->address == 0) return CUDA_ERROR_INVALID_VALUE;
  side->pageable = true;
  return CUDA_SUCCESS;
}

/// Whether both ends of the copy lie in device memory, so that a call need not wait for it.
bool stays_on_device(const Copy& copy) {
  for (uint64_t address : {copy.source.address, copy.destination.address}) {
    const auto allocation = host_view().find(address);
    if (allocation == nullptr || allocation->on_host() || allocation->kind == MemoryKind::managed) return false;
  }
  return true;
}

CUresult finish(const std::shared_ptr<Stream>& stream, const Point& place) {
  place.wait();
  return stream->context->error.load();
}

}  // namespace

CUDA_MEMCPY3D linear_copy(CUmemorytype to, uint64_t destination, CUmemorytype from, uint64_t source, size_t bytes) {
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = from;
  copy.srcHost = from == CU_MEMORYTYPE_HOST ? reinterpret_cast<const void*>(source) : nullptr;
  copy.srcDevice = from == CU_MEMORYTYPE_HOST ? 0 : source;
  copy.dstMemoryType = to;
  copy.dstHost = to == CU_MEMORYTYPE_HOST ? reinterpret_cast<void*>(destination) : nullptr;
  copy.dstDevice = to == CU_MEMORYTYPE_HOST ? 0 : destination;
  copy.WidthInBytes = bytes;
  copy.Height = 1;
  copy.Depth = 1;
  return copy;
}

CUresult prepare_copy(const CUDA_MEMCPY3D& d, Copy* copy) {
  copy->descriptor = d;
  copy->width = d.WidthInBytes;
  copy->height = d.Height;
  copy->depth = d.Depth;
  if (d.srcLOD != 0 || d.dstLOD != 0) return CUDA_ERROR_INVALID_VALUE;
  if (copy->width == 0 || copy->height == 0 || copy->depth == 0) {
    copy->width = copy->height = copy->depth = 0;
    return CUDA_SUCCESS;
  }
  const CUresult result = read_side(d.srcMemoryType, d.srcHost, d.srcDevice, d.srcPitch, d.srcHeight,
                                    {d.srcXInBytes, d.srcY, d.srcZ}, *copy, &copy->source);
  if (result != CUDA_SUCCESS) return result;
  return read_side(d.dstMemoryType, d.dstHost, d.dstDevice, d.dstPitch, d.dstHeight, {d.dstXInBytes, d.dstY, d.dstZ},
                   *copy, &copy->destination);
}

void stage(Copy* copy) {
  if (!copy->source.pageable) return;
  for (size_t layer = 0; layer < copy->depth; ++layer) {
    for (size_t row = 0; row < copy->height; ++row) {
      const auto* from = reinterpret_cast<const std::byte*>(copy->source.address + layer * copy->source.slice +
                                                            row * copy->source.pitch);
      copy->staged.insert(copy->staged.end(), from, from + copy->width);
    }
  }
}

CUresult issue_copy(CUstream handle, const CUDA_MEMCPY3D& descriptor, bool waits) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  Copy copy;
  if (const CUresult result = prepare_copy(descriptor, &copy); result != CUDA_SUCCESS) return result;
  if (copy.width == 0) return CUDA_SUCCESS;
  // In a capture, pageable memory is read and written when the graph runs.
  if (stream->capturing.load()) return issue(stream, std::move(copy));
  const bool must_wait = (waits && !stays_on_device(copy)) || copy.destination.pageable;
  stage(&copy);
  Point place;
  if (const CUresult result = issue(stream, std::move(copy), &place); result != CUDA_SUCCESS) return result;
  return must_wait ? finish(stream, place) : CUDA_SUCCESS;
}

CUresult prepare_fill(const CUDA_MEMSET_NODE_PARAMS& p, bool captured, Fill* fill) {
  if (p.elementSize != 1 && p.elementSize != 2 && p.elementSize != 4) return CUDA_ERROR_INVALID_VALUE;
  if (p.dst % p.elementSize != 0) return CUDA_ERROR_INVALID_VALUE;
  *fill = {p.dst, p.pitch, p.value, p.elementSize, p.width, p.height};
  if (p.width == 0 || p.height == 0) return CUDA_SUCCESS;
  const uint64_t row = p.width * p.elementSize;
  if (p.height > 1 && (p.pitch < row || p.pitch % p.elementSize != 0)) return CUDA_ERROR_INVALID_VALUE;
  if (!captured && !known_to_calls(p.dst, (p.height - 1) * p.pitch * (p.height > 1) + row))
    return CUDA_ERROR_INVALID_VALUE;
  return CUDA_SUCCESS;
}

CUresult issue_fill(CUstream handle, const CUDA_MEMSET_NODE_PARAMS& parameters, bool waits) {
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  Fill fill;
  if (const CUresult result = prepare_fill(parameters, stream->capturing.load(), &fill); result != CUDA_SUCCESS)
    return result;
  if (fill.width == 0 || fill.height == 0) return CUDA_SUCCESS;
  const auto allocation = host_view().find(fill.destination);
  const bool must_wait =
      waits && allocation != nullptr && (allocation->on_host() || allocation->kind == MemoryKind::managed);
  Point place;
  if (const CUresult result = issue(stream, fill, &place); result != CUDA_SUCCESS) return result;
  return must_wait ? finish(stream, place) : CUDA_SUCCESS;
}

}  // namespace refrain::tests::simulated
