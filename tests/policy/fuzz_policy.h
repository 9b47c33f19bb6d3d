// What must hold for any bytes given to the parser.
#pragma once

#include <string>
#include <string_view>

namespace refrain::tests {

/// Parses `bytes`; returns which of the parser's promises was broken, empty when none was.
std::string broken_promise(std::string_view bytes);

}  // namespace refrain::tests
