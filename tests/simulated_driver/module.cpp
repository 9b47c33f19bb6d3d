#include "tests/simulated_driver/module.h"

#include <fcntl.h>
#include <unistd.h>

#include <cstring>

#include "tests/simulated_driver/context.h"

namespace refrain::tests::simulated {
namespace {

template <class Table>
Table& leaked_table() {
  static auto* const table = new Table;
  return *table;
}

std::shared_ptr<Code> make_code(const PtxModule& image, const PtxEntry& entry,
                                std::shared_ptr<std::atomic<bool>> unloaded) {
  auto code = std::make_shared<Code>();
  code->entry = entry;
  code->ptx_version = image.target;
  code->unloaded = std::move(unloaded);
  return code;
}

}  // namespace

HandleTable<CUmodule, Module>& modules() { return leaked_table<HandleTable<CUmodule, Module>>(); }
HandleTable<CUfunction, Function>& functions() { return leaked_table<HandleTable<CUfunction, Function>>(); }
HandleTable<CUlibrary, Library>& libraries() { return leaked_table<HandleTable<CUlibrary, Library>>(); }
HandleTable<CUkernel, Kernel>& kernels() { return leaked_table<HandleTable<CUkernel, Kernel>>(); }

CUresult load_image(const void* image, PtxModule* module) {
  if (image == nullptr) return CUDA_ERROR_INVALID_VALUE;
  struct FatBinaryWrapper {
    uint32_t magic, version;
    const void* data;
  };
  constexpr uint32_t wrapper_magic = 0x466243b1;
  uint32_t magic = 0;
  std::memcpy(&magic, image, sizeof magic);
  if (magic == wrapper_magic) image = static_cast<const FatBinaryWrapper*>(image)->data;
  return image != nullptr ? read_ptx(static_cast<const char*>(image), module) : CUDA_ERROR_INVALID_IMAGE;
}

CUresult read_file(const char* name, std::string* text) {
  const int file = open(name, O_RDONLY | O_CLOEXEC);
  if (file < 0) return CUDA_ERROR_FILE_NOT_FOUND;
  char part[65536];
  ssize_t bytes = 0;
  while ((bytes = read(file, part, sizeof part)) > 0) text->append(part, static_cast<size_t>(bytes));
  close(file);
  return bytes == 0 ? CUDA_SUCCESS : CUDA_ERROR_OPERATING_SYSTEM;
}

CUresult create_module(const PtxModule& image, const std::shared_ptr<Context>& context,
                       const std::shared_ptr<Library>& library, std::shared_ptr<Module>* made) {
  synchronize(*context);  // code is loaded when the device is idle
  auto module = std::make_shared<Module>();
  module->context = context;
  module->of_library = library != nullptr;
  module->unloaded = library != nullptr ? library->unloaded : std::make_shared<std::atomic<bool>>(false);
  for (const PtxVariable& variable : image.variables) {
    const MemoryKind kind = variable.managed ? MemoryKind::managed : MemoryKind::device;
    auto allocation = allocate(kind, variable.size, context, CU_MEM_ATTACH_GLOBAL);
    if (allocation == nullptr) return CUDA_ERROR_OUT_OF_MEMORY;
    module->variables[variable.name] = std::move(allocation);
  }
  const auto add = [&](const std::shared_ptr<const Code>& code, const std::shared_ptr<Kernel>& kernel) {
    auto function = std::make_shared<Function>();
    function->code = code;
    function->context = context;
    function->module = module;
    function->kernel = kernel;
    functions().add(function);
    module->functions[code->entry.name] = std::move(function);
  };
  if (library != nullptr) {
    for (const auto& kernel : library->kernels) add(kernel->code, kernel);
  } else {
    for (const PtxEntry& entry : image.entries) add(make_code(image, entry, module->unloaded), nullptr);
  }
  modules().add(module);
  *made = std::move(module);
  return CUDA_SUCCESS;
}

void end_module(const std::shared_ptr<Module>& module) {
  modules().remove(module->handle);
  for (const auto& [name, function] : module->functions) functions().remove(function->handle);
  for (const auto& [name, variable] : module->variables) {
    if (host_view().find(variable->base) == variable) release(variable);
  }
  module->functions.clear();
  module->variables.clear();
}

void drop_modules(const std::shared_ptr<Context>& context) {
  for (const auto& module : modules().all()) {
    if (module->context != context) continue;
    if (!module->of_library) module->unloaded->store(true);
    end_module(module);
  }
  for (const auto& library : libraries().all()) {
    const std::lock_guard lock(library->mutex);
    library->modules.erase(context->id);
  }
}

CUresult module_of_library(const std::shared_ptr<Library>& library, const std::shared_ptr<Context>& context,
                           std::shared_ptr<Module>* module) {
  const std::lock_guard lock(library->mutex);
  auto& known = library->modules[context->id];
  if (known == nullptr) {
    if (const CUresult result = create_module(library->image, context, library, &known); result != CUDA_SUCCESS) {
      library->modules.erase(context->id);
      return result;
    }
  }
  *module = known;
  return CUDA_SUCCESS;
}

FunctionSettings& Callee::settings(int device) const {
  return function != nullptr ? function->settings : kernel->settings[static_cast<size_t>(device)];
}

int Callee::dynamic_shared_setting(const Context& context) const {
  const auto of_kernel = [&](const Kernel& which) {
    return which.settings[static_cast<size_t>(context.device)].max_dynamic_shared.load();
  };
  if (function != nullptr) {
    const int own = function->settings.max_dynamic_shared.load();
    const auto from = function->kernel.lock();
    return own >= 0 || from == nullptr ? own : of_kernel(*from);
  }
  const auto library = kernel->library.lock();
  if (library == nullptr) return of_kernel(*kernel);
  const std::lock_guard lock(library->mutex);
  const auto made = library->modules.find(context.id);
  if (made == library->modules.end()) return of_kernel(*kernel);
  const int own = made->second->functions.at(kernel->code->entry.name)->settings.max_dynamic_shared.load();
  return own >= 0 ? own : of_kernel(*kernel);
}

CUresult find_callee(CUfunction handle, Callee* callee) {
  callee->function = functions().find(handle);
  if (callee->function != nullptr) return CUDA_SUCCESS;
  callee->kernel = kernels().find(reinterpret_cast<CUkernel>(handle));
  return callee->kernel != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_HANDLE;
}

unsigned dynamic_shared_limit(const Code& code, int wanted) {
  return wanted >= 0 ? static_cast<unsigned>(wanted)
                     : static_cast<unsigned>(shared_per_block) - std::min(code.entry.static_shared, 49152u);
}

CUresult get_attribute(const Code& code, const FunctionSettings& settings, int dynamic_shared,
                       CUfunction_attribute attribute, int* value) {
  switch (static_cast<int>(attribute)) {
    case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK: *value = static_cast<int>(code.entry.max_threads); break;
    case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES: *value = static_cast<int>(code.entry.static_shared); break;
    case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_NUM_REGS: *value = 32; break;
    case CU_FUNC_ATTRIBUTE_PTX_VERSION: *value = code.ptx_version; break;
    case CU_FUNC_ATTRIBUTE_BINARY_VERSION: *value = 90; break;
    case CU_FUNC_ATTRIBUTE_CACHE_MODE_CA: *value = 0; break;
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      *value = static_cast<int>(dynamic_shared_limit(code, dynamic_shared));
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT: *value = settings.carveout; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET: *value = code.entry.cluster[0] != 0; break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH: {
      const auto axis = static_cast<size_t>(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH);
      *value =
          code.entry.cluster[axis] != 0 ? static_cast<int>(code.entry.cluster[axis]) : settings.cluster[axis].load();
      break;
    }
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: *value = settings.non_portable_cluster; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: *value = settings.cluster_policy; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

CUresult set_attribute(const Code& code, FunctionSettings& settings, CUfunction_attribute attribute, int value) {
  switch (static_cast<int>(attribute)) {
    case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
      if (value < 0 || value > shared_per_block_optin - static_cast<int>(code.entry.static_shared))
        return CUDA_ERROR_INVALID_VALUE;
      settings.max_dynamic_shared = value;
      break;
    case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
      if (value < -1 || value > 100) return CUDA_ERROR_INVALID_VALUE;
      settings.carveout = value;
      break;
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_HEIGHT:
    case CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_DEPTH:
      if (value < 0 || code.entry.cluster[0] != 0) return CUDA_ERROR_INVALID_VALUE;
      settings.cluster[static_cast<size_t>(attribute - CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH)] = value;
      break;
    case CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED: settings.non_portable_cluster = value != 0; break;
    case CU_FUNC_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE: settings.cluster_policy = value; break;
    default: return CUDA_ERROR_INVALID_VALUE;
  }
  return CUDA_SUCCESS;
}

}  // namespace refrain::tests::simulated
