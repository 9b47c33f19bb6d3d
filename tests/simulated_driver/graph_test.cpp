// Graphs and executable graphs.
#include <vector>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

class SimulatedDriverGraphs : public SimulatedDriver {
 protected:
  void SetUp() override {
    SimulatedDriver::SetUp();
    OK(CU(cuGraphCreate)(&graph, 0));
  }

  /// Parameters of a node that appends `value`; they live until the next call.
  CUDA_KERNEL_NODE_PARAMS appending(CUdeviceptr address, unsigned value) {
    address_ = address;
    value_ = value;
    CUDA_KERNEL_NODE_PARAMS made{};
    made.func = append_kernel;
    made.gridDimX = made.gridDimY = made.gridDimZ = made.blockDimX = made.blockDimY = made.blockDimZ = 1;
    made.kernelParams = pointers_;
    return made;
  }

  CUgraphNode add(unsigned value, std::vector<CUgraphNode> after) {
    const CUDA_KERNEL_NODE_PARAMS made = appending(buffer, value);
    CUgraphNode node = nullptr;
    EXPECT_EQ(CU(cuGraphAddKernelNode)(&node, graph, after.data(), after.size(), &made), CUDA_SUCCESS);
    return node;
  }

  CUgraphExec instantiate() {
    CUgraphExec exec = nullptr;
    EXPECT_EQ(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0), CUDA_SUCCESS);
    return exec;
  }

  /// What the buffer holds after one launch on a cleared buffer.
  unsigned run(CUgraphExec exec) {
    EXPECT_EQ(CU(cuMemsetD8Async)(buffer, 0, 64, stream), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuGraphLaunch)(exec, stream), CUDA_SUCCESS);
    EXPECT_EQ(CU(cuStreamSynchronize)(stream), CUDA_SUCCESS);
    return read(buffer);
  }

  CUgraph graph = nullptr;

 private:
  CUdeviceptr address_ = 0;
  unsigned value_ = 0;
  void* pointers_[2] = {&address_, &value_};
};

TEST_F(SimulatedDriverGraphs, nodes_run_in_the_order_of_their_edges) {
  const CUgraphNode third = add(3, {});
  const CUgraphNode first = add(1, {});
  const CUgraphNode second = add(2, {first});
  OK(CU(cuGraphAddDependencies)(graph, &second, &third, nullptr, 1));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphAddDependencies)(graph, &second, &third, nullptr, 1));
  EXPECT_EQ(run(instantiate()), 123u);
  OK(CU(cuGraphAddDependencies)(graph, &third, &first, nullptr, 1));
  CUgraphExec exec = nullptr;
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
}

TEST_F(SimulatedDriverGraphs, V1_parameters_of_an_instantiated_node_are_replaced_for_later_launches) {
  const CUgraphNode first = add(1, {});
  add(2, {first});
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(run(exec), 12u);
  OK(CU(cuMemsetD8Async)(buffer, 0, 64, stream));
  OK(spin(stream));
  OK(CU(cuGraphLaunch)(exec, stream));
  CUDA_KERNEL_NODE_PARAMS changed = appending(buffer, 7);
  OK(CU(cuGraphExecKernelNodeSetParams)(exec, first, &changed));
  go();
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 12u);  // the launch before the change
  EXPECT_EQ(run(exec), 72u);
  changed.gridDimX = 0;
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecKernelNodeSetParams)(exec, first, &changed));
  changed = appending(buffer, 1);
  changed.sharedMemBytes = 100000;
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecKernelNodeSetParams)(exec, first, &changed));
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecKernelNodeSetParams)(exec, nullptr, &changed));
  EXPECT_EQ(run(exec), 72u);
}

TEST_F(SimulatedDriverGraphs, the_getter_hands_out_the_nodes_own_parameters) {
  const CUgraphNode node = add(4, {});
  CUDA_KERNEL_NODE_PARAMS got{};
  OK(CU(cuGraphKernelNodeGetParams)(node, &got));
  EXPECT_EQ(got.func, append_kernel);
  EXPECT_EQ(got.kern, nullptr);
  EXPECT_EQ(got.ctx, context);
  ASSERT_NE(got.kernelParams, nullptr);
  EXPECT_EQ(*static_cast<unsigned*>(got.kernelParams[1]), 4u);
  const CUgraphExec exec = instantiate();
  unsigned value = 5;
  got.kernelParams[1] = &value;
  OK(CU(cuGraphExecKernelNodeSetParams)(exec, node, &got));
  EXPECT_EQ(run(exec), 5u);
}

