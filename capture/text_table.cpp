#include "capture/text_table.h"

#include <algorithm>

namespace refrain::capture {
namespace {

/// Characters, not bytes: those that continue a UTF-8 character do not count.
std::size_t width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

}  // namespace

std::string printable(std::string_view text) {
  std::string result(text);
  for (std::size_t at = 0; at < result.size(); ++at) {
    const auto byte = static_cast<unsigned char>(result[at]);
    if (byte < 0x20 || byte == 0x7f) result[at] = '?';
    // U+0080 to U+009F are control characters too.
    if (byte == 0xc2 && at + 1 < result.size() && static_cast<unsigned char>(result[at + 1]) < 0xa0) {
      result.replace(at, 2, "?");
    }
  }
  return result;
}

void TextTable::add(std::vector<std::string> cells) {
  cells.resize(columns_.size());
  for (std::string& cell : cells) cell = printable(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t column = 0; column < columns_.size(); ++column) {
    std::size_t widest = width(columns_[column].title);
    for (const auto& row : rows_) widest = std::max(widest, width(row[column]));
    widths.push_back(widest);
  }
  std::string result;
  const auto add_line = [&](const auto& cell_of) {
    std::string line;
    for (std::size_t column = 0; column < columns_.size(); ++column) {
      const std::string_view cell = cell_of(column);
      const std::string padding(widths[column] - width(cell), ' ');
      if (column > 0) line += "  ";
      if (columns_[column].align == Align::right) line += padding;
      line += cell;
      if (columns_[column].align == Align::left) line += padding;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + '\n';
  };
  add_line([&](std::size_t column) -> std::string_view { return columns_[column].title; });
  for (const auto& row : rows_) {
    add_line([&](std::size_t column) -> std::string_view { return row[column]; });
  }
  return result;
}

}  // namespace refrain::capture
