#include "tests/capture/schema_check.h"

#include <algorithm>
#include <set>
#include <string_view>

namespace refrain::tests {
namespace {

using Json = nlohmann::json;

const Json& resolved(const Json& root, const Json& schema) {
  if (!schema.contains("$ref")) return schema;
  return root.at(Json::json_pointer(schema.at("$ref").get<std::string>().substr(1)));
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char byte) { return (static_cast<unsigned char>(byte) & 0xc0) != 0x80; }));
}

bool has_type(const Json& type, const Json& value) {
  if (type.is_array()) {
    return std::any_of(type.begin(), type.end(), [&](const Json& one) { return has_type(one, value); });
  }
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return type == "number" && value.is_number();
}

std::string check_members(const Json& root, const Json& schema, const Json& value) {
  if (schema.contains("required")) {
    for (const auto& name : schema["required"]) {
      if (!value.contains(name)) return std::string(".") + name.get<std::string>() + ": is missing";
    }
  }
  for (const auto& [name, member] : schema.at("properties").items()) {
    if (!value.contains(name)) continue;
    if (const std::string found = violation(root, member, value[name]); !found.empty())
      return std::string(".") + name + found;
  }
  return {};
}

std::string check_elements(const Json& root, const Json& schema, const Json& value) {
  for (const Json& element : value) {
    if (const std::string found = violation(root, schema, element); !found.empty()) return std::string("[]") + found;
  }
  return {};
}

/// What `keyword` says about `value`.
std::string check(const Json& root, const Json& schema, const std::string& keyword, const Json& rule,
                  const Json& value) {
  const auto unless = [&](bool good) {
    return good ? std::string() : ": " + keyword + " is " + rule.dump() + ", found " + value.dump();
  };
  if (keyword == "description" || keyword == "title" || keyword == "$schema" || keyword == "$id" || keyword == "$defs")
    return {};
  if (keyword == "required") return {};  // with "properties"
  if (keyword == "type") return unless(has_type(rule, value));
  if (keyword == "const") return unless(rule == value);
  if (keyword == "enum") return unless(std::find(rule.begin(), rule.end(), value) != rule.end());
  if (keyword == "minimum") return unless(!value.is_number() || value >= rule);
  if (keyword == "maximum") return unless(!value.is_number() || value <= rule);
  if (keyword == "minItems") return unless(!value.is_array() || value.size() >= rule);
  if (keyword == "maxItems") return unless(!value.is_array() || value.size() <= rule);
  if (keyword == "maxLength") return unless(!value.is_string() || characters(value) <= rule);
  if (keyword == "properties") return value.is_object() ? check_members(root, schema, value) : std::string();
  if (keyword == "items") return value.is_array() ? check_elements(root, rule, value) : std::string();
  if (keyword == "oneOf") {
    return unless(std::count_if(rule.begin(), rule.end(),
                                [&](const Json& one) { return violation(root, one, value).empty(); }) == 1);
  }
  return ": keyword " + keyword + " is not known to this validator";
}

}  // namespace

std::string violation(const Json& root, const Json& given, const Json& value) {
  const Json& schema = resolved(root, given);
  for (const auto& [keyword, rule] : schema.items()) {
    if (const std::string found = check(root, schema, keyword, rule, value); !found.empty()) return found;
  }
  return {};
}

std::string difference(const Json& root, const Json& given, const Json& value) {
  const Json& schema = resolved(root, given);
  if (value.is_array() && schema.contains("items")) {
    for (const Json& element : value) {
      if (const std::string found = difference(root, schema["items"], element); !found.empty())
        return std::string("[]") + found;
    }
  }
  if (!value.is_object() || !schema.contains("properties")) return {};
  const Json& required = schema.at("required");
  for (const auto& [name, member] : schema["properties"].items()) {
    const bool needed = std::find(required.begin(), required.end(), name) != required.end();
    if (!value.contains(name)) {
      if (needed) return std::string(".") + name + ": is in the schema only";
      continue;
    }
    if (const std::string found = difference(root, member, value[name]); !found.empty())
      return std::string(".") + name + found;
  }
  for (const auto& [name, member] : value.items()) {
    if (!schema["properties"].contains(name)) return std::string(".") + name + ": is in the log only";
  }
  return {};
}

}  // namespace refrain::tests
