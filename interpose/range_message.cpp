#include "interpose/range_message.h"

#include "interpose/range_names.h"

namespace refrain::interpose {

namespace {

/// Bytes of one character, 1 to 4.
std::size_t encode(char32_t character, char (&out)[4]) noexcept {
  const auto tail = [](char32_t bits) { return static_cast<char>(0x80 | (bits & 0x3F)); };
  if (character < 0x80) {
    out[0] = static_cast<char>(character);
    return 1;
  }
  if (character < 0x800) {
    out[0] = static_cast<char>(0xC0 | (character >> 6));
    out[1] = tail(character);
    return 2;
  }
  if (character < 0x10000) {
    out[0] = static_cast<char>(0xE0 | (character >> 12));
    out[1] = tail(character >> 6);
    out[2] = tail(character);
    return 3;
  }
  out[0] = static_cast<char>(0xF0 | (character >> 18));
  out[1] = tail(character >> 12);
  out[2] = tail(character >> 6);
  out[3] = tail(character);
  return 4;
}

bool is_character(char32_t value) noexcept { return value < 0xD800 || (value > 0xDFFF && value <= 0x10FFFF); }

}  // namespace

std::size_t to_utf8(const wchar_t* text, char* out, std::size_t capacity) noexcept {
  std::size_t used = 0;
  for (; *text != L'\0'; ++text) {
    const auto value = static_cast<char32_t>(*text);
    char bytes[4];
    const std::size_t count = encode(is_character(value) ? value : U'\uFFFD', bytes);
    if (used + count > capacity) break;
    for (std::size_t i = 0; i < count; ++i) out[used++] = bytes[i];
  }
  return used;
}

RangeName::RangeName(RangeMessage message) noexcept {
  known_ = message.kind != RangeMessage::Kind::unreadable;
  if (message.value == nullptr) return;
  switch (message.kind) {
    case RangeMessage::Kind::none:
    case RangeMessage::Kind::unreadable: break;
    case RangeMessage::Kind::text: text_ = static_cast<const char*>(message.value); break;
    case RangeMessage::Kind::wide:
      text_ = {wide_, to_utf8(static_cast<const wchar_t*>(message.value), wide_, sizeof wide_ - 1)};
      break;
    case RangeMessage::Kind::registered: known_ = find_string(message.value, text_); break;
  }
}

}  // namespace refrain::interpose
