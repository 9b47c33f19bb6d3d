// Host functions, callbacks, and values that streams write and wait for.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {
namespace {

/// What host functions append to.
struct Record {
  std::vector<unsigned> order;
  struct Item {
    Record* record;
    unsigned number;
  };
  std::deque<Item> items;
  void* item(unsigned number) { return &items.emplace_back(Item{this, number}); }
  static void add(void* data) {
    const Item& it = *static_cast<Item*>(data);
    it.record->order.push_back(it.number);
  }
  void say() const {
    std::string line = "order";
    for (unsigned number : order) line += " " + std::to_string(number);
    note("%s", line.c_str());
  }
};

}  // namespace

PROGRAM(host_function_order) {
  Record record;
  const CUstream stream = p.stream();
  for (unsigned i = 0; i < 5; ++i) TELL(cuLaunchHostFunc, stream, &Record::add, record.item(i));
  TELL(cuStreamSynchronize, stream);
  record.say();
}

PROGRAM(host_function_sees_earlier_work) {
  static Flag seen;
  const Flag host = p.flag();
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  seen = p.flag();
  launch(p.kernel("mix"), {1, 16}, stream, data.address, data.address, 16u, 3u);
  TELL(cuMemcpyDtoHAsync, host.host, data.address, 64, stream);
  TELL(
      cuLaunchHostFunc, stream, [](void* from) { seen.set(*static_cast<unsigned*>(from)); }, host.host);
  TELL(cuStreamSynchronize, stream);
  note("seen %u", seen.get());
}

