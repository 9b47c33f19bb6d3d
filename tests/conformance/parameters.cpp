// Kernel parameters: layouts, what is copied when, and the packed form (`extra`).
#include <array>

#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

/// Notes offset and size of every parameter, until the driver says that there is none.
template <typename Ask>
void note_layout(Ask ask) {
  for (std::size_t index = 0;; ++index) {
    std::size_t offset = 0, size = 0;
    if (ask(index, &offset, &size) != CUDA_SUCCESS) return;
    note("parameter %zu at %zu of %zu", index, offset, size);
  }
}

void note_layout_of(Program& p, const char* name) {
  const CUfunction function = p.kernel(name);
  note("%s", name);
  note_layout([&](std::size_t index, std::size_t* offset, std::size_t* size) {
    return TELL(cuFuncGetParamInfo, function, index, offset, size);
  });
}

/// The parameters of `mix`, packed.
struct Packed {
  CUdeviceptr out, in;
  unsigned n, salt;
};

CUresult launch_packed(CUfunction function, CUstream stream, void* bytes, std::size_t size) {
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, bytes, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  const CUresult result = driver().cuLaunchKernel(function, 1, 1, 1, 64, 1, 1, 0, stream, nullptr, extra);
  std::memset(bytes, 0xee, size);
  size = 0;
  return tell("cuLaunchKernel", result);
}

}  // namespace

PROGRAM(parameters_layout_of_simple) { note_layout_of(p, "mix"); }
PROGRAM(parameters_layout_of_odd_sizes) { note_layout_of(p, "forms"); }
PROGRAM(parameters_layout_of_none) { note_layout_of(p, "empty"); }
PROGRAM(parameters_layout_of_a_structure) { note_layout_of(p, "seeded"); }
PROGRAM(parameters_layout_of_4_kb) {
  note_layout_of(p, "block_4000");
  note_layout_of(p, "table_update");
}
PROGRAM(parameters_layout_of_8_kb) { note_layout_of(p, "block_8192"); }

PROGRAM(parameters_layout_of_a_library_kernel) {
  const CUkernel kernel = p.library_kernel("forms");
  note_layout([&](std::size_t index, std::size_t* offset, std::size_t* size) {
    return TELL(cuKernelGetParamInfo, kernel, index, offset, size);
  });
}

PROGRAM(parameters_info_without_size) {
  std::size_t offset = 99;
  TELL(cuFuncGetParamInfo, p.kernel("mix"), 1, &offset, nullptr);
  note("offset %zu", offset);
}

PROGRAM(parameters_info_bad_arguments) {
  std::size_t offset = 0, size = 0;
  TELL(cuFuncGetParamInfo, p.kernel("mix"), 0, nullptr, &size);
  TELL(cuFuncGetParamInfo, nullptr, 0, &offset, &size);
  TELL(cuKernelGetParamInfo, nullptr, 0, &offset, &size);
}

PROGRAM(parameters_info_of_the_other_kind) {
  std::size_t offset = 0, size = 0;
  TELL(cuFuncGetParamInfo, reinterpret_cast<CUfunction>(p.library_kernel("mix")), 0, &offset, &size);
}

PROGRAM(parameters_odd_sizes) {
  const Words out = p.words(12, 0);
  const CUstream stream = p.stream();
  const Three three{{1, 2, 3}};
  const Four four{4, 5, 6, 7};
  launch(p.kernel("forms"), {1, 32}, stream, static_cast<unsigned char>(200), static_cast<unsigned short>(60000),
         4000000000u, 0x0123456789abcdefull, three, four, out.address);
  TELL(cuStreamSynchronize, stream);
  note_words("out", out, 0, 12);
}

PROGRAM(parameters_of_4_kb) {
  const Words out = p.words(1000, 0);
  const CUstream stream = p.stream();
  Block4000 block{};
  for (unsigned i = 0; i < 1000; ++i) block.words[i] = i * 7;
  launch(p.kernel("block_4000"), {4, 64}, stream, block, out.address);
  TELL(cuStreamSynchronize, stream);
  note_hash("out", out);
}

PROGRAM(parameters_of_8_kb) {
  const Words out = p.words(2048, 0);
  const CUstream stream = p.stream();
  Block8192 block{};
  for (unsigned i = 0; i < 2048; ++i) block.words[i] = i * 5;
  for (unsigned round = 0; round < 3; ++round) {
    block.words[17] = round;
    launch(p.kernel("block_8192"), {4, 64}, stream, block, out.address);
  }
  TELL(cuStreamSynchronize, stream);
  note_hash("out", out);
}

