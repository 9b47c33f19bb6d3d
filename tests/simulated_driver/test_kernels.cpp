#include "tests/simulated_driver/test_kernels.h"

#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <map>
#include <mutex>
#include <sstream>
#include <thread>

#include "tests/simulated_driver/kernels.h"

namespace refrain::tests {

const char* const test_ptx = R"(
.version 8.0
.target sm_90
.address_size 64

.visible .global .align 4 .b8 table[64];

.visible .entry nothing() { ret; }

.visible .entry bounded() .maxntid 128, 1, 1 { ret; }

.visible .entry store(.param .u64 address, .param .u32 value)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  ld.param.u64 %rd1, [address];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u32 %r1, [value];
  st.global.u32 [%rd2], %r1;
  ret;
}

.visible .entry append(.param .u64 address, .param .u32 value)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<4>;
  ld.param.u64 %rd1, [address];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u32 %r1, [value];
  ld.global.u32 %r2, [%rd2];
  mad.lo.u32 %r3, %r2, 10, %r1;
  st.global.u32 [%rd2], %r3;
  ret;
}

// Runs until the word is not zero.
.visible .entry spin(.param .u64 address)
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<2>;
  .reg .pred %p<2>;
  ld.param.u64 %rd1, [address];
  cvta.to.global.u64 %rd2, %rd1;
AGAIN:
  ld.volatile.global.u32 %r1, [%rd2];
  setp.eq.u32 %p1, %r1, 0;
  @%p1 bra AGAIN;
  ret;
}

// out[0..3] = a, b, c and the last word of the structure.
.visible .entry echo(.param .u64 out, .param .u8 a, .param .u16 b, .param .u32 c, .param .align 16 .b8 structure[20])
{
  .reg .b64 %rd<3>;
  .reg .b32 %r<5>;
  ld.param.u64 %rd1, [out];
  cvta.to.global.u64 %rd2, %rd1;
  ld.param.u8 %r1, [a];
  ld.param.u16 %r2, [b];
  ld.param.u32 %r3, [c];
  ld.param.u32 %r4, [structure+16];
  st.global.u32 [%rd2], %r1;
  st.global.u32 [%rd2+4], %r2;
  st.global.u32 [%rd2+8], %r3;
  st.global.u32 [%rd2+12], %r4;
  ret;
}
)";

void* look_up(const char* name, int version) {
  static auto* const mutex = new std::mutex;  // both outlive the exit handlers that look up
  static auto* const known = new std::map<std::string, void*>;
  const std::lock_guard lock(*mutex);
  void*& function = (*known)[name + ("@" + std::to_string(version))];
  if (function == nullptr) {
    CUdriverProcAddressQueryResult status{};
    driver().cuGetProcAddress(name, &function, version, CU_GET_PROC_ADDRESS_DEFAULT, &status);
    if (function == nullptr) ADD_FAILURE() << "the driver has no " << name;
  }
  return function;
}

bool on_simulation() {
  char name[64] = "";
  CU(cuInit)(0);
  CU(cuDeviceGetName)(name, sizeof name, 0);
  return std::string(name) == "Refrain Simulated GPU";
}

namespace {
constexpr const char* again = "SIMULATED_DRIVER_TEST_AGAIN";
}

bool run_by_another() { return std::getenv(again) != nullptr; }

