// A libcuda.so.1 without a device, for the tests of how calls enter and leave.
//
// Every function of the list answers with a number of its own, so that a caller can tell which one it reached; a few
// answer with a sum of their arguments, so that a caller can tell that all arrived. It resolves names as the real
// driver does: the newest interface that is not newer than the version asked for.
//
//   FAKE_DRIVER_VERSION  what cuDriverGetVersion tells (13000)
//   FAKE_DRIVER_INIT     what cuInit returns (0)
//   FAKE_DRIVER_WAIT_US  how long cuCtxSynchronize waits (0)
#include <dlfcn.h>
#include <unistd.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT void* fake_address(const char* name) noexcept;  // fake_driver_list.cpp
EXPORT int cuFutureSum(long, long, long, long, long, long, double, float, long, double);

namespace {

enum : int { success = 0, invalid_value = 1, not_initialized = 3, not_found = 500 };
std::atomic<bool> initialised{false};

int from_environment(const char* name, int otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? std::atoi(value) : otherwise;
}

/// Interfaces that came later than the plain name, as the real driver has them. Asked for an older version: the plain
/// one.
struct Version {
  const char* name;
  int since;
  const char* symbol;
};
constexpr Version versions[] = {
    {"cuGetProcAddress", 12000, "cuGetProcAddress_v2"},
    {"cuCtxSynchronize", 13000, "cuCtxSynchronize_v2"},
    {"cuCtxCreate", 3020, "cuCtxCreate_v2"},
    {"cuCtxCreate", 11040, "cuCtxCreate_v3"},
    {"cuCtxCreate", 12050, "cuCtxCreate_v4"},
    {"cuCtxGetDevice", 13000, "cuCtxGetDevice_v2"},
    {"cuEventElapsedTime", 12080, "cuEventElapsedTime_v2"},
    {"cuMemcpyDtoD", 3020, "cuMemcpyDtoD_v2"},
    {"cuMemcpyDtoDAsync", 3020, "cuMemcpyDtoDAsync_v2"},
    {"cuMemAlloc", 3020, "cuMemAlloc_v2"},
    {"cuMemFree", 3020, "cuMemFree_v2"},
    {"cuMemsetD8", 3020, "cuMemsetD8_v2"},
    {"cuStreamDestroy", 4000, "cuStreamDestroy_v2"},
    {"cuStreamBeginCapture", 10010, "cuStreamBeginCapture_v2"},
    {"cuStreamGetCaptureInfo", 11030, "cuStreamGetCaptureInfo_v2"},
    {"cuStreamGetCaptureInfo", 12030, "cuStreamGetCaptureInfo_v3"},
    {"cuStreamWaitValue32", 11070, "cuStreamWaitValue32_v2"},
    {"cuMemPrefetchAsync", 12020, "cuMemPrefetchAsync_v2"},
    {"cuMemcpyBatchAsync", 13000, "cuMemcpyBatchAsync_v2"},
};

int resolve(const char* name, void** function, int version, std::uint64_t flags, int* status) {
  if (name == nullptr || function == nullptr || version > 13000) return invalid_value;
  std::string symbol = name;
  for (const Version& row : versions) {
    if (std::strcmp(row.name, name) == 0 && version >= row.since) symbol = row.symbol;
  }
  void* found = nullptr;
  if ((flags & 2) != 0) found = fake_address((symbol + "_ptsz").c_str());
  if ((flags & 2) != 0 && found == nullptr) found = fake_address((symbol + "_ptds").c_str());
  if (found == nullptr) found = fake_address(symbol.c_str());
  if (symbol == "cuFutureSum") found = reinterpret_cast<void*>(&cuFutureSum);
  *function = found;
  if (status != nullptr) *status = found != nullptr ? 0 : 1;
  // With a status the driver reports an unknown name by it, without one by the result.
  return found != nullptr || status != nullptr ? success : not_found;
}

}  // namespace