PROGRAM(parameters_with_padding) {
  const Words out = p.words(2, 0);
  const CUstream stream = p.stream();
  for (unsigned char garbage : {0x00, 0x5a, 0xff}) {
    Padded value;
    std::memset(static_cast<void*>(&value), garbage, sizeof value);
    value.negative = garbage == 0x5a;
    value.number = 1000 + garbage;
    launch(p.kernel("padded"), {1, 1}, stream, value, out.address);
  }
  TELL(cuStreamSynchronize, stream);
  note_words("out", out, 0, 2);
}

PROGRAM(parameters_are_copied_at_the_call) {
  const Words data = p.words(64, 1), out = p.words(1, 0);
  const Flag go = p.flag();
  const CUstream stream = p.stream();
  launch(p.kernel("wait_for"), {1, 1}, stream, go.device, 1u, out.address);
  launch(p.kernel("mix"), {1, 64}, stream, data.address, data.address, 64u, 6u);  // spoils its arguments
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(parameters_missing) {
  TELL(cuLaunchKernel, p.kernel("mix"), 1, 1, 1, 64, 1, 1, 0, p.stream(), nullptr, nullptr);
}

PROGRAM(parameters_packed) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  for (unsigned i = 0; i < 3; ++i) {
    Packed packed{data.address, data.address, 64, i};
    launch_packed(p.kernel("mix"), stream, &packed, sizeof packed);
  }
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(parameters_packed_too_large) {
  const Words data = p.words(64, 1);
  struct {
    Packed packed;
    unsigned long long more;
  } larger{{data.address, data.address, 64, 3}, 0};
  launch_packed(p.kernel("mix"), p.stream(), &larger, sizeof larger);
}

PROGRAM(parameters_packed_too_small) {
  // What is missing is not looked at: no element is to be written.
  const Words data = p.words(64, 1);
  Packed packed{data.address, data.address, 0, 3};
  const CUstream stream = p.stream();
  launch_packed(p.kernel("mix"), stream, &packed, sizeof packed - 4);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(parameters_packed_of_zero_bytes) {
  Packed packed{};
  launch_packed(p.kernel("mix"), p.stream(), &packed, 0);
}

PROGRAM(parameters_in_both_forms) {
  const Words data = p.words(64, 1);
  Packed packed{data.address, data.address, 64, 3};
  std::size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  void* parameters[] = {&packed.out, &packed.in, &packed.n, &packed.salt};
  TELL(cuLaunchKernel, p.kernel("mix"), 1, 1, 1, 64, 1, 1, 0, p.stream(), parameters, extra);
}

PROGRAM(parameters_packed_without_a_buffer) {
  std::size_t size = sizeof(Packed);
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  TELL(cuLaunchKernel, p.kernel("mix"), 1, 1, 1, 64, 1, 1, 0, p.stream(), nullptr, extra);
}

PROGRAM(parameters_packed_unknown_key) {
  Packed packed{};
  std::size_t size = sizeof packed;
  std::array<void*, 7> extra{CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                             reinterpret_cast<void*>(0x55),  &packed, CU_LAUNCH_PARAM_END};
  TELL(cuLaunchKernel, p.kernel("mix"), 1, 1, 1, 64, 1, 1, 0, p.stream(), nullptr, extra.data());
}

PROGRAM(parameters_packed_node) {
  const Words data = p.words(64, 1);
  Packed packed{data.address, data.address, 64, 3};
  std::size_t size = sizeof packed;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  CUgraph graph = nullptr;
  CUgraphNode node = nullptr;
  MUST(cuGraphCreate, &graph, 0);
  CUDA_KERNEL_NODE_PARAMS params = kernel_node(p.kernel("mix"), {1, 64}, nullptr);
  params.extra = extra;
  TELL(cuGraphAddKernelNode, &node, graph, nullptr, 0, &params);
  CUDA_KERNEL_NODE_PARAMS answer{};
  TELL(cuGraphKernelNodeGetParams, node, &answer);
  note("separate %d packed %d", answer.kernelParams != nullptr, answer.extra != nullptr);
  MUST(cuGraphDestroy, graph);
}

}  // namespace refrain::tests::conformance