int run_again(const std::string& filter, const std::map<std::string, std::string>& environment) {
  std::fflush(nullptr);
  std::string program(4096, '\0');
  program.resize(static_cast<size_t>(readlink("/proc/self/exe", program.data(), program.size())));
  const std::string option = "--gtest_filter=" + filter;
  const pid_t child = fork();
  if (child == 0) {
    setenv(again, "1", 1);
    unsetenv("GTEST_OUTPUT");
    unsetenv("XML_OUTPUT_FILE");
    for (const auto& [name, value] : environment) setenv(name.c_str(), value.c_str(), 1);
    execl(program.c_str(), program.c_str(), option.c_str(), "--gtest_output=", "--gtest_brief=1", nullptr);
    _exit(127);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::string read_text(const std::string& file) {
  std::stringstream text;
  text << std::ifstream(file).rdbuf();
  return text.str();
}

std::string temporary_file(const std::string& name) {
  return ::testing::TempDir() + "simulated_driver." + std::to_string(getpid()) + "." + name;
}

void SimulatedDriver::SetUp() {
  OK(CU(cuInit)(0));
  OK(CU(cuDevicePrimaryCtxRetain)(&context, 0));
  OK(CU(cuCtxSetCurrent)(context));
  OK(CU(cuModuleLoadData)(&module, test_ptx));
  OK(CU(cuModuleGetFunction)(&nothing, module, "nothing"));
  OK(CU(cuModuleGetFunction)(&store_kernel, module, "store"));
  OK(CU(cuModuleGetFunction)(&append_kernel, module, "append"));
  OK(CU(cuModuleGetFunction)(&spin_kernel, module, "spin"));
  OK(CU(cuModuleGetFunction)(&echo_kernel, module, "echo"));
  OK(CU(cuStreamCreate)(&stream, CU_STREAM_NON_BLOCKING));
  OK(CU(cuMemAlloc)(&buffer, 4096));
  OK(CU(cuMemsetD8)(buffer, 0, 4096));
  OK(CU(cuMemHostAlloc)(reinterpret_cast<void**>(&flag), 4096, 0));
  OK(driver().cuCtxSynchronize());
}

void SimulatedDriver::TearDown() {
  if (flag == nullptr) return;
  go();
  CU(cuCtxSetCurrent)(context);
  driver().cuCtxSynchronize();
  CU(cuStreamDestroy)(stream);
  CU(cuMemFree)(buffer);
  CU(cuMemFreeHost)(flag);
  CU(cuModuleUnload)(module);
}

CUresult SimulatedDriver::launch(CUfunction function, CUstream on, void** parameters, unsigned blocks, unsigned threads,
                                 unsigned shared) {
  return CU(cuLaunchKernel)(function, blocks, 1, 1, threads, 1, 1, shared, on, parameters, nullptr);
}

CUresult SimulatedDriver::store(CUdeviceptr address, unsigned value, CUstream on) {
  void* parameters[] = {&address, &value};
  return launch(store_kernel, on, parameters);
}

CUresult SimulatedDriver::append(CUdeviceptr address, unsigned value, CUstream on) {
  void* parameters[] = {&address, &value};
  return launch(append_kernel, on, parameters);
}

CUresult SimulatedDriver::spin(CUstream on) {
  __atomic_store_n(flag, 0u, __ATOMIC_SEQ_CST);
  CUdeviceptr address = reinterpret_cast<CUdeviceptr>(flag);
  void* parameters[] = {&address};
  return launch(spin_kernel, on, parameters);
}

void SimulatedDriver::go() { __atomic_store_n(flag, 1u, __ATOMIC_SEQ_CST); }

unsigned SimulatedDriver::read(CUdeviceptr address) {
  unsigned value = 0xdeadbeef;
  EXPECT_EQ(CU(cuMemcpyDtoH)(&value, address, sizeof value), CUDA_SUCCESS);
  return value;
}

}  // namespace refrain::tests

namespace {

using refrain::tests::simulated::KernelContext;

void nothing(const KernelContext&) {}

void store(const KernelContext& kernel) { kernel.store(kernel.parameter<uint64_t>(0), kernel.parameter<unsigned>(1)); }

void append(const KernelContext& kernel) {
  const auto address = kernel.parameter<uint64_t>(0);
  kernel.store(address, kernel.load<unsigned>(address) * 10 + kernel.parameter<unsigned>(1));
}

void spin(const KernelContext& kernel) {
  const auto word = kernel.span<unsigned>(kernel.parameter<uint64_t>(0), 1);
  while (__atomic_load_n(word.data(), __ATOMIC_ACQUIRE) == 0) std::this_thread::yield();
}

void echo(const KernelContext& kernel) {
  const auto out = kernel.span<unsigned>(kernel.parameter<uint64_t>(0), 4);
  struct Structure {
    unsigned words[5];
  };
  out[0] = kernel.parameter<uint8_t>(1);
  out[1] = kernel.parameter<uint16_t>(2);
  out[2] = kernel.parameter<uint32_t>(3);
  out[3] = kernel.parameter<Structure>(4).words[4];
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void refrain_sim_register(
    refrain::tests::simulated::Registry* registry);

void refrain_sim_register(refrain::tests::simulated::Registry* registry) {
  registry->register_kernel("nothing", nothing);
  registry->register_kernel("bounded", nothing);
  registry->register_kernel("store", store);
  registry->register_kernel("append", append);
  registry->register_kernel("spin", spin);
  registry->register_kernel("echo", echo);
}
