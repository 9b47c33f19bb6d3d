// The hooks of the functions by which a program gets at the driver: cuInit and the resolvers.
#pragma once

#include "interpose/entry_points.h"
#include "interpose/loaded_driver.h"

namespace refrain::interpose {

/// cuInit. After it succeeded for the first time, Refrain begins.
CUresult initialise(unsigned flags);

/// cuGetProcAddress as of CUDA 11.3, and with a status as of 12.0. The driver answers; then its answer is exchanged
/// when it is the address of a function that is hooked.
CUresult resolve(const char* symbol, void** function, int version, cuuint64_t flags);
CUresult resolve_v2(const char* symbol, void** function, int version, cuuint64_t flags,
                    CUdriverProcAddressQueryResult* status);

/// What a hook answers that has no real function: no driver is loaded, or this driver has no such function. Only a
/// program with a weak reference to a driver's name can ever come here.
CUresult answer_without(const LoadedDriver* driver, EntryPoint entry) noexcept;

}  // namespace refrain::interpose
