// The C library's own dlsym, past the one that this library exports.
//
// Threads: any, also before any constructor ran. No lock, no allocation.
#pragma once

namespace refrain::interpose {

using Dlsym = void* (*)(void* handle, const char* name);

/// Found once by dlvsym. Every look-up of our own goes through it.
Dlsym real_dlsym() noexcept;

}  // namespace refrain::interpose
