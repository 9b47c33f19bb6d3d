#include "interpose/find_library.h"

#include <climits>
#include <cstdlib>
#include <filesystem>

namespace refrain::interpose {
namespace {

constexpr const char* library_name = "librefrain.so";

/// Without links, as the loader and NVTX must be given the same text for it.
std::string real_path_of_file(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error)) return {};
  const std::filesystem::path real = std::filesystem::canonical(path, error);
  return error ? std::string() : real.string();
}

}  // namespace

std::string program_path() {
  std::error_code error;
  return std::filesystem::read_symlink("/proc/self/exe", error).string();
}

std::vector<std::string> library_places(const std::string& folder) {
  std::vector<std::string> places = {folder + "/" + library_name, folder + "/../lib/" + library_name,
                                     folder + "/../lib64/" + library_name};
#if defined(REFRAIN_LIBDIR)
  places.push_back(folder + "/../" REFRAIN_LIBDIR "/" + library_name);
#endif
  return places;
}

std::string find_library(const std::string& given) {
  if (!given.empty()) return real_path_of_file(given);
  const std::string folder = std::filesystem::path(program_path()).parent_path().string();
  for (const std::string& place : library_places(folder)) {
    std::string found = real_path_of_file(place);
    if (!found.empty()) return found;
  }
  return {};
}

}  // namespace refrain::interpose