PROGRAM(host_function_is_seen_by_later_work) {
  const Flag host = p.flag();
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  TELL(
      cuLaunchHostFunc, stream, [](void* to) { *static_cast<unsigned*>(to) = 31; }, host.host);
  TELL(cuMemcpyHtoDAsync, data.address, host.host, 4, stream);
  launch(p.kernel("mix"), {1, 16}, stream, data.address, data.address, 16u, 3u);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(host_function_holds_up_the_stream) {
  static Flag go;
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  go = p.flag();
  TELL(
      cuLaunchHostFunc, stream, [](void*) { (void)go.wait(1); }, nullptr);
  launch(p.kernel("mix"), {1, 16}, stream, data.address, data.address, 16u, 3u);
  TELL(cuStreamQuery, stream);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(host_function_missing) { TELL(cuLaunchHostFunc, p.stream(), nullptr, nullptr); }

PROGRAM(host_function_may_not_call_the_driver) {
  static CUresult result;
  result = CUDA_SUCCESS;
  const CUstream stream = p.stream();
  TELL(
      cuLaunchHostFunc, stream,
      [](void*) {
        CUdeviceptr memory = 0;
        result = driver().cuMemAlloc(&memory, 64);
      },
      nullptr);
  TELL(cuStreamSynchronize, stream);
  tell("cuMemAlloc", result);
}

PROGRAM(callback_order) {
  Record record;
  const CUstream stream = p.stream();
  const auto callback = [](CUstream, CUresult result, void* data) {
    Record::add(data);
    if (result != CUDA_SUCCESS) Record::add(data);
  };
  TELL(cuStreamAddCallback, stream, callback, record.item(1), 0);
  TELL(cuLaunchHostFunc, stream, &Record::add, record.item(2));
  TELL(cuStreamAddCallback, stream, callback, record.item(3), 0);
  TELL(cuStreamSynchronize, stream);
  record.say();
}

PROGRAM(callback_bad_arguments) {
  TELL(cuStreamAddCallback, p.stream(), nullptr, nullptr, 0);
  TELL(
      cuStreamAddCallback, p.stream(), [](CUstream, CUresult, void*) {}, nullptr, 1);
}

PROGRAM(host_function_on_the_legacy_stream) {
  Record record;
  TELL(cuLaunchHostFunc, nullptr, &Record::add, record.item(4));
  TELL(cuStreamSynchronize, nullptr);
  record.say();
}

PROGRAM(value_write) {
  const Words data = p.words(4, 0);
  const CUstream stream = p.stream();
  TELL(cuStreamWriteValue32, stream, data.address, 77, CU_STREAM_WRITE_VALUE_DEFAULT);
  TELL(cuStreamWriteValue64, stream, data.at(2), 0x500000006ull, CU_STREAM_WRITE_VALUE_DEFAULT);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(value_write_to_the_host) {
  const Flag host = p.flag();
  const CUstream stream = p.stream();
  TELL(cuStreamWriteValue32, stream, host.device, 78, CU_STREAM_WRITE_VALUE_DEFAULT);
  TELL(cuStreamSynchronize, stream);
  note("host %u", host.get());
}

PROGRAM(value_wait_for_the_host) {
  const Flag go = p.flag();
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  TELL(cuStreamWaitValue32, stream, go.device, 1, CU_STREAM_WAIT_VALUE_GEQ);
  launch(p.kernel("mix"), {1, 16}, stream, data.address, data.address, 16u, 3u);
  TELL(cuStreamQuery, stream);
  go.set(1);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(value_wait_for_another_stream) {
  const Words flag = p.words(2, 0), data = p.words(16, 1);
  const CUstream stream = p.stream(), other = p.stream();
  TELL(cuStreamWaitValue32, stream, flag.address, 5, CU_STREAM_WAIT_VALUE_EQ);
  launch(p.kernel("mix"), {1, 16}, stream, data.address, data.address, 16u, 3u);
  TELL(cuStreamWriteValue32, other, flag.address, 5, CU_STREAM_WRITE_VALUE_DEFAULT);
  TELL(cuStreamSynchronize, stream);
  TELL(cuStreamSynchronize, other);
  note_words("data", data);
}

PROGRAM(value_waits_of_each_kind) {
  const Words flag = p.words(2, 6);
  const CUstream stream = p.stream();
  TELL(cuStreamWaitValue32, stream, flag.address, 6, CU_STREAM_WAIT_VALUE_EQ);
  TELL(cuStreamWaitValue32, stream, flag.address, 3, CU_STREAM_WAIT_VALUE_GEQ);
  TELL(cuStreamWaitValue32, stream, flag.address, 2, CU_STREAM_WAIT_VALUE_AND);
  TELL(cuStreamWaitValue32, stream, flag.address, 1, CU_STREAM_WAIT_VALUE_NOR);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(value_misaligned) {
  const Words data = p.words(4, 0);
  TELL(cuStreamWriteValue32, p.stream(), data.address + 2, 1, CU_STREAM_WRITE_VALUE_DEFAULT);
}

PROGRAM(value_null_address) { TELL(cuStreamWriteValue32, p.stream(), 0, 1, CU_STREAM_WRITE_VALUE_DEFAULT); }

PROGRAM(value_unknown_flags) {
  const Words data = p.words(4, 0);
  TELL(cuStreamWaitValue32, p.stream(), data.address, 1, 0x80u);
}

PROGRAM(value_batch) {
  const Words data = p.words(4, 0);
  const CUstream stream = p.stream();
  CUstreamBatchMemOpParams operations[2] = {};
  operations[0].writeValue.operation = CU_STREAM_MEM_OP_WRITE_VALUE_32;
  operations[0].writeValue.address = data.address;
  operations[0].writeValue.value = 9;
  operations[1].waitValue.operation = CU_STREAM_MEM_OP_WAIT_VALUE_32;
  operations[1].waitValue.address = data.address;
  operations[1].waitValue.value = 9;
  operations[1].waitValue.flags = CU_STREAM_WAIT_VALUE_EQ;
  TELL(cuStreamBatchMemOp, stream, 2, operations, 0);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(value_batch_too_long) {
  std::vector<CUstreamBatchMemOpParams> operations(300);
  TELL(cuStreamBatchMemOp, p.stream(), 300, operations.data(), 0);
}

}  // namespace refrain::tests::conformance
