// Kernel names for people.
//
// Threads: each ReadableNames belongs to one thread at a time.
// Fails:   what cannot be demangled stays as it is; only std::bad_alloc is thrown.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <unordered_map>

namespace refrain::capture {

/// Longer mangled names are not demangled: the time and memory that demangling takes can grow faster than the name.
inline constexpr std::size_t longest_mangled_name = 4096;
/// Nor is a name that would be longer than this when it is readable: each reference to a part can double it.
inline constexpr std::size_t longest_readable_name = 65536;

/// The demangled form of `mangled`, or `mangled` itself where it is no mangled C++ name.
std::string demangle(const std::string& mangled);

/// The same on a thread of the program, whose stack may be small: a name that needs more of it than there is stays as
/// it is.
std::string demangle_on_host_thread(const std::string& mangled);

/// A readable name for a table column: without return type, template arguments and parameters, cut to `width`
/// characters from the left, because the end of a qualified name tells most.
std::string short_name(std::string_view readable, std::size_t width);

/// Demangles each name once. Forgets everything when it has grown to `most_names`.
class ReadableNames {
 public:
  explicit ReadableNames(std::size_t most_names = 4096) : most_names_(most_names) {}
  /// The reference is good until the next call.
  const std::string& of(const std::string& mangled);
  std::size_t size() const noexcept { return names_.size(); }

 private:
  std::size_t most_names_;
  std::unordered_map<std::string, std::string> names_;
};

}  // namespace refrain::capture
