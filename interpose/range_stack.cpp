#include "interpose/range_stack.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>
#include <type_traits>

namespace refrain::interpose {

namespace {

/// Makes room for `needed` elements, at least doubling. False: beyond `limit`, or no memory.
template <typename Element, typename Count>
bool reserve(Element*& elements, Count& capacity, Count needed, Count limit) noexcept {
  static_assert(std::is_trivially_copyable_v<Element>);
  if (needed <= capacity) return true;
  if (needed > limit) return false;
  const Count wanted = std::min(limit, std::max({needed, static_cast<Count>(2 * capacity), static_cast<Count>(16)}));
  auto* moved = static_cast<Element*>(
      std::realloc(static_cast<void*>(elements), static_cast<std::size_t>(wanted) * sizeof(Element)));
  if (moved == nullptr) return false;
  elements = moved;
  capacity = wanted;
  return true;
}

}  // namespace

RangeStack::~RangeStack() {
  std::free(ranges_);
  std::free(path_);
}

void RangeStack::assign(const void* handle, const Domain& domain) noexcept {
  handle_ = handle;
  domain_ = domain;
}

bool RangeStack::push(std::uint64_t order) noexcept {
  const int level = level_++;
  if (level != kept_ || !reserve(ranges_, capacity_, kept_ + 1, max_kept)) return false;
  ranges_[kept_++] = {.region = {}, .order = order, .path_before = path_size_, .named = false};
  ++nameless_;
  return true;
}

void RangeStack::name(std::string_view name) noexcept {
  const bool joined = kept_ > 1;
  const std::size_t size = path_size_ + name.size() + (joined ? 1 : 0);
  if (size > max_path || !reserve(path_, path_capacity_, static_cast<std::uint32_t>(size), max_path)) return;
  if (joined) path_[path_size_++] = '/';
  if (!name.empty()) std::memcpy(path_ + path_size_, name.data(), name.size());
  path_size_ = static_cast<std::uint32_t>(size);
  ranges_[kept_ - 1].named = true;
  --nameless_;
}

bool RangeStack::watch(int level, OpenToken region) noexcept {
  if (level >= kept_) return false;
  ranges_[level].region = region;
  return true;
}

OpenToken RangeStack::pop() noexcept {
  const int level = --level_;
  if (kept_ <= level) return {};
  const OpenRange& range = ranges_[--kept_];
  path_size_ = range.path_before;
  if (!range.named) --nameless_;
  return range.region;
}

ThreadRanges::~ThreadRanges() {
  for (unsigned i = 0; i < used_; ++i) delete stacks_[i];
  delete rules_;
}

RangeStack* ThreadRanges::find(const void* handle, const Domain& domain) noexcept {
  const auto fits = [&](const RangeStack& stack) {
    // The ranges of a domain that is gone are still found by its handle, for their pops.
    return stack.handle() == handle && (domain.known ? stack.domain().serial == domain.serial : stack.level() > 0);
  };
  if (last_ < used_ && fits(*stacks_[last_])) return stacks_[last_];
  for (unsigned i = 0; i < used_; ++i) {
    if (!fits(*stacks_[i])) continue;
    last_ = i;
    return stacks_[i];
  }
  return nullptr;
}

RangeStack* ThreadRanges::free_stack() noexcept {
  for (unsigned i = 0; i < used_; ++i) {
    if (stacks_[i]->level() == 0) {
      last_ = i;
      return stacks_[i];
    }
  }
  if (used_ == max_stacks) return nullptr;
  auto* stack = new (std::nothrow) RangeStack;
  if (stack == nullptr) return nullptr;
  last_ = used_;
  stacks_[used_++] = stack;
  return stack;
}

RangeStack* ThreadRanges::stack_for(const void* handle) noexcept {
  const Domain domain = find_domain(handle);
  RangeStack* stack = find(handle, domain);
  if (stack != nullptr) {
    if (stack->level() == 0) stack->assign(handle, domain);
    return stack;
  }
  // Another thread may have destroyed a domain whose handle came back for this one.
  for (unsigned i = 0; i < used_; ++i) {
    if (stacks_[i]->handle() == handle) close(*stacks_[i]);
  }
  stack = free_stack();
  if (stack != nullptr) stack->assign(handle, domain);
  return stack;
}

RangeStack* ThreadRanges::open_stack(const void* handle) noexcept {
  RangeStack* stack = find(handle, find_domain(handle));
  return stack != nullptr && stack->level() > 0 ? stack : nullptr;
}

void ThreadRanges::close(RangeStack& stack) noexcept {
  while (stack.level() > 0) stack.pop().close();
}

void ThreadRanges::close_all() noexcept {
  for (;;) {
    RangeStack* latest = nullptr;
    for (unsigned i = 0; i < used_; ++i) {
      RangeStack* stack = stacks_[i];
      if (stack->level() == 0) continue;
      if (latest == nullptr || stack->innermost_order() > latest->innermost_order()) latest = stack;
    }
    if (latest == nullptr) return;
    latest->pop().close();
  }
}

RangeRules* ThreadRanges::rules() noexcept {
  if (rules_ == nullptr) rules_ = new (std::nothrow) RangeRules;
  return rules_;
}

}  // namespace refrain::interpose
