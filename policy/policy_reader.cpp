#include "policy/policy_reader.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>

#include "policy/glob.h"
#include "policy/nearest.h"
#include "policy/parser.h"
#include "policy/words.h"

namespace refrain::policy {

namespace {

constexpr std::array<std::string_view, 7> region_keys{"name", "range", "domain", "path", "action", "scope", "strict"};
constexpr std::array<std::string_view, 2> operation_keys{"kernel", "action"};
constexpr std::array<std::string_view, 2> strict_words{"configuration", "parameters"};
constexpr std::string_view log_section = "log";
constexpr std::string_view log_path_key = "path";

/// The names of the settings of a section; log.path is the one that is not in settings.inc.
std::vector<std::string_view> names_in(std::string_view section) {
  std::vector<std::string_view> names;
  if (section == log_section) names.push_back(log_path_key);
  for (const SettingRow& row : setting_rows()) {
    if (row.section() == section) names.push_back(row.name());
  }
  return names;
}

std::vector<std::string_view> top_keys() {
  std::vector<std::string_view> keys{"$schema", "description", "version", "mode", "auto", "regions", "operations"};
  for (const SettingRow& row : setting_rows()) {
    if (keys.back() != row.section()) keys.push_back(row.section());
  }
  return keys;
}

/// The full key of the setting whose name, without its section, is nearest to `word`.
std::string_view nearest_setting(std::string_view word) {
  std::vector<std::string_view> names;
  for (const SettingRow& row : setting_rows()) names.push_back(row.name());
  const std::string_view name = nearest(word, names);
  if (name.empty()) return {};
  return setting_rows()[static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin())].key;
}

std::string one_of(std::span<const std::string_view> words) {
  std::string text = "one of ";
  for (const std::string_view word : words) {
    if (word != words.front()) text += ", ";
    text += word;
  }
  return text;
}

}  // namespace

void PolicyReader::read(const Value& root, Settings& settings) {
  if (!is_object(root, {})) return;
  require(root, {}, "version");
  for (const Member& member : root.members) read_top(member, settings);
  check_segment(settings);
}

void PolicyReader::read_top(const Member& member, Settings& settings) {
  const std::string path = key_path({}, member.key);
  std::string ignored;
  if (member.key == "version") {
    read_version(member.value);
  } else if (member.key == "mode") {
    read_word(member.value, path, mode_words(), settings.mode);
  } else if (member.key == "auto") {
    if (member.value.kind != Value::Kind::boolean) return wrong(member.value, path, "true or false");
    settings.automatic = member.value.boolean;
  } else if (member.key == "regions") {
    read_regions(member.value, settings.regions);
  } else if (member.key == "operations") {
    read_operations(member.value, settings.operations);
  } else if (member.key == "$schema" || member.key == "description") {
    read_text(member.value, path, 0, max_document_bytes, ignored);
  } else if (!names_in(member.key).empty()) {
    read_section(member.key, member.value, settings);
  } else {
    unknown_key(member, {}, top_keys());
  }
}

void PolicyReader::read_version(const Value& value) {
  if (value.kind == Value::Kind::integer && value.integer == policy_version) return;
  wrong(value, "version", fmt::format("{}, the version of the format", policy_version));
}

void PolicyReader::read_regions(const Value& value, std::vector<RegionRule>& rules) {
  if (!is_rule_list(value, "regions")) return;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    read_region(value.items[i], key_path("regions", i), rules.emplace_back());
  }
}

void PolicyReader::read_region(const Value& value, const std::string& path, RegionRule& rule) {
  if (!is_object(value, path)) return;
  require(value, path, "range");
  for (const Member& member : value.members) {
    const std::string key = key_path(path, member.key);
    if (member.key == "name") {
      read_text(member.value, key, 1, max_name_bytes, rule.name);
    } else if (member.key == "range") {
      read_pattern(member.value, key, 1, rule.range);
    } else if (member.key == "domain") {
      read_pattern(member.value, key, 0, rule.domain);  // "" selects the default domain, whose name is empty
    } else if (member.key == "path") {
      read_pattern(member.value, key, 1, rule.path);
    } else if (member.key == "action") {
      read_word(member.value, key, action_words(), rule.action);
    } else if (member.key == "scope") {
      read_word(member.value, key, scope_words(), rule.scope);
    } else if (member.key == "strict") {
      read_strict(member.value, key, rule);
    } else {
      unknown_key(member, path, region_keys);
    }
  }
  if (rule.name.empty()) rule.name = rule.range;
}

void PolicyReader::read_strict(const Value& value, const std::string& path, RegionRule& rule) {
  if (value.kind != Value::Kind::array) return wrong(value, path, "an array of the words configuration, parameters");
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    std::optional<std::size_t> word;
    read_word(value.items[i], key_path(path, i), strict_words, word);
    if (!word) continue;
    bool& flag = *word == 0 ? rule.strict_configuration : rule.strict_parameters;
    if (flag) wrong(value.items[i], key_path(path, i), "each word once");
    flag = true;
  }
}

void PolicyReader::read_operations(const Value& value, std::vector<OperationRule>& rules) {
  if (!is_rule_list(value, "operations")) return;
  for (std::size_t i = 0; i < value.items.size(); ++i) {
    read_operation(value.items[i], key_path("operations", i), rules.emplace_back());
  }
}

