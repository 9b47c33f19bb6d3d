// A JSON text as values that know where they stand.
//
// Owns:  Value owns its text and its children; offsets refer to the text that was read.
// Units: offsets in bytes.
// Fails: a fault of the text is added to the error list; nothing is thrown but std::bad_alloc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "policy/error.h"

namespace refrain::policy {

/// Bounds that no sensible policy meets, so that any text is read in bounded time and memory.
inline constexpr std::size_t max_document_bytes = std::size_t{1} << 20;
inline constexpr std::size_t max_document_depth = 16;
inline constexpr std::size_t max_document_values = 65536;
inline constexpr std::size_t max_object_keys = 256;

struct Member;

struct Value {
  enum class Kind : std::uint8_t {
    null,
    boolean,
    integer,  ///< 0 to 2^64-1
    number,   ///< any other number: negative, fractional, too large
    string,
    array,
    object,
  };
  Kind kind = Kind::null;
  bool boolean = false;
  std::size_t offset = 0;  ///< of the value's first byte
  std::uint64_t integer = 0;
  std::string string;
  std::vector<Value> items;
  std::vector<Member> members;  ///< in the order of the text; a repeated key was reported
};

struct Member {
  std::string key;
  std::size_t offset = 0;  ///< of the key's opening quote
  Value value;
};

/// `key` as a further step of the path `path`, bounded and printable.
std::string key_path(std::string_view path, std::string_view key);
std::string key_path(std::string_view path, std::size_t index);

/// The value in words for "found ...": "an object", or the value as written in `text`, bounded.
std::string description(const Value& value, std::string_view text);

/// Reads `text`, strict JSON in UTF-8 with or without a byte order mark. Nothing when the text is not readable to its
/// end; repeated keys are reported too, but leave the document readable.
std::optional<Value> read_document(std::string_view text, ErrorList& errors);

}  // namespace refrain::policy
