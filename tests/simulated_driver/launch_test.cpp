// Launches, code objects and their handles.
#include <cstring>
#include <vector>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

class SimulatedDriverLaunch : public SimulatedDriver {
 protected:
  CUresult sized(unsigned gx, unsigned gy, unsigned bx, unsigned by, unsigned shared, CUfunction function = nullptr) {
    return CU(cuLaunchKernel)(function != nullptr ? function : nothing, gx, gy, 1, bx, by, 1, shared, stream, nullptr,
                              nullptr);
  }
  CUresult with(std::vector<CUlaunchAttribute> attributes, unsigned blocks) {
    CUlaunchConfig config{};
    config.gridDimX = blocks;
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.blockDimX = 32;
    config.hStream = stream;
    config.attrs = attributes.data();
    config.numAttrs = static_cast<unsigned>(attributes.size());
    return CU(cuLaunchKernelEx)(&config, nothing, nullptr, nullptr);
  }
  static CUlaunchAttribute attribute(int id) {
    CUlaunchAttribute made{};
    made.id = static_cast<CUlaunchAttributeID>(id);
    return made;
  }
  static CUlaunchAttribute cluster(unsigned x) {
    CUlaunchAttribute made = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
    made.value.clusterDim.x = x;
    made.value.clusterDim.y = made.value.clusterDim.z = 1;
    return made;
  }
};

TEST_F(SimulatedDriverLaunch, V9_parameters_are_copied_at_the_call_by_the_layout) {
  CUdeviceptr out = buffer;
  uint8_t a = 0x11;
  uint16_t b = 0x2222;
  uint32_t c = 0x33333333;
  unsigned structure[5] = {1, 2, 3, 4, 0x55555555};
  void* parameters[] = {&out, &a, &b, &c, structure};
  OK(spin(stream));
  OK(launch(echo_kernel, stream, parameters));
  out = 0;
  a = 0;
  b = 0;
  c = 0;
  std::memset(structure, 0, sizeof structure);
  go();
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 0x11u);
  EXPECT_EQ(read(buffer + 4), 0x2222u);
  EXPECT_EQ(read(buffer + 8), 0x33333333u);
  EXPECT_EQ(read(buffer + 12), 0x55555555u);
}

TEST_F(SimulatedDriverLaunch, V9_parameters_may_come_as_one_buffer) {
  struct {
    CUdeviceptr address;
    unsigned value;
    unsigned behind;
  } packed{buffer, 321, 0};
  const auto launch_with = [&](size_t size) {
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    return CU(cuLaunchKernel)(store_kernel, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, extra);
  };
  OK(launch_with(12));
  packed.value = 0;
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 321u);
  FAILS(CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES, launch_with(16));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch_with(0));
}