// ---- functions with a behaviour; all others are in fake_driver_list.cpp
EXPORT int cuInit(unsigned) {
  const int result = from_environment("FAKE_DRIVER_INIT", success);
  if (result == success) initialised = true;
  return result;
}
EXPORT int cuDriverGetVersion(int* version) {
  if (version == nullptr) return invalid_value;
  *version = from_environment("FAKE_DRIVER_VERSION", 13000);
  return success;
}
EXPORT int cuGetProcAddress(const char* name, void** function, int version, std::uint64_t flags) {
  return resolve(name, function, version, flags, nullptr);
}
EXPORT int cuGetProcAddress_v2(const char* name, void** function, int version, std::uint64_t flags, int* status) {
  return resolve(name, function, version, flags, status);
}
EXPORT int cuDeviceGet(int* device, int ordinal) {
  if (!initialised) return not_initialized;
  if (device == nullptr) return invalid_value;
  *device = ordinal;
  return success;
}
EXPORT int cuCtxSynchronize() {
  if (const int wait = from_environment("FAKE_DRIVER_WAIT_US", 0); wait != 0) usleep(static_cast<unsigned>(wait));
  return initialised ? success : not_initialized;
}
EXPORT int cuEventElapsedTime(float* milliseconds, void*, void*) {
  if (milliseconds == nullptr) return invalid_value;
  *milliseconds = 2.5F;
  return success;
}
EXPORT int cuLaunchKernel(std::uintptr_t function, unsigned a, unsigned b, unsigned c, unsigned d, unsigned e,
                          unsigned f, unsigned shared, std::uintptr_t stream, std::uintptr_t parameters,
                          std::uintptr_t extra) {
  return static_cast<int>(20000 + function + 2 * a + 3 * b + 4 * c + 5 * d + 6 * e + 7 * f + 8 * shared + 9 * stream +
                          10 * parameters + 11 * extra);
}
EXPORT int cuCtxCreate_v4(void** context, void* parameters, unsigned flags, int device) {
  if (context == nullptr) return invalid_value;
  *context = reinterpret_cast<void*>(std::uintptr_t{0x1000} + flags + static_cast<unsigned>(device) +
                                     (parameters != nullptr ? 1 : 0));
  return success;
}
/// Waits a moment and calls back into the driver by its public name, as real drivers do on some systems.
EXPORT int cuEventSynchronize(void*) {
  int result = 0;
  if (auto* through_loader = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "cuCtxSynchronize"))) {
    result = through_loader();
  }
  return result;
}

// ---- functions that the list does not know
EXPORT int cuFutureSum(long a, long b, long c, long d, long e, long f, double x, float y, long on_stack, double z) {
  return static_cast<int>(a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * x + 8 * static_cast<double>(y) +
                          9 * on_stack + 10 * z);
}
EXPORT int cuFutureVariable(int count, ...) {
  va_list values;
  va_start(values, count);
  double sum = 0;
  for (int i = 0; i < count; ++i) sum += va_arg(values, double);
  va_end(values);
  return static_cast<int>(sum);
}
EXPORT int cudbgFutureDebug() { return 77; }

#define FUTURE(number) \
  EXPORT int cuFuture##number() { return 30000 + number; }
#define FUTURE_TEN(tens) \
  FUTURE(tens##0)        \
  FUTURE(tens##1)        \
  FUTURE(tens##2)        \
  FUTURE(tens##3) FUTURE(tens##4) FUTURE(tens##5) FUTURE(tens##6) FUTURE(tens##7) FUTURE(tens##8) FUTURE(tens##9)
// clang-format off
FUTURE_TEN(10)
FUTURE_TEN(11)
FUTURE_TEN(12)
FUTURE_TEN(13)
FUTURE_TEN(14)
FUTURE_TEN(15)
FUTURE_TEN(16)
FUTURE_TEN(17)
FUTURE_TEN(18)
FUTURE_TEN(19)
FUTURE_TEN(20)
FUTURE_TEN(21)
FUTURE_TEN(22)
FUTURE_TEN(23)
FUTURE_TEN(24)
FUTURE_TEN(25)
FUTURE_TEN(26)
FUTURE_TEN(27)
FUTURE_TEN(28)
FUTURE_TEN(29)
FUTURE_TEN(30)
FUTURE_TEN(31)
FUTURE_TEN(32)
FUTURE_TEN(33)
FUTURE_TEN(34)
FUTURE_TEN(35)
FUTURE_TEN(36)
FUTURE_TEN(37)
FUTURE_TEN(38)
FUTURE_TEN(39)
// clang-format on
