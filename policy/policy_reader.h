// What the values of a policy document mean. Used by the parser only.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "policy/document.h"
#include "policy/error.h"
#include "policy/setting_rows.h"
#include "policy/settings.h"

namespace refrain::policy {

/// Turns one document into settings. Every fault is added to the error list; the setting then keeps its default.
class PolicyReader {
 public:
  PolicyReader(std::string_view text, ErrorList& errors) : text_(text), errors_(errors) {}
  void read(const Value& root, Settings& settings);

 private:
  void read_top(const Member& member, Settings& settings);
  void read_version(const Value& value);
  void read_regions(const Value& value, std::vector<RegionRule>& rules);
  void read_region(const Value& value, const std::string& path, RegionRule& rule);
  void read_strict(const Value& value, const std::string& path, RegionRule& rule);
  void read_operations(const Value& value, std::vector<OperationRule>& rules);
  void read_operation(const Value& value, const std::string& path, OperationRule& rule);
  void read_section(std::string_view section, const Value& value, Settings& settings);
  void read_setting(const SettingRow& row, const Value& value, Settings& settings);
  void check_segment(const Settings& settings);

  bool is_object(const Value& value, const std::string& path);
  bool is_rule_list(const Value& value, const std::string& path);
  void require(const Value& object, const std::string& path, std::string_view key);
  bool read_text(const Value& value, const std::string& path, std::size_t least, std::size_t most, std::string& into);
  void read_pattern(const Value& value, const std::string& path, std::size_t least, std::string& into);
  template <class Enumeration>
  void read_word(const Value& value, const std::string& path, std::span<const std::string_view> words,
                 Enumeration& into);
  void unknown_key(const Member& member, const std::string& path, std::span<const std::string_view> known);
  void wrong(const Value& value, const std::string& path, std::string expected);

  std::string_view text_;
  ErrorList& errors_;
  std::vector<std::pair<std::string_view, std::size_t>> places_;  ///< setting key -> offset of its value, as given
};

}  // namespace refrain::policy
