// Modules, libraries, functions, kernels: what the handles say.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

// The kernels of this text have the names and parameters of kernels that the simulated driver knows.
const char bounded_text[] = R"ptx(
.version 8.1
.target sm_70
.address_size 64
.global .align 4 .u32 counter[3];
.visible .entry fill(.param .u64 p0, .param .u32 p1, .param .u32 p2)
.maxntid 128, 1, 1
{
  .reg .pred %p<2>;
  .reg .b32 %r<10>;
  .reg .b64 %rd<5>;
  ld.param.u64 %rd1, [p0];
  ld.param.u32 %r1, [p1];
  ld.param.u32 %r2, [p2];
  cvta.to.global.u64 %rd2, %rd1;
  mov.u32 %r3, %ctaid.x;
  mov.u32 %r4, %ntid.x;
  mov.u32 %r5, %tid.x;
  mad.lo.s32 %r6, %r3, %r4, %r5;
  setp.ge.u32 %p1, %r6, %r1;
  @%p1 bra DONE;
  mul.wide.u32 %rd3, %r6, 4;
  add.s64 %rd4, %rd2, %rd3;
  add.s32 %r7, %r6, %r2;
  st.global.u32 [%rd4], %r7;
DONE:
  ret;
}
)ptx";

const char cluster_text[] = R"ptx(
.version 8.1
.target sm_90
.address_size 64
.visible .entry empty()
.explicitcluster
.reqnctapercluster 2, 1, 1
{
  ret;
}
)ptx";

}  // namespace

PROGRAM(module_get_function) {
  CUfunction function = nullptr, again = nullptr;
  TELL(cuModuleGetFunction, &function, p.module(), "mix");
  TELL(cuModuleGetFunction, &again, p.module(), "mix");
  note("same %d", function == again);
  TELL(cuModuleGetFunction, &function, p.module(), "no such kernel");
}

PROGRAM(module_get_function_bad_arguments) {
  CUfunction function = nullptr;
  TELL(cuModuleGetFunction, nullptr, p.module(), "mix");
  TELL(cuModuleGetFunction, &function, p.module(), nullptr);
  TELL(cuModuleGetFunction, &function, nullptr, "mix");
}

PROGRAM(module_load_and_unload) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuModuleLoadData, &module, bounded_text);
  TELL(cuModuleGetFunction, &function, module, "fill");
  launch(function, {1, 64}, stream, data.address, 64u, 9u);
  TELL(cuStreamSynchronize, stream);
  TELL(cuModuleUnload, module);
  note_words("data", data);
}

PROGRAM(module_load_bad_text) {
  CUmodule module = nullptr;
  TELL(cuModuleLoadData, &module, "this is no code");
}

PROGRAM(module_load_bad_arguments) {
  CUmodule module = nullptr;
  TELL(cuModuleLoadData, nullptr, bounded_text);
  TELL(cuModuleLoadData, &module, nullptr);
}

PROGRAM(module_load_of_a_future_version) {
  CUmodule module = nullptr;
  TELL(cuModuleLoadData, &module, ".version 19.0\n.target sm_70\n.address_size 64\n");
}

PROGRAM(module_global) {
  CUmodule module = nullptr;
  CUdeviceptr address = 0;
  std::size_t bytes = 0;
  MUST(cuModuleLoadData, &module, bounded_text);
  TELL(cuModuleGetGlobal, &address, &bytes, module, "counter");
  note("bytes %zu", bytes);
  unsigned value = 9;
  TELL(cuMemcpyDtoH, &value, address, 4);
  note("value %u", value);
  TELL(cuModuleGetGlobal, &address, &bytes, module, "no such thing");
  TELL(cuModuleUnload, module);
}

PROGRAM(module_function_count) {
  CUmodule module = nullptr;
  unsigned count = 0;
  MUST(cuModuleLoadData, &module, bounded_text);
  TELL(cuModuleGetFunctionCount, &count, module);
  note("count %u", count);
  TELL(cuModuleUnload, module);
}

PROGRAM(module_unload_waits) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  const Words data = p.words(64, 1);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  MUST(cuModuleLoadData, &module, bounded_text);
  MUST(cuModuleGetFunction, &function, module, "fill");
  launch(function, {1, 64}, stream, data.address, 64u, 9u);
  launch(p.kernel("tell"), {1, 1}, stream, go.device, 1u);
  TELL(cuModuleUnload, module);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(module_bounded_block) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  int most = 0;
  const Words data = p.words(256, 1);
  const CUstream stream = p.stream();
  MUST(cuModuleLoadData, &module, bounded_text);
  MUST(cuModuleGetFunction, &function, module, "fill");
  TELL(cuFuncGetAttribute, &most, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  note("most %d", most);
  launch(function, {1, 128}, stream, data.address, 64u, 9u);
  launch(function, {1, 256}, stream, data.address, 64u, 9u);
  TELL(cuStreamSynchronize, stream);
  MUST(cuModuleUnload, module);
}

PROGRAM(module_fixed_cluster) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  int value = 9;
  const CUstream stream = p.stream();
  MUST(cuModuleLoadData, &module, cluster_text);
  MUST(cuModuleGetFunction, &function, module, "empty");
  TELL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_REQUIRED_CLUSTER_WIDTH, function);
  note("width %d", value);
  TELL(cuLaunchKernel, function, 4, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
  TELL(cuStreamSynchronize, stream);
  MUST(cuModuleUnload, module);
}

