// cuCtx*, cuDevicePrimaryCtx*.
#include <array>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/pool.h"
#include "tests/simulated_driver/process.h"

using namespace refrain::tests::simulated;

namespace {

struct Primary {
  std::mutex mutex;
  std::shared_ptr<Context> context;
  unsigned retained = 0;
  unsigned flags = 0;
  bool active() const { return context != nullptr && !context->destroyed.load(); }
};

Primary& primary(CUdevice device) {
  static auto* const list = new std::array<Primary, max_devices>;
  return (*list)[static_cast<size_t>(device)];
}

constexpr unsigned known_flags = CU_CTX_FLAGS_MASK;

CUresult create(CUcontext* out, unsigned flags, CUdevice device) {
  if (out == nullptr || (flags & ~known_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  const auto context = create_context(device, flags, false);
  this_thread().stack.push_back(context);
  *out = context->handle;
  return CUDA_SUCCESS;
}

CUresult set_primary_flags(CUdevice device, unsigned flags) {
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if ((flags & ~known_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  Primary& of = primary(device);
  const std::lock_guard lock(of.mutex);
  of.flags = flags;
  if (of.context != nullptr) of.context->flags = flags;
  return CUDA_SUCCESS;
}

CUresult release_primary(CUdevice device, bool reset) {
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& of = primary(device);
  std::shared_ptr<Context> ended;
  {
    const std::lock_guard lock(of.mutex);
    if (of.retained == 0 && !reset) return CUDA_ERROR_INVALID_CONTEXT;
    if (!reset && --of.retained != 0) return CUDA_SUCCESS;
    ended = of.active() ? of.context : nullptr;
  }
  if (ended != nullptr) destroy_context(ended);
  return CUDA_SUCCESS;
}

CUresult wait_for_context(const std::shared_ptr<Context>& context) {
  if (const CUresult result = forbid_during_capture(*context); result != CUDA_SUCCESS) return result;
  const CUresult result = synchronize(*context);
  trim_pools();
  return result;
}

CUresult destroy(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto context = contexts().find(handle);
  if (context == nullptr || context->primary) return CUDA_ERROR_INVALID_CONTEXT;
  auto& stack = this_thread().stack;
  if (!stack.empty() && stack.back() == context) stack.pop_back();
  destroy_context(context);
  return CUDA_SUCCESS;
}

CUresult pop(CUcontext* out) {
  auto& stack = this_thread().stack;
  if (stack.empty() || stack.back() == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (out != nullptr) *out = stack.back()->handle;
  stack.pop_back();
  return CUDA_SUCCESS;
}

CUresult push(CUcontext handle) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto context = contexts().find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  this_thread().stack.push_back(context);
  return CUDA_SUCCESS;
}

}  // namespace

SIM(cuCtxCreate)(CUcontext* context, unsigned flags, CUdevice device) { return create(context, flags, device); }
SIM(cuCtxCreate_v2)(CUcontext* context, unsigned flags, CUdevice device) { return create(context, flags, device); }
SIM(cuCtxCreate_v3)(CUcontext* context, CUexecAffinityParam*, int count, unsigned flags, CUdevice device) {
  return count == 0 ? create(context, flags, device) : CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
}
SIM(cuCtxCreate_v4)(CUcontext* context, CUctxCreateParams* parameters, unsigned flags, CUdevice device) {
  if (parameters != nullptr && parameters->numExecAffinityParams != 0) return CUDA_ERROR_UNSUPPORTED_EXEC_AFFINITY;
  return create(context, flags, device);
}
SIM(cuCtxDestroy_v2)(CUcontext context) { return destroy(context); }
SIM(cuCtxDestroy)(CUcontext context) { return destroy(context); }
SIM(cuCtxDetach)(CUcontext context) { return destroy(context); }
SIM(cuCtxPushCurrent_v2)(CUcontext context) { return push(context); }
SIM(cuCtxPushCurrent)(CUcontext context) { return push(context); }
SIM(cuCtxPopCurrent_v2)(CUcontext* context) { return pop(context); }
SIM(cuCtxPopCurrent)(CUcontext* context) { return pop(context); }

SIM(cuCtxSetCurrent)(CUcontext handle) {
  auto& stack = this_thread().stack;
  if (handle == nullptr) {
    if (!stack.empty()) stack.pop_back();
    return CUDA_SUCCESS;
  }
  const auto context = contexts().find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (stack.empty()) stack.emplace_back();
  stack.back() = context;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetCurrent)(CUcontext* out) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto& stack = this_thread().stack;
  *out = stack.empty() || stack.back() == nullptr ? nullptr : stack.back()->handle;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetDevice)(CUdevice* device) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context_even_failed(&context); result != CUDA_SUCCESS) return result;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetDevice_v2)(CUdevice* device, CUcontext handle) {
  if (handle == nullptr) return sim_cuCtxGetDevice(device);
  const auto context = contexts().find(handle);
  if (context == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (device == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *device = context->device;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetId)(CUcontext handle, unsigned long long* id) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  if (id == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *id = context->id;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetApiVersion)(CUcontext handle, unsigned* version) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = 3020;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetFlags)(unsigned* flags) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (flags == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *flags = context->flags | CU_CTX_MAP_HOST;  // host memory is mapped whether asked for or not
  return CUDA_SUCCESS;
}
SIM(cuCtxSetFlags)(unsigned flags) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if ((flags & ~known_flags) != 0) return CUDA_ERROR_INVALID_VALUE;
  context->flags = flags;
  return CUDA_SUCCESS;
}
SIM(cuCtxSynchronize)() {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  return wait_for_context(context);
}
SIM(cuCtxSynchronize_v2)(CUcontext handle) {
  std::shared_ptr<Context> context;
  if (const CUresult result = context_or_current(handle, &context); result != CUDA_SUCCESS) return result;
  return wait_for_context(context);
}
SIM(cuCtxSetLimit)(CUlimit limit, size_t value) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  if (limit == CU_LIMIT_STACK_SIZE) synchronize(*context);
  const std::lock_guard lock(context->settings);
  const auto found = context->limits.find(limit);
  if (found == context->limits.end())
    return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
  found->second = value;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetLimit)(size_t* value, CUlimit limit) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(context->settings);
  const auto found = context->limits.find(limit);
  if (found == context->limits.end())
    return limit < CU_LIMIT_MAX ? CUDA_ERROR_UNSUPPORTED_LIMIT : CUDA_ERROR_INVALID_VALUE;
  *value = found->second;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetCacheConfig)(CUfunc_cache* cache) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (cache == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const std::lock_guard lock(context->settings);
  *cache = context->cache;
  return CUDA_SUCCESS;
}
SIM(cuCtxSetCacheConfig)(CUfunc_cache cache) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  const std::lock_guard lock(context->settings);
  context->cache = cache;
  return CUDA_SUCCESS;
}
SIM(cuCtxGetSharedMemConfig)(CUsharedconfig* config) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (config == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *config = CU_SHARED_MEM_CONFIG_FOUR_BYTE_BANK_SIZE;
  return CUDA_SUCCESS;
}
SIM(cuCtxSetSharedMemConfig)(CUsharedconfig) {
  std::shared_ptr<Context> context;
  return current_context(&context);
}
SIM(cuCtxGetStreamPriorityRange)(int* least, int* greatest) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (least != nullptr) *least = 0;
  if (greatest != nullptr) *greatest = -5;
  return CUDA_SUCCESS;
}
SIM(cuCtxResetPersistingL2Cache)() {
  std::shared_ptr<Context> context;
  return current_context(&context);
}
SIM(cuCtxEnablePeerAccess)(CUcontext peer, unsigned flags) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  const auto other = contexts().find(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  if (flags != 0) return CUDA_ERROR_INVALID_VALUE;
  if (other->device == context->device) return CUDA_ERROR_INVALID_DEVICE;
  const std::lock_guard lock(context->settings);
  return context->peers.insert(other->device).second ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED;
}
SIM(cuCtxDisablePeerAccess)(CUcontext peer) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  const auto other = contexts().find(peer);
  if (other == nullptr) return CUDA_ERROR_INVALID_CONTEXT;
  const std::lock_guard lock(context->settings);
  return context->peers.erase(other->device) != 0 ? CUDA_SUCCESS : CUDA_ERROR_PEER_ACCESS_NOT_ENABLED;
}

