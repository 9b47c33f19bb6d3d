// Launch attributes: which ones a graph node keeps, and how large each one's value is.
//
// The unused bytes of the attribute union are garbage, so every attribute is compared and copied by its own size.
// Source: CUlaunchAttributeID in cuda.h 13.0.
#pragma once

#include <cstdint>
#include <vector>

#include "capture/operation.h"
#include "replay/engine.h"

namespace refrain::replay {

/// More attributes than this on one launch are not carried.
inline constexpr unsigned most_attributes = 16;

/// The attribute's id as a number: a newer program may pass one that the enumeration does not have.
unsigned attribute_id(const CUlaunchAttribute& attribute) noexcept;

/// Size in bytes of the value of attribute `id`, or 0 when a held launch cannot carry it: events that are usable when
/// the call returns, device-updatable nodes, and whatever is newer than this list.
std::uint32_t held_attribute_size(unsigned id) noexcept;

/// True when the launch carries exactly `expected`, which came from canonical_attributes().
bool same_attributes(const KernelCall& call, const capture::Attribute* expected, unsigned count) noexcept;

/// The launch's attributes in comparable form. False when one cannot be carried. May throw std::bad_alloc.
bool canonical_attributes(const KernelCall& call, std::vector<capture::Attribute>& attributes);

}  // namespace refrain::replay
