// JSON values for writing. The log and the effective policy are written inside the host, which must live on when memory
// is short: nlohmann's values put their children on a heap-allocated stack when they are destroyed, and end the process
// when there is none.
//
// Owns:  its text and children. Destroying a value allocates nothing and recurses once a level.
// Units: none.
// Fails: std::bad_alloc only. Text that is not UTF-8 is repaired.
#pragma once

#include <concepts>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace refrain::policy {

class JsonTree {
 public:
  struct Member;
  using Array = std::vector<JsonTree>;
  using Object = std::vector<Member>;

  JsonTree() noexcept = default;  // null
  JsonTree(bool value) noexcept;
  JsonTree(double value) noexcept;
  JsonTree(std::unsigned_integral auto value) noexcept;
  JsonTree(std::signed_integral auto value) noexcept;
  JsonTree(std::string value) noexcept;
  JsonTree(std::string_view value);
  JsonTree(const char* value);
  static JsonTree array();
  static JsonTree object();
  /// What `text` says; nothing when it is not JSON. The caller bounds how deeply it is nested.
  static std::optional<JsonTree> parse(std::string_view text);

  bool is_object() const noexcept { return std::holds_alternative<Object>(value_); }
  /// The member of an object, made at its end when it is new; a null becomes an object.
  JsonTree& operator[](std::string_view key);
  /// Appends to an array, and returns what was appended.
  JsonTree& push_back(JsonTree element);
  /// The text, in one line, or over several with `indent` blanks a level.
  std::string dump(int indent = -1) const;

 private:
  explicit JsonTree(Array value) noexcept;
  explicit JsonTree(Object value) noexcept;
  void append(std::string& text, int indent, int level) const;

  std::variant<std::monostate, bool, std::int64_t, std::uint64_t, double, std::string, Array, Object> value_;
};

struct JsonTree::Member {
  std::string key;
  JsonTree value;
};

// Here, not in the class: clang 14 wants to know what a member is before it makes a value.
inline JsonTree::JsonTree(bool value) noexcept : value_(value) {}
inline JsonTree::JsonTree(double value) noexcept : value_(value) {}
JsonTree::JsonTree(std::unsigned_integral auto value) noexcept : value_(std::uint64_t{value}) {}
JsonTree::JsonTree(std::signed_integral auto value) noexcept : value_(std::int64_t{value}) {}
inline JsonTree::JsonTree(std::string value) noexcept : value_(std::move(value)) {}
inline JsonTree::JsonTree(std::string_view value) : value_(std::string(value)) {}
inline JsonTree::JsonTree(const char* value) : value_(std::string(value)) {}
inline JsonTree::JsonTree(Array value) noexcept : value_(std::move(value)) {}
inline JsonTree::JsonTree(Object value) noexcept : value_(std::move(value)) {}
inline JsonTree JsonTree::array() { return JsonTree(Array()); }
inline JsonTree JsonTree::object() { return JsonTree(Object()); }

}  // namespace refrain::policy
