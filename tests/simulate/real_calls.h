// The C library's own functions behind those that libc_calls.cpp stands before.
//
// Threads: any.
#pragma once

namespace refrain::tests::simulate {

long real_syscall(long number, const void* a, long b, long c, const void* d, const void* e, long f);

}  // namespace refrain::tests::simulate
