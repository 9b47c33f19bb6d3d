#include "capture/demangle.h"

#include <pthread.h>

#include <cxxabi.h>

#include <algorithm>
#include <csetjmp>
#include <cstdlib>
#include <memory>
#include <utility>

/// The C++ runtime's demangler that hands its text out piece by piece and keeps nothing on the heap. Only the static
/// libstdc++ has it, with which the library and the command are linked.
extern "C" [[gnu::weak]] int __gcclibcxx_demangle_callback(const char* mangled,
                                                           void (*take)(const char*, std::size_t, void*), void* data);

namespace refrain::capture {
namespace {

/// The readable name while it grows. A short mangled name can stand for one that fills the memory: when it is longer
/// than anybody reads, the demangler is left by a jump, over frames that own nothing.
struct Output {
  std::string text;
  bool full = false;
  std::jmp_buf out;
};

void take(const char* piece, std::size_t size, void* data) noexcept {
  Output& output = *static_cast<Output*>(data);
  try {
    if (size <= longest_readable_name - output.text.size()) {
      output.text.append(piece, size);
      return;
    }
  } catch (...) {  // no memory for the text: the name stays as it is
  }
  output.full = true;
  std::longjmp(output.out, 1);
}

bool print(const char* mangled, Output& output) noexcept {
  if (setjmp(output.out) != 0) return false;
  return __gcclibcxx_demangle_callback(mangled, &take, &output) == 0;
}

/// Each reference to an earlier part can double the name; so few of them cannot fill the memory.
bool has_few_references(std::string_view mangled) noexcept {
  constexpr std::ptrdiff_t few = 12;
  return std::count_if(mangled.begin(), mangled.end(), [](char c) { return c == 'S' || c == 'T'; }) <= few;
}

bool closes(char character) noexcept { return character == '>' || character == ')' || character == '}'; }
bool opens(char character) noexcept { return character == '<' || character == '(' || character == '{'; }

/// The position of the bracket that opens what ends before `end`, or npos.
std::size_t opening(std::string_view text, std::size_t end) noexcept {
  std::size_t depth = 0;
  for (std::size_t at = end; at-- > 0;) {
    if (closes(text[at])) ++depth;
    if (opens(text[at]) && --depth == 0) return at;
  }
  return std::string_view::npos;
}

/// `text` with the content of every outermost pair of angle brackets replaced by "...".
std::string without_template_arguments(std::string_view text) {
  std::string result;
  std::size_t depth = 0;
  for (const char character : text) {
    if (character == '>' && depth > 0 && --depth == 0) result += "...";
    if (depth == 0) result += character;
    if (character == '<') ++depth;
  }
  return result;
}

/// The position after the last space outside all brackets; 0 when there is none.
std::size_t after_return_type(std::string_view text) noexcept {
  std::size_t depth = 0, start = 0;
  for (std::size_t at = 0; at + 1 < text.size(); ++at) {
    if (opens(text[at])) ++depth;
    if (closes(text[at]) && depth > 0) --depth;
    if (text[at] == ' ' && depth == 0) start = at + 1;
  }
  return start;
}

}  // namespace

std::string demangle(const std::string& mangled) {
  if (mangled.size() > longest_mangled_name || !mangled.starts_with("_Z")) return mangled;
  if (__gcclibcxx_demangle_callback != nullptr) {
    Output output;
    if (print(mangled.c_str(), output) && !output.full) return std::move(output.text);
    return mangled;
  }
  if (!has_few_references(mangled)) return mangled;
  int status = 0;
  const std::unique_ptr<char, decltype(&std::free)> text(
      abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status), &std::free);
  return status == 0 && text ? std::string(text.get()) : mangled;
}

namespace {

// Bytes from here to the end of the thread's stack; 0 when that cannot be told.
std::size_t stack_left() {
  pthread_attr_t attributes;
  if (pthread_getattr_np(pthread_self(), &attributes) != 0) return 0;
  void* lowest = nullptr;
  std::size_t size = 0;
  const int result = pthread_attr_getstack(&attributes, &lowest, &size);
  pthread_attr_destroy(&attributes);
  const char here = 0;
  const auto at = reinterpret_cast<std::uintptr_t>(&here), end = reinterpret_cast<std::uintptr_t>(lowest);
  return result == 0 && at > end ? at - end : 0;
}

}  // namespace

std::string demangle_on_host_thread(const std::string& mangled) {
  // The C++ runtime's demangler keeps about 72 bytes a character on the stack (two components and a pointer).
  constexpr std::size_t bytes_a_character = 80, always_there = 256, reserve = 32768;
  const bool fits = mangled.size() <= always_there || mangled.size() * bytes_a_character + reserve <= stack_left();
  return fits ? demangle(mangled) : mangled;
}

std::string short_name(std::string_view readable, std::size_t width) {
  // "(anonymous namespace)" has parentheses that are no parameter list.
  std::string text(readable);
  constexpr std::string_view anonymous = "(anonymous namespace)";
  for (std::size_t at = 0; (at = text.find(anonymous, at)) != std::string::npos;) {
    text.replace(at, anonymous.size(), "{anonymous}");
  }
  if (constexpr std::string_view constant = " const"; text.ends_with(constant)) {
    text.resize(text.size() - constant.size());
  }
  if (text.ends_with(')')) {
    const std::size_t parameters = opening(text, text.size());
    if (parameters != std::string::npos && parameters > 0) text.resize(parameters);
  }
  text = without_template_arguments(text);
  text.erase(0, after_return_type(text));
  if (text.size() > width && width > 3) text.replace(0, text.size() - width + 3, "...");
  return text;
}

const std::string& ReadableNames::of(const std::string& mangled) {
  if (const auto found = names_.find(mangled); found != names_.end()) return found->second;
  std::string readable = demangle(mangled);
  if (names_.size() >= most_names_) names_.clear();
  return names_.emplace(mangled, std::move(readable)).first->second;
}

}  // namespace refrain::capture
