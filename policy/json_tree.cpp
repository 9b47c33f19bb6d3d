#include "policy/json_tree.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace refrain::policy {
namespace {

using Scalar = nlohmann::json;  // destroying one allocates nothing

std::string scalar_text(const Scalar& scalar) { return scalar.dump(-1, ' ', false, Scalar::error_handler_t::replace); }

void begin_line(std::string& text, int indent, int level) {
  if (indent < 0) return;
  text += '\n';
  text.append(static_cast<std::size_t>(indent * level), ' ');
}

/// Puts what the reader finds into a tree. An open value does not move: nothing is added beside it until it is closed.
class Builder {
 public:
  explicit Builder(JsonTree& root) { open_.push_back(&root); }

  bool null() { return add({}); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(std::int64_t value) { return add(value); }
  bool number_unsigned(std::uint64_t value) { return add(value); }
  bool number_float(double value, const std::string&) { return add(value); }
  bool string(std::string& value) { return add(std::move(value)); }
  bool binary(std::vector<std::uint8_t>&) { return false; }
  bool start_object(std::size_t) { return begin(JsonTree::object()); }
  bool start_array(std::size_t) { return begin(JsonTree::array()); }
  bool end_object() { return end(); }
  bool end_array() { return end(); }
  bool key(std::string& name) {
    member_ = &(*open_.back())[name];
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const nlohmann::detail::exception&) { return false; }

 private:
  JsonTree& place(JsonTree&& value) {
    if (open_.size() == 1) return *open_.back() = std::move(value);
    if (member_ != nullptr) return *std::exchange(member_, nullptr) = std::move(value);
    return open_.back()->push_back(std::move(value));
  }
  bool add(JsonTree&& value) {
    place(std::move(value));
    return true;
  }
  bool begin(JsonTree&& value) {
    open_.push_back(&place(std::move(value)));
    return true;
  }
  bool end() {
    open_.pop_back();
    return true;
  }

  std::vector<JsonTree*> open_;  // the root's place, then what is open
  JsonTree* member_ = nullptr;   // where the next value goes, after a key
};

}  // namespace

std::optional<JsonTree> JsonTree::parse(std::string_view text) {
  JsonTree root;
  Builder builder(root);
  if (!nlohmann::json::sax_parse(text.begin(), text.end(), &builder)) return std::nullopt;
  return root;
}

JsonTree& JsonTree::operator[](std::string_view key) {
  if (std::holds_alternative<std::monostate>(value_)) value_ = Object();
  Object& members = std::get<Object>(value_);
  const auto known = std::find_if(members.begin(), members.end(), [&](const Member& one) { return one.key == key; });
  if (known != members.end()) return known->value;
  return members.emplace_back(Member{std::string(key), {}}).value;
}

JsonTree& JsonTree::push_back(JsonTree element) { return std::get<Array>(value_).emplace_back(std::move(element)); }

std::string JsonTree::dump(int indent) const {
  std::string text;
  append(text, indent, 0);
  return text;
}

void JsonTree::append(std::string& text, int indent, int level) const {
  if (const auto* elements = std::get_if<Array>(&value_)) {
    text += '[';
    for (const JsonTree& element : *elements) {
      if (&element != elements->data()) text += ',';
      begin_line(text, indent, level + 1);
      element.append(text, indent, level + 1);
    }
    if (!elements->empty()) begin_line(text, indent, level);
    text += ']';
  } else if (const auto* members = std::get_if<Object>(&value_)) {
    text += '{';
    for (const Member& member : *members) {
      if (&member != members->data()) text += ',';
      begin_line(text, indent, level + 1);
      text += scalar_text(member.key);
      text += indent < 0 ? ":" : ": ";
      member.value.append(text, indent, level + 1);
    }
    if (!members->empty()) begin_line(text, indent, level);
    text += '}';
  } else if (const auto* string = std::get_if<std::string>(&value_)) {
    text += scalar_text(*string);
  } else if (const auto* number = std::get_if<double>(&value_)) {
    text += scalar_text(*number);
  } else if (const auto* natural = std::get_if<std::uint64_t>(&value_)) {
    text += std::to_string(*natural);
  } else if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
    text += std::to_string(*integer);
  } else if (const auto* truth = std::get_if<bool>(&value_)) {
    text += *truth ? "true" : "false";
  } else {
    text += "null";
  }
}

}  // namespace refrain::policy
