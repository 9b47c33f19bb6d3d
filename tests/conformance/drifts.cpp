// A body that does the same in most passes and something else in a few: what was recorded does not fit any more. Run
// once (as the conformance suite does) it is an ordinary program; the differential runs repeat it.
#include "tests/conformance/configured.h"

namespace refrain::tests::conformance {
namespace {

/// What a step may use.
struct Work {
  Program& p;
  Words data, sum;
  CUstream stream;
  CUfunction mix, accumulate;
  void usual_mix(unsigned salt = 3) const { launch(mix, {1, 64}, stream, data.address, data.address, 64u, salt); }
  void usual_fill() const { TELL(cuMemsetD32Async, sum.at(32), 7, 8, stream); }
  void usual_copy() const { TELL(cuMemcpyDtoDAsync, sum.at(48), data.address, 32, stream); }
};

/// Kernel, fill, copy, kernel, kernel; `odd` instead of `usual` as the third step of some passes.
template <typename Usual, typename Odd>
void drift(Program& p, Usual usual, Odd odd) {
  const Work work{p, p.words(64, 1), p.words(64, 9), p.stream(), p.kernel("mix"), p.kernel("accumulate")};
  const bool is_odd = p.pass() == 5 || p.pass() == 6 || p.pass() == 9;
  work.usual_mix(p.pass());
  work.usual_fill();
  if (is_odd) {
    odd(work);
  } else {
    usual(work);
  }
  work.usual_copy();
  launch(work.accumulate, {1, 64}, work.stream, work.sum.address, work.data.address, 64u);
  work.usual_mix();
  TELL(cuStreamSynchronize, work.stream);
  note_hash("data", work.data);
  note_hash("sum", work.sum);
}

void fill(const Work& work) { work.usual_fill(); }
void copy(const Work& work) { work.usual_copy(); }
void mix(const Work& work) { work.usual_mix(); }

CUlaunchAttribute cluster(unsigned x) {
  CUlaunchAttribute made = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  made.value.clusterDim = {x, 1, 1};
  return made;
}

}  // namespace

PROGRAM(drift_nothing) { drift(p, mix, mix); }
PROGRAM(drift_fill_misaligned) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD32Async, w.sum.at(32) + 2, 7, 8, w.stream); });
}
PROGRAM(drift_fill_of_null) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD32Async, 0, 7, 8, w.stream); });
}
PROGRAM(drift_fill_over_the_end) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD32Async, w.sum.address, 7, std::size_t{1} << 40, w.stream); });
}
PROGRAM(drift_fill_of_nothing) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD32Async, w.sum.at(32), 7, 0, w.stream); });
}
PROGRAM(drift_fill_of_another_element) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD8Async, w.sum.at(32), 7, 8, w.stream); });
}
PROGRAM(drift_fill_of_rows) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD2D32Async, w.sum.address, 64, 7, 4, 3, w.stream); });
}
PROGRAM(drift_fill_longer) {
  drift(p, fill, [](const Work& w) { TELL(cuMemsetD32Async, w.sum.at(16), 99, 20, w.stream); });
}
PROGRAM(drift_fill_on_the_legacy_stream) {
  drift(p, fill, [](const Work& w) {
    TELL(cuStreamSynchronize, w.stream);
    TELL(cuMemsetD32, w.sum.at(32), 7, 8);
    TELL(cuCtxSynchronize);
  });
}
PROGRAM(drift_copy_of_null) {
  drift(p, copy, [](const Work& w) { TELL(cuMemcpyDtoDAsync, w.sum.at(48), 0, 32, w.stream); });
}
PROGRAM(drift_copy_of_freed_memory) {
  drift(p, copy, [](const Work& w) {
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc, &memory, 8 << 20);
    MUST(cuMemFree, memory);
    TELL(cuMemcpyDtoDAsync, w.sum.at(48), memory, 32, w.stream);
  });
}
PROGRAM(drift_copy_of_new_memory) {
  drift(p, copy, [](const Work& w) {
    CUdeviceptr memory = 0;
    MUST(cuMemAlloc, &memory, 8 << 20);
    TELL(cuMemsetD32Async, memory, 5, 8, w.stream);
    TELL(cuMemcpyDtoDAsync, w.sum.at(48), memory, 32, w.stream);
    TELL(cuMemFree, memory);
  });
}
PROGRAM(drift_copy_from_the_host) {
  drift(p, copy, [](const Work& w) {
    unsigned values[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    TELL(cuMemcpyHtoDAsync, w.sum.at(48), values, 32, w.stream);
    std::memset(values, 0xee, sizeof values);
  });
}
PROGRAM(drift_copy_to_pinned_memory) {
  drift(p, copy, [](const Work& w) {
    const Flag host = w.p.flag(64);
    TELL(cuMemcpyAsync, host.device, w.data.address, 32, w.stream);
    TELL(cuStreamSynchronize, w.stream);
    note("host %u", host.get());
  });
}
PROGRAM(drift_copy_shorter) {
  drift(p, copy, [](const Work& w) { TELL(cuMemcpyDtoDAsync, w.sum.at(50), w.data.at(3), 8, w.stream); });
}
PROGRAM(drift_launch_of_no_grid) {
  drift(p, mix, [](const Work& w) { launch(w.mix, {0, 64}, w.stream, w.data.address, w.data.address, 64u, 3u); });
}
PROGRAM(drift_launch_block_too_large) {
  drift(p, mix, [](const Work& w) { launch(w.mix, {1, 4096}, w.stream, w.data.address, w.data.address, 64u, 3u); });
}
PROGRAM(drift_launch_shared_too_large) {
  drift(p, mix, [](const Work& w) {
    launch(w.mix, {1, 64, 1u << 20}, w.stream, w.data.address, w.data.address, 64u, 3u);
  });
}
PROGRAM(drift_launch_of_another_shape) {
  drift(p, mix, [](const Work& w) { launch(w.mix, {4, 16, 512}, w.stream, w.data.address, w.data.address, 64u, 3u); });
}
PROGRAM(drift_launch_of_another_kernel) {
  drift(p, mix, [](const Work& w) { launch(w.accumulate, {1, 64}, w.stream, w.data.address, w.data.address, 64u); });
}
PROGRAM(drift_launch_of_a_library_kernel) {
  drift(p, mix, [](const Work& w) {
    const auto function = reinterpret_cast<CUfunction>(w.p.library_kernel("mix"));
    launch(function, {1, 64}, w.stream, w.data.address, w.data.address, 64u, 3u);
  });
}
PROGRAM(drift_launch_without_parameters) {
  drift(p, mix, [](const Work& w) { TELL(cuLaunchKernel, w.mix, 1, 1, 1, 64, 1, 1, 0, w.stream, nullptr, nullptr); });
}
PROGRAM(drift_launch_with_packed_parameters) {
  drift(p, mix, [](const Work& w) {
    struct {
      CUdeviceptr out, in;
      unsigned n, salt;
    } packed{w.data.address, w.data.address, 64, 3};
    std::size_t size = sizeof packed;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &packed, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
    TELL(cuLaunchKernel, w.mix, 1, 1, 1, 64, 1, 1, 0, w.stream, nullptr, extra);
    std::memset(&packed, 0xee, sizeof packed);
  });
}
PROGRAM(drift_launch_with_cluster) {
  drift(p, mix, [](const Work& w) {
    launch_with({cluster(2)}, w.mix, {2, 32}, w.stream, w.data.address, w.data.address, 64u, 3u);
  });
}
PROGRAM(drift_launch_with_bad_cluster) {
  const auto clustered = [](const Work& w) {
    launch_with({cluster(2)}, w.mix, {2, 32}, w.stream, w.data.address, w.data.address, 64u, 3u);
  };
  drift(p, clustered, [](const Work& w) {
    launch_with({cluster(2)}, w.mix, {3, 32}, w.stream, w.data.address, w.data.address, 64u, 3u);
  });
}
PROGRAM(drift_launch_with_unknown_attribute) {
  drift(p, mix, [](const Work& w) {
    launch_with({attribute(static_cast<CUlaunchAttributeID>(77))}, w.mix, {1, 64}, w.stream, w.data.address,
                w.data.address, 64u, 3u);
  });
}
PROGRAM(drift_launch_on_another_stream) {
  const CUstream other = p.stream();
  drift(p, mix, [&](const Work& w) {
    TELL(cuStreamSynchronize, w.stream);
    launch(w.mix, {1, 64}, other, w.data.address, w.data.address, 64u, 3u);
    TELL(cuStreamSynchronize, other);
  });
}
PROGRAM(drift_launch_on_the_legacy_stream) {
  drift(p, mix, [](const Work& w) {
    TELL(cuStreamSynchronize, w.stream);
    launch(w.mix, {1, 64}, nullptr, w.data.address, w.data.address, 64u, 3u);
    TELL(cuStreamSynchronize, nullptr);
  });
}
PROGRAM(drift_less) {
  drift(p, mix, [](const Work&) {});
}
PROGRAM(drift_more) {
  drift(p, mix, [](const Work& w) {
    w.usual_mix(50);
    w.usual_mix(51);
  });
}
PROGRAM(drift_query) {
  drift(p, mix, [](const Work& w) {
    w.usual_mix();
    const CUresult result = QUIET(cuStreamQuery, w.stream);
    note("sensible %d", result == CUDA_SUCCESS || result == CUDA_ERROR_NOT_READY);
  });
}
PROGRAM(drift_wait) {
  drift(p, mix, [](const Work& w) {
    TELL(cuCtxSynchronize);
    w.usual_mix();
  });
}
PROGRAM(drift_event) {
  const CUevent event = p.event();
  drift(p, mix, [&](const Work& w) {
    TELL(cuEventRecord, event, w.stream);
    w.usual_mix();
    TELL(cuEventSynchronize, event);
  });
}
PROGRAM(drift_host_function) {
  static unsigned called;
  drift(p, mix, [](const Work& w) {
    TELL(
        cuLaunchHostFunc, w.stream, [](void*) { ++called; }, nullptr);
    w.usual_mix();
    TELL(cuStreamSynchronize, w.stream);
    note("called %u", called);
  });
}
PROGRAM(drift_capture) {
  drift(p, mix, [](const Work& w) {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    TELL(cuStreamBeginCapture, w.stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
    w.usual_mix();
    TELL(cuStreamEndCapture, w.stream, &graph);
    TELL(cuGraphInstantiate, &exec, graph, 0);
    TELL(cuGraphLaunch, exec, w.stream);
    TELL(cuStreamSynchronize, w.stream);
    TELL(cuGraphExecDestroy, exec);
    TELL(cuGraphDestroy, graph);
  });
}
PROGRAM(drift_write_value) {
  drift(p, mix, [](const Work& w) {
    TELL(cuStreamWriteValue32, w.stream, w.data.at(5), 1234, CU_STREAM_WRITE_VALUE_DEFAULT);
    w.usual_mix();
  });
}
PROGRAM(drift_stream_allocation) {
  drift(p, mix, [](const Work& w) {
    CUdeviceptr memory = 0;
    TELL(cuMemAllocAsync, &memory, 4096, w.stream);
    launch(w.mix, {1, 64}, w.stream, memory, w.data.address, 64u, 3u);
    TELL(cuMemcpyDtoDAsync, w.sum.at(48), memory, 32, w.stream);
    TELL(cuMemFreeAsync, memory, w.stream);
  });
}
PROGRAM(drift_function_attribute) {
  drift(p, mix, [](const Work& w) {
    TELL(cuFuncSetAttribute, w.mix, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 96 << 10);
    launch(w.mix, {1, 64, 96u << 10}, w.stream, w.data.address, w.data.address, 64u, 3u);
    TELL(cuFuncSetAttribute, w.mix, CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES, 48 << 10);
  });
}
PROGRAM(drift_other_thread) {
  drift(p, mix, [](const Work& w) {
    Worker worker([&] {
      TELL(cuCtxSetCurrent, w.p.context());
      w.usual_mix();
    });
    worker.join();
  });
}
PROGRAM(drift_waits_on_mapped_memory) {
  const Flag flag = p.flag();
  drift(p, mix, [&](const Work& w) {
    launch(w.p.kernel("tell"), {1, 1}, w.stream, flag.device, 5u);
    note("arrived %d", flag.wait(5));
  });
}

}  // namespace refrain::tests::conformance
