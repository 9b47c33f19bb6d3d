// cuModule*, cuLibrary*, cuKernel*, cuFunc*.
#include <algorithm>

#include "tests/simulated_driver/capture.h"
#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/module.h"

using namespace refrain::tests::simulated;

namespace {

CUresult load_module(CUmodule* out, const void* image) {
  std::shared_ptr<Context> context;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  PtxModule ptx;
  if (const CUresult result = load_image(image, &ptx); result != CUDA_SUCCESS) return result;
  std::shared_ptr<Module> module;
  if (const CUresult result = create_module(ptx, context, nullptr, &module); result != CUDA_SUCCESS) return result;
  *out = module->handle;
  return CUDA_SUCCESS;
}

CUresult load_library(CUlibrary* out, const void* image) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  auto library = std::make_shared<Library>();
  library->image_error = load_image(image, &library->image);
  libraries().add(library);
  for (const PtxEntry& entry : library->image.entries) {
    auto code = std::make_shared<Code>();
    code->entry = entry;
    code->ptx_version = library->image.target;
    code->unloaded = library->unloaded;
    auto kernel = std::make_shared<Kernel>();
    kernel->code = code;
    kernel->library = library;
    kernels().add(kernel);
    library->kernels.push_back(std::move(kernel));
  }
  *out = library->handle;
  return CUDA_SUCCESS;
}

template <class T>
CUresult list(T* out, unsigned capacity, const std::vector<T>& all) {
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::copy_n(all.begin(), std::min<size_t>(capacity, all.size()), out);
  return CUDA_SUCCESS;
}

/// A library that can be used: its code was readable.
CUresult find_library(CUlibrary handle, std::shared_ptr<Library>* library) {
  *library = libraries().find(handle);
  return *library != nullptr ? (*library)->image_error : CUDA_ERROR_INVALID_HANDLE;
}

CUresult parameter_info(const Code& code, size_t index, size_t* offset, size_t* size) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (offset == nullptr || index >= code.entry.parameters.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = code.entry.parameters[index].offset;
  if (size != nullptr) *size = code.entry.parameters[index].size;
  return CUDA_SUCCESS;
}

CUresult variable_of(const Module& module, const char* name, CUdeviceptr* address, size_t* bytes) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto found = module.variables.find(name);
  if (found == module.variables.end()) return CUDA_ERROR_NOT_FOUND;
  if (address != nullptr) *address = found->second->base;
  if (bytes != nullptr) *bytes = found->second->size;
  return CUDA_SUCCESS;
}

CUresult library_variable(CUlibrary handle, const char* name, bool managed, CUdeviceptr* address, size_t* bytes) {
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, &library); result != CUDA_SUCCESS) return result;
  std::shared_ptr<Context> context;
  std::shared_ptr<Module> module;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = module_of_library(library, context, &module); result != CUDA_SUCCESS) return result;
  const auto found = module->variables.find(name != nullptr ? name : "");
  if (found != module->variables.end() && (found->second->kind == MemoryKind::managed) != managed)
    return CUDA_ERROR_NOT_FOUND;
  return variable_of(*module, name, address, bytes);
}

}  // namespace