PROGRAM(module_fixed_cluster_does_not_divide) {
  CUmodule module = nullptr;
  CUfunction function = nullptr;
  MUST(cuModuleLoadData, &module, cluster_text);
  MUST(cuModuleGetFunction, &function, module, "empty");
  TELL(cuLaunchKernel, function, 3, 1, 1, 32, 1, 1, 0, p.stream(), nullptr, nullptr);
  MUST(cuModuleUnload, module);
}

PROGRAM(library_get_kernel) {
  CUkernel kernel = nullptr, again = nullptr;
  TELL(cuLibraryGetKernel, &kernel, p.library(), "mix");
  TELL(cuLibraryGetKernel, &again, p.library(), "mix");
  note("same %d", kernel == again);
  TELL(cuLibraryGetKernel, &kernel, p.library(), "no such kernel");
}

PROGRAM(library_module) {
  CUmodule module = nullptr;
  CUfunction function = nullptr, of_kernel = nullptr;
  TELL(cuLibraryGetModule, &module, p.library());
  TELL(cuModuleGetFunction, &function, module, "mix");
  TELL(cuKernelGetFunction, &of_kernel, p.library_kernel("mix"));
  note("same %d", function == of_kernel);
}

PROGRAM(library_module_cannot_be_unloaded) {
  CUmodule module = nullptr;
  MUST(cuLibraryGetModule, &module, p.library());
  TELL(cuModuleUnload, module);
}

PROGRAM(library_kernel_count) {
  CUlibrary library = nullptr;
  unsigned count = 0;
  TELL(cuLibraryLoadData, &library, bounded_text, nullptr, nullptr, 0, nullptr, nullptr, 0);
  TELL(cuLibraryGetKernelCount, &count, library);
  note("count %u", count);
  TELL(cuLibraryUnload, library);
}

PROGRAM(library_names) {
  const char* name = nullptr;
  CUlibrary library = nullptr;
  const CUkernel kernel = p.library_kernel("mix");
  TELL(cuKernelGetName, &name, kernel);
  note("name %s", name);
  TELL(cuKernelGetLibrary, &library, kernel);
  note("same %d", library == p.library());
}

PROGRAM(function_name_and_module) {
  const char* name = nullptr;
  CUmodule module = nullptr;
  const CUfunction function = p.kernel("accumulate");
  TELL(cuFuncGetName, &name, function);
  note("name %s", name);
  TELL(cuFuncGetModule, &module, function);
  note("same %d", module == p.module());
}

PROGRAM(function_module_of_a_kernel) {
  CUmodule module = nullptr;
  TELL(cuFuncGetModule, &module, reinterpret_cast<CUfunction>(p.library_kernel("mix")));
}

PROGRAM(function_attributes) {
  const CUfunction function = p.kernel("mix");
  int value = 9;
  TELL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, function);
  note("most threads %d", value);
  TELL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES, function);
  note("static shared %d", value);
  TELL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
  note("dynamic shared %d", value);
  TELL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_CLUSTER_SIZE_MUST_BE_SET, function);
  note("cluster must be set %d", value);
}

PROGRAM(function_attribute_set) {
  const CUfunction function = p.kernel("scale");
  int value = 9;
  TELL(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536);
  TELL(cuFuncGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, function);
  note("dynamic shared %d", value);
  TELL(cuFuncSetAttribute, function, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152);
}

PROGRAM(function_attribute_read_only) {
  TELL(cuFuncSetAttribute, p.kernel("mix"), CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, 64);
}

PROGRAM(function_attribute_unknown) {
  int value = 9;
  TELL(cuFuncGetAttribute, &value, static_cast<CUfunction_attribute>(99), p.kernel("mix"));
  TELL(cuFuncGetAttribute, nullptr, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, p.kernel("mix"));
}

PROGRAM(kernel_attributes) {
  const CUkernel kernel = p.library_kernel("scale");
  int value = 9;
  TELL(cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK, kernel, p.device());
  note("most threads %d", value);
  TELL(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 65536, kernel, p.device());
  TELL(cuKernelGetAttribute, &value, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, kernel, p.device());
  note("dynamic shared %d", value);
  TELL(cuKernelSetAttribute, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 49152, kernel, p.device());
}

PROGRAM(function_load) {
  CUfunctionLoadingState state{};
  const CUfunction function = p.kernel("mix");
  TELL(cuFuncLoad, function);
  TELL(cuFuncIsLoaded, &state, function);
  note("loaded %d", static_cast<int>(state));
}

PROGRAM(function_cache_config) {
  TELL(cuFuncSetCacheConfig, p.kernel("mix"), CU_FUNC_CACHE_PREFER_L1);
  TELL(cuFuncSetCacheConfig, p.kernel("mix"), CU_FUNC_CACHE_PREFER_NONE);
}

PROGRAM(function_occupancy) {
  int blocks = 0;
  TELL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, p.kernel("empty"), 1024, 0);
  note("blocks %d", blocks);
  TELL(cuOccupancyMaxActiveBlocksPerMultiprocessor, &blocks, p.kernel("empty"), 32, 0);
  note("blocks %d", blocks);
}

}  // namespace refrain::tests::conformance
