// How the simulated driver's entry points are written: each as `SIM(cuMemAlloc_v2)(...)`, typed by cuda.h.
//
// exports.cpp puts one exported function before each of them, which counts the call, fails it on demand and refuses it
// before cuInit, after exit and in a forked child. A name without an implementation answers CUDA_ERROR_NOT_SUPPORTED.
// `_ptsz` and `_ptds` names need no implementation: they run the plain one with the per-thread default stream in place
// of the legacy one (process.h: per_thread_default_stream).
#pragma once

#include "replay/driver.h"

extern "C" {
#define ENTRY(name, group) __attribute__((weak, visibility("hidden"))) decltype(::name) sim_##name;
#include "replay/driver_entry_points.inc"
}

#define SIM(name) extern "C" CUresult sim_##name
