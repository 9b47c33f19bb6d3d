#include "tests/programs/scenario.h"

#include <sched.h>

#include <chrono>

namespace refrain::tests {

const char* kernel_text() {
  static const char text[] =
#include "tests/programs/kernels.ptx.inc"
      ;
  return text;
}

// ---- memory

Buffer::Buffer(std::size_t words, unsigned seed) : words_(words) {
  check(driver().cuMemAlloc(&address_, bytes()), "cuMemAlloc");
  std::vector<unsigned> contents(words);
  Numbers numbers(seed);
  for (unsigned& word : contents) word = numbers.below(1u << 20);
  check(driver().cuMemcpyHtoD(address_, contents.data(), bytes()), "cuMemcpyHtoD");
  check(driver().cuCtxSynchronize(), "cuCtxSynchronize");
}

Buffer::~Buffer() {
  if (address_ != 0) CALL(cuMemFree, address_);
}

std::vector<unsigned> Buffer::read() const {
  std::vector<unsigned> contents(words_);
  CALL(cuMemcpyDtoH, contents.data(), address_, bytes());
  return contents;
}

MappedFlag::MappedFlag() {
  void* host = nullptr;
  check(driver().cuMemHostAlloc(&host, 64, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE), "cuMemHostAlloc");
  std::memset(host, 0, 64);
  host_ = static_cast<unsigned*>(host);
  check(driver().cuMemHostGetDevicePointer(&device_, host, 0), "cuMemHostGetDevicePointer");
}

MappedFlag::~MappedFlag() { CALL(cuMemFreeHost, host_); }

bool MappedFlag::wait(unsigned value) const {
  using namespace std::chrono_literals;
  const auto began = std::chrono::steady_clock::now();
  while (get() < value) {
    const auto waited = std::chrono::steady_clock::now() - began;
    if (waited > 5s) return false;
    // What comes at all comes soon: a program that waits in vain leaves the processor to others.
    if (waited < 5ms) {
      sched_yield();
    } else {
      std::this_thread::sleep_for(100us);
    }
  }
  return true;
}

// ---- setup

Scenario::Scenario(int iterations, bool wait_each) : iterations_(iterations), wait_each_(wait_each) {
  const DriverApi& cuda = driver();
  nvtxInitialize(nullptr);  // its own first use from two threads at once is a data race in the header
  check(cuda.cuInit(0), "cuInit");
  check(cuda.cuDeviceGet(&device_, 0), "cuDeviceGet");
  check(cuda.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  check(cuda.cuCtxSetCurrent(context_), "cuCtxSetCurrent");
  check(cuda.cuModuleLoadData(&module_, kernel_text()), "cuModuleLoadData");
  check(cuda.cuMemAlloc(&filled_, 4), "cuMemAlloc");
  stream_ = make_stream();
}

CUfunction Scenario::kernel(const char* name) const {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_, name), name);
  return function;
}

CUstream Scenario::make_stream(unsigned flags) const {
  CUstream stream = nullptr;
  check(driver().cuStreamCreate(&stream, flags), "cuStreamCreate");
  check(driver().cuMemsetD32Async(filled_, 0, 1, stream), "cuMemsetD32Async");
  return stream;
}

CUevent Scenario::make_event(unsigned flags) const {
  CUevent event = nullptr;
  check(driver().cuEventCreate(&event, flags), "cuEventCreate");
  return event;
}

// ---- ledger

Ledger::Ledger(const Scenario& scenario, std::vector<const Buffer*> outputs, int takes)
    : wait_each_(scenario.wait_each()), outputs_(std::move(outputs)) {
  for (const Buffer* output : outputs_) words_ += output->words();
  if (wait_each_) return;
  capacity_ = static_cast<std::size_t>(takes > 0 ? takes : scenario.iterations());
  check(driver().cuMemAlloc(&history_, capacity_ * words_ * 4), "cuMemAlloc");
}

Ledger::~Ledger() {
  if (history_ != 0) CALL(cuMemFree, history_);
}

void Ledger::take(CUstream stream) {
  if (wait_each_) {
    CALL(cuStreamSynchronize, stream);
    std::uint64_t hash = hash_bytes(nullptr, 0);
    for (const Buffer* output : outputs_) {
      const std::vector<unsigned> contents = output->read();
      hash = hash_bytes(contents.data(), output->bytes(), hash);
    }
    note("output %016llx", static_cast<unsigned long long>(hash));
    publish();
    return;
  }
  if (taken_ == capacity_) {
    note("more takes than the ledger has room for");
    return;
  }
  CUdeviceptr to = history_ + taken_++ * words_ * 4;
  for (const Buffer* output : outputs_) {
    CALL(cuMemcpyDtoDAsync, to, output->address(), output->bytes(), stream);
    to += output->bytes();
  }
}

void Ledger::close() {
  if (wait_each_) return;
  CALL(cuCtxSynchronize);
  std::vector<unsigned> contents(taken_ * words_);
  CALL(cuMemcpyDtoH, contents.data(), history_, contents.size() * 4);
  for (std::size_t i = 0; i < taken_; ++i) {
    note("output %016llx", static_cast<unsigned long long>(hash_bytes(contents.data() + i * words_, words_ * 4)));
  }
  publish();
}

// ---- registry

static std::vector<Registration*>& registry() {
  static std::vector<Registration*> all;
  return all;
}

Registration::Registration(const char* scenario_name, void (*function)(Scenario&), int default_iterations)
    : name(scenario_name), run(function), iterations(default_iterations) {
  registry().push_back(this);
}

const std::vector<Registration*>& registrations() { return registry(); }

}  // namespace refrain::tests
