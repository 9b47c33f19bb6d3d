// Executable graphs: patching, and what a patch may not change.
#include "tests/conformance/graphs.h"

namespace refrain::tests::conformance {

PROGRAM(exec_patch_parameters) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  single.launch(p.stream());
  mix.salt = 6;
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  mix.salt = 700;  // copied by then
  single.launch(p.stream());
  note_hash("data", data);
}

PROGRAM(exec_patch_shape) {
  const Words data = p.words(64, 0);
  CUdeviceptr out = data.address;
  unsigned n = 8;
  void* pointers[] = {&out, &n};
  Single single;
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("configuration"), {1, 64}, pointers);
  single.kernel(params);
  params.gridDimX = 3, params.gridDimY = 2, params.blockDimX = 32, params.sharedMemBytes = 256;
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  single.launch(p.stream());
  note_words("shape", data, 0, 8);
}

PROGRAM(exec_patch_function) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  params.func = p.kernel("accumulate");  // takes the first three of these
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  single.launch(p.stream());
  note_hash("data", data);
}

PROGRAM(exec_patch_refused_shape) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  params.gridDimX = 0;
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  params.gridDimX = 1, params.blockDimX = 4096;
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  single.launch(p.stream());
  note_hash("data", data);
}

PROGRAM(exec_patch_does_not_change_the_graph) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  mix.salt = 6;
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  CUDA_KERNEL_NODE_PARAMS answer{};
  TELL(cuGraphKernelNodeGetParams, single.node, &answer);
  if (answer.kernelParams != nullptr) note("salt %u", *static_cast<unsigned*>(answer.kernelParams[3]));
}

PROGRAM(exec_graph_change_does_not_reach_it) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  mix.salt = 6;
  TELL(cuGraphKernelNodeSetParams, single.node, &params);
  single.launch(p.stream());
  note_words("data", data);
}

PROGRAM(exec_patch_node_of_another_graph) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single, other;
  const CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  other.kernel(params);
  TELL(cuGraphExecKernelNodeSetParams, single.exec, other.node, &params);
}

PROGRAM(exec_patch_while_it_runs) {
  // A patch counts for later launches only.
  const Words data = p.words(64, 1), out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  Mix mix(data, 5);
  Single single;
  const CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, mix.pointers);
  single.kernel(params);
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  TELL(cuGraphLaunch, single.exec, stream);
  mix.salt = 6;
  TELL(cuGraphExecKernelNodeSetParams, single.exec, single.node, &params);
  TELL(cuGraphLaunch, single.exec, stream);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(exec_patch_fill) {
  const Words data = p.words(64, 1), other = p.words(64, 1);
  Single single;
  CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 3);
  MUST(cuGraphAddMemsetNode, &single.node, single.graph, nullptr, 0, &fill, p.context());
  single.instantiate();
  fill.dst = other.address, fill.value = 8, fill.width = 10;
  TELL(cuGraphExecMemsetNodeSetParams, single.exec, single.node, &fill, p.context());
  single.launch(p.stream());
  note_words("data", data);
  note_words("other", other, 8, 4);
}

PROGRAM(exec_patch_fill_element_size) {
  const Words data = p.words(64, 1);
  Single single;
  CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 3);
  MUST(cuGraphAddMemsetNode, &single.node, single.graph, nullptr, 0, &fill, p.context());
  single.instantiate();
  fill.elementSize = 1, fill.width = 7;
  TELL(cuGraphExecMemsetNodeSetParams, single.exec, single.node, &fill, p.context());
  single.launch(p.stream());
  note_words("data", data);
}

PROGRAM(exec_patch_fill_to_rows) {
  const Words data = p.words(64, 1);
  Single single;
  CUDA_MEMSET_NODE_PARAMS fill = fill_of(data, 3);
  MUST(cuGraphAddMemsetNode, &single.node, single.graph, nullptr, 0, &fill, p.context());
  single.instantiate();
  fill.width = 4, fill.height = 3, fill.pitch = 64;
  TELL(cuGraphExecMemsetNodeSetParams, single.exec, single.node, &fill, p.context());
  single.launch(p.stream());
  note_hash("data", data);
}

