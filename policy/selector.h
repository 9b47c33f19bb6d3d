// Which rule a range or a kernel falls under.
//
// Owns:    nothing; refers to the settings it was made from.
// Threads: constant after construction.
// Fails:   never; a malformed pattern cannot reach it (the parser refuses it).
#pragma once

#include <string_view>

#include "policy/settings.h"

namespace refrain::policy {

/// True when `text` as a whole matches the anchored glob `pattern`: `*` any text (also `/`), `?` one character,
/// `[abc]`, `[a-z]`, `[!abc]`, `\` takes the next character as it is. Linear in practice, never exponential.
bool matches(std::string_view pattern, std::string_view text) noexcept;

class Selector {
 public:
  explicit Selector(const Settings& settings) noexcept;
  /// Index into settings.regions of the first rule that matches, or -1.
  /// `path`: the open ranges of the thread and domain, outermost first, joined by '/', this one included.
  int region_rule(std::string_view domain, std::string_view path, std::string_view range) const noexcept;
  /// True when a rule depends on the nesting path, so that results cannot be cached by domain and name alone.
  bool depends_on_path() const noexcept;
  /// The first operation rule that matches the mangled or the readable name, or nullptr.
  const OperationRule* operation_rule(std::string_view mangled, std::string_view readable) const noexcept;

 private:
  const Settings* settings_;
  bool depends_on_path_ = false;
};

}  // namespace refrain::policy
