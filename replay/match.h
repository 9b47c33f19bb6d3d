// Is this call the recorded operation? And taking over what changed.
//
// The structure must be equal: kind, function, attributes. The configuration may change within what the driver is
// known to accept; bytes may change freely, unless the policy demands equality.
#pragma once

#include <vector>

#include "capture/sequence.h"
#include "policy/settings.h"
#include "replay/engine.h"
#include "replay/variant.h"

namespace refrain::replay {

/// How a call compares with a recorded operation; anything but `equal` is also the word for the log.
struct Verdict {
  bool equal = true;
  capture::Reason reason{};
  static Verdict differs(capture::Reason reason) noexcept { return {false, reason}; }
};

/// Compares structure and configuration. The stream is not compared here.
Verdict compare(const KernelCall& call, const Variant& variant, std::uint32_t operation,
                const policy::RegionRule& rule) noexcept;
Verdict compare(const MemsetCall& call, const Variant& variant, std::uint32_t operation,
                const policy::RegionRule& rule) noexcept;
Verdict compare(const CopyCall& call, const Variant& variant, std::uint32_t operation,
                const policy::RegionRule& rule) noexcept;

/// True when every byte that the call passes equals the shadow.
bool same_bytes(const KernelCall& call, const Variant& variant, std::uint32_t operation) noexcept;
bool same_bytes(const MemsetCall& call, const Variant& variant, std::uint32_t operation) noexcept;
bool same_bytes(const CopyCall& call, const Variant& variant, std::uint32_t operation) noexcept;

/// How much of what the call passes equals the shadow, in percent of the bytes: the same place of a program passes
/// mostly the same addresses, whatever scalars move.
unsigned likeness(const KernelCall& call, const Variant& variant, std::uint32_t operation) noexcept;
unsigned likeness(const MemsetCall& call, const Variant& variant, std::uint32_t operation) noexcept;
unsigned likeness(const CopyCall& call, const Variant& variant, std::uint32_t operation) noexcept;

/// Writes the call's configuration and bytes into the shadow, marks the operation when something changed, and keeps the
/// hash of the variant's addresses.
/// compare() must have said equal. `moved`: bytes of addresses that did. False when the call lacks a value: it must
/// pass.
bool absorb(const KernelCall& call, Variant& variant, std::uint32_t operation, std::uint32_t& moved) noexcept;
bool absorb(const MemsetCall& call, Variant& variant, std::uint32_t operation, std::uint32_t& moved) noexcept;
bool absorb(const CopyCall& call, Variant& variant, std::uint32_t operation, std::uint32_t& moved) noexcept;

/// Puts the call into recordable form. False when a graph cannot hold it exactly, with the reason. `function` is that
/// of a kernel call. May throw std::bad_alloc.
bool describe(const KernelCall& call, const capture::Function* function, capture::Operation& operation,
              std::vector<std::byte>& bytes, std::vector<capture::Attribute>& attributes, capture::Reason& reason);
bool describe(const MemsetCall& call, const capture::Function* function, capture::Operation& operation,
              std::vector<std::byte>& bytes, std::vector<capture::Attribute>& attributes, capture::Reason& reason);
bool describe(const CopyCall& call, const capture::Function* function, capture::Operation& operation,
              std::vector<std::byte>& bytes, std::vector<capture::Attribute>& attributes, capture::Reason& reason);

/// Where the packed block of an `extra` launch is, when the list is one that this version knows.
bool packed_block(void* const* extra, const std::byte*& block, std::size_t& bytes) noexcept;

}  // namespace refrain::replay