SIM(cuModuleLoadData)(CUmodule* module, const void* image) { return load_module(module, image); }
SIM(cuModuleLoadDataEx)(CUmodule* module, const void* image, unsigned, CUjit_option*, void**) {
  return load_module(module, image);
}
SIM(cuModuleLoadFatBinary)(CUmodule* module, const void* image) { return load_module(module, image); }
SIM(cuModuleLoad)(CUmodule* module, const char* name) {
  std::string text;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = read_file(name, &text); result != CUDA_SUCCESS) return result;
  return load_module(module, text.c_str());
}
SIM(cuModuleUnload)(CUmodule handle) {
  const auto module = modules().find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (module->of_library) return CUDA_ERROR_NOT_PERMITTED;
  if (const CUresult result = forbid_unsafe_call(); result != CUDA_SUCCESS) return result;
  const CUresult result = synchronize(*module->context);
  module->unloaded->store(true);
  end_module(module);
  return result;
}
SIM(cuModuleGetLoadingMode)(CUmoduleLoadingMode* mode) {
  if (mode == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *mode = CU_MODULE_LAZY_LOADING;
  return CUDA_SUCCESS;
}
SIM(cuModuleGetFunction)(CUfunction* function, CUmodule handle, const char* name) {
  const auto module = modules().find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (function == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult error = module->context->error.load(); error != CUDA_SUCCESS) return error;
  const auto found = module->functions.find(name);
  if (found == module->functions.end()) return CUDA_ERROR_NOT_FOUND;
  *function = found->second->handle;
  return CUDA_SUCCESS;
}
SIM(cuModuleGetFunctionCount)(unsigned* count, CUmodule handle) {
  const auto module = modules().find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(module->functions.size());
  return CUDA_SUCCESS;
}
SIM(cuModuleEnumerateFunctions)(CUfunction* out, unsigned capacity, CUmodule handle) {
  const auto module = modules().find(handle);
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::vector<CUfunction> all;
  for (const auto& [name, function] : module->functions) all.push_back(function->handle);
  return list(out, capacity, all);
}
SIM(cuModuleGetGlobal_v2)(CUdeviceptr* address, size_t* bytes, CUmodule handle, const char* name) {
  const auto module = modules().find(handle);
  return module != nullptr ? variable_of(*module, name, address, bytes) : CUDA_ERROR_INVALID_HANDLE;
}

SIM(cuLibraryLoadData)
(CUlibrary* library, const void* code, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  return load_library(library, code);
}
SIM(cuLibraryLoadFromFile)
(CUlibrary* library, const char* name, CUjit_option*, void**, unsigned, CUlibraryOption*, void**, unsigned) {
  std::string text;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  if (const CUresult result = read_file(name, &text); result != CUDA_SUCCESS) return result;
  return load_library(library, text.c_str());
}
SIM(cuLibraryUnload)(CUlibrary handle) {
  const auto library = libraries().remove(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  std::map<uint64_t, std::shared_ptr<Module>> made;
  {
    const std::lock_guard lock(library->mutex);
    made.swap(library->modules);
  }
  for (const auto& [id, module] : made) synchronize(*module->context);
  library->unloaded->store(true);
  for (const auto& [id, module] : made) end_module(module);
  for (const auto& kernel : library->kernels) kernels().remove(kernel->handle);
  return CUDA_SUCCESS;
}
SIM(cuLibraryGetKernel)(CUkernel* kernel, CUlibrary handle, const char* name) {
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, &library); result != CUDA_SUCCESS) return result;
  if (kernel == nullptr || name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  for (const auto& candidate : library->kernels) {
    if (candidate->code->entry.name != name) continue;
    *kernel = candidate->handle;
    return CUDA_SUCCESS;
  }
  return CUDA_ERROR_NOT_FOUND;
}
SIM(cuLibraryGetKernelCount)(unsigned* count, CUlibrary handle) {
  const auto library = libraries().find(handle);
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (count == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *count = static_cast<unsigned>(library->kernels.size());
  return CUDA_SUCCESS;
}
SIM(cuLibraryEnumerateKernels)(CUkernel* out, unsigned capacity, CUlibrary handle) {
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, &library); result != CUDA_SUCCESS) return result;
  std::vector<CUkernel> all;
  for (const auto& kernel : library->kernels) all.push_back(kernel->handle);
  return list(out, capacity, all);
}
SIM(cuLibraryGetModule)(CUmodule* out, CUlibrary handle) {
  std::shared_ptr<Library> library;
  if (const CUresult result = find_library(handle, &library); result != CUDA_SUCCESS) return result;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Module> module;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = module_of_library(library, context, &module); result != CUDA_SUCCESS) return result;
  *out = module->handle;
  return CUDA_SUCCESS;
}
SIM(cuLibraryGetGlobal)(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return library_variable(library, name, false, address, bytes);
}
SIM(cuLibraryGetManaged)(CUdeviceptr* address, size_t* bytes, CUlibrary library, const char* name) {
  return library_variable(library, name, true, address, bytes);
}

