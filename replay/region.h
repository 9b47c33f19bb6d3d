// A region: what is known about the ranges that one policy rule selects.
//
// Owns:    its variants.
// Threads: `lock` guards everything but the constants; it is taken at the begin and end of a pass and on a fall-back,
// not
//          for each call, and never kept across a driver call. Order: a lane's lock may be held when it is taken.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "capture/log_record.h"
#include "policy/settings.h"
#include "replay/lock.h"
#include "replay/rest.h"
#include "replay/trail.h"
#include "replay/variant.h"

namespace refrain::replay {

inline constexpr std::size_t reason_count = 0
#define REASON(name, text) +1
#include "capture/reasons.inc"
    ;

/// Calls of one pass, or the sum over passes. calls = held + passed, held = replayed + flushed.
struct CallCounters {
  std::uint64_t calls = 0, held = 0, passed = 0, replayed = 0, flushed = 0, patched = 0, graph_launches = 0;
  CallCounters& operator+=(const CallCounters& other) noexcept {
    calls += other.calls;
    held += other.held;
    passed += other.passed;
    replayed += other.replayed;
    flushed += other.flushed;
    patched += other.patched;
    graph_launches += other.graph_launches;
    return *this;
  }
};

struct Region {
  Region(const policy::RegionRule& region_rule, bool may_replay) noexcept : rule(region_rule), replays(may_replay) {}
  /// An automatic region takes its variants' places from the operations before them.
  Region(const policy::RegionRule& region_rule, bool may_replay, std::unique_ptr<Trail> its_trail) noexcept
      : rule(region_rule), trail(std::move(its_trail)), replays(may_replay) {}

  const policy::RegionRule& rule;
  const std::unique_ptr<Trail> trail;  ///< of an automatic region only
  bool is_automatic() const noexcept { return trail != nullptr; }
  const bool replays;  ///< false: recorded and logged only

  Lock lock;
  std::vector<std::unique_ptr<Variant>> variants;
  Variant* last = nullptr;  ///< the variant of the last complete pass
  std::uint32_t next_variant = 0;
  std::uint64_t copies = 0, copies_used = 0;  ///< variants made for other addresses; those whose addresses came back
  std::uint64_t next_sweep = 0;               ///< the pass from which on copies that were of no use are looked for
  /// False once many copies were made for addresses of which few have come back: where they never do, a copy for each
  /// would only fill the memory.
  bool addresses_return() const noexcept {
    constexpr std::uint64_t first_copies = 128;
    return copies < first_copies + 2 * copies_used;
  }
  /// Whether a pass shall be searched for by its addresses: where they do not come back, only some are.
  bool looks_at_addresses(std::uint64_t pass) const noexcept {
    constexpr std::uint64_t some = 8;
    return addresses_return() || pass % some == 0;
  }
  /// Passes without a use: twice round all variants. The program has gone on to other addresses or shapes.
  std::uint64_t long_unused() const noexcept { return 2 * variants.size(); }
  std::atomic<std::uint64_t> passes{0};  ///< begun
  /// The number of a pass that begins, from 1. Without the lock: many ranges have no operation of their own.
  std::uint64_t begin_pass() noexcept { return passes.fetch_add(1, std::memory_order_relaxed) + 1; }
  std::uint64_t passes_since_wait = 0;  ///< since a safe point built something or found nothing to build
  std::uint64_t no_room_until = 0;      ///< the pass before which no graph is tried: the memory for graphs is used up
  std::uint32_t failures = 0;           ///< of builds, patches and launches
  bool off = false;
  Rest rest;
  CallCounters counters;
  std::array<std::uint64_t, reason_count> causes{};

  /// What has been logged already: a cause is written once a variant and operation, and counted after that.
  struct Noted {
    capture::Reason reason;
    std::uint32_t variant, operation;
    bool operator==(const Noted&) const = default;
  };
  std::vector<Noted> noted;

  /// Counts a cause. True when it is new at this place and should be written to the log. Takes the lock.
  bool note(capture::Reason reason, std::uint32_t variant, std::uint32_t operation) noexcept;
  /// Calls `visit(Variant&)` for those that may be the place `context`: all of them, in a region that ranges delimit.
  template <typename Visit>
  void for_each_at(std::uint64_t context, Visit visit) noexcept {
    if (trail == nullptr) {
      for (const std::unique_ptr<Variant>& variant : variants) visit(*variant);
    } else if (const Place* place = trail->find(context)) {
      for (Variant* variant = place->variants; variant != nullptr; variant = variant->same_place) visit(*variant);
    }
  }
  /// The variant that has had no use for longest of those that have graphs, are not in use and were left behind; or
  /// nullptr. The lock must be held.
  Variant* left_behind() const noexcept;
  /// The likeliest free variant whose first `count` operations have this structure, and that is longer than `count` or,
  /// with `exact`, just as long. `likeness(variant)` says how well it suits, 0 that it does not. The lock must be held.
  template <typename Likeness>
  Variant* find_prefix(std::uint64_t structure, std::uint32_t count, bool exact, const Variant* except,
                       Likeness likeness) noexcept {
    Variant* best = nullptr;
    unsigned most = 0;
    for (const std::unique_ptr<Variant>& variant : variants) {
      if (variant.get() == except || variant->busy || variant->dropped) continue;
      const std::uint32_t size = variant->sequence.size();
      if ((exact ? size != count : size <= count) || variant->sequence.structure(count) != structure) continue;
      if (const unsigned alike = likeness(*variant); alike > most) {
        most = alike;
        best = variant.get();
      }
    }
    return best;
  }
};

}  // namespace refrain::replay
