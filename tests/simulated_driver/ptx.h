// Reads what the driver must know from PTX text: entries with their parameters, global variables.
//
// Fails: a text that is no PTX gives nothing; one that cannot be read as far as this needs gives
// CUDA_ERROR_INVALID_PTX.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulated_driver/kernels.h"

namespace refrain::tests::simulated {

struct PtxEntry {
  std::string name;
  std::vector<ParameterPlace> parameters;
  size_t parameter_bytes = 0;       ///< end of the last parameter
  unsigned max_threads = 1024;      ///< .maxntid or .reqntid
  unsigned static_shared = 0;       ///< .shared variables
  unsigned cluster[3] = {0, 0, 0};  ///< .reqnctapercluster
};

struct PtxVariable {
  std::string name;
  uint64_t size = 0;
  uint64_t alignment = 1;
  bool managed = false;
};

struct PtxModule {
  int version = 0;  ///< 10 * major + minor
  int target = 0;   ///< 90 of sm_90
  std::vector<PtxEntry> entries;
  std::vector<PtxVariable> variables;
};

/// Reads `text`; CUDA_SUCCESS, INVALID_IMAGE (not PTX), INVALID_PTX, UNSUPPORTED_PTX_VERSION.
CUresult read_ptx(const char* text, PtxModule* module);

}  // namespace refrain::tests::simulated