TEST_F(SimulatedDriverLaunch, E3_bad_launches_fail_at_the_call) {
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(0, 1, 1, 1, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 0, 1, 1, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 65536, 1, 1, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 1, 0, 1, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 1, 1025, 1, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 1, 32, 33, 0));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 1, 1, 1, 49153));
  FAILS(CUDA_SUCCESS, sized(1, 1, 1, 1, 49152));
  FAILS(CUDA_ERROR_INVALID_VALUE, launch(store_kernel, stream, nullptr));
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuLaunchKernel)(nullptr, 1, 1, 1, 1, 1, 1, 0, stream, nullptr, nullptr));
  CUfunction bounded = nullptr;
  OK(CU(cuModuleGetFunction)(&bounded, module, "bounded"));
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 1, 256, 1, 0, bounded));
  FAILS(CUDA_SUCCESS, sized(1, 1, 128, 1, 0, bounded));
  OK(CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverLaunch, A5_dynamic_shared_memory_is_limited_by_the_functions_attribute) {
  FAILS(CUDA_ERROR_INVALID_VALUE, sized(1, 1, 1, 1, 100000));
  OK(CU(cuFuncSetAttribute)(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 100000));
  FAILS(CUDA_SUCCESS, sized(1, 1, 1, 1, 100000));
  FAILS(CUDA_ERROR_INVALID_VALUE,
        CU(cuFuncSetAttribute)(nothing, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 300000));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuFuncSetAttribute)(nothing, CU_FUNC_ATTRIBUTE_NUM_REGS, 8));
  OK(CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverLaunch, A6_unknown_attributes_are_refused) {
  FAILS(CUDA_SUCCESS, with({attribute(CU_LAUNCH_ATTRIBUTE_IGNORE)}, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, with({attribute(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY)}, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, with({attribute(15)}, 4));
  FAILS(CUDA_ERROR_INVALID_VALUE, with({attribute(99)}, 4));
  FAILS(CUDA_ERROR_NOT_SUPPORTED, with({attribute(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE)}, 4));
  FAILS(CUDA_ERROR_INVALID_HANDLE, with({attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)}, 4));
}

TEST_F(SimulatedDriverLaunch, A2_clusters_and_cooperation_are_checked) {
  FAILS(CUDA_SUCCESS, with({cluster(2)}, 4));
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, with({cluster(3)}, 4));
  FAILS(CUDA_ERROR_INVALID_CLUSTER_SIZE, with({cluster(16)}, 16));
  CUlaunchAttribute cooperative = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  cooperative.value.cooperative = 1;
  FAILS(CUDA_SUCCESS, with({cooperative}, 132));
  FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE, with({cooperative}, 1000000));
  FAILS(CUDA_SUCCESS, CU(cuLaunchCooperativeKernel)(nothing, 264, 1, 1, 1024, 1, 1, 0, stream, nullptr));
  FAILS(CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE,
        CU(cuLaunchCooperativeKernel)(nothing, 265, 1, 1, 1024, 1, 1, 0, stream, nullptr));
  OK(CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverLaunch, A7_both_kinds_of_handle_launch_and_each_has_its_own_questions) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  OK(CU(cuLibraryLoadData)(&library, test_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(CU(cuLibraryGetKernel)(&kernel, library, "append"));
  const auto as_function = reinterpret_cast<CUfunction>(kernel);
  OK(append(buffer, 1, stream));
  CUdeviceptr address = buffer;
  unsigned value = 2;
  void* parameters[] = {&address, &value};
  OK(launch(as_function, stream, parameters));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 12u);
  size_t offset = 0, size = 0;
  OK(CU(cuKernelGetParamInfo)(kernel, 1, &offset, &size));
  EXPECT_EQ(offset, 8u);
  EXPECT_EQ(size, 4u);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuKernelGetParamInfo)(kernel, 2, &offset, &size));
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuFuncGetParamInfo)(as_function, 0, &offset, &size));
  FAILS(CUDA_ERROR_INVALID_HANDLE,
        CU(cuKernelGetParamInfo)(reinterpret_cast<CUkernel>(append_kernel), 0, &offset, &size));
  const char* name = nullptr;
  OK(CU(cuKernelGetName)(&name, kernel));
  EXPECT_STREQ(name, "append");
  CUfunction function = nullptr;
  OK(CU(cuKernelGetFunction)(&function, kernel));
  EXPECT_NE(reinterpret_cast<void*>(function), reinterpret_cast<void*>(kernel));
  OK(CU(cuFuncGetParamInfo)(function, 0, &offset, &size));
  OK(launch(function, stream, parameters));
  CUlibrary of = nullptr;
  OK(CU(cuKernelGetLibrary)(&of, kernel));
  EXPECT_EQ(of, library);
  OK(CU(cuLibraryUnload)(library));
}

TEST_F(SimulatedDriverLaunch, the_layout_of_parameters_follows_their_alignment) {
  const size_t expected[][2] = {{0, 8}, {8, 1}, {10, 2}, {12, 4}, {16, 20}};
  size_t offset = 0, size = 0;
  for (size_t i = 0; i < 5; ++i) {
    OK(CU(cuFuncGetParamInfo)(echo_kernel, i, &offset, &size));
    EXPECT_EQ(offset, expected[i][0]);
    EXPECT_EQ(size, expected[i][1]);
  }
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuFuncGetParamInfo)(echo_kernel, 5, &offset, &size));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuFuncGetParamInfo)(nothing, 0, &offset, &size));
}

