// What the handles of NVTX stand for: domains and registered strings.
//
// The handles are the chained tool's where there is one, so they say nothing by themselves.
//
// Owns:    two tables of fixed size and the texts, each different text once, for the life of the process.
// Threads: any. Looking up takes no lock. After forbid_waiting_for_names(true) recording does not wait for one either.
// Limits:  1024 domains, 131072 strings, 16 MiB of text. What does not fit is unknown, and ranges with it are no
// regions. Fails:   never.
#pragma once

#include <cstdint>
#include <string_view>

namespace refrain::interpose {

/// A domain at one time: a handle may come back for another domain.
struct Domain {
  std::uint64_t serial = 0;  ///< 0 is the default domain
  std::string_view name;     ///< valid for the life of the process
  bool known = false;
};

/// A number that no other handle or identifier of this process has, and no tool is likely to have.
std::uint64_t own_number() noexcept;

void domain_created(const void* handle, std::string_view name) noexcept;
/// False when the domain is still used by another creation that got the same handle.
bool domain_destroyed(const void* handle) noexcept;
Domain find_domain(const void* handle) noexcept;

/// The string lives as long as its domain.
void string_registered(const void* domain, const void* handle, std::string_view text) noexcept;
/// `text` is valid for the life of the process.
bool find_string(const void* handle, std::string_view& text) noexcept;

/// Another thread may have vanished while it held the lock, as in a forked child: do not wait for it.
void forbid_waiting_for_names(bool forbidden) noexcept;

}  // namespace refrain::interpose
