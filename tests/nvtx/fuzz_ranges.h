// The NVTX functions under arbitrary calls: what a program passes is decoded, opens and closes ranges.
//
// Fails:   what is read beyond the program's memory shows under AddressSanitizer only.
#pragma once

#include <string>
#include <string_view>

namespace refrain::tests {

/// Takes the bytes for a program that calls NVTX, and says which promise was broken; "" when none was.
std::string broken_range_promise(std::string_view program);

}  // namespace refrain::tests
