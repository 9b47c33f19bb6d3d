// Regions that were opened by a start, until their end, on whatever threads.
//
// Owns:    one table of fixed size.
// Threads: any; the lock is held for a search of the table, never while events are told.
// Fails:   an identifier that is in use already, or one too many, is refused.
#pragma once

#include <cstdint>

#include "interpose/range_watch.h"

namespace refrain::interpose {

/// False: refused.
bool keep_started(const void* domain, std::uint64_t id, OpenToken region) noexcept;
/// The region with this identifier, which is then no longer kept; empty when there is none.
OpenToken take_started(const void* domain, std::uint64_t id) noexcept;
/// Any region of the domain; empty when there is none.
OpenToken take_started(const void* domain) noexcept;
/// Forgets all: nobody waits for their end any more.
void forget_started() noexcept;

}  // namespace refrain::interpose
