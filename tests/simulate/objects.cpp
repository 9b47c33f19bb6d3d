#include "tests/simulate/objects.h"

#include <algorithm>
#include <cstring>

#include "tests/simulate/expand.h"
#include "tests/simulate/random.h"

namespace refrain::tests::simulate {
namespace {

constexpr const char* kernel_names[] = {"mix",    "accumulate",   "fill",  "configuration", "described",
                                        "padded", "table_update", "empty", "tell"};

const char* code() {
  static const char text[] =
#include "tests/programs/kernels.ptx.inc"
      ;
  return text;
}

Functions functions_of(CUmodule module) {
  Functions functions;
  for (const char* name : kernel_names) check(driver().cuModuleGetFunction(&functions[name], module, name), name);
  return functions;
}

bool uses_context(const Strand& strand, int context) {
  return std::any_of(strand.streams.begin(), strand.streams.end(),
                     [&](const StreamPlan& plan) { return plan.context == context; });
}

void fill_buffer(Memory& memory, Random& random) {
  unsigned contents[buffer_words];
  for (unsigned& word : contents) word = random.below(1u << 20);
  check(driver().cuMemAlloc(&memory.address, sizeof contents), "cuMemAlloc");
  check(driver().cuMemcpyHtoD(memory.address, contents, sizeof contents), "cuMemcpyHtoD");
}

}  // namespace

World make_world() {
  const DriverApi& cuda = driver();
  World world;
  check(cuda.cuInit(0), "cuInit");
  check(cuda.cuDeviceGet(&world.device, 0), "cuDeviceGet");
  check(cuda.cuDevicePrimaryCtxRetain(&world.contexts[0], world.device), "cuDevicePrimaryCtxRetain");
  check(cuda.cuCtxCreate(&world.contexts[1], nullptr, 0, world.device), "cuCtxCreate");
  for (int context = 0; context < 2; ++context) {
    check(cuda.cuCtxSetCurrent(world.contexts[context]), "cuCtxSetCurrent");
    CUmodule module = nullptr;
    check(cuda.cuModuleLoadData(&module, code()), "cuModuleLoadData");
    world.functions[context] = functions_of(module);
    check(cuda.cuMemAlloc(&world.marker[context], 4), "cuMemAlloc");
  }
  return world;
}

void make_marker(const World& world, StrandObjects& strand, int stream) {
  const CUdeviceptr at = world.marker[strand.stream_plan(stream).context];
  check(driver().cuMemsetD32Async(at, static_cast<unsigned>(strand.first_stream + stream), 1, strand.stream(stream)),
        "cuMemsetD32Async");
}

void load_code(const World&, StrandObjects& strand, int context) {
  const DriverApi& cuda = driver();
  if (strand.plan->own_code == 1) {
    check(cuda.cuModuleLoadData(&strand.modules[context], code()), "cuModuleLoadData");
    strand.functions[context] = functions_of(strand.modules[context]);
    return;
  }
  // A library's kernels are for every context.
  if (strand.library == nullptr) {
    check(cuda.cuLibraryLoadData(&strand.library, code(), nullptr, nullptr, 0, nullptr, nullptr, 0),
          "cuLibraryLoadData");
  }
  for (const char* name : kernel_names) {
    CUkernel kernel = nullptr;
    check(cuda.cuLibraryGetKernel(&kernel, strand.library, name), name);
    strand.functions[context][name] = reinterpret_cast<CUfunction>(kernel);
  }
}

StrandObjects make_strand(const World& world, const Strand& plan, int number, int first_stream) {
  const DriverApi& cuda = driver();
  StrandObjects strand;
  strand.plan = &plan;
  strand.number = number;
  strand.first_stream = first_stream;
  strand.told.assign(plan.streams.size(), 0);
  strand.buffers.resize(2 * buffers_a_context);
  Random random(static_cast<std::uint64_t>(number) + 77);
  for (const StreamPlan& stream : plan.streams) {
    check(cuda.cuCtxSetCurrent(world.contexts[stream.context]), "cuCtxSetCurrent");
    CUstream handle = stream.kind == StreamKind::legacy ? nullptr : CU_STREAM_PER_THREAD;
    if (stream.kind == StreamKind::blocking) check(cuda.cuStreamCreate(&handle, CU_STREAM_DEFAULT), "cuStreamCreate");
    if (stream.kind == StreamKind::non_blocking)
      check(cuda.cuStreamCreate(&handle, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
    strand.streams.push_back(handle);
    CUevent event = nullptr;
    check(cuda.cuEventCreate(&event, CU_EVENT_DISABLE_TIMING), "cuEventCreate");
    strand.events.push_back(event);
    if (stream.kind != StreamKind::per_thread) make_marker(world, strand, static_cast<int>(strand.streams.size()) - 1);
  }
  for (int context = 0; context < 2; ++context) {
    if (!uses_context(plan, context)) continue;
    check(cuda.cuCtxSetCurrent(world.contexts[context]), "cuCtxSetCurrent");
    for (int i = 0; i < plan.buffers; ++i)
      fill_buffer(strand.buffers[static_cast<std::size_t>(context * buffers_a_context + i)], random);
    if (plan.own_code != 0) load_code(world, strand, context);
  }
  void* memory = nullptr;
  constexpr unsigned mapped = CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE;
  check(cuda.cuMemHostAlloc(&memory, 4096, mapped), "cuMemHostAlloc");
  std::memset(memory, 0, 4096);
  strand.flags = static_cast<unsigned*>(memory);
  check(cuda.cuMemHostGetDevicePointer(&strand.flags_device, memory, 0), "cuMemHostGetDevicePointer");
  check(cuda.cuMemHostAlloc(&memory, 4096, mapped), "cuMemHostAlloc");
  strand.host = static_cast<unsigned*>(memory);
  for (unsigned i = 0; i < 2 * buffer_words; ++i) strand.host[i] = random.below(1u << 20);
  return strand;
}

void unload_code(StrandObjects& strand, int context) {
  if (strand.plan->own_code == 1) check(driver().cuModuleUnload(strand.modules[context]), "cuModuleUnload");
  if (strand.plan->own_code != 2 || strand.library == nullptr) return;
  check(driver().cuLibraryUnload(strand.library), "cuLibraryUnload");
  strand.library = nullptr;
}

}  // namespace refrain::tests::simulate
