// A write that raises no signal in the program: neither SIGPIPE, when nobody reads, nor SIGXFSZ, when a file may not
// grow.
//
// Threads: any. Fails: returns what write() returns; errno is what write() left.
#pragma once

#include <sys/types.h>

#include <cstddef>

namespace refrain::interpose {

ssize_t write_quietly(int file, const char* bytes, std::size_t count) noexcept;

}  // namespace refrain::interpose
