// Stream-ordered allocation: pools, reuse, frees on other streams.
#include "tests/conformance/capturing.h"

namespace refrain::tests::conformance {

PROGRAM(pool_alloc_use_free) {
  const CUstream stream = p.stream();
  const Flag host = p.flag();
  CUdeviceptr memory = 0;
  TELL(cuMemAllocAsync, &memory, 4096, stream);
  launch(p.kernel("fill"), {}, stream, memory, 1024u, 7u);
  TELL(cuMemcpyDtoHAsync, host.host, memory, 16, stream);
  TELL(cuMemFreeAsync, memory, stream);
  TELL(cuStreamSynchronize, stream);
  note("host %u %u", host.host[0], host.host[3]);
}

PROGRAM(pool_free_on_another_stream) {
  const CUstream stream = p.stream(), other = p.stream();
  const CUevent event = p.event();
  const Flag host = p.flag();
  CUdeviceptr memory = 0;
  TELL(cuMemAllocAsync, &memory, 4096, stream);
  launch(p.kernel("fill"), {}, stream, memory, 1024u, 7u);
  TELL(cuEventRecord, event, stream);
  TELL(cuStreamWaitEvent, other, event, 0);
  TELL(cuMemcpyDtoHAsync, host.host, memory, 16, other);
  TELL(cuMemFreeAsync, memory, other);
  TELL(cuStreamSynchronize, other);
  note("host %u", host.get());
}

PROGRAM(pool_memory_freed_by_free) {
  const CUstream stream = p.stream();
  CUdeviceptr memory = 0;
  TELL(cuMemAllocAsync, &memory, 4096, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuMemFree, memory);
}

PROGRAM(pool_free_of_ordinary_memory) {
  const CUstream stream = p.stream();
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc, &memory, 4096);
  TELL(cuMemFreeAsync, memory, stream);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(pool_free_null) { TELL(cuMemFreeAsync, 0, p.stream()); }

PROGRAM(pool_alloc_of_nothing) {
  CUdeviceptr memory = 77;
  TELL(cuMemAllocAsync, &memory, 0, p.stream());
  note("null %d", memory == 0);
}

PROGRAM(pool_alloc_without_a_place) { TELL(cuMemAllocAsync, nullptr, 64, p.stream()); }

PROGRAM(pool_free_unknown) { TELL(cuMemFreeAsync, 0x1000, p.stream()); }

PROGRAM(pool_same_stream_reuses) {
  const CUstream stream = p.stream();
  CUdeviceptr first = 0, second = 0;
  TELL(cuMemAllocAsync, &first, 1 << 20, stream);
  TELL(cuMemFreeAsync, first, stream);
  TELL(cuMemAllocAsync, &second, 1 << 20, stream);
  note("same %d", first == second);
  TELL(cuMemFreeAsync, second, stream);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(pool_create_and_destroy) {
  const CUstream stream = p.stream();
  CUmemPoolProps properties{};
  properties.allocType = CU_MEM_ALLOCATION_TYPE_PINNED;
  properties.location.type = CU_MEM_LOCATION_TYPE_DEVICE;
  properties.location.id = p.device();
  CUmemoryPool pool = nullptr, of = nullptr;
  CUdeviceptr memory = 0;
  TELL(cuMemPoolCreate, &pool, &properties);
  TELL(cuMemAllocFromPoolAsync, &memory, 4096, pool, stream);
  TELL(cuPointerGetAttribute, &of, CU_POINTER_ATTRIBUTE_MEMPOOL_HANDLE, memory);
  note("same pool %d", of == pool);
  TELL(cuMemFreeAsync, memory, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuMemPoolDestroy, pool);
}

PROGRAM(pool_create_bad_arguments) {
  CUmemPoolProps properties{};
  CUmemoryPool pool = nullptr;
  TELL(cuMemPoolCreate, &pool, nullptr);
  TELL(cuMemPoolCreate, &pool, &properties);
}

PROGRAM(pool_default_is_current) {
  CUmemoryPool standard = nullptr, current = nullptr;
  TELL(cuDeviceGetDefaultMemPool, &standard, p.device());
  TELL(cuDeviceGetMemPool, &current, p.device());
  note("same %d", standard == current);
  TELL(cuMemPoolDestroy, standard);
}

PROGRAM(pool_attributes) {
  CUmemoryPool pool = nullptr;
  MUST(cuDeviceGetDefaultMemPool, &pool, p.device());
  int value = 9;
  for (CUmemPool_attribute attribute :
       {CU_MEMPOOL_ATTR_REUSE_FOLLOW_EVENT_DEPENDENCIES, CU_MEMPOOL_ATTR_REUSE_ALLOW_OPPORTUNISTIC,
        CU_MEMPOOL_ATTR_REUSE_ALLOW_INTERNAL_DEPENDENCIES}) {
    TELL(cuMemPoolGetAttribute, pool, attribute, &value);
    note("value %d", value);
  }
  cuuint64_t threshold = 9;
  TELL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RELEASE_THRESHOLD, &threshold);
  note("threshold %llu", static_cast<unsigned long long>(threshold));
}

PROGRAM(pool_used_memory) {
  const CUstream stream = p.stream();
  CUmemoryPool pool = nullptr;
  CUdeviceptr memory = 0;
  cuuint64_t before = 0, during = 0, after = 0;
  MUST(cuDeviceGetDefaultMemPool, &pool, p.device());
  TELL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &before);
  TELL(cuMemAllocAsync, &memory, 1 << 20, stream);
  TELL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &during);
  TELL(cuMemFreeAsync, memory, stream);
  TELL(cuStreamSynchronize, stream);
  TELL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_USED_MEM_CURRENT, &after);
  note("more by %llu then %llu", static_cast<unsigned long long>(during - before),
       static_cast<unsigned long long>(after - before));
}

PROGRAM(pool_trim) {
  CUmemoryPool pool = nullptr;
  MUST(cuDeviceGetDefaultMemPool, &pool, p.device());
  TELL(cuCtxSynchronize);
  TELL(cuMemPoolTrimTo, pool, 0);
  cuuint64_t reserved = 9;
  TELL(cuMemPoolGetAttribute, pool, CU_MEMPOOL_ATTR_RESERVED_MEM_CURRENT, &reserved);
  note("reserved %llu", static_cast<unsigned long long>(reserved));
}

PROGRAM(pool_alloc_in_a_capture) {
  const CUstream stream = p.stream();
  const Words data = p.words(16, 1);
  CUdeviceptr memory = 0;
  CUgraph graph = nullptr;
  TELL(cuStreamBeginCapture, stream, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL);
  TELL(cuMemAllocAsync, &memory, 4096, stream);
  launch(p.kernel("fill"), {}, stream, memory, 16u, 7u);
  TELL(cuMemcpyDtoDAsync, data.address, memory, 64, stream);
  TELL(cuMemFreeAsync, memory, stream);
  TELL(cuStreamEndCapture, stream, &graph);
  note_kinds(graph);
  run_graph(graph, stream);
  note_words("data", data);
  MUST(cuGraphDestroy, graph);
}

}  // namespace refrain::tests::conformance