SIM(cuDevicePrimaryCtxRetain)(CUcontext* out, CUdevice device) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& of = primary(device);
  const std::lock_guard lock(of.mutex);
  if (of.context == nullptr) {
    of.context = create_context(device, of.flags, true);
  } else if (const CUresult error = of.context->error.load(); error != CUDA_SUCCESS) {
    return error;  // what faulted stays faulted: only a new process helps
  } else if (!of.active()) {
    revive_context(of.context);
  }
  ++of.retained;
  *out = of.context->handle;
  return CUDA_SUCCESS;
}
SIM(cuDevicePrimaryCtxRelease_v2)(CUdevice device) { return release_primary(device, false); }
SIM(cuDevicePrimaryCtxRelease)(CUdevice device) { return release_primary(device, false); }
SIM(cuDevicePrimaryCtxReset_v2)(CUdevice device) { return release_primary(device, true); }
SIM(cuDevicePrimaryCtxReset)(CUdevice device) { return release_primary(device, true); }
SIM(cuDevicePrimaryCtxSetFlags_v2)(CUdevice device, unsigned flags) { return set_primary_flags(device, flags); }
SIM(cuDevicePrimaryCtxSetFlags)(CUdevice device, unsigned flags) { return set_primary_flags(device, flags); }
SIM(cuDevicePrimaryCtxGetState)(CUdevice device, unsigned* flags, int* active) {
  if (flags == nullptr || active == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  Primary& of = primary(device);
  const std::lock_guard lock(of.mutex);
  *flags = of.flags;
  *active = of.active();
  return CUDA_SUCCESS;
}