void PolicyReader::read_operation(const Value& value, const std::string& path, OperationRule& rule) {
  if (!is_object(value, path)) return;
  require(value, path, "kernel");
  for (const Member& member : value.members) {
    const std::string key = key_path(path, member.key);
    if (member.key == "kernel") {
      read_pattern(member.value, key, 1, rule.kernel);
    } else if (member.key == "action") {
      read_word(member.value, key, action_words(), rule.action);
    } else {
      unknown_key(member, path, operation_keys);
    }
  }
}

void PolicyReader::read_section(std::string_view section, const Value& value, Settings& settings) {
  const std::string path(section);
  if (!is_object(value, path)) return;
  const std::span<const SettingRow> rows = setting_rows();
  for (const Member& member : value.members) {
    const auto row = std::find_if(rows.begin(), rows.end(), [&](const SettingRow& candidate) {
      return candidate.section() == section && candidate.name() == member.key;
    });
    if (row != rows.end()) {
      read_setting(*row, member.value, settings);
    } else if (section == log_section && member.key == log_path_key) {
      read_text(member.value, key_path(path, member.key), 0, max_path_bytes, settings.log_path);
    } else {
      unknown_key(member, path, names_in(section));
    }
  }
}

void PolicyReader::read_setting(const SettingRow& row, const Value& value, Settings& settings) {
  const std::string path(row.key);
  if (row.boolean) {
    if (value.kind != Value::Kind::boolean) return wrong(value, path, "true or false");
    row.set(settings, value.boolean ? 1 : 0);
    return;
  }
  if (value.kind != Value::Kind::integer || value.integer < row.low || value.integer > row.high) {
    return wrong(value, path, fmt::format("an integer from {} to {}", row.low, row.high));
  }
  row.set(settings, value.integer);
  places_.emplace_back(row.key, value.offset);
}

void PolicyReader::check_segment(const Settings& settings) {
  if (settings.segment_min <= settings.segment_max) return;
  // Reported at the one that was given; at segment.max when both were.
  for (const auto& [key, offset] : places_) {
    if (key == "segment.max") {
      return errors_.add(offset, std::string(key), fmt::format("at least segment.min, {}", settings.segment_min),
                         std::to_string(settings.segment_max));
    }
  }
  for (const auto& [key, offset] : places_) {
    if (key == "segment.min") {
      return errors_.add(offset, std::string(key), fmt::format("at most segment.max, {}", settings.segment_max),
                         std::to_string(settings.segment_min));
    }
  }
}

bool PolicyReader::is_object(const Value& value, const std::string& path) {
  if (value.kind == Value::Kind::object) return true;
  wrong(value, path, "an object");
  return false;
}

bool PolicyReader::is_rule_list(const Value& value, const std::string& path) {
  if (value.kind != Value::Kind::array) {
    wrong(value, path, "an array of objects");
  } else if (value.items.size() > max_rules) {
    errors_.add(value.items[max_rules].offset, path, fmt::format("at most {} rules", max_rules),
                std::to_string(value.items.size()));
  } else {
    return true;
  }
  return false;
}

void PolicyReader::require(const Value& object, const std::string& path, std::string_view key) {
  const bool given =
      std::any_of(object.members.begin(), object.members.end(), [&](const Member& m) { return m.key == key; });
  if (!given) errors_.add(object.offset, path, fmt::format("the key \"{}\"", key), "none");
}

bool PolicyReader::read_text(const Value& value, const std::string& path, std::size_t least, std::size_t most,
                             std::string& into) {
  if (value.kind != Value::Kind::string) {
    wrong(value, path, "a string");
  } else if (value.string.size() < least) {
    wrong(value, path, "a string that is not empty");
  } else if (value.string.size() > most) {
    errors_.add(value.offset, path, fmt::format("at most {} bytes", most), fmt::format("{}", value.string.size()));
  } else if (value.string.find('\0') != std::string::npos) {
    wrong(value, path, "a string without NUL");
  } else {
    into = value.string;
    return true;
  }
  return false;
}

void PolicyReader::read_pattern(const Value& value, const std::string& path, std::size_t least, std::string& into) {
  std::string pattern;
  if (!read_text(value, path, least, max_pattern_bytes, pattern)) return;
  if (const char* fault = glob_fault(pattern)) {
    return errors_.add(value.offset, path, "a well-formed pattern",
                       fmt::format("{} in {}", fault, description(value, text_)));
  }
  into = std::move(pattern);
}

template <class Enumeration>
void PolicyReader::read_word(const Value& value, const std::string& path, std::span<const std::string_view> words,
                             Enumeration& into) {
  if (value.kind != Value::Kind::string) return wrong(value, path, one_of(words));
  if (const std::optional<std::size_t> index = word_index(words, value.string)) {
    into = static_cast<Enumeration>(*index);
    return;
  }
  errors_.add(value.offset, path, one_of(words), description(value, text_), std::string(nearest(value.string, words)));
}

void PolicyReader::unknown_key(const Member& member, const std::string& path, std::span<const std::string_view> known) {
  std::string_view meant = nearest(member.key, known);
  if (meant.empty()) meant = nearest_setting(member.key);
  errors_.add(member.offset, key_path(path, member.key), one_of(known), "an unknown key", std::string(meant));
}

void PolicyReader::wrong(const Value& value, const std::string& path, std::string expected) {
  errors_.add(value.offset, path, std::move(expected), description(value, text_));
}

}  // namespace refrain::policy
