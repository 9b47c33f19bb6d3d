// The functions of the fake driver that only answer with a number of their own; fake_driver.cpp has those that do more.
namespace {

enum Number : int {
#define ENTRY(name, group) number_##name,
#include "replay/driver_entry_points.inc"
};
constexpr int first_number = 10000;

}  // namespace

#define ENTRY(name, group)                                                    \
  extern "C" [[gnu::visibility("default"), gnu::weak]] int name() noexcept;   \
  int name() noexcept { return first_number + number_##name; }
#include "replay/driver_entry_points.inc"
