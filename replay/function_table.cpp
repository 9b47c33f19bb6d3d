#include "replay/function_table.h"

#include <mutex>
#include <new>
#include <utility>

#include "capture/demangle.h"
#include "replay/issue.h"

namespace refrain::replay {
namespace {

// Asks for parameter after parameter until the driver says that there is none. `query(index, &offset, &size)`.
// cuFuncGetParamInfo and cuKernelGetParamInfo, CUDA 12.4: CUDA_ERROR_INVALID_VALUE ends the list.
template <typename Query>
bool read_layout(Query query, capture::Layout& layout) {
  for (std::size_t index = 0; index <= ParameterPointers::most; ++index) {
    std::size_t offset = 0, size = 0;
    const CUresult result = query(index, &offset, &size);
    if (result == CUDA_ERROR_INVALID_VALUE) return true;
    if (result != CUDA_SUCCESS || offset < layout.bytes || index == ParameterPointers::most) return false;
    layout.parameters.push_back({static_cast<std::uint32_t>(offset), static_cast<std::uint32_t>(size)});
    layout.bytes = static_cast<std::uint32_t>(offset + size);
  }
  return false;
}

}  // namespace

bool Code::may_be(const capture::Function& function) const noexcept {
  if (function.handle == handle || name == nullptr || function.name.empty()) return true;
  if (function.name != name) return false;
  return function.is_kernel_handle != is_kernel_handle || function.owner == owner || function.owner == 0 || owner == 0;
}

// Nothing says which kind a handle is. The driver answers each question for one kind only (measured: cuFunc… fails
// cleanly on a CUkernel).
Code FunctionTable::code_of(CUfunction handle) const noexcept {
  const auto kernel = reinterpret_cast<CUkernel>(handle);
  Code code{reinterpret_cast<std::uint64_t>(handle), 0, false, nullptr};
  if (driver_.cuFuncGetName(&code.name, handle) == CUDA_SUCCESS) {
    CUmodule module = nullptr;
    if (driver_.cuFuncGetModule(&module, handle) == CUDA_SUCCESS) code.owner = reinterpret_cast<std::uint64_t>(module);
  } else if (driver_.cuKernelGetName(&code.name, kernel) == CUDA_SUCCESS) {
    code.is_kernel_handle = true;
    CUlibrary library = nullptr;
    if (driver_.cuKernelGetLibrary != nullptr && driver_.cuKernelGetLibrary(&library, kernel) == CUDA_SUCCESS) {
      code.owner = reinterpret_cast<std::uint64_t>(library);
    }
  } else {
    code.name = nullptr;
  }
  return code;
}

FunctionPointer FunctionTable::find(CUfunction handle) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = functions_.find(handle);
  return found != functions_.end() ? found->second : nullptr;
}

FunctionPointer FunctionTable::learn(CUfunction handle) noexcept try {
  if (FunctionPointer known = find(handle)) return known;
  FunctionPointer function = ask(handle);
  const std::lock_guard guard(lock_);
  return functions_.try_emplace(handle, std::move(function)).first->second;
} catch (const std::bad_alloc&) {
  return nullptr;
}

FunctionPointer FunctionTable::ask(CUfunction handle) const {
  auto function = std::make_shared<capture::Function>();
  const Code code = code_of(handle);
  function->handle = code.handle;
  function->owner = code.owner;
  function->is_kernel_handle = code.is_kernel_handle;
  if (code.name != nullptr) {
    function->name = code.name;
    const auto kernel = reinterpret_cast<CUkernel>(handle);
    function->layout_known = read_layout(
        [&](std::size_t index, std::size_t* offset, std::size_t* size) {
          return code.is_kernel_handle ? driver_.cuKernelGetParamInfo(kernel, index, offset, size)
                                       : driver_.cuFuncGetParamInfo(handle, index, offset, size);
        },
        function->layout);
  }
  const policy::OperationRule* rule =
      selector_.operation_rule(function->name, capture::demangle_on_host_thread(function->name));
  function->eager = rule != nullptr && rule->action != policy::Action::graph;
  return function;
}

void FunctionTable::forget(std::uint64_t owner, bool all_modules) noexcept {
  const std::lock_guard guard(lock_);
  std::erase_if(functions_, [&](const auto& entry) {
    const capture::Function& function = *entry.second;
    return function.owner == owner || function.owner == 0 || (all_modules && !function.is_kernel_handle);
  });
}

void FunctionTable::forget_all() noexcept {
  const std::lock_guard guard(lock_);
  functions_.clear();
}

bool FunctionStates::has(const void* function, int which, int value) noexcept {
  const std::lock_guard guard(lock_);
  const auto found = values_.find({function, which});
  return found != values_.end() && found->second == value;
}

void FunctionStates::set(const void* function, int which, int value) noexcept try {
  const std::lock_guard guard(lock_);
  values_[{function, which}] = value;
} catch (const std::bad_alloc&) {  // the next setting counts as a change: right, and slower
}

void FunctionStates::clear() noexcept {
  const std::lock_guard guard(lock_);
  values_.clear();
}

}  // namespace refrain::replay
