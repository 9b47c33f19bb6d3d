#include "tests/replay/recording_driver.h"

#include <chrono>
#include <cstring>
#include <memory>
#include <mutex>
#include <utility>

namespace refrain::tests {

std::vector<Executed> RecordingDriver::executed;
std::atomic<std::size_t> RecordingDriver::executed_count{0};
std::atomic<int> RecordingDriver::launches_begun{0};
std::map<std::string, int> RecordingDriver::calls;
std::map<std::string, CUresult> RecordingDriver::fails;
std::map<std::string, std::int64_t> RecordingDriver::takes;
CUcontext RecordingDriver::context = nullptr;
std::map<CUstream, unsigned> RecordingDriver::flags;
std::set<CUstream> RecordingDriver::captured;
std::vector<CUstream> RecordingDriver::events, RecordingDriver::queries;

namespace {

struct Function {
  std::vector<unsigned> offsets, sizes;
  bool layout_known = true;
  std::string name;
};

struct GraphNode {
  Executed operation;
  GraphNode* after = nullptr;
};

struct Graph {
  std::vector<std::unique_ptr<GraphNode>> nodes;
};

struct Exec {
  std::vector<Executed> operations;
  std::map<GraphNode*, std::size_t> place;
};

std::map<std::uint64_t, Function> functions;
std::mutex lists;  // calls, fails and executed, while threads of the engine call as well
std::vector<CUcontext> context_stack;
std::set<CUgraphExec> live_graphs;  ///< executable ones

void take_time(const char* name) {
  const auto found = RecordingDriver::takes.find(name);
  if (found == RecordingDriver::takes.end()) return;
  const auto end = std::chrono::steady_clock::now() + std::chrono::nanoseconds(found->second);
  while (std::chrono::steady_clock::now() < end) {
  }
}

bool fails(const char* name, CUresult& error) {
  take_time(name);
  const std::lock_guard guard(lists);
  ++RecordingDriver::calls[name];
  const auto found = RecordingDriver::fails.find(name);
  if (found == RecordingDriver::fails.end()) return false;
  error = found->second;
  return true;
}

CUresult submit(Executed operation) {
  operation.context = RecordingDriver::context;
  const std::lock_guard guard(lists);
  RecordingDriver::executed.push_back(operation);
  RecordingDriver::executed_count.store(RecordingDriver::executed.size(), std::memory_order_release);
  return CUDA_SUCCESS;
}

std::vector<std::uint8_t> read(CUfunction function, void** parameters) {
  const Function& known = functions.at(reinterpret_cast<std::uint64_t>(function));
  std::vector<std::uint8_t> bytes;
  for (std::size_t index = 0; index < known.sizes.size(); ++index) {
    const auto* from = static_cast<const std::uint8_t*>(parameters[index]);
    bytes.insert(bytes.end(), from, from + known.sizes[index]);
  }
  return bytes;
}

template <typename Value>
std::vector<std::uint8_t> bytes_of(const Value& value) {
  std::vector<std::uint8_t> bytes(sizeof value);
  std::memcpy(bytes.data(), &value, sizeof value);
  return bytes;
}

CUresult launch_with(CUfunction function, unsigned gx, unsigned bx, unsigned shared, CUstream stream, void** parameters,
                     unsigned attributes) {
  CUresult error{};
  if (fails("cuLaunchKernel", error)) return error;
  if (gx == 0 || bx > 1024) return CUDA_ERROR_INVALID_VALUE;
  return submit({reinterpret_cast<std::uint64_t>(function), read(function, parameters), gx, bx, shared, stream, false,
                 nullptr, attributes});
}

CUresult launch(CUfunction function, unsigned gx, unsigned, unsigned, unsigned bx, unsigned, unsigned, unsigned shared,
                CUstream stream, void** parameters, void**) {
  return launch_with(function, gx, bx, shared, stream, parameters, 0);
}

CUresult launch_ex(const CUlaunchConfig* config, CUfunction function, void** parameters, void**) {
  return launch_with(function, config->gridDimX, config->blockDimX, config->sharedMemBytes, config->hStream, parameters,
                     config->numAttrs);
}

CUresult copy_bytes(CUdeviceptr to, CUdeviceptr from, std::size_t bytes, CUstream stream) {
  const std::uint64_t all[] = {to, from, bytes};
  return submit({0, bytes_of(all), 0, 0, 0, stream, false});
}

CUresult set_words(CUdeviceptr address, unsigned value, std::size_t words, CUstream stream) {
  const std::uint64_t all[] = {address, value, words};
  return submit({0, bytes_of(all), 0, 0, 0, stream, false});
}

CUresult add(CUgraph graph, const CUgraphNode* after, const Executed& operation, CUgraphNode* node) {
  auto& nodes = reinterpret_cast<Graph*>(graph)->nodes;
  auto* before = after != nullptr ? reinterpret_cast<GraphNode*>(*after) : nullptr;
  nodes.push_back(std::make_unique<GraphNode>(GraphNode{operation, before}));
  *node = reinterpret_cast<CUgraphNode>(nodes.back().get());
  return CUDA_SUCCESS;
}

void fill_graphs(replay::Driver& driver) {
  driver.cuThreadExchangeStreamCaptureMode = [](CUstreamCaptureMode*) { return CUDA_SUCCESS; };
  driver.cuStreamIsCapturing = [](CUstream stream, CUstreamCaptureStatus* status) {
    const bool captured = RecordingDriver::captured.count(stream) != 0;
    *status = captured ? CU_STREAM_CAPTURE_STATUS_ACTIVE : CU_STREAM_CAPTURE_STATUS_NONE;
    return CUDA_SUCCESS;
  };
  driver.cuGraphCreate = [](CUgraph* graph, unsigned) {
    CUresult error{};
    if (fails("cuGraphCreate", error)) return error;
    *graph = reinterpret_cast<CUgraph>(new Graph);
    return CUDA_SUCCESS;
  };
  driver.cuGraphAddKernelNode_v2 = [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t,
                                      const CUDA_KERNEL_NODE_PARAMS* values) {
    CUresult error{};
    if (fails("cuGraphAddKernelNode_v2", error)) return error;
    return add(graph, after,
               {reinterpret_cast<std::uint64_t>(values->func), read(values->func, values->kernelParams),
                values->gridDimX, values->blockDimX, values->sharedMemBytes, nullptr, true},
               node);
  };
  driver.cuGraphAddDependencies_v2 = [](CUgraph, const CUgraphNode* from, const CUgraphNode* to,
                                        const CUgraphEdgeData* edges, size_t) {
    CUresult error{};
    if (edges != nullptr && fails("cuGraphAddDependencies_v2", error)) return error;
    if (fails("any dependency", error)) return error;
    auto& node = *reinterpret_cast<GraphNode*>(*to);
    node.after = reinterpret_cast<GraphNode*>(*from);
    // What was an attribute of the launch.
    const bool early = edges != nullptr && edges->type == CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC &&
                       edges->from_port == CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC;
    if (early) ++node.operation.attributes;
    return CUDA_SUCCESS;
  };
  driver.cuGraphKernelNodeSetAttribute = [](CUgraphNode node, CUlaunchAttributeID, const CUlaunchAttributeValue*) {
    ++reinterpret_cast<GraphNode*>(node)->operation.attributes;
    return CUDA_SUCCESS;
  };
  driver.cuGraphAddMemsetNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t,
                                   const CUDA_MEMSET_NODE_PARAMS* values, CUcontext) {
    const std::uint64_t all[] = {values->dst, values->value, values->width};
    return add(graph, after, {0, bytes_of(all), 0, 0, 0, nullptr, true}, node);
  };
  driver.cuGraphAddMemcpyNode = [](CUgraphNode* node, CUgraph graph, const CUgraphNode* after, size_t,
                                   const CUDA_MEMCPY3D* values, CUcontext) {
    const std::uint64_t all[] = {values->dstDevice, values->srcDevice, values->WidthInBytes};
    return add(graph, after, {0, bytes_of(all), 0, 0, 0, nullptr, true}, node);
  };
  driver.cuGraphInstantiateWithFlags = [](CUgraphExec* exec, CUgraph graph, unsigned long long) {
    CUresult error{};
    if (fails("cuGraphInstantiateWithFlags", error)) return error;
    auto* made = new Exec;
    // What no edge puts behind the node before it may run first.
    const GraphNode* last = nullptr;
    for (const auto& node : reinterpret_cast<Graph*>(graph)->nodes) {
      const bool in_order = node->after == last;
      last = node.get();
      for (auto& [other, place] : made->place) place += in_order ? 0 : 1;
      made->place[node.get()] = in_order ? made->operations.size() : 0;
      made->operations.insert(in_order ? made->operations.end() : made->operations.begin(), node->operation);
    }
    *exec = reinterpret_cast<CUgraphExec>(made);
    const std::lock_guard guard(lists);
    live_graphs.insert(*exec);
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecKernelNodeSetParams_v2 = [](CUgraphExec exec, CUgraphNode node,
                                                const CUDA_KERNEL_NODE_PARAMS* values) {
    CUresult error{};
    if (fails("cuGraphExecKernelNodeSetParams_v2", error)) return error;
    auto& made = *reinterpret_cast<Exec*>(exec);
    Executed& operation = made.operations[made.place.at(reinterpret_cast<GraphNode*>(node))];
    operation.bytes = read(values->func, values->kernelParams);
    operation.grid = values->gridDimX;
    operation.block = values->blockDimX;
    operation.shared = values->sharedMemBytes;
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecMemsetNodeSetParams = [](CUgraphExec exec, CUgraphNode node, const CUDA_MEMSET_NODE_PARAMS* values,
                                             CUcontext) {
    CUresult error{};
    if (fails("cuGraphExecMemsetNodeSetParams", error)) return error;
    auto& made = *reinterpret_cast<Exec*>(exec);
    const std::uint64_t all[] = {values->dst, values->value, values->width};
    made.operations[made.place.at(reinterpret_cast<GraphNode*>(node))].bytes = bytes_of(all);
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecMemcpyNodeSetParams = [](CUgraphExec exec, CUgraphNode node, const CUDA_MEMCPY3D* values,
                                             CUcontext) {
    CUresult error{};
    if (fails("cuGraphExecMemcpyNodeSetParams", error)) return error;
    auto& made = *reinterpret_cast<Exec*>(exec);
    const std::uint64_t all[] = {values->dstDevice, values->srcDevice, values->WidthInBytes};
    made.operations[made.place.at(reinterpret_cast<GraphNode*>(node))].bytes = bytes_of(all);
    return CUDA_SUCCESS;
  };
  driver.cuGraphLaunch = [](CUgraphExec exec, CUstream stream) {
    ++RecordingDriver::launches_begun;
    CUresult error{};
    if (fails("cuGraphLaunch", error)) return error;
    {
      const std::lock_guard guard(lists);
      if (live_graphs.count(exec) == 0) {
        ++RecordingDriver::calls["launch of a destroyed graph"];
        return CUDA_ERROR_INVALID_VALUE;
      }
    }
    for (Executed operation : reinterpret_cast<Exec*>(exec)->operations) {
      operation.stream = stream;
      operation.by_graph = true;
      submit(operation);
    }
    return CUDA_SUCCESS;
  };
  driver.cuGraphExecDestroy = [](CUgraphExec exec) {
    const std::lock_guard guard(lists);
    ++RecordingDriver::calls["cuGraphExecDestroy"];
    live_graphs.erase(exec);
    delete reinterpret_cast<Exec*>(exec);
    return CUDA_SUCCESS;
  };
  driver.cuGraphDestroy = [](CUgraph graph) {
    delete reinterpret_cast<Graph*>(graph);
    return CUDA_SUCCESS;
  };
}

void fill_streams(replay::Driver& driver) {
  driver.cuCtxGetCurrent = [](CUcontext* current) {
    *current = RecordingDriver::context;
    return CUDA_SUCCESS;
  };
  driver.cuCtxPushCurrent_v2 = [](CUcontext pushed) {
    context_stack.push_back(std::exchange(RecordingDriver::context, pushed));
    return CUDA_SUCCESS;
  };
  driver.cuCtxPopCurrent_v2 = [](CUcontext*) {
    RecordingDriver::context = context_stack.back();
    context_stack.pop_back();
    return CUDA_SUCCESS;
  };
  driver.cuStreamGetCtx = [](CUstream, CUcontext* of) {
    *of = RecordingDriver::context;
    return CUDA_SUCCESS;
  };
  driver.cuStreamGetFlags = [](CUstream stream, unsigned* flags) {
    const auto known = RecordingDriver::flags.find(stream);
    const bool even = reinterpret_cast<std::uintptr_t>(stream) % 2 == 0;
    *flags = even ? CU_STREAM_NON_BLOCKING : CU_STREAM_DEFAULT;
    if (known != RecordingDriver::flags.end()) *flags = known->second;
    return CUDA_SUCCESS;
  };
  driver.cuStreamGetPriority = [](CUstream, int* priority) {
    *priority = 0;
    return CUDA_SUCCESS;
  };
  driver.cuEventCreate = [](CUevent* event, unsigned) {
    *event = reinterpret_cast<CUevent>(std::uintptr_t{0xeee0});
    return CUDA_SUCCESS;
  };
  driver.cuEventRecord = [](CUevent, CUstream stream) {
    RecordingDriver::events.push_back(stream);
    return CUDA_SUCCESS;
  };
  driver.cuEventQuery = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuStreamQuery = [](CUstream stream) {
    RecordingDriver::queries.push_back(stream);
    CUresult error{};
    return fails("cuStreamQuery", error) ? error : CUDA_SUCCESS;
  };
  driver.cuEventDestroy_v2 = [](CUevent) { return CUDA_SUCCESS; };
  driver.cuGetErrorName = [](CUresult, const char** name) {
    *name = "an error";
    return CUDA_SUCCESS;
  };
}

CUresult layout(CUfunction handle, std::size_t index, std::size_t* offset, std::size_t* size) {
  const Function& known = functions.at(reinterpret_cast<std::uint64_t>(handle));
  if (!known.layout_known) return CUDA_ERROR_NOT_SUPPORTED;
  if (index >= known.sizes.size()) return CUDA_ERROR_INVALID_VALUE;
  *offset = known.offsets[index];
  *size = known.sizes[index];
  return CUDA_SUCCESS;
}

}  // namespace

const replay::Driver& RecordingDriver::start() {
  static replay::Driver driver;
  executed.clear();
  executed_count.store(0);
  launches_begun = 0;
  calls.clear();
  RecordingDriver::fails.clear();
  RecordingDriver::takes.clear();
  functions.clear();
  flags.clear();
  captured.clear();
  events.clear();
  queries.clear();
  context_stack.clear();
  context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc0});
  driver = {};
  fill_streams(driver);
  fill_graphs(driver);
  driver.cuLaunchKernel = launch;
  driver.cuLaunchKernelEx = launch_ex;
  driver.cuMemsetD32Async = set_words;
  driver.cuMemcpyDtoDAsync_v2 = copy_bytes;
  driver.cuMemGetAddressRange_v2 = [](CUdeviceptr* base, size_t* size, CUdeviceptr) {  // all memory below 64 KiB
    *base = 0;
    *size = 65536;
    return CUDA_SUCCESS;
  };
  driver.cuFuncGetParamInfo = layout;
  driver.cuFuncGetName = [](const char** name, CUfunction handle) {
    *name = functions.at(reinterpret_cast<std::uint64_t>(handle)).name.c_str();
    return CUDA_SUCCESS;
  };
  driver.cuFuncGetModule = [](CUmodule* module, CUfunction handle) {  // handles of one hundred belong to one module
    *module = reinterpret_cast<CUmodule>(reinterpret_cast<std::uintptr_t>(handle) / 100);
    return CUDA_SUCCESS;
  };
  return driver;
}

void RecordingDriver::add_function(std::uint64_t handle, std::vector<unsigned> sizes, bool layout_known,
                                   const char* name) {
  Function& function = functions[handle];
  function = {};
  function.name = name != nullptr ? name : "kernel_" + std::to_string(handle);
  unsigned at = 0;
  for (const unsigned size : sizes) {
    const unsigned alignment = size >= 8 ? 8 : size;
    at = (at + alignment - 1) / alignment * alignment;
    function.offsets.push_back(at);
    at += size;
  }
  function.sizes = std::move(sizes);
  function.layout_known = layout_known;
}

}  // namespace refrain::tests
