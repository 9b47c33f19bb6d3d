// A JSON Schema validator for the keywords that the capture log's schema uses. Any other keyword is an error, so that
// nothing in the schema goes unchecked.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace refrain::tests {

/// The first violation as "where: what", or nothing. `root` is the schema that `$ref` refers to.
std::string violation(const nlohmann::json& root, const nlohmann::json& schema, const nlohmann::json& value);

/// The first difference between the fields that `schema` describes and those that `value` has, both ways, at any
/// depth; or nothing. Fields that are not required may be absent.
std::string difference(const nlohmann::json& root, const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace refrain::tests
