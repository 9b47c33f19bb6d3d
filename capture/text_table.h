// Text in aligned columns, for a terminal.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace refrain::capture {

/// `text` with control characters replaced, so that what a log holds cannot steer a terminal.
std::string printable(std::string_view text);

class TextTable {
 public:
  enum class Align : std::uint8_t { left, right };
  struct Column {
    const char* title;
    Align align;
  };

  explicit TextTable(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// One cell for each column.
  void add(std::vector<std::string> cells);
  bool empty() const noexcept { return rows_.empty(); }
  /// The title line and all rows, two spaces between columns, no spaces at line ends.
  std::string text() const;

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace refrain::capture
