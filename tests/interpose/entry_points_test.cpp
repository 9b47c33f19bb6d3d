// The list, its classification, and the tables that are made from it.
#include "interpose/entry_points.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "interpose/hooks.h"
#include "interpose/name_table.h"

namespace refrain::interpose {
namespace {

EntryPoint entry_at(unsigned index) { return static_cast<EntryPoint>(index); }

TEST(EntryPoints, every_name_is_found_and_no_other) {
  for (unsigned i = 0; i < entry_point_count; ++i) {
    EXPECT_EQ(find_entry_point(entry_point_names[i]), entry_at(i)) << entry_point_names[i];
    const std::string longer = std::string(entry_point_names[i]) + "_";
    const std::string shorter =
        std::string(entry_point_names[i]).substr(0, std::string(entry_point_names[i]).size() - 1);
    EXPECT_EQ(find_entry_point(longer.c_str()), unknown_entry_point) << longer;
    // A shorter name may be a name of the list itself, but never this one.
    EXPECT_NE(find_entry_point(shorter.c_str()), entry_at(i)) << shorter;
  }
  for (const char* name :
       {"", "c", "cu", "cudaMalloc", "cudnnCreate", "cublasCreate_v2", "cufftExecC2C", "dlsym", "cuda"}) {
    EXPECT_EQ(find_entry_point(name), unknown_entry_point) << name;
  }
  EXPECT_EQ(find_entry_point(nullptr), unknown_entry_point);
}

TEST(EntryPoints, names_are_told_from_those_of_other_libraries) {
  EXPECT_TRUE(looks_like_driver_name("cuLaunchFuture"));
  for (const char* name : {"cudaMalloc", "cudnnCreate", "cublasCreate", "cu", "c", "", "curl_easy_init", "cudbgInit"}) {
    EXPECT_FALSE(looks_like_driver_name(name)) << name;
  }
  EXPECT_FALSE(looks_like_driver_name(nullptr));
}

TEST(EntryPoints, every_hooked_one_has_a_hook_of_its_own_and_no_other_has) {
  std::set<void*> hooks;
  for (unsigned i = 0; i < entry_point_count; ++i) {
    void* hook = hook_of(entry_at(i));
    EXPECT_EQ(hook != nullptr, is_hooked(entry_at(i))) << entry_point_names[i];
    if (hook != nullptr) hooks.insert(hook);
  }
  // Two hooks that do the same, by the same arguments, still have their own real function.
  EXPECT_EQ(hooks.size(), hooked_count);
}

TEST(EntryPoints, groups_without_hooks_are_those_that_no_held_call_can_change) {
  for (unsigned i = 0; i < entry_point_count; ++i) {
    const EntryPoint entry = entry_at(i);
    const std::string name = name_of(entry);
    if (group_of(entry) == Group::query || group_of(entry) == Group::current_context) {
      EXPECT_FALSE(is_hooked(entry)) << name;
    }
    if (group_of(entry) == Group::program_graph) {
      EXPECT_EQ(is_hooked(entry), name.starts_with("cuGraphInstantiateWithParams")) << name;
    }
  }
  EXPECT_FALSE(is_hooked(EntryPoint::cuGetExportTable));
}

TEST(EntryPoints, every_entry_of_a_group_that_works_or_observes_is_hooked) {
  for (unsigned i = 0; i < entry_point_count; ++i) {
    const EntryPoint entry = entry_at(i);
    switch (group_of(entry)) {
      case Group::launch:
      case Group::launch_other:
      case Group::launch_legacy:
      case Group::stream_node:
      case Group::stream_work:
      case Group::wait:
      case Group::cross_stream:
      case Group::blocking_copy:
      case Group::mutable_state:
      case Group::observer:
      case Group::memory_release:
      case Group::memory_obtain: EXPECT_TRUE(is_hooked(entry)) << name_of(entry); break;
      case Group::plumbing:
      case Group::code:
      case Group::context:
      case Group::current_context:
      case Group::stream_event:
      case Group::capture:
      case Group::program_graph:
      case Group::query: break;
    }
  }
}

TEST(EntryPoints, treatments_of_what_ends_something) {
  for (const EntryPoint entry : {EntryPoint::cuModuleUnload, EntryPoint::cuLibraryUnload}) {
    EXPECT_EQ(treatment_of(entry), Treatment::code_ends) << name_of(entry);
  }
  for (const EntryPoint entry :
       {EntryPoint::cuCtxDestroy, EntryPoint::cuCtxDestroy_v2, EntryPoint::cuCtxDetach, EntryPoint::cuGreenCtxDestroy,
        EntryPoint::cuDevicePrimaryCtxReset, EntryPoint::cuDevicePrimaryCtxReset_v2}) {
    EXPECT_EQ(treatment_of(entry), Treatment::context_ends) << name_of(entry);
  }
  for (const EntryPoint entry : {EntryPoint::cuDevicePrimaryCtxRelease, EntryPoint::cuDevicePrimaryCtxRelease_v2}) {
    EXPECT_EQ(treatment_of(entry), Treatment::context_released) << name_of(entry);
  }
  for (const EntryPoint entry : {EntryPoint::cuStreamDestroy, EntryPoint::cuStreamDestroy_v2}) {
    EXPECT_EQ(treatment_of(entry), Treatment::stream_ends) << name_of(entry);
  }
  for (const EntryPoint entry : {EntryPoint::cuMemFreeAsync, EntryPoint::cuMemFreeAsync_ptsz}) {
    EXPECT_EQ(treatment_of(entry), Treatment::stream_memory_ends) << name_of(entry);
  }
  for (const EntryPoint entry : {EntryPoint::cuMemFree_v2, EntryPoint::cuMemUnmap, EntryPoint::cuMemFreeHost}) {
    EXPECT_EQ(treatment_of(entry), Treatment::memory_ends) << name_of(entry);
  }
}

TEST(EntryPoints, treatments_of_waits_and_streams) {
  for (const EntryPoint entry :
       {EntryPoint::cuCtxSynchronize, EntryPoint::cuCtxSynchronize_v2, EntryPoint::cuStreamQuery,
        EntryPoint::cuMemcpyDtoH_v2, EntryPoint::cuMemsetD8_v2_ptds}) {
    EXPECT_EQ(treatment_of(entry), Treatment::wait) << name_of(entry);
  }
  EXPECT_EQ(treatment_of(EntryPoint::cuEventElapsedTime_v2), Treatment::ask);
  for (const EntryPoint entry :
       {EntryPoint::cuEventRecord, EntryPoint::cuStreamWaitEvent_ptsz, EntryPoint::cuGraphLaunch,
        EntryPoint::cuLaunchHostFunc, EntryPoint::cuMemcpyDtoDAsync, EntryPoint::cuMemAllocAsync}) {
    EXPECT_EQ(treatment_of(entry), Treatment::order_stream) << name_of(entry);
  }
  // Without a stream among the arguments, or with several, everything goes first.
  for (const EntryPoint entry : {EntryPoint::cuCtxRecordEvent, EntryPoint::cuGreenCtxWaitEvent, EntryPoint::cuLaunch,
                                 EntryPoint::cuLaunchGridAsync, EntryPoint::cuLaunchCooperativeKernelMultiDevice}) {
    EXPECT_EQ(treatment_of(entry), Treatment::order_all) << name_of(entry);
  }
  EXPECT_TRUE(is_per_thread(EntryPoint::cuLaunchKernel_ptsz));
  EXPECT_TRUE(is_per_thread(EntryPoint::cuMemcpy_ptds));
  EXPECT_FALSE(is_per_thread(EntryPoint::cuLaunchKernel));
}

TEST(EntryPoints, holdable_calls_are_the_six_launches_the_async_memsets_and_the_device_copy) {
  std::set<std::string> expected = {"cuMemcpyDtoDAsync_v2", "cuMemcpyDtoDAsync_v2_ptsz"};
  for (const char* launch : {"cuLaunchKernel", "cuLaunchKernelEx", "cuLaunchCooperativeKernel"}) {
    expected.insert(launch);
    expected.insert(std::string(launch) + "_ptsz");
  }
  for (const char* kind : {"D8", "D16", "D32", "D2D8", "D2D16", "D2D32"}) {
    expected.insert(std::string("cuMemset") + kind + "Async");
    expected.insert(std::string("cuMemset") + kind + "Async_ptsz");
  }
  std::set<std::string> found;
  for (unsigned i = 0; i < entry_point_count; ++i) {
    if (treatment_of(entry_at(i)) == Treatment::hold) found.insert(entry_point_names[i]);
  }
  EXPECT_EQ(found, expected);
}

}  // namespace
}  // namespace refrain::interpose
