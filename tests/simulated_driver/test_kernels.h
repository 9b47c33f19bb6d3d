// The kernels of the simulated driver's own tests, as PTX for any driver and as C++ for the simulated one, and a
// fixture that has a context, the module and a few buffers ready.
//
// The tests run on a real driver too; what only the simulation can do is skipped there (`on_simulation()`).
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <string>

#include "tests/programs/driver_api.h"

namespace refrain::tests {

/// A driver function by its name in cuda.h: `CU(cuMemAlloc)(...)`; CU_AT where cuda.h means an older version by it.
void* look_up(const char* name, int version);
#define CU(name) (*reinterpret_cast<decltype(&::name)>(::refrain::tests::look_up(#name, CUDA_VERSION)))
#define CU_AT(name, version) (*reinterpret_cast<decltype(&::name)>(::refrain::tests::look_up(#name, version)))

#define OK(call) ASSERT_EQ(static_cast<int>(call), CUDA_SUCCESS)
#define FAILS(error, call) EXPECT_EQ(static_cast<int>(call), static_cast<int>(error))

extern const char* const test_ptx;

/// Whether this is the simulated driver.
bool on_simulation();

/// Runs this very program again, only the test `filter`, with more environment; its exit code.
int run_again(const std::string& filter, const std::map<std::string, std::string>& environment);
/// True in the run that run_again() made.
bool run_by_another();

std::string read_text(const std::string& file);
/// A new file name in the temporary folder.
std::string temporary_file(const std::string& name);

class SimulatedDriver : public ::testing::Test {
 protected:
  void SetUp() override;
  void TearDown() override;

  CUresult launch(CUfunction function, CUstream stream, void** parameters, unsigned blocks = 1, unsigned threads = 1,
                  unsigned shared = 0);
  /// *buffer = value, by a kernel.
  CUresult store(CUdeviceptr address, unsigned value, CUstream stream);
  /// *buffer = *buffer * 10 + value: the order of calls shows in the result.
  CUresult append(CUdeviceptr address, unsigned value, CUstream stream);
  /// A kernel that runs until go().
  CUresult spin(CUstream stream);
  void go();
  unsigned read(CUdeviceptr address);

  CUcontext context = nullptr;
  CUmodule module = nullptr;
  CUfunction nothing = nullptr, store_kernel = nullptr, append_kernel = nullptr, spin_kernel = nullptr,
             echo_kernel = nullptr;
  CUstream stream = nullptr;  ///< non-blocking
  CUdeviceptr buffer = 0;     ///< 4096 bytes, zero
  unsigned* flag = nullptr;   ///< pinned, 4096 bytes
};

}  // namespace refrain::tests
