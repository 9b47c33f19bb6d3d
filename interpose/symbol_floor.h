// Included before every source of the library and the command: with C++ a newer glibc (2.38 and later) sends strtol,
// scanf and their like to functions that no older glibc has, so that a library built there could not be loaded
// elsewhere. Ours are to need none of them.
#pragma once
#if defined(__has_include)
#if __has_include(<features.h>)
#include <features.h>
#endif
#endif
#ifdef __GLIBC_USE_C2X_STRTOL
#undef __GLIBC_USE_C2X_STRTOL
#define __GLIBC_USE_C2X_STRTOL 0
#endif
#ifdef __GLIBC_USE_C23_STRTOL
#undef __GLIBC_USE_C23_STRTOL
#define __GLIBC_USE_C23_STRTOL 0
#endif
