// cuInit, versions, error texts, profiler switches.
#include "tests/simulated_driver/entry.h"
#include "tests/simulated_driver/options.h"
#include "tests/simulated_driver/process.h"

using namespace refrain::tests::simulated;

namespace {

struct ErrorText {
  CUresult error;
  const char* name;
  const char* text;
};

constexpr ErrorText error_texts[] = {
#define ERROR(name, text) {name, #name, text},
#include "tests/simulated_driver/error_texts.inc"
};
#undef ERROR

const ErrorText* find_text(CUresult error) {
  for (const ErrorText& text : error_texts) {
    if (text.error == error) return &text;
  }
  return nullptr;
}

}  // namespace

SIM(cuInit)(unsigned flags) { return flags == 0 ? initialize_process() : CUDA_ERROR_INVALID_VALUE; }

SIM(cuDriverGetVersion)(int* version) {
  if (version == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *version = options().driver_version;
  return CUDA_SUCCESS;
}

SIM(cuGetErrorName)(CUresult error, const char** name) {
  if (name == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* text = find_text(error);
  *name = text != nullptr ? text->name : nullptr;
  return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM(cuGetErrorString)(CUresult error, const char** string) {
  if (string == nullptr) return CUDA_ERROR_INVALID_VALUE;
  const ErrorText* text = find_text(error);
  *string = text != nullptr ? text->text : nullptr;
  return text != nullptr ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

SIM(cuProfilerStart)() { return CUDA_SUCCESS; }
SIM(cuProfilerStop)() { return CUDA_SUCCESS; }
