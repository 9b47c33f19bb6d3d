#include "policy/describe.h"

#include <fmt/core.h>

#include <algorithm>

#include "policy/json_tree.h"
#include "policy/parser.h"
#include "policy/setting_rows.h"
#include "policy/words.h"

namespace refrain::policy {

namespace {

using Json = JsonTree;

Json region_json(const RegionRule& rule) {
  Json strict = Json::array();
  if (rule.strict_configuration) strict.push_back("configuration");
  if (rule.strict_parameters) strict.push_back("parameters");
  Json json = Json::object();
  json["name"] = rule.name;
  json["range"] = rule.range;
  json["domain"] = rule.domain;
  json["path"] = rule.path;
  json["action"] = to_string(rule.action);
  json["scope"] = to_string(rule.scope);
  json["strict"] = std::move(strict);
  return json;
}

Json settings_json(const Settings& settings) {
  Json json = Json::object();
  json["version"] = policy_version;
  json["mode"] = to_string(settings.mode);
  json["auto"] = settings.automatic;
  json["regions"] = Json::array();
  for (const RegionRule& rule : settings.regions) json["regions"].push_back(region_json(rule));
  json["operations"] = Json::array();
  for (const OperationRule& rule : settings.operations) {
    Json operation = Json::object();
    operation["kernel"] = rule.kernel;
    operation["action"] = to_string(rule.action);
    json["operations"].push_back(std::move(operation));
  }
  for (const SettingRow& row : setting_rows()) {
    Json& value = json[std::string(row.section())][std::string(row.name())];
    if (row.boolean) {
      value = row.get(settings) != 0;
    } else {
      value = row.get(settings);
    }
  }
  json["log"]["path"] = settings.log_path;
  return json;
}

std::string value_text(const SettingRow& row, std::uint64_t value) {
  if (row.boolean) return value != 0 ? "true" : "false";
  return std::to_string(value);
}

}  // namespace

std::string to_json(const Settings& settings, int indent) noexcept {
  try {
    // A path from a variable may hold any bytes; those that are not UTF-8 are replaced, not refused.
    return settings_json(settings).dump(indent);
  } catch (...) {
    return {};
  }
}

std::string settings_table(const Settings& settings) noexcept {
  try {
    constexpr auto line = "{:<26} {:>9}  {:<10} {:>9} {:>9} {:>9}  {}\n";
    std::string table = fmt::format(line, "setting", "value", "unit", "default", "least", "greatest", "meaning");
    for (const SettingRow& row : setting_rows()) {
      table += fmt::format(line, row.key, value_text(row, row.get(settings)), row.unit, value_text(row, row.initial),
                           value_text(row, row.low), value_text(row, row.high), row.help);
    }
    return table;
  } catch (...) {
    return {};
  }
}

}  // namespace refrain::policy
