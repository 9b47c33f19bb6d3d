#include "tests/conformance/program.h"

#include <sched.h>

#include <chrono>

namespace refrain::tests::conformance {

void* find_function(const char* name) {
  driver();  // ends the process when there is none
  static void* const library = dlopen("libcuda.so.1", RTLD_NOW);
  void* function = dlsym(library, name);
  if (function == nullptr) {
    std::fprintf(stderr, "the driver has no %s\n", name);
    std::exit(2);
  }
  return function;
}

const char* name_of(CUresult result) {
  const char* name = nullptr;
  driver().cuGetErrorName(result, &name);
  return name != nullptr ? name : "an unknown result";
}

CUresult tell(const char* name, CUresult result) {
  note("%s %s", name, name_of(result));
  return result;
}

const char* kernel_text() {
  static const char text[] =
#include "tests/programs/kernels.ptx.inc"
      ;
  return text;
}

bool Flag::wait(unsigned value) const {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(10);
  while (get() < value) {
    if (std::chrono::steady_clock::now() > end) return false;
    sched_yield();
  }
  return true;
}

Program::Program() {
  MUST(cuInit, 0);
  MUST(cuDeviceGet, &device_, 0);
  MUST(cuDevicePrimaryCtxRetain, &context_, device_);
  MUST(cuCtxSetCurrent, context_);
  MUST(cuModuleLoadData, &module_, kernel_text());
  // Code that loads at its first launch would wait for kernels that wait for the host.
  for (const char* name : {"mix", "accumulate", "fill", "empty", "wait_for", "tell"}) MUST(cuFuncLoad, kernel(name));
  MUST(cuMemAlloc, &scratch_, 4);
}

CUfunction Program::kernel(const char* name) const {
  CUfunction function = nullptr;
  check(driver().cuModuleGetFunction(&function, module_, name), name);
  return function;
}

CUlibrary Program::library() {
  if (library_ == nullptr) MUST(cuLibraryLoadData, &library_, kernel_text(), nullptr, nullptr, 0, nullptr, nullptr, 0);
  return library_;
}

CUkernel Program::library_kernel(const char* name) {
  CUkernel kernel = nullptr;
  MUST(cuLibraryGetKernel, &kernel, library(), name);
  return kernel;
}

CUstream Program::stream(unsigned flags) {
  if (next_stream_ == streams_.size()) {
    CUstream stream = nullptr;
    MUST(cuStreamCreate, &stream, flags);
    MUST(cuMemsetD32Async, scratch_, 0, 1, stream);
    MUST(cuStreamSynchronize, stream);
    streams_.push_back(stream);
  }
  return streams_[next_stream_++];
}

CUevent Program::event(unsigned flags) {
  if (next_event_ == events_.size()) {
    CUevent event = nullptr;
    MUST(cuEventCreate, &event, flags);
    events_.push_back(event);
  }
  return events_[next_event_++];
}

void Program::fill(const Filled& filled) {
  std::vector<unsigned> contents(filled.words.count);
  for (std::size_t i = 0; i < contents.size(); ++i) contents[i] = filled.seed + static_cast<unsigned>(i);
  MUST(cuMemcpyHtoD, filled.words.address, contents.data(), filled.words.bytes());
  MUST(cuCtxSynchronize);
}

Words Program::words(std::size_t count, unsigned seed) {
  if (next_words_ == words_.size()) {
    Filled filled{{0, count}, seed};
    MUST(cuMemAlloc, &filled.words.address, count * 4);
    fill(filled);
    words_.push_back(filled);
  }
  return words_[next_words_++].words;
}

Flag Program::flag(std::size_t words) {
  if (next_flag_ == flags_.size()) {
    Pinned pinned{{}, words};
    void* host = nullptr;
    MUST(cuMemHostAlloc, &host, words * 4, CU_MEMHOSTALLOC_DEVICEMAP | CU_MEMHOSTALLOC_PORTABLE);
    std::memset(host, 0, words * 4);
    pinned.flag.host = static_cast<unsigned*>(host);
    MUST(cuMemHostGetDevicePointer, &pinned.flag.device, host, 0);
    flags_.push_back(pinned);
  }
  return flags_[next_flag_++].flag;
}

void Program::begin_pass() {
  MUST(cuCtxSetCurrent, context_);
  MUST(cuCtxSynchronize);
  ++pass_;
  next_stream_ = next_event_ = next_words_ = next_flag_ = 0;
  for (const Filled& filled : words_) fill(filled);
  for (const Pinned& pinned : flags_) std::memset(pinned.flag.host, 0, pinned.words * 4);
}

std::vector<unsigned> read(const Words& words) {
  std::vector<unsigned> contents(words.count);
  MUST(cuMemcpyDtoH, contents.data(), words.address, words.bytes());
  return contents;
}

void note_words(const char* title, const Words& words, std::size_t first, std::size_t count) {
  const std::vector<unsigned> contents = read(words);
  std::string line = title;
  for (std::size_t i = first; i < first + count && i < contents.size(); ++i) line += " " + std::to_string(contents[i]);
  note("%s", line.c_str());
}

void note_hash(const char* title, const Words& words) {
  const std::vector<unsigned> contents = read(words);
  note("%s %016llx", title, static_cast<unsigned long long>(hash_bytes(contents.data(), words.bytes())));
}

static std::vector<const Entry*>& registry() {
  static std::vector<const Entry*> all;
  return all;
}

Entry::Entry(const char* its_name, void (*its_body)(Program&), bool is_once)
    : name(its_name), body(its_body), once(is_once) {
  registry().push_back(this);
}

const std::vector<const Entry*>& entries() { return registry(); }

}  // namespace refrain::tests::conformance