PROGRAM(exec_patch_copy) {
  const Words from = p.words(64, 1), to = p.words(64, 500), other = p.words(64, 900);
  Single single;
  CUDA_MEMCPY3D copy = copy_of(to, from);
  MUST(cuGraphAddMemcpyNode, &single.node, single.graph, nullptr, 0, &copy, p.context());
  single.instantiate();
  copy = copy_of(to, other);
  copy.WidthInBytes = 8;
  TELL(cuGraphExecMemcpyNodeSetParams, single.exec, single.node, &copy, p.context());
  single.launch(p.stream());
  note_words("to", to);
}

PROGRAM(exec_patch_copy_to_host_memory) {
  // The kind of memory at an end may not change.
  const Words from = p.words(64, 1), to = p.words(64, 500);
  const Flag host = p.flag(64);
  Single single;
  CUDA_MEMCPY3D copy = copy_of(to, from);
  MUST(cuGraphAddMemcpyNode, &single.node, single.graph, nullptr, 0, &copy, p.context());
  single.instantiate();
  copy.dstMemoryType = CU_MEMORYTYPE_HOST;
  copy.dstDevice = 0;
  copy.dstHost = host.host;
  TELL(cuGraphExecMemcpyNodeSetParams, single.exec, single.node, &copy, p.context());
}

PROGRAM(exec_patch_copy_to_rows) {
  const Words from = p.words(64, 1), to = p.words(64, 500);
  Single single;
  CUDA_MEMCPY3D copy = copy_of(to, from);
  MUST(cuGraphAddMemcpyNode, &single.node, single.graph, nullptr, 0, &copy, p.context());
  single.instantiate();
  copy.WidthInBytes = 16, copy.Height = 3;
  copy.srcPitch = copy.dstPitch = 64;
  copy.srcHeight = copy.dstHeight = 3;
  TELL(cuGraphExecMemcpyNodeSetParams, single.exec, single.node, &copy, p.context());
}

PROGRAM(exec_patch_host_node) {
  static unsigned first, second;
  first = second = 0;
  Single single;
  CUDA_HOST_NODE_PARAMS host{[](void* data) { ++*static_cast<unsigned*>(data); }, &first};
  MUST(cuGraphAddHostNode, &single.node, single.graph, nullptr, 0, &host);
  single.instantiate();
  host.userData = &second;
  TELL(cuGraphExecHostNodeSetParams, single.exec, single.node, &host);
  single.launch(p.stream());
  note("first %u second %u", first, second);
}

PROGRAM(exec_disable_node) {
  const Words data = p.words(64, 1);
  Mix mix(data, 5);
  Single single;
  single.kernel(kernel_node(p.kernel("mix"), {1, 64}, mix.pointers));
  unsigned enabled = 9;
  TELL(cuGraphNodeGetEnabled, single.exec, single.node, &enabled);
  note("enabled %u", enabled);
  TELL(cuGraphNodeSetEnabled, single.exec, single.node, 0);
  single.launch(p.stream());
  note_words("data", data);
  TELL(cuGraphNodeSetEnabled, single.exec, single.node, 1);
  single.launch(p.stream());
  note_words("data", data);
}

PROGRAM(exec_disable_empty_node) {
  Single single;
  MUST(cuGraphAddEmptyNode, &single.node, single.graph, nullptr, 0);
  single.instantiate();
  TELL(cuGraphNodeSetEnabled, single.exec, single.node, 0);
}

PROGRAM(exec_null_handles) {
  CUDA_KERNEL_NODE_PARAMS params{};
  TELL(cuGraphLaunch, nullptr, p.stream());
  TELL(cuGraphUpload, nullptr, p.stream());
  TELL(cuGraphExecDestroy, nullptr);
  TELL(cuGraphExecKernelNodeSetParams, nullptr, nullptr, &params);
}

}  // namespace refrain::tests::conformance