TEST_F(SimulatedDriverLaunch, images_that_are_no_ptx_are_refused) {
  CUmodule loaded = nullptr;
  FAILS(CUDA_ERROR_INVALID_IMAGE, CU(cuModuleLoadData)(&loaded, "this is a text, but it is no program at all"));
  FAILS(
      CUDA_ERROR_INVALID_PTX,
      CU(cuModuleLoadData)(&loaded, ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry broken( { ret; }"));
  FAILS(CUDA_ERROR_UNSUPPORTED_PTX_VERSION,
        CU(cuModuleLoadData)(&loaded, ".version 99.0\n.target sm_90\n.address_size 64\n"));
  FAILS(CUDA_ERROR_FILE_NOT_FOUND, CU(cuModuleLoad)(&loaded, "/no/such/file"));
  CUfunction function = nullptr;
  FAILS(CUDA_ERROR_NOT_FOUND, CU(cuModuleGetFunction)(&function, module, "missing"));
  CUdeviceptr table = 0;
  size_t size = 0;
  OK(CU(cuModuleGetGlobal)(&table, &size, module, "table"));
  EXPECT_EQ(size, 64u);
  OK(store(table, 17, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(table), 17u);
}

TEST_F(SimulatedDriverLaunch, a_kernel_needs_a_host_version_from_the_program_or_from_a_library) {
  if (!on_simulation()) GTEST_SKIP() << "real driver";
  const std::string name = "SimulatedDriverLaunch.a_kernel_needs_a_host_version_from_the_program_or_from_a_library";
  if (!run_by_another()) {
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_KERNELS", ""}}), 0);
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_KERNELS", EXTRA_KERNELS}}), 0);
    return;
  }
  CUmodule loaded = nullptr;
  CUfunction function = nullptr;
  OK(CU(cuModuleLoadData)(&loaded,
                          ".version 8.0\n.target sm_90\n.address_size 64\n"
                          ".visible .entry unheard_of(.param .u64 address) { ret; }\n"));
  OK(CU(cuModuleGetFunction)(&function, loaded, "unheard_of"));
  CUdeviceptr address = buffer;
  void* parameters[] = {&address};
  const bool has_library = std::string(std::getenv("REFRAIN_SIM_KERNELS")) != "";
  FAILS(has_library ? CUDA_SUCCESS : CUDA_ERROR_NO_BINARY_FOR_GPU, launch(function, stream, parameters));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), has_library ? 4711u : 0u);
}

TEST_F(SimulatedDriverLaunch, L6_handles_of_unloaded_code_are_invalid_and_their_values_can_come_back) {
  if (!on_simulation()) GTEST_SKIP() << "undefined on a real driver";
  if (!run_by_another()) {
    const std::string name =
        "SimulatedDriverLaunch.L6_handles_of_unloaded_code_are_invalid_and_their_values_can_come_back";
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_REUSE_HANDLES", "1"}}), 0);
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_REUSE_HANDLES", "0"}}), 0);
    return;
  }
  CUmodule loaded = nullptr;
  CUfunction function = nullptr, again = nullptr;
  const char* const one_kernel = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry nothing() { ret; }\n";
  OK(CU(cuModuleLoadData)(&loaded, one_kernel));
  OK(CU(cuModuleGetFunction)(&function, loaded, "nothing"));
  OK(CU(cuModuleUnload)(loaded));
  FAILS(CUDA_ERROR_INVALID_HANDLE, launch(function, stream, nullptr));
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuModuleUnload)(loaded));
  OK(CU(cuModuleLoadData)(&loaded, one_kernel));
  OK(CU(cuModuleGetFunction)(&again, loaded, "nothing"));
  EXPECT_EQ(function == again, std::string(std::getenv("REFRAIN_SIM_REUSE_HANDLES")) == "1");
}

}  // namespace
}  // namespace refrain::tests
