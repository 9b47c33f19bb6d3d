#include "interpose/name_table.h"

#include <cstdint>
#include <cstring>

namespace refrain::interpose {
namespace {

constexpr unsigned slot_count = 2048;  // a power of two, three times the names
static_assert(entry_point_count * 3 <= slot_count);

constexpr std::uint32_t hash_of(const char* name) noexcept {
  std::uint32_t hash = 2166136261u;  // FNV-1a
  for (; *name != 0; ++name) hash = (hash ^ static_cast<unsigned char>(*name)) * 16777619u;
  return hash ^ (hash >> 15);
}

/// Open addressing: the slot of a name's hash, or the next free one. An empty slot holds entry_point_count.
struct Slots {
  std::uint16_t entry[slot_count];
};

constexpr Slots slots = [] {
  Slots table{};
  for (auto& entry : table.entry) entry = entry_point_count;
  for (unsigned i = 0; i < entry_point_count; ++i) {
    std::uint32_t slot = hash_of(entry_point_names[i]) % slot_count;
    while (table.entry[slot] != entry_point_count) slot = (slot + 1) % slot_count;
    table.entry[slot] = static_cast<std::uint16_t>(i);
  }
  return table;
}();

}  // namespace

EntryPoint find_entry_point(const char* name) noexcept {
  if (!looks_like_driver_name(name)) return unknown_entry_point;
  for (std::uint32_t slot = hash_of(name) % slot_count;; slot = (slot + 1) % slot_count) {
    const unsigned entry = slots.entry[slot];
    if (entry == entry_point_count) return unknown_entry_point;
    if (std::strcmp(entry_point_names[entry], name) == 0) return static_cast<EntryPoint>(entry);
  }
}

}  // namespace refrain::interpose