SIM(cuKernelGetFunction)(CUfunction* out, CUkernel handle) {
  const auto kernel = kernels().find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  std::shared_ptr<Context> context;
  std::shared_ptr<Module> module;
  const auto library = kernel->library.lock();
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  if (const CUresult result = module_of_library(library, context, &module); result != CUDA_SUCCESS) return result;
  *out = module->functions.at(kernel->code->entry.name)->handle;
  return CUDA_SUCCESS;
}
SIM(cuKernelGetLibrary)(CUlibrary* out, CUkernel handle) {
  const auto kernel = kernels().find(handle);
  const auto library = kernel != nullptr ? kernel->library.lock() : nullptr;
  if (library == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = library->handle;
  return CUDA_SUCCESS;
}
SIM(cuKernelGetName)(const char** name, CUkernel handle) {
  const auto kernel = kernels().find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = kernel->code->entry.name.c_str();
  return CUDA_SUCCESS;
}
SIM(cuKernelGetParamInfo)(CUkernel handle, size_t index, size_t* offset, size_t* size) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto kernel = kernels().find(handle);
  return kernel != nullptr ? parameter_info(*kernel->code, index, offset, size) : CUDA_ERROR_INVALID_HANDLE;
}
SIM(cuKernelGetAttribute)(int* value, CUfunction_attribute attribute, CUkernel handle, CUdevice device) {
  const auto kernel = kernels().find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const FunctionSettings& settings = kernel->settings[static_cast<size_t>(device)];
  return get_attribute(*kernel->code, settings, settings.max_dynamic_shared, attribute, value);
}
SIM(cuKernelSetAttribute)(CUfunction_attribute attribute, int value, CUkernel handle, CUdevice device) {
  const auto kernel = kernels().find(handle);
  if (kernel == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (!valid_device(device)) return CUDA_ERROR_INVALID_DEVICE;
  return set_attribute(*kernel->code, kernel->settings[static_cast<size_t>(device)], attribute, value);
}
SIM(cuKernelSetCacheConfig)(CUkernel handle, CUfunc_cache, CUdevice device) {
  if (kernels().find(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  return valid_device(device) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_DEVICE;
}

SIM(cuFuncGetName)(const char** name, CUfunction handle) {
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *name = function->code->entry.name.c_str();
  return CUDA_SUCCESS;
}
SIM(cuFuncGetModule)(CUmodule* out, CUfunction handle) {
  const auto function = functions().find(handle);
  const auto module = function != nullptr ? function->module.lock() : nullptr;
  if (module == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (out == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *out = module->handle;
  return CUDA_SUCCESS;
}
SIM(cuFuncGetParamInfo)(CUfunction handle, size_t index, size_t* offset, size_t* size) {
  if (handle == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const auto function = functions().find(handle);
  return function != nullptr ? parameter_info(*function->code, index, offset, size) : CUDA_ERROR_INVALID_HANDLE;
}
SIM(cuFuncGetAttribute)(int* value, CUfunction_attribute attribute, CUfunction handle) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  const auto function = functions().find(handle);
  if (function == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (value == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const Callee callee{function, nullptr};
  return get_attribute(*function->code, function->settings, callee.dynamic_shared_setting(*context), attribute, value);
}
SIM(cuFuncSetAttribute)(CUfunction handle, CUfunction_attribute attribute, int value) {
  std::shared_ptr<Context> context;
  if (const CUresult result = current_context(&context); result != CUDA_SUCCESS) return result;
  const auto function = functions().find(handle);
  return function != nullptr ? set_attribute(*function->code, function->settings, attribute, value)
                             : CUDA_ERROR_INVALID_HANDLE;
}
SIM(cuFuncSetCacheConfig)(CUfunction handle, CUfunc_cache) {
  return functions().find(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
SIM(cuFuncSetSharedMemConfig)(CUfunction handle, CUsharedconfig) {
  return functions().find(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
// PTX is compiled and loaded at once; only binary code loads lazily.
SIM(cuFuncIsLoaded)(CUfunctionLoadingState* state, CUfunction handle) {
  if (functions().find(handle) == nullptr) return CUDA_ERROR_INVALID_HANDLE;
  if (state == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *state = CU_FUNCTION_LOADING_STATE_LOADED;
  return CUDA_SUCCESS;
}
SIM(cuFuncLoad)(CUfunction handle) {
  return functions().find(handle) != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}
