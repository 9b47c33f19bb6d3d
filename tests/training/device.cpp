#include "tests/training/device.h"

#include <array>
#include <cstring>

#include "tests/programs/driver_api.h"

namespace refrain::tests::training {
namespace {

const char* const ptx =
#include "tests/training/kernels.ptx.inc"
    ;
constexpr unsigned block_threads = 64;

CUdeviceptr address(const void* pointer) { return reinterpret_cast<CUdeviceptr>(pointer); }

/// Two attributes, the unused bytes of their values left as they happen to be.
std::array<CUlaunchAttribute, 2> attributes() {
  static unsigned char rubbish = 0;
  std::array<CUlaunchAttribute, 2> list;
  std::memset(static_cast<void*>(list.data()), ++rubbish, sizeof(list));
  list[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  list[0].value.priority = 0;
  list[1].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  return list;
}

}  // namespace

Device::Device(bool own_stream) {
  const DriverApi& cuda = driver();
  check(cuda.cuInit(0), "cuInit");
  check(cuda.cuDeviceGet(&device_, 0), "cuDeviceGet");
  check(cuda.cuDevicePrimaryCtxRetain(&context_, device_), "cuDevicePrimaryCtxRetain");
  make_current();
  check(cuda.cuModuleLoadData(&module_, ptx), "cuModuleLoadData");
  check(cuda.cuLibraryLoadData(&library_, ptx, nullptr, nullptr, 0, nullptr, nullptr, 0), "cuLibraryLoadData");
  if (own_stream) check(cuda.cuStreamCreate(&stream_, CU_STREAM_NON_BLOCKING), "cuStreamCreate");
  int can = 0;
  check(cuda.cuDeviceGetAttribute(&can, CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH, device_), "cuDeviceGetAttribute");
  cooperative_ = can != 0;
}

Device::~Device() {
  const DriverApi& cuda = driver();
  if (stream_ != nullptr) check(cuda.cuStreamDestroy(stream_), "cuStreamDestroy");
  check(cuda.cuLibraryUnload(library_), "cuLibraryUnload");
  check(cuda.cuModuleUnload(module_), "cuModuleUnload");
  check(cuda.cuDevicePrimaryCtxRelease(device_), "cuDevicePrimaryCtxRelease");
}

void Device::make_current() const { check(driver().cuCtxSetCurrent(context_), "cuCtxSetCurrent"); }

LoadedKernel Device::load(const char* name, Handle handle, Form form) const {
  LoadedKernel loaded{nullptr, form == Form::cooperative && !cooperative_ ? Form::parameters : form};
  if (handle == Handle::function) {
    check(driver().cuModuleGetFunction(&loaded.function, module_, name), name);
  } else {
    CUkernel kernel = nullptr;
    check(driver().cuLibraryGetKernel(&kernel, library_, name), name);
    loaded.function = reinterpret_cast<CUfunction>(kernel);
  }
  return loaded;
}

void Device::launch(const LoadedKernel& kernel, unsigned threads, std::span<const Argument> arguments) const {
  const DriverApi& cuda = driver();
  const unsigned grid = (threads + block_threads - 1) / block_threads;
  std::array<void*, 16> pointers{};
  for (std::size_t i = 0; i < arguments.size(); ++i) pointers[i] = const_cast<void*>(arguments[i].address);
  switch (kernel.form) {
    case Form::parameters:
      check(cuda.cuLaunchKernel(kernel.function, grid, 1, 1, block_threads, 1, 1, 0, stream_, pointers.data(), nullptr),
            "cuLaunchKernel");
      return;
    case Form::extra: {
      alignas(16) std::array<unsigned char, 4096> block;
      std::size_t size = 0;
      for (const Argument& argument : arguments) {
        size = (size + argument.alignment - 1) / argument.alignment * argument.alignment;
        std::memcpy(block.data() + size, argument.address, argument.size);
        size += argument.size;
      }
      void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                       CU_LAUNCH_PARAM_END};
      check(cuda.cuLaunchKernel(kernel.function, grid, 1, 1, block_threads, 1, 1, 0, stream_, nullptr, extra),
            "cuLaunchKernel with extra");
      return;
    }
    case Form::extended: {
      std::array<CUlaunchAttribute, 2> list = attributes();
      CUlaunchConfig configuration{};
      configuration.gridDimX = grid, configuration.gridDimY = 1, configuration.gridDimZ = 1;
      configuration.blockDimX = block_threads, configuration.blockDimY = 1, configuration.blockDimZ = 1;
      configuration.hStream = stream_;
      configuration.attrs = list.data();
      configuration.numAttrs = static_cast<unsigned>(list.size());
      check(cuda.cuLaunchKernelEx(&configuration, kernel.function, pointers.data(), nullptr), "cuLaunchKernelEx");
      return;
    }
    case Form::cooperative:
      check(
          cuda.cuLaunchCooperativeKernel(kernel.function, grid, 1, 1, block_threads, 1, 1, 0, stream_, pointers.data()),
          "cuLaunchCooperativeKernel");
      return;
  }
}

void Device::fill(void* destination, unsigned char value, std::size_t bytes) const {
  check(driver().cuMemsetD8Async(address(destination), value, bytes, stream_), "cuMemsetD8Async");
}

void Device::fill_words(void* destination, unsigned value, std::size_t words) const {
  check(driver().cuMemsetD32Async(address(destination), value, words, stream_), "cuMemsetD32Async");
}

void Device::copy(void* destination, const void* source, std::size_t bytes) const {
  check(driver().cuMemcpyDtoDAsync(address(destination), address(source), bytes, stream_), "cuMemcpyDtoDAsync");
}

void Device::copy_in(void* destination, const void* source, std::size_t bytes) const {
  check(driver().cuMemcpyHtoDAsync(address(destination), source, bytes, stream_), "cuMemcpyHtoDAsync");
}

void Device::copy_out(void* pinned, const void* source, std::size_t bytes) const {
  check(driver().cuMemcpyDtoHAsync(pinned, address(source), bytes, stream_), "cuMemcpyDtoHAsync");
  synchronize();
}

void Device::synchronize() const { check(driver().cuStreamSynchronize(stream_), "cuStreamSynchronize"); }

}  // namespace refrain::tests::training
