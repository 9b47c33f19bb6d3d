// Where the tokens of a JSON text begin and end. Needs the text to be valid only up to the token that is asked for.
//
// Units: offsets in bytes.
#pragma once

#include <cstddef>
#include <string_view>

namespace refrain::policy {

/// The first offset from `at` on that is neither white space nor ',' nor ':'; the text's size when there is none.
std::size_t skip_separators(std::string_view text, std::size_t at) noexcept;

/// The offset after the token that begins at `at`: a string with its quotes, a number or word, or one character.
std::size_t token_end(std::string_view text, std::size_t at) noexcept;

/// The start of the first token from `at` on that ends at or after `position`; the text's size when there is none.
std::size_t token_that_reaches(std::string_view text, std::size_t at, std::size_t position) noexcept;

}  // namespace refrain::policy
