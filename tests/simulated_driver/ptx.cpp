#include "tests/simulated_driver/ptx.h"

#include <cctype>
#include <cstdlib>
#include <cstring>

namespace refrain::tests::simulated {
namespace {

/// Words and signs of PTX, without comments.
class Tokens {
 public:
  explicit Tokens(const char* text) : at_(text) { advance(); }

  const std::string& word() const { return word_; }
  bool done() const { return word_.empty(); }
  std::string take() {
    std::string taken = word_;
    advance();
    return taken;
  }
  bool accept(const char* word) {
    if (word_ != word) return false;
    advance();
    return true;
  }
  uint64_t take_number() { return std::strtoull(take().c_str(), nullptr, 0); }

 private:
  static bool in_word(char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '.' || c == '$' || c == '%' || c == '@';
  }

  void skip() {
    while (*at_ != 0) {
      if (std::isspace(static_cast<unsigned char>(*at_)) != 0) {
        ++at_;
      } else if (std::strncmp(at_, "//", 2) == 0) {
        while (*at_ != 0 && *at_ != '\n') ++at_;
      } else if (std::strncmp(at_, "/*", 2) == 0) {
        const char* end = std::strstr(at_ + 2, "*/");
        at_ = end != nullptr ? end + 2 : at_ + std::strlen(at_);
      } else {
        return;
      }
    }
  }

  void advance() {
    skip();
    word_.clear();
    if (*at_ == 0) return;
    if (*at_ == '"') {
      const char* end = std::strchr(at_ + 1, '"');
      const char* next = end != nullptr ? end + 1 : at_ + std::strlen(at_);
      word_.assign(at_, next);
      at_ = next;
      return;
    }
    if (!in_word(*at_)) {
      word_.assign(1, *at_++);
      return;
    }
    while (in_word(*at_)) word_.push_back(*at_++);
  }

  const char* at_;
  std::string word_;
};

/// Size of a fundamental type (".u64"); 0 when it is none.
unsigned type_size(const std::string& word) {
  if (word.size() < 3 || word[0] != '.' || std::strchr("usbf", word[1]) == nullptr) return word == ".pred" ? 1 : 0;
  const int bits = std::atoi(word.c_str() + 2);
  return bits == 8 || bits == 16 || bits == 32 || bits == 64 || bits == 128 ? static_cast<unsigned>(bits) / 8 : 0;
}

/// A declaration after its state space: attributes, type, name, dimensions. Stops behind it.
bool read_declaration(Tokens& tokens, PtxVariable* variable) {
  uint64_t element = 0;
  uint64_t vector = 1;
  uint64_t alignment = 0;
  while (!tokens.done() && tokens.word()[0] == '.') {
    const std::string word = tokens.take();
    if (word == ".align") {
      alignment = tokens.take_number();
    } else if (word == ".attribute") {
      while (!tokens.done() && !tokens.accept(")")) variable->managed |= tokens.take() == ".managed";
    } else if (word == ".v2" || word == ".v4") {
      vector = word == ".v2" ? 2 : 4;
    } else if (const unsigned size = type_size(word); size != 0) {
      element = size;
    }  // .ptr, .global, .const: what a parameter points to
  }
  variable->name = tokens.take();
  uint64_t count = 1;
  while (tokens.accept("[")) {
    count *= tokens.word() == "]" ? 0 : tokens.take_number();
    if (!tokens.accept("]")) return false;
  }
  variable->size = element * vector * count;
  variable->alignment = alignment != 0 ? alignment : element * vector;
  return element != 0 && !variable->name.empty();
}

bool read_parameters(Tokens& tokens, PtxEntry* entry) {
  if (!tokens.accept("(")) return true;
  while (!tokens.accept(")")) {
    PtxVariable parameter;
    if (!tokens.accept(".param") || !read_declaration(tokens, &parameter)) return false;
    const size_t offset =
        (entry->parameter_bytes + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    entry->parameters.push_back({offset, static_cast<size_t>(parameter.size)});
    entry->parameter_bytes = offset + parameter.size;
    tokens.accept(",");
  }
  return true;
}

unsigned read_extent(Tokens& tokens, unsigned* each) {
  unsigned product = 1;
  for (int i = 0; i < 3; ++i) {
    const auto value = static_cast<unsigned>(tokens.take_number());
    product *= value;
    if (each != nullptr) each[i] = value;
    if (!tokens.accept(",")) {
      for (int rest = i + 1; each != nullptr && rest < 3; ++rest) each[rest] = 1;
      break;
    }
  }
  return product;
}

bool read_body(Tokens& tokens, PtxEntry* entry) {
  for (int depth = 1; depth != 0;) {
    if (tokens.done()) return false;
    const std::string word = tokens.take();
    if (word == "{") ++depth;
    if (word == "}") --depth;
    PtxVariable variable;
    if (word == ".shared" && read_declaration(tokens, &variable))
      entry->static_shared += static_cast<unsigned>(variable.size);
  }
  return true;
}

bool read_entry(Tokens& tokens, PtxModule* module) {
  PtxEntry entry;
  entry.name = tokens.take();
  if (!read_parameters(tokens, &entry)) return false;
  while (!tokens.done() && tokens.word() != "{" && tokens.word() != ";") {
    const std::string word = tokens.take();
    if (word == ".maxntid" || word == ".reqntid") entry.max_threads = read_extent(tokens, nullptr);
    if (word == ".reqnctapercluster") read_extent(tokens, entry.cluster);
  }
  if (tokens.accept(";")) return true;  // a declaration without a body
  if (!tokens.accept("{") || !read_body(tokens, &entry)) return false;
  module->entries.push_back(std::move(entry));
  return true;
}

}  // namespace

CUresult read_ptx(const char* text, PtxModule* module) {
  Tokens tokens(text);
  if (!tokens.accept(".version")) return CUDA_ERROR_INVALID_IMAGE;
  const std::string version = tokens.take();
  const size_t point = version.find('.');
  module->version = std::atoi(version.c_str()) * 10;
  if (point != std::string::npos) module->version += std::atoi(version.c_str() + point + 1);
  if (module->version > 90) return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  if (!tokens.accept(".target")) return CUDA_ERROR_INVALID_PTX;
  const std::string target = tokens.take();
  if (target.rfind("sm_", 0) != 0) return CUDA_ERROR_INVALID_PTX;
  module->target = std::atoi(target.c_str() + 3);
  if (module->target > 90) return CUDA_ERROR_INVALID_PTX;
  while (!tokens.done()) {
    const std::string word = tokens.take();
    if (word == ".entry") {
      if (!read_entry(tokens, module)) return CUDA_ERROR_INVALID_PTX;
    } else if (word == ".global" || word == ".const") {
      PtxVariable variable;
      if (!read_declaration(tokens, &variable)) return CUDA_ERROR_INVALID_PTX;
      module->variables.push_back(variable);
    } else if (word == "{") {  // of a .func
      PtxEntry skipped;
      if (!read_body(tokens, &skipped)) return CUDA_ERROR_INVALID_PTX;
    }
  }
  return CUDA_SUCCESS;
}

}  // namespace refrain::tests::simulated
