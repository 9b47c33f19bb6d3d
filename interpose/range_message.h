// A range's message as NVTX passes it, and the name that it stands for.
//
// Units:   names are UTF-8. Wide text of more than 1023 bytes in UTF-8 is cut there.
#pragma once

#include <cstddef>
#include <string_view>

namespace refrain::interpose {

/// Refers to the program's text; valid only during its call.
struct RangeMessage {
  enum class Kind : unsigned char {
    none,
    text,
    wide,
    registered,
    unreadable,  ///< there may be a message, in a form that is not read
  };
  Kind kind = Kind::none;
  const void* value = nullptr;  ///< char*, wchar_t* or the handle of a registered string
};

/// The name in a message. A missing message is the empty name.
class RangeName {
 public:
  explicit RangeName(RangeMessage message) noexcept;
  RangeName(const RangeName&) = delete;
  RangeName& operator=(const RangeName&) = delete;
  /// Valid as long as the message and this object.
  std::string_view text() const noexcept { return text_; }
  /// False for a registered string that nobody registered, and for what is not read.
  bool known() const noexcept { return known_; }

 private:
  std::string_view text_;
  bool known_ = true;
  char wide_[1024];  // filled only by wide text
};

/// Writes `text` as UTF-8, whole characters only, and returns the number of bytes. What is no character becomes U+FFFD.
std::size_t to_utf8(const wchar_t* text, char* out, std::size_t capacity) noexcept;

}  // namespace refrain::interpose
