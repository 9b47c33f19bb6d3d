// Steps in which something ends or begins: memory, code, streams, the program's own graphs.
#include "tests/simulate/worker.h"

namespace refrain::tests::simulate {

#define NOTED(function, ...) note(#function, driver().function(__VA_ARGS__))

void StrandWorker::new_memory(const Call& one) {
  Memory& memory = buffer(one, one.x);
  NOTED(cuMemFree, memory.address);
  NOTED(cuMemAlloc, &memory.address, buffer_words * 4);
  ++memory.generation;
  Call fill = one;
  fill.kind = Kind::memset;
  fill.n = static_cast<int>(buffer_words);
  fill_or_copy(fill);
}

void StrandWorker::new_memory_in_stream(const Call& one) {
  Memory& memory = buffer(one, one.x);
  Arguments freed, made;
  expect(one.stream, "free", freed.add(memory.address).joined());
  NOTED(cuMemFreeAsync, memory.address, stream(one));
  if (NOTED(cuMemAllocAsync, &memory.address, buffer_words * 4, stream(one)) != CUDA_SUCCESS) return;
  expect(one.stream, "alloc", made.add(memory.address).joined());
  ++memory.generation;
  Call fill = one;
  fill.kind = Kind::memset;
  fill.n = static_cast<int>(buffer_words);
  fill_or_copy(fill);
}

void StrandWorker::new_code() {
  for (int context = 0; context < 2; ++context) {
    if (objects_.functions[context].empty()) continue;
    enter_context(context);
    unload_code(objects_, context);
  }
  for (int context = 0; context < 2; ++context) {
    if (objects_.functions[context].empty()) continue;
    enter_context(context);
    load_code(world_, objects_, context);
  }
  answers_ += "code loaded again\n";
}

// The old stream may still have work; the new one comes behind it.
void StrandWorker::new_stream(const Call& one) {
  CUstream& handle = objects_.stream(one.stream);
  const CUevent event = objects_.events[static_cast<std::size_t>(one.stream)];
  const bool blocking = objects_.stream_plan(one.stream).kind == StreamKind::blocking;
  NOTED(cuEventRecord, event, handle);
  NOTED(cuStreamDestroy, handle);
  NOTED(cuStreamCreate, &handle, blocking ? CU_STREAM_DEFAULT : CU_STREAM_NON_BLOCKING);
  make_marker(world_, objects_, one.stream);
  NOTED(cuStreamWaitEvent, handle, event, 0);
}

void StrandWorker::launch_beside(const Call& one) {
  Arguments none;
  Call beside;
  beside.stream = one.to;
  if (context_of(beside) != context_of(one)) return;
  std::vector<model::Place> before;
  before.swap(before_);  // it touches nothing
  launch(beside, "empty", none);
  before.swap(before_);
}

bool StrandWorker::capture(const Call& one, ProgramGraph& graph) {
  const CUfunction mix = world_.functions[context_of(one)].at("mix");
  const CUfunction accumulate = world_.functions[context_of(one)].at("accumulate");
  const CUdeviceptr x = buffer(one, one.x).address, y = buffer(one, one.y).address;
  const auto n = static_cast<unsigned>(one.n);
  graph.operations.clear();
  const CUstreamCaptureMode mode =
      one.form % 2 == 0 ? CU_STREAM_CAPTURE_MODE_THREAD_LOCAL : CU_STREAM_CAPTURE_MODE_RELAXED;
  if (NOTED(cuStreamBeginCapture, stream(one), mode) != CUDA_SUCCESS) return false;
  for (unsigned i = 0; i < 3; ++i) {
    const bool mixes = i != 1;
    Arguments arguments;
    arguments.add(x).add(y).add(n);
    if (mixes) arguments.add(static_cast<unsigned>(one.value) + i);
    const std::vector<std::byte> bytes = arguments.joined();
    graph.operations.push_back(
        model::operation("kernel", mixes ? "mix" : "accumulate", {1, 1, 1}, {32, 1, 1}, 0, bytes.data(), bytes.size()));
    NOTED(cuLaunchKernel, mixes ? mix : accumulate, 1, 1, 1, 32, 1, 1, 0, stream(one), arguments.pointers(), nullptr);
    arguments.spoil();
    if (i == 0 && works_beside(one)) launch_beside(one);
  }
  CUgraph captured = nullptr;
  if (NOTED(cuStreamEndCapture, stream(one), &captured) != CUDA_SUCCESS) return false;
  const CUresult result = NOTED(cuGraphInstantiateWithFlags, &graph.exec, captured, 0);
  NOTED(cuGraphDestroy, captured);
  return result == CUDA_SUCCESS;
}

void StrandWorker::graph(const Call& one) {
  ProgramGraph& graph = objects_.graphs[{one.slot % 4, one.stream}];
  const int generations[] = {buffer(one, one.x).generation, buffer(one, one.y).generation};
  const int key = (one.value % 4096 * 64 + one.x) * 64 + one.y;
  const bool same = graph.exec != nullptr && graph.key == key && graph.generations[0] == generations[0] &&
                    graph.generations[1] == generations[1];
  if (!same) {
    if (graph.exec != nullptr) {
      NOTED(cuStreamSynchronize, stream(one));
      NOTED(cuGraphExecDestroy, graph.exec);
      graph.exec = nullptr;
    }
    if (!capture(one, graph)) return;
    graph.key = key;
    graph.generations[0] = generations[0];
    graph.generations[1] = generations[1];
  }
  for (const std::string& operation : graph.operations)
    model::expect(objects_.first_stream + one.stream, operation, before_);
  NOTED(cuGraphLaunch, graph.exec, stream(one));
}

}  // namespace refrain::tests::simulate
