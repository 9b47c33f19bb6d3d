// What is wrong with a policy, and where.
//
// Units: lines and columns count from 1; a column is a character (UTF-8 code point), a tab is one.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::policy {

struct PolicyError {
  std::string file;
  unsigned line = 0;  ///< 0: the fault is with the file as a whole
  unsigned column = 0;
  std::string key;       ///< "regions[2].range"; empty for the policy as a whole
  std::string expected;  ///< a phrase: "an integer from 1 to 4096"
  std::string found;     ///< a phrase or the value as written, bounded
  std::string nearest;   ///< the known word that was probably meant; empty when there is none
};

/// "file:line:column: key: expected ..., found ...; did you mean ...?", one line without its end.
std::string to_string(const PolicyError& error);

/// `text` on one line, without control characters, cut to about `limit` bytes.
std::string printable(std::string_view text, std::size_t limit);

/// The faults of one policy text, bounded.
class ErrorList {
 public:
  static constexpr std::size_t limit = 20;

  ErrorList(std::string_view file, std::string_view text) : file_(file), text_(text) {}
  /// `offset`: the byte of the text that the fault is at.
  void add(std::size_t offset, std::string key, std::string expected, std::string found, std::string nearest = {});
  bool full() const noexcept { return errors_.size() >= limit; }
  bool empty() const noexcept { return errors_.empty(); }
  /// The errors in the order of the text. Leaves the list empty.
  std::vector<PolicyError> take();

 private:
  std::string file_;
  std::string_view text_;
  std::vector<PolicyError> errors_;
};

}  // namespace refrain::policy
