// A8: a host function between the region's kernels, with data that it frees. It runs once for each call, in order, with
// that call's pointer.
#include <mutex>

#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

struct Ticket {
  unsigned number;
  std::vector<unsigned>* served;
  const unsigned* copied;  ///< what the copy before the call brought to the host
};

void CUDA_CB serve(void* data) {
  auto* ticket = static_cast<Ticket*>(data);
  ticket->served->push_back(ticket->number);
  ticket->served->push_back(*ticket->copied);
  delete ticket;
}

}  // namespace

SCENARIO(a8_host_functions) {
  constexpr unsigned n = 256;
  const Buffer data(n, 1), sum(n, 2);
  const CUfunction mix = scenario.kernel("mix"), accumulate = scenario.kernel("accumulate");
  const CUstream stream = scenario.stream();
  std::vector<unsigned> served;
  void* copied = nullptr;
  check(driver().cuMemHostAlloc(&copied, 64, 0), "cuMemHostAlloc");
  Ledger ledger(scenario, {&data, &sum});
  for (int i = 0; i < scenario.iterations(); ++i) {
    {
      const Range range("region callback");
      launch(mix, {}, stream, data.address(), data.address(), n, 1u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
      CALL(cuMemcpyDtoHAsync, copied, sum.address(), 4, stream);
      CALL(cuLaunchHostFunc, stream, serve,
           new Ticket{static_cast<unsigned>(i), &served, static_cast<const unsigned*>(copied)});
      launch(mix, {}, stream, data.address(), sum.address(), n, 2u);
      launch(accumulate, {}, stream, sum.address(), data.address(), n);
    }
    ledger.take(stream);
  }
  CALL(cuStreamSynchronize, stream);
  note("served %zu %016llx", served.size(),
       static_cast<unsigned long long>(hash_bytes(served.data(), served.size() * sizeof(unsigned))));
  ledger.close();
  CALL(cuMemFreeHost, copied);
}

}  // namespace refrain::tests
