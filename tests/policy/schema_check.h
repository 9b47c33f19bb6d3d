// The part of JSON Schema 2020-12 that the project's schemas use, so that they are checked where no validator is
// installed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace refrain::tests {

/// What of `value` does not satisfy `schema`, a schema or sub-schema of `root`; empty when all does. A keyword that is
/// not known here is a fault too: nothing is taken for checked that was not.
std::string schema_fault(const nlohmann::json& root, const nlohmann::json& schema, const nlohmann::json& value);

}  // namespace refrain::tests
