#include "policy/parser.h"

#include <optional>
#include <string>
#include <utility>

#include "policy/document.h"
#include "policy/policy_reader.h"

namespace refrain::policy {

namespace {

void parse(std::string_view text, std::string_view file, ParseResult& result) {
  ErrorList errors(file, text);
  const std::optional<Value> document = read_document(text, errors);
  Settings settings;
  if (document) PolicyReader(text, errors).read(*document, settings);
  result.ok = document.has_value() && errors.empty();
  result.errors = errors.take();
  if (!result.ok) return;
  settings.source = file;
  result.settings = std::move(settings);
}

}  // namespace

ParseResult parse_policy(std::string_view text, std::string_view file) noexcept {
  ParseResult result;
  result.settings.mode = Mode::off;
  try {
    parse(text, file, result);
  } catch (...) {
    result.ok = false;
  }
  return result;
}

}  // namespace refrain::policy
