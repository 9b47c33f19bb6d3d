// The functions of the fake driver that only answer with a number of their own; fake_driver.cpp has those that do more.
#include <cstring>

namespace {

enum Number : int {
#define ENTRY(name, group) number_##name,
#include "replay/driver_entry_points.inc"
};
constexpr int first_number = 10000;

}  // namespace

#define ENTRY(name, group)                                                  \
  extern "C" [[gnu::visibility("default"), gnu::weak]] int name() noexcept; \
  int name() noexcept { return first_number + number_##name; }
#include "replay/driver_entry_points.inc"

/// The function of that name in the list, past every hook; nullptr when there is none.
extern "C" [[gnu::visibility("default")]] void* fake_address(const char* name) noexcept {
  struct Row {
    const char* name;
    int (*function)() noexcept;
  };
  static constexpr Row rows[] = {
#define ENTRY(name, group) {#name, &name},
#include "replay/driver_entry_points.inc"
  };
  for (const Row& row : rows) {
    if (std::strcmp(row.name, name) == 0) return reinterpret_cast<void*>(row.function);
  }
  return nullptr;
}
