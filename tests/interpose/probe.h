// A program that uses the driver in one of many ways and prints what it sees: the tests run it bare and under Refrain
// and compare. Each way is a function of its own, in the file of its concept.
#pragma once

#include <cstdint>

namespace refrain::tests {

using AnyFunction = int (*)(long, long, long, long, long, long, long, long, long, long, long, long);
using Resolver = int (*)(const char*, void**, int, std::uint64_t);
using ResolverWithStatus = int (*)(const char*, void**, int, std::uint64_t, int*);

/// libcuda.so.1, opened as the CUDA runtime opens it; the program ends with code 9 when there is none.
void* open_driver();
/// The function by dlsym on the driver's handle.
void* find(const char* name);
template <typename Function>
Function find_as(const char* name) {
  return reinterpret_cast<Function>(find(name));
}
/// Calls a function with zeros and prints its name, what it returned and, when `kind` is true, whether it was given as
/// the driver's own address.
int call_with_zeros(void* function);
/// "driver" for an address in libcuda, "none" for NULL, "hook" for anything else.
const char* kind_of(const void* function);

// resolver.cpp
int resolve_itself();
int resolve_table();
int resolve_edges();
// lookup.cpp
int look_up_scopes();
int look_up_errors();
int look_up_all();
int look_up_unknown();
int look_up_deeply_bound();
// life.cpp
int before_initialisation();
int arguments_arrive();
int end_by(const char* how);
int fork_child();
int threads_end();
int load_twice();
int exhaust_trampolines();
int statistics();
int pauses();
// load.cpp
int close_and_open();
int other_namespace();
int open_often();
int first_use_by_many();
int late_library();
int cancel_in_a_call();

}  // namespace refrain::tests
