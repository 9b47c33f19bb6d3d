#include "interpose/wish.h"

#include <atomic>
#include <cstdlib>
#include <string_view>

namespace refrain::interpose {
namespace {

enum class Wish : int { unknown, yes, no };
constinit std::atomic<Wish> wish{Wish::unknown};

bool read_wish() noexcept {
  const char* mode = std::getenv("REFRAIN_MODE");
  if (mode == nullptr && std::getenv("REFRAIN_POLICY") == nullptr) return false;
  const char* disable = std::getenv("REFRAIN_DISABLE");
  // A value that is not understood is reported when CUDA starts, by the reader of the environment, so it is no "no"
  // here.
  if (disable != nullptr && (std::string_view(disable) == "1" || std::string_view(disable) == "true")) return false;
  return mode == nullptr || std::string_view(mode) != "off";
}

}  // namespace

bool is_wanted() noexcept {
  Wish known = wish.load(std::memory_order_relaxed);
  if (known == Wish::unknown) {
    known = read_wish() ? Wish::yes : Wish::no;
    wish.store(known, std::memory_order_relaxed);
  }
  return known == Wish::yes;
}

}  // namespace refrain::interpose
