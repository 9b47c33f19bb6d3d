// cuLaunchKernel and its relatives, host functions and callbacks.
#include <algorithm>
#include <cstring>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/launch.h"
#include "tests/simulated_driver/stream.h"

using namespace refrain::tests::simulated;

namespace {

/// Events that a launch records by attribute.
CUresult record_attribute_events(const std::shared_ptr<Stream>& stream,
                                 const std::vector<CUlaunchAttribute>& attributes) {
  for (const CUlaunchAttribute& attribute : attributes) {
    CUevent handle = nullptr;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)
      handle = attribute.value.launchCompletionEvent.event;
    if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT) handle = attribute.value.programmaticEvent.event;
    if (handle == nullptr) continue;
    const auto event = events().find(handle);
    if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (stream->capturing.load()) return CUDA_ERROR_NOT_SUPPORTED;
    if (const CUresult result = submit(*stream, EventRecord{event, event->begin_record()}); result != CUDA_SUCCESS)
      return result;
  }
  return CUDA_SUCCESS;
}

CUresult launch(const LaunchRequest& request, CUstream handle) {
  const HostCost cost(options().launch_cost_ns);
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  KernelLaunch launch;
  if (const CUresult result = prepare_launch(request, stream->context, false, &launch); result != CUDA_SUCCESS) {
    if (result != CUDA_ERROR_INVALID_HANDLE) invalidate_capture(*stream);
    return result;
  }
  const bool has_attributes = !launch.attributes.empty();
  const auto attributes = launch.attributes;
  if (const CUresult result = issue(stream, std::move(launch)); result != CUDA_SUCCESS) return result;
  return has_attributes ? record_attribute_events(stream, attributes) : CUDA_SUCCESS;
}

/// The old interface keeps the launch state in the function.
CUresult legacy_launch(CUfunction handle, int width, int height, CUstream stream) {
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  FunctionSettings& state = function->settings;
  std::vector<std::byte> bytes = state.legacy_parameters;
  bytes.resize(function->code->entry.parameter_bytes);
  size_t size = bytes.size();
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                   CU_LAUNCH_PARAM_END};
  const auto extent = [](int value) { return static_cast<unsigned>(value); };
  LaunchRequest request;
  request.function = handle;
  request.grid = {extent(width), extent(height), 1};
  request.block = {extent(state.legacy_block[0]), extent(state.legacy_block[1]), extent(state.legacy_block[2])};
  request.shared = extent(state.legacy_shared);
  if (!bytes.empty()) request.extra = extra;
  return launch(request, stream);
}

CUresult set_legacy_parameter(CUfunction handle, int offset, const void* value, size_t size) {
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (offset < 0 || static_cast<size_t>(offset) + size > 4096) return CUDA_ERROR_INVALID_VALUE;
  auto& bytes = function->settings.legacy_parameters;
  bytes.resize(std::max(bytes.size(), static_cast<size_t>(offset) + size));
  std::memcpy(bytes.data() + offset, value, size);
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuLaunchKernel)
(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
 CUstream stream, void** parameters, void** extra) {
  return launch({function, {gx, gy, gz}, {bx, by, bz}, shared, nullptr, 0, parameters, extra}, stream);
}

SIM(cuLaunchKernelEx)(const CUlaunchConfig* config, CUfunction function, void** parameters, void** extra) {
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const CUlaunchConfig& c = *config;
  return launch({function,
                 {c.gridDimX, c.gridDimY, c.gridDimZ},
                 {c.blockDimX, c.blockDimY, c.blockDimZ},
                 c.sharedMemBytes,
                 c.attrs,
                 c.numAttrs,
                 parameters,
                 extra},
                c.hStream);
}

SIM(cuLaunchCooperativeKernel)
(CUfunction function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
 CUstream stream, void** parameters) {
  CUlaunchAttribute cooperative{};
  cooperative.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  cooperative.value.cooperative = 1;
  return launch({function, {gx, gy, gz}, {bx, by, bz}, shared, &cooperative, 1, parameters, nullptr}, stream);
}

SIM(cuLaunchHostFunc)(CUstream handle, CUhostFn function, void* data) {
  if (function == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  return issue(stream, HostCall{function, data});
}

SIM(cuStreamAddCallback)(CUstream handle, CUstreamCallback function, void* data, unsigned flags) {
  if (function == nullptr || flags != 0) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Stream> stream;
  if (const CUresult result = find_stream(handle, &stream); result != CUDA_SUCCESS) return result;
  if (stream->capturing.load()) return refuse_in_capture(*stream);
  return issue(stream, StreamCallback{function, handle, data});
}

SIM(cuLaunch)(CUfunction function) { return legacy_launch(function, 1, 1, nullptr); }
SIM(cuLaunchGrid)(CUfunction function, int width, int height) {
  return legacy_launch(function, width, height, nullptr);
}
SIM(cuLaunchGridAsync)(CUfunction function, int width, int height, CUstream stream) {
  return legacy_launch(function, width, height, stream);
}
SIM(cuFuncSetBlockShape)(CUfunction handle, int x, int y, int z) {
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (x <= 0 || y <= 0 || z <= 0 || int64_t{x} * y * z > 1024) return CUDA_ERROR_INVALID_VALUE;
  function->settings.legacy_block = {x, y, z};
  return CUDA_SUCCESS;
}
SIM(cuFuncSetSharedSize)(CUfunction handle, unsigned bytes) {
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  function->settings.legacy_shared = static_cast<int>(bytes);
  return CUDA_SUCCESS;
}
SIM(cuParamSetSize)(CUfunction handle, unsigned bytes) {
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (bytes > 4096) return CUDA_ERROR_INVALID_VALUE;
  function->settings.legacy_parameters.resize(bytes);
  return CUDA_SUCCESS;
}
SIM(cuParamSeti)(CUfunction handle, int offset, unsigned value) {
  return set_legacy_parameter(handle, offset, &value, sizeof value);
}
SIM(cuParamSetf)(CUfunction handle, int offset, float value) {
  return set_legacy_parameter(handle, offset, &value, sizeof value);
}
SIM(cuParamSetv)(CUfunction handle, int offset, void* value, unsigned bytes) {
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  return set_legacy_parameter(handle, offset, value, bytes);
}
