// Which rule a range falls under, and a record of what matched and what did not.
//
// Owns:    RangeRules: a cache of fixed size, one a thread; the record: fixed size, one a process.
// Threads: a RangeRules belongs to its thread; the record is shared.
// Fails:   never; what does not fit into the cache is matched each time.
#pragma once

#include <cstdint>
#include <string_view>

#include "interpose/range_names.h"
#include "interpose/range_watch.h"

namespace refrain::interpose {

/// What decides the rule of a range.
struct RangeKey {
  Domain domain;
  std::string_view path;  ///< with the range itself; read only when a rule depends on it
  std::string_view name;
};

/// Answers of the selector by domain and name, or by domain and path where a rule depends on it. A thread's programs
/// have few names in a loop; names with numbers in them replace each other and nothing grows.
class RangeRules {
 public:
  /// Index of the rule, or -1.
  int rule(const RangeWatch& watch, const RangeKey& key) noexcept;

 private:
  static constexpr std::size_t sets = 128, ways = 2, text_capacity = 224;
  struct Entry {
    std::uint64_t hash = 0;
    std::uint64_t serial = 0;
    unsigned generation = 0;  ///< 0: unused
    int rule = -1;
    std::uint32_t text_size = 0;
    std::uint32_t name_size = 0;
    char text[text_capacity];
  };
  Entry entries_[sets][ways];
  unsigned turn_ = 0;  // which way is replaced next
};

/// Forgets what matched: the rules are others now.
void reset_rule_record() noexcept;

}  // namespace refrain::interpose
