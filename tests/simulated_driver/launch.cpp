#include "tests/simulated_driver/launch.h"

#include <algorithm>
#include <cstring>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/device.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/registry.h"

namespace refrain::tests::simulated {
namespace {

const CUlaunchAttributeValue* find_attribute(const KernelLaunch& launch, CUlaunchAttributeID id) {
  for (const CUlaunchAttribute& attribute : launch.attributes) {
    if (attribute.id == id) return &attribute.value;
  }
  return nullptr;
}

CUresult check_event(CUevent handle) {
  const auto event = events().find(handle);
  if (event == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return (event->flags & CU_EVENT_DISABLE_TIMING) != 0 ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
}

CUresult check_attribute(const CUlaunchAttribute& attribute, bool for_node) {
  const CUlaunchAttributeValue& value = attribute.value;
  bool valid = true;
  int id = 0;  // the program may have written a value that is none of the enumeration
  std::memcpy(&id, &attribute.id, sizeof id);
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE:
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE:
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_PRIORITY:
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP:
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION:
    case CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING: break;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      valid = value.clusterSchedulingPolicyPreference <= CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING;
      break;
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: valid = value.memSyncDomain <= CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE; break;
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: valid = value.sharedMemCarveout <= 100; break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: valid = !for_node; break;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT: return check_event(value.programmaticEvent.event);
    case CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT: return check_event(value.launchCompletionEvent.event);
    case CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE: return for_node ? CUDA_SUCCESS : CUDA_ERROR_NOT_SUPPORTED;
    default: valid = false;
  }
  return valid ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult check_cluster(const Code& code, const FunctionSettings& settings, const KernelLaunch& launch) {
  Extent cluster{code.entry.cluster[0], code.entry.cluster[1], code.entry.cluster[2]};
  if (cluster.x == 0) {
    cluster = {static_cast<unsigned>(settings.cluster[0].load()), static_cast<unsigned>(settings.cluster[1].load()),
               static_cast<unsigned>(settings.cluster[2].load())};
  }
  if (const auto* given = find_attribute(launch, CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION); given != nullptr) {
    const Extent asked{given->clusterDim.x, given->clusterDim.y, given->clusterDim.z};
    if (code.entry.cluster[0] != 0 && !(asked == cluster)) return CUDA_ERROR_INVALID_VALUE;
    const bool none = asked.x == 0 && asked.y == 0 && asked.z == 0;
    if (!none && asked.count() == 0) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
    if (!none) cluster = asked;
  }
  if (cluster.count() <= 1) return CUDA_SUCCESS;
  if (cluster.count() > (settings.non_portable_cluster.load() != 0 ? 16u : 8u)) return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  const Extent& grid = launch.grid;
  if (grid.x % cluster.x != 0 || grid.y % cluster.y != 0 || grid.z % cluster.z != 0)
    return CUDA_ERROR_INVALID_CLUSTER_SIZE;
  return CUDA_SUCCESS;
}

CUresult unpack_extra(const Code& code, void** extra, std::vector<std::byte>* bytes) {
  const void* buffer = nullptr;
  const size_t* size = nullptr;
  for (; *extra != CU_LAUNCH_PARAM_END; extra += 2) {
    if (extra[0] == CU_LAUNCH_PARAM_BUFFER_POINTER) {
      buffer = extra[1];
    } else if (extra[0] == CU_LAUNCH_PARAM_BUFFER_SIZE) {
      size = static_cast<const size_t*>(extra[1]);
    } else {
      return CUDA_ERROR_INVALID_VALUE;
    }
  }
  if (code.entry.parameters.empty() && (size == nullptr || *size == 0)) return CUDA_SUCCESS;
  if (buffer == nullptr || size == nullptr || *size == 0) return CUDA_ERROR_INVALID_VALUE;
  // More than the layout, padding at its end included, is refused; less is not.
  if (*size > code.entry.parameter_bytes) return CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES;
  std::memcpy(bytes->data(), buffer, *size);
  return CUDA_SUCCESS;
}

KernelBody body_of(const Code& code) {
  KernelBody body = code.body.load(std::memory_order_acquire);
  if (body == nullptr) {
    body = find_kernel_body(code.entry.name.c_str());
    code.body.store(body, std::memory_order_release);
  }
  return body;
}

}  // namespace

CUresult copy_parameters(const Code& code, void** parameters, void** extra, std::vector<std::byte>* bytes) {
  bytes->assign(code.entry.parameter_bytes, std::byte{0});
  if (parameters != nullptr && extra != nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (extra != nullptr) return unpack_extra(code, extra, bytes);
  if (code.entry.parameters.empty()) return CUDA_SUCCESS;
  if (parameters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (size_t i = 0; i < code.entry.parameters.size(); ++i) {
    if (parameters[i] == nullptr) return CUDA_ERROR_INVALID_VALUE;
    std::memcpy(bytes->data() + code.entry.parameters[i].offset, parameters[i], code.entry.parameters[i].size);
  }
  return CUDA_SUCCESS;
}

CUresult check_configuration(const Callee& callee, const Context& context, const KernelLaunch& launch) {
  const Code& code = *callee.code();
  const Extent& grid = launch.grid;
  const Extent& block = launch.block;
  if (grid.count() == 0 || grid.x > 0x7fffffffu || grid.y > 65535 || grid.z > 65535) return CUDA_ERROR_INVALID_VALUE;
  if (block.count() == 0 || block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > 1024)
    return CUDA_ERROR_INVALID_VALUE;
  if (block.count() > code.entry.max_threads) return CUDA_ERROR_INVALID_VALUE;
  if (launch.dynamic_shared > dynamic_shared_limit(code, callee.dynamic_shared_setting(context)))
    return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = check_cluster(code, callee.settings(context.device), launch); result != CUDA_SUCCESS)
    return result;
  const auto* cooperative = find_attribute(launch, CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  if (cooperative != nullptr && cooperative->cooperative != 0) {
    const auto threads = static_cast<unsigned>(block.count());
    const uint64_t resident = uint64_t{multiprocessors} * resident_blocks(code, threads, launch.dynamic_shared);
    if (grid.count() > resident) return CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE;
  }
  return CUDA_SUCCESS;
}

CUresult prepare_launch(const LaunchRequest& request, const std::shared_ptr<Context>& context, bool for_node,
                        KernelLaunch* launch) {
  Callee callee;
  if (const CUresult result = find_callee(request.function, &callee); result != CUDA_SUCCESS) return result;
  if (callee.function != nullptr && callee.function->context != context) return CUDA_ERROR_INVALID_HANDLE;
  if (request.attribute_count != 0 && request.attributes == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (callee.kernel != nullptr) {
    // The first use in a context loads the code, and waits for that.
    std::shared_ptr<Module> module;
    const auto library = callee.kernel->library.lock();
    if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
    if (const CUresult result = module_of_library(library, context, &module); result != CUDA_SUCCESS) return result;
  }
  launch->code = callee.code();
  launch->function = request.function;
  launch->grid = request.grid;
  launch->block = request.block;
  launch->dynamic_shared = request.shared;
  launch->packed = request.extra != nullptr;
  for (unsigned i = 0; i < request.attribute_count; ++i) {
    if (const CUresult result = check_attribute(request.attributes[i], for_node); result != CUDA_SUCCESS) return result;
    if (request.attributes[i].id != CU_LAUNCH_ATTRIBUTE_IGNORE) launch->attributes.push_back(request.attributes[i]);
  }
  const Code& code = *launch->code;
  if (const CUresult result = check_configuration(callee, *context, *launch); result != CUDA_SUCCESS) return result;
  if (const CUresult result = copy_parameters(code, request.parameters, request.extra, &launch->parameters);
      result != CUDA_SUCCESS) {
    return result;
  }
  if (body_of(code) == nullptr) return CUDA_ERROR_NO_BINARY_FOR_GPU;
  return CUDA_SUCCESS;
}

}  // namespace refrain::tests::simulated
