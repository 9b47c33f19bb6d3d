#include "capture/log_record.h"

#include <cstddef>
#include <iterator>

namespace refrain::capture {
namespace {

struct Text {
  const char *word, *explanation;
};

constexpr Text texts[] = {
#define REASON(name, text) {#name, text},
#include "capture/reasons.inc"
};

}  // namespace

const char* to_string(Reason reason) noexcept {
  const auto index = static_cast<std::size_t>(reason);
  return index < std::size(texts) ? texts[index].word : "unknown";
}

const char* explanation(Reason reason) noexcept {
  const auto index = static_cast<std::size_t>(reason);
  return index < std::size(texts) ? texts[index].explanation : "for a reason that this version does not know";
}

}  // namespace refrain::capture