TEST_F(SimulatedDriverGraphs, a_captured_kernel_handle_comes_back_as_its_function_and_itself) {
  CUlibrary library = nullptr;
  CUkernel kernel = nullptr;
  OK(CU(cuLibraryLoadData)(&library, test_ptx, nullptr, nullptr, 0, nullptr, nullptr, 0));
  OK(CU(cuLibraryGetKernel)(&kernel, library, "append"));
  CUfunction function = nullptr;
  OK(CU(cuKernelGetFunction)(&function, kernel));
  CUdeviceptr address = buffer;
  unsigned value = 6;
  void* parameters[] = {&address, &value};
  OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
  OK(launch(reinterpret_cast<CUfunction>(kernel), stream, parameters));
  OK(CU(cuStreamEndCapture)(stream, &graph));
  CUgraphNode node = nullptr;
  size_t one = 1;
  OK(CU(cuGraphGetNodes)(graph, &node, &one));
  CUDA_KERNEL_NODE_PARAMS got{};
  OK(CU(cuGraphKernelNodeGetParams)(node, &got));
  EXPECT_EQ(got.func, function);
  EXPECT_EQ(got.kern, kernel);
  const CUgraphExec exec = instantiate();
  value = 8;
  got.kernelParams = parameters;
  OK(CU(cuGraphExecKernelNodeSetParams)(exec, node, &got));
  EXPECT_EQ(run(exec), 8u);
  CUDA_KERNEL_NODE_PARAMS wrong = got;
  wrong.func = reinterpret_cast<CUfunction>(kernel);
  CUgraphNode refused = nullptr;
  FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuGraphAddKernelNode)(&refused, graph, nullptr, 0, &wrong));
}

TEST_F(SimulatedDriverGraphs, V13_fills_and_copies_are_updated_in_one_dimension) {
  CUDA_MEMSET_NODE_PARAMS fill{buffer, 0, 3, 4, 8, 1};
  CUgraphNode fill_node = nullptr, copy_node = nullptr;
  OK(CU(cuGraphAddMemsetNode)(&fill_node, graph, nullptr, 0, &fill, context));
  CUDA_MEMCPY3D copy{};
  copy.srcMemoryType = copy.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  copy.srcDevice = buffer;
  copy.dstDevice = buffer + 512;
  copy.WidthInBytes = 4;
  copy.Height = copy.Depth = 1;
  OK(CU(cuGraphAddMemcpyNode)(&copy_node, graph, &fill_node, 1, &copy, context));
  const CUgraphExec exec = instantiate();
  EXPECT_EQ(run(exec), 3u);
  fill.value = 9;
  OK(CU(cuGraphExecMemsetNodeSetParams)(exec, fill_node, &fill, context));
  copy.dstDevice = buffer + 1024;
  OK(CU(cuGraphExecMemcpyNodeSetParams)(exec, copy_node, &copy, context));
  EXPECT_EQ(run(exec), 9u);
  EXPECT_EQ(read(buffer + 512), 3u);
  EXPECT_EQ(read(buffer + 1024), 9u);
  fill.height = 2;
  fill.pitch = 64;
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecMemsetNodeSetParams)(exec, fill_node, &fill, context));
  CUDA_MEMCPY3D from_host = copy;
  from_host.srcMemoryType = CU_MEMORYTYPE_HOST;
  from_host.srcHost = flag;
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecMemcpyNodeSetParams)(exec, copy_node, &from_host, context));
  CUDA_KERNEL_NODE_PARAMS kernel = appending(buffer, 1);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecKernelNodeSetParams)(exec, fill_node, &kernel));
}

TEST_F(SimulatedDriverGraphs, one_executable_graph_does_not_overlap_itself) {
  CUstream other = nullptr;
  OK(CU(cuStreamCreate)(&other, CU_STREAM_NON_BLOCKING));
  add(1, {});
  const CUgraphExec exec = instantiate();
  OK(spin(stream));
  OK(CU(cuGraphLaunch)(exec, stream));
  OK(CU(cuGraphLaunch)(exec, other));
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(other));
  go();
  OK(CU(cuStreamSynchronize)(other));
  EXPECT_EQ(read(buffer), 11u);
  OK(CU(cuStreamDestroy)(other));
}

TEST_F(SimulatedDriverGraphs, L9_an_executable_graph_may_be_destroyed_while_it_runs) {
  const CUgraphNode node = add(1, {});
  add(2, {node});
  const CUgraphExec exec = instantiate();
  OK(spin(stream));
  OK(CU(cuGraphLaunch)(exec, stream));
  OK(CU(cuGraphDestroy)(graph));
  OK(CU(cuGraphExecDestroy)(exec));
  go();
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(read(buffer), 12u);
}

TEST_F(SimulatedDriverGraphs, updates_need_the_node_they_name) {
  if (!on_simulation()) GTEST_SKIP() << "undefined on a real driver";
  const CUgraphNode node = add(1, {});
  const CUgraphExec exec = instantiate();
  OK(CU(cuGraphDestroy)(graph));
  const CUDA_KERNEL_NODE_PARAMS changed = appending(buffer, 5);
  FAILS(CUDA_ERROR_INVALID_VALUE, CU(cuGraphExecKernelNodeSetParams)(exec, node, &changed));
  EXPECT_EQ(run(exec), 1u);
}

