// The simulated device's properties, those of an H200.
#pragma once

#include "tests/simulated_driver/module.h"

namespace refrain::tests::simulated {

constexpr unsigned multiprocessors = 132;
constexpr const char* device_name = "Refrain Simulated GPU";

/// Blocks of this size that one multiprocessor holds at a time.
unsigned resident_blocks(const Code& code, unsigned threads, size_t dynamic_shared);

/// Value of a device attribute; false for an unknown one.
bool device_attribute(CUdevice_attribute attribute, CUdevice device, int* value);

}  // namespace refrain::tests::simulated
