// Memsets: each element size, rows, zero sizes, bad places.
#include "tests/conformance/program.h"

namespace refrain::tests::conformance {

PROGRAM(fill_each_element_size) {
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  TELL(cuMemsetD8Async, data.address, 0xab, 5, stream);
  TELL(cuMemsetD16Async, data.at(4), 0xabcd, 3, stream);
  TELL(cuMemsetD32Async, data.at(8), 0xabcdef01u, 2, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 0, 16);
}

PROGRAM(fill_synchronous_forms) {
  const Words data = p.words(16, 1);
  TELL(cuMemsetD8, data.address, 0xab, 5);
  TELL(cuMemsetD16, data.at(4), 0xabcd, 3);
  TELL(cuMemsetD32, data.at(8), 0xabcdef01u, 2);
  note_words("data", data, 0, 16);
}

PROGRAM(fill_rows) {
  const Words data = p.words(256, 1);
  const CUstream stream = p.stream();
  TELL(cuMemsetD2D8Async, data.address, 64, 0x11, 10, 3, stream);
  TELL(cuMemsetD2D16Async, data.at(64), 64, 0x2222, 10, 3, stream);
  TELL(cuMemsetD2D32Async, data.at(128), 64, 0x33333333u, 10, 3, stream);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
  note_words("row", data, 16, 4);
}

PROGRAM(fill_rows_synchronous) {
  const Words data = p.words(256, 1);
  TELL(cuMemsetD2D8, data.address, 64, 0x11, 10, 3);
  TELL(cuMemsetD2D32, data.at(128), 64, 0x33333333u, 10, 3);
  note_hash("data", data);
}

PROGRAM(fill_one_row_ignores_pitch) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  TELL(cuMemsetD2D32Async, data.address, 0, 7u, 4, 1, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 0, 6);
}

PROGRAM(fill_pitch_too_small) {
  const Words data = p.words(64, 1);
  TELL(cuMemsetD2D32Async, data.address, 8, 7u, 4, 3, p.stream());
}

PROGRAM(fill_of_nothing) {
  const Words data = p.words(16, 1);
  const CUstream stream = p.stream();
  TELL(cuMemsetD8Async, data.address, 1, 0, stream);
  TELL(cuMemsetD32Async, data.address, 1, 0, stream);
  TELL(cuMemsetD2D32Async, data.address, 64, 1, 0, 2, stream);
  TELL(cuMemsetD2D32Async, data.address, 64, 1, 2, 0, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(fill_misaligned_16) {
  const Words data = p.words(16, 1);
  TELL(cuMemsetD16Async, data.address + 1, 1, 4, p.stream());
}

PROGRAM(fill_misaligned_32) {
  const Words data = p.words(16, 1);
  TELL(cuMemsetD32Async, data.address + 2, 1, 4, p.stream());
}

PROGRAM(fill_misaligned_start_of_bytes) {
  const Words data = p.words(16, 0);
  const CUstream stream = p.stream();
  TELL(cuMemsetD8Async, data.address + 3, 0xff, 6, stream);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(fill_null_address) { TELL(cuMemsetD32Async, 0, 1, 4, p.stream()); }

PROGRAM(fill_of_freed_memory) {
  CUdeviceptr memory = 0;
  MUST(cuMemAlloc, &memory, 8 << 20);
  MUST(cuMemFree, memory);
  TELL(cuMemsetD32Async, memory, 1, 4, p.stream());
}

PROGRAM(fill_of_pinned_memory) {
  const Flag host = p.flag();
  const CUstream stream = p.stream();
  TELL(cuMemsetD32Async, host.device, 41, 3, stream);
  TELL(cuStreamSynchronize, stream);
  note("host %u %u %u %u", host.host[0], host.host[1], host.host[2], host.host[3]);
}

PROGRAM(fill_in_order_with_kernels) {
  const Words data = p.words(64, 1), sum = p.words(64, 0);
  const CUstream stream = p.stream();
  for (unsigned i = 0; i < 4; ++i) {
    TELL(cuMemsetD32Async, data.address, i + 1, 64, stream);
    launch(p.kernel("accumulate"), {1, 64}, stream, sum.address, data.address, 64u);
  }
  TELL(cuStreamSynchronize, stream);
  note_words("sum", sum);
}

}  // namespace refrain::tests::conformance
