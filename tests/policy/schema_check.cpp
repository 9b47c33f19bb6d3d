#include "tests/policy/schema_check.h"

#include <algorithm>
#include <set>

namespace refrain::tests {

namespace {

using nlohmann::json;

bool has_type(const json& value, const std::string& type) {
  if (type == "object") return value.is_object();
  if (type == "array") return value.is_array();
  if (type == "string") return value.is_string();
  if (type == "boolean") return value.is_boolean();
  if (type == "integer") return value.is_number_integer();
  return false;
}

std::size_t characters(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

/// Keywords that need only the value itself.
bool satisfies(const std::string& keyword, const json& wanted, const json& value) {
  if (keyword == "type") return has_type(value, wanted);
  if (keyword == "const") return value == wanted;
  if (keyword == "enum") return std::find(wanted.begin(), wanted.end(), value) != wanted.end();
  if (keyword == "minimum") return !value.is_number() || value >= wanted;
  if (keyword == "maximum") return !value.is_number() || value <= wanted;
  if (keyword == "minLength") return !value.is_string() || characters(value) >= wanted.get<std::size_t>();
  if (keyword == "maxLength") return !value.is_string() || characters(value) <= wanted.get<std::size_t>();
  if (keyword == "maxItems") return !value.is_array() || value.size() <= wanted.get<std::size_t>();
  if (keyword == "uniqueItems") {
    return !value.is_array() || std::set<json>(value.begin(), value.end()).size() == value.size();
  }
  if (keyword == "required") {
    return std::all_of(wanted.begin(), wanted.end(), [&](const json& key) { return value.contains(key); });
  }
  return keyword == "description" || keyword == "default" || keyword == "title" || keyword == "$schema" ||
         keyword == "$defs";
}

std::string children_fault(const json& root, const json& schema, const json& value) {
  if (value.is_array() && schema.contains("items")) {
    for (const json& item : value) {
      if (std::string fault = schema_fault(root, schema["items"], item); !fault.empty()) return fault;
    }
  }
  if (!value.is_object()) return {};
  for (const auto& [key, child] : value.items()) {
    if (!schema.contains("properties") || !schema["properties"].contains(key)) {
      if (schema.value("additionalProperties", true)) continue;
      return "unknown key " + key;
    }
    if (std::string fault = schema_fault(root, schema["properties"][key], child); !fault.empty())
      return key + ": " + fault;
  }
  return {};
}

}  // namespace

std::string schema_fault(const json& root, const json& schema, const json& value) {
  for (const auto& [keyword, wanted] : schema.items()) {
    if (keyword == "properties" || keyword == "additionalProperties" || keyword == "items") continue;
    if (keyword == "$ref") {
      const std::string pointer = wanted.get<std::string>().substr(1);
      if (std::string fault = schema_fault(root, root.at(json::json_pointer(pointer)), value); !fault.empty()) {
        return fault;
      }
      continue;
    }
    if (!satisfies(keyword, wanted, value)) return keyword + " " + wanted.dump() + ": " + value.dump();
  }
  return children_fault(root, schema, value);
}

}  // namespace refrain::tests
