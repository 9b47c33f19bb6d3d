#include "policy/document.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "policy/token.h"

namespace refrain::policy {

namespace {

/// What the JSON reader says it expected, and the same for a person.
constexpr std::array<std::pair<std::string_view, std::string_view>, 6> expectations{{
    {"string literal", "a key in double quotes"},
    {"':'", "':' after the key"},
    {"'}'", "',' or '}'"},
    {"']'", "',' or ']'"},
    {"end of input", "nothing after the end of the policy"},
    {"'[', '{', or a literal", "a value"},
}};

/// Receives the events of the JSON reader, which come without positions: since everything up to an event is valid JSON,
/// the token of the event is the next one after that of the event before, but for separators.
class DocumentBuilder {
 public:
  DocumentBuilder(std::string_view text, Value& root, ErrorList& errors)
      : text_(text), root_(root), errors_(errors), cursor_(text.starts_with("\xEF\xBB\xBF") ? 3 : 0) {}

  bool null() { return add({}); }
  bool boolean(bool value) {
    Value result;
    result.kind = Value::Kind::boolean;
    result.boolean = value;
    return add(std::move(result));
  }
  bool number_unsigned(std::uint64_t value) {
    Value result;
    result.kind = Value::Kind::integer;
    result.integer = value;
    return add(std::move(result));
  }
  bool number_integer(std::int64_t value) {
    if (value >= 0) return number_unsigned(static_cast<std::uint64_t>(value));  // "-0"
    return number_float(0, {});
  }
  bool number_float(double, const std::string&) {
    Value result;
    result.kind = Value::Kind::number;
    return add(std::move(result));
  }
  bool string(std::string& value) {
    Value result;
    result.kind = Value::Kind::string;
    result.string = std::move(value);
    return add(std::move(result));
  }
  bool binary(std::vector<std::uint8_t>&) { return false; }  // no such thing in a JSON text
  bool start_object(std::size_t) { return open(Value::Kind::object); }
  bool start_array(std::size_t) { return open(Value::Kind::array); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(std::string& key);
  template <class Exception>
  bool parse_error(std::size_t position, const std::string&, const Exception& exception) {
    add_syntax_error(position, exception.what());
    return false;
  }

 private:
  std::size_t next_token();
  bool add(Value value);
  bool open(Value::Kind kind);
  bool close();
  std::string path() const;
  void add_syntax_error(std::size_t position, std::string_view message);

  std::string_view text_;
  Value& root_;
  ErrorList& errors_;
  std::size_t cursor_;  ///< after the token of the last event
  std::size_t values_ = 0;
  bool awaiting_value_ = false;  ///< the last event was a key
  std::vector<Value*> open_;     ///< outermost first; only the innermost one grows, so the pointers stay valid
};

/// The offset of the next event's token, which is passed over.
std::size_t DocumentBuilder::next_token() {
  const std::size_t start = skip_separators(text_, cursor_);
  cursor_ = token_end(text_, start);
  return start;
}

bool DocumentBuilder::add(Value value) {
  value.offset = next_token();
  if (++values_ > max_document_values) {
    errors_.add(value.offset, path(), fmt::format("at most {} values", max_document_values), "more");
    return false;
  }
  awaiting_value_ = false;
  Value* placed = &root_;
  if (open_.empty()) {
    root_ = std::move(value);
  } else if (Value& parent = *open_.back(); parent.kind == Value::Kind::array) {
    placed = &parent.items.emplace_back(std::move(value));
  } else {
    placed = &parent.members.back().value;
    *placed = std::move(value);
  }
  if (placed->kind == Value::Kind::object || placed->kind == Value::Kind::array) open_.push_back(placed);
  return true;
}

bool DocumentBuilder::open(Value::Kind kind) {
  if (open_.size() == max_document_depth) {
    errors_.add(next_token(), path(), fmt::format("at most {} levels of nesting", max_document_depth), "more");
    return false;
  }
  Value value;
  value.kind = kind;
  return add(std::move(value));
}

bool DocumentBuilder::close() {
  next_token();
  open_.pop_back();
  return true;
}

bool DocumentBuilder::key(std::string& key) {
  const std::size_t offset = next_token();
  Value& object = *open_.back();
  const bool repeated =
      std::any_of(object.members.begin(), object.members.end(), [&](const Member& m) { return m.key == key; });
  if (repeated) errors_.add(offset, key_path(path(), key), "each key once", "it a second time");
  if (object.members.size() == max_object_keys) {
    errors_.add(offset, path(), fmt::format("at most {} keys in an object", max_object_keys), "more");
    return false;
  }
  object.members.push_back({std::move(key), offset, {}});
  awaiting_value_ = true;
  return !errors_.full();
}

/// The path of the value that is awaited after a key, else of the innermost open object or array.
std::string DocumentBuilder::path() const {
  std::string result;
  const std::size_t steps = open_.size() - (open_.empty() || awaiting_value_ ? 0 : 1);
  for (std::size_t i = 0; i < steps; ++i) {
    const Value& value = *open_[i];
    result = value.kind == Value::Kind::array ? key_path(result, value.items.size() - 1)
                                              : key_path(result, value.members.back().key);
  }
  return result;
}

/// `message` is "... syntax error while parsing CONTEXT - unexpected A; expected B", or "... - FAULT; last read:
/// 'TEXT'" with or without "; expected B", or without any " - ".
void DocumentBuilder::add_syntax_error(std::size_t position, std::string_view message) {
  constexpr std::string_view dash = " - ";
  constexpr std::string_view expected_mark = "; expected ";
  if (const std::size_t at = message.find(dash); at != std::string_view::npos) message.remove_prefix(at + dash.size());
  const std::size_t token = token_that_reaches(text_, cursor_, position);
  if (message.starts_with("unexpected ")) {
    const std::size_t mark = message.rfind(expected_mark);
    std::string_view expected = "valid JSON";
    if (mark != std::string_view::npos) expected = message.substr(mark + expected_mark.size());
    for (const auto& [theirs, ours] : expectations) {
      if (expected == theirs) expected = ours;
    }
    const std::string_view found = text_.substr(token, token_end(text_, token) - token);
    errors_.add(token, path(), std::string(expected),
                token == text_.size() ? "the end of the text" : printable(found, 60));
    return;
  }
  if (token < text_.size() && (text_[token] == '/' || text_[token] == '#')) {
    errors_.add(token, path(), "JSON, which has no comments", "a comment");
    return;
  }
  // A fault inside a string is where the reader stopped; any other bad token is best shown by its start.
  const bool in_string = token < text_.size() && text_[token] == '"';
  const std::size_t offset = in_string && position > 0 ? std::min(position - 1, text_.size()) : token;
  message = message.substr(0, message.find("; last read: "));
  errors_.add(offset, path(), "valid JSON", printable(message, 120));
}

}  // namespace

std::string key_path(std::string_view path, std::string_view key) {
  std::string result(path);
  if (!result.empty()) result += '.';
  return result += printable(key, 60);
}

std::string key_path(std::string_view path, std::size_t index) { return fmt::format("{}[{}]", path, index); }

std::string description(const Value& value, std::string_view text) {
  if (value.kind == Value::Kind::object) return "an object";
  if (value.kind == Value::Kind::array) return "an array";
  return printable(text.substr(value.offset, token_end(text, value.offset) - value.offset), 60);
}

std::optional<Value> read_document(std::string_view text, ErrorList& errors) {
  if (text.size() > max_document_bytes) {
    errors.add(0, {}, fmt::format("at most {} bytes", max_document_bytes), fmt::format("{} bytes", text.size()));
    return std::nullopt;
  }
  // The JSON reader takes a NUL byte for the end of the text and would not see what follows.
  if (const std::size_t nul = text.find('\0'); nul != std::string_view::npos) {
    errors.add(nul, {}, "JSON text", "a NUL byte");
    return std::nullopt;
  }
  Value root;
  DocumentBuilder builder(text, root, errors);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return root;
}

}  // namespace refrain::policy
