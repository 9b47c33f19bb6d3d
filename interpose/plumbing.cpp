#include "interpose/plumbing.h"

#include "interpose/caller.h"
#include "interpose/guard.h"
#include "interpose/hooks.h"
#include "interpose/name_table.h"
#include "interpose/process.h"
#include "interpose/trampoline.h"
#include "interpose/wish.h"

namespace refrain::interpose {
namespace {

/// The hook for the driver's answer, or the answer itself.
void* exchange(const LoadedDriver& driver, void* answer, const char* symbol, cuuint64_t flags) noexcept {
  const bool per_thread = (flags & CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM) != 0;
  const EntryPoint entry = driver.find(answer, symbol, per_thread);
  if (entry != unknown_entry_point) return is_hooked(entry) ? hook_of(entry) : answer;
  return driver.code.contains(answer) && looks_like_driver_name(symbol) ? trampoline_for(answer) : answer;
}

/// After the driver answered: everything but a success with a function stays as it is.
CUresult finish(const LoadedDriver& driver, CUresult result, const char* symbol, void** function, cuuint64_t flags,
                const void* caller) noexcept {
  if (result != CUDA_SUCCESS || function == nullptr || *function == nullptr) return result;
  if (is_wanted() && !is_exempt_caller(caller)) *function = exchange(driver, *function, symbol, flags);
  return result;
}

}  // namespace

CUresult answer_without(const LoadedDriver* driver, EntryPoint entry) noexcept {
  if (driver != nullptr) return CUDA_ERROR_NOT_SUPPORTED;
  return entry == EntryPoint::cuInit ? CUDA_ERROR_NO_DEVICE : CUDA_ERROR_NOT_INITIALIZED;
}

CUresult initialise(unsigned flags) {
  const LoadedDriver* driver = find_driver();
  if (driver == nullptr || driver->functions.cuInit == nullptr) return answer_without(driver, EntryPoint::cuInit);
  const CUresult result = driver->functions.cuInit(flags);
  if (result == CUDA_SUCCESS && is_wanted()) driver_initialised(*driver);
  return result;
}

CUresult resolve(const char* symbol, void** function, int version, cuuint64_t flags) {
  const LoadedDriver* driver = find_driver();
  const auto real = driver != nullptr ? driver->functions.cuGetProcAddress : nullptr;
  if (real == nullptr) return answer_without(driver, EntryPoint::cuGetProcAddress);
  return finish(*driver, real(symbol, function, version, flags), symbol, function, flags, __builtin_return_address(0));
}

CUresult resolve_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status) {
  const LoadedDriver* driver = find_driver();
  const auto real = driver != nullptr ? driver->functions.cuGetProcAddress_v2 : nullptr;
  if (real == nullptr) return answer_without(driver, EntryPoint::cuGetProcAddress_v2);
  return finish(*driver, real(symbol, function, version, flags, status), symbol, function, flags,
                __builtin_return_address(0));
}

}  // namespace refrain::interpose
