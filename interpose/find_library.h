// Where librefrain.so lies for the command line that belongs to it.
#pragma once

#include <string>
#include <vector>

namespace refrain::interpose {

/// The absolute path of this program.
std::string program_path();

/// The places where the library is looked for, for a program in the folder `folder`, in this order.
std::vector<std::string> library_places(const std::string& folder);

/// The absolute path of the library: `given` when not empty, else the first place where it lies. Empty: nowhere.
std::string find_library(const std::string& given);

}  // namespace refrain::interpose