TEST_F(SimulatedDriverGraphs, child_graphs_clones_and_whole_updates) {
  const CUgraphNode node = add(1, {});
  CUgraph outer = nullptr;
  OK(CU(cuGraphCreate)(&outer, 0));
  CUgraphNode child = nullptr, after = nullptr;
  OK(CU(cuGraphAddChildGraphNode)(&child, outer, nullptr, 0, graph));
  const CUDA_KERNEL_NODE_PARAMS next = appending(buffer, 2);
  OK(CU(cuGraphAddKernelNode)(&after, outer, &child, 1, &next));
  CUgraphExec exec = nullptr;
  OK(CU(cuGraphInstantiateWithFlags)(&exec, outer, 0));
  EXPECT_EQ(run(exec), 12u);
  CUgraph clone = nullptr;
  CUgraphNode in_clone = nullptr;
  OK(CU(cuGraphClone)(&clone, graph));
  OK(CU(cuGraphNodeFindInClone)(&in_clone, node, clone));
  EXPECT_NE(in_clone, node);
  const CUDA_KERNEL_NODE_PARAMS changed = appending(buffer, 9);
  OK(CU(cuGraphKernelNodeSetParams)(in_clone, &changed));
  const CUgraphExec plain = instantiate();
  EXPECT_EQ(run(plain), 1u);
  CUgraphExecUpdateResultInfo info{};
  OK(CU(cuGraphExecUpdate)(plain, clone, &info));
  EXPECT_EQ(run(plain), 9u);
  FAILS(CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE, CU(cuGraphExecUpdate)(plain, outer, &info));
  EXPECT_EQ(info.result, CU_GRAPH_EXEC_UPDATE_ERROR_TOPOLOGY_CHANGED);
}

TEST_F(SimulatedDriverGraphs, events_and_host_functions_are_nodes) {
  CUevent event = nullptr;
  OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  static unsigned calls = 0;
  calls = 0;
  CUDA_HOST_NODE_PARAMS host{
      [](void* add_this) { calls += static_cast<unsigned>(reinterpret_cast<uintptr_t>(add_this)); },
      reinterpret_cast<void*>(1)};
  CUgraphNode host_node = nullptr, record = nullptr, held = nullptr;
  OK(CU(cuGraphAddHostNode)(&host_node, graph, nullptr, 0, &host));
  OK(CU(cuGraphAddEventRecordNode)(&record, graph, &host_node, 1, event));
  CUdeviceptr word = reinterpret_cast<CUdeviceptr>(flag);
  void* parameters[] = {&word};
  CUDA_KERNEL_NODE_PARAMS spinning = appending(buffer, 1);
  spinning.func = spin_kernel;
  spinning.kernelParams = parameters;
  OK(CU(cuGraphAddKernelNode)(&held, graph, &record, 1, &spinning));
  const CUgraphExec exec = instantiate();
  *flag = 0;
  OK(CU(cuGraphLaunch)(exec, stream));
  OK(CU(cuEventSynchronize)(event));  // inside the graph, before the kernel that still runs
  EXPECT_EQ(calls, 1u);
  FAILS(CUDA_ERROR_NOT_READY, CU(cuStreamQuery)(stream));
  go();
  OK(CU(cuStreamSynchronize)(stream));
  host.userData = reinterpret_cast<void*>(10);
  OK(CU(cuGraphExecHostNodeSetParams)(exec, host_node, &host));
  OK(CU(cuGraphLaunch)(exec, stream));
  OK(CU(cuStreamSynchronize)(stream));
  EXPECT_EQ(calls, 11u);
  OK(CU(cuEventDestroy)(event));
}

TEST_F(SimulatedDriverGraphs, L7_executable_graphs_take_device_memory) {
  size_t before = 0, with = 0, after = 0, total = 0;
  CUgraphNode last = add(1, {});
  for (int i = 0; i < 2000; ++i) last = add(1, {last});
  OK(CU(cuMemGetInfo)(&before, &total));
  const CUgraphExec exec = instantiate();
  OK(CU(cuMemGetInfo)(&with, &total));
  EXPECT_GE(before - with, size_t{2000} * 1024);
  OK(CU(cuGraphExecDestroy)(exec));
  OK(CU(cuMemGetInfo)(&after, &total));
  if (on_simulation()) {
    EXPECT_EQ(before, after);
  }
}

TEST_F(SimulatedDriverGraphs, L6_a_graph_whose_code_was_unloaded_faults) {
  if (!on_simulation()) GTEST_SKIP() << "undefined on a real driver";
  if (!run_by_another()) {
    EXPECT_EQ(run_again("SimulatedDriverGraphs.L6_a_graph_whose_code_was_unloaded_faults", {}), 0);
    return;
  }
  add(1, {});
  const CUgraphExec exec = instantiate();
  OK(CU(cuModuleUnload)(module));
  OK(CU(cuGraphLaunch)(exec, stream));
  FAILS(CUDA_ERROR_ILLEGAL_INSTRUCTION, CU(cuStreamSynchronize)(stream));
}

}  // namespace
}  // namespace refrain::tests
