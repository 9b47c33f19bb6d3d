#include "replay/trail.h"

#include <algorithm>
#include <new>
#include <utility>

#include "replay/attributes.h"
#include "replay/variant.h"

namespace refrain::replay {
namespace {

// The finaliser of splitmix64: every bit of the input reaches every bit of the result.
constexpr std::uint64_t mix(std::uint64_t value) noexcept {
  value ^= value >> 30;
  value *= 0xbf58476d1ce4e5b9;
  value ^= value >> 27;
  value *= 0x94d049bb133111eb;
  return value ^ value >> 31;
}

constexpr std::uint64_t kernel_seed = 1, memset_seed = 2, copy_seed = 3, alone_seed = 4;

}  // namespace

std::uint64_t token_of(const KernelCall& call) noexcept {
  std::uint64_t token = mix(reinterpret_cast<std::uint64_t>(call.function) + kernel_seed);
  if (call.cooperative) token = mix(token + 1);
  for (unsigned index = 0; index < call.attribute_count; ++index)
    token = mix(token + attribute_id(call.attributes[index]) + 2);
  return token | 1;
}

std::uint64_t token_of(const MemsetCall& call) noexcept {
  const std::uint64_t shape = call.bytes.element_size | (call.bytes.pitch != 0 ? 0x100u : 0u);
  return mix(memset_seed | shape << 8) | 1;
}

std::uint64_t token_of(const CopyCall&) noexcept { return mix(copy_seed) | 1; }

std::uint64_t Trail::context(std::uint64_t token, std::span<const std::uint64_t> followed) const noexcept {
  const std::size_t fresh = std::min(followed.size(), last_.size());
  std::uint64_t result = token;
  // The oldest first; its place in the ring does not matter, its distance to the operation that comes does.
  for (std::size_t index = fresh; index < last_.size(); ++index)
    result = result * 0x9e3779b97f4a7c15 + last_[(next_ + index) % last_.size()];
  for (const std::uint64_t word : followed.last(fresh)) result = result * 0x9e3779b97f4a7c15 + word;
  return mix(result) | 1;
}

std::uint64_t Trail::first_only(std::uint64_t token) noexcept { return mix(token + alone_seed) | 1; }

void Trail::push(std::uint64_t token) noexcept {
  last_[next_] = token;
  next_ = (next_ + 1) % last_.size();
}

Place* Trail::slot(std::uint64_t context) noexcept {
  for (std::size_t index = context >> 1;; ++index) {
    Place& place = places_[index & (capacity_ - 1)];
    if (place.context == context || place.context == 0) return &place;
  }
}

Place* Trail::find(std::uint64_t context) noexcept {
  if (capacity_ == 0) return nullptr;
  Place* place = slot(context);
  return place->context == 0 ? nullptr : place;
}

Place* Trail::at(std::uint64_t context) noexcept {
  if (Place* known = find(context)) return known;
  const std::size_t larger = capacity_ == 0 ? first_capacity : capacity_ < last_capacity ? capacity_ * 2 : capacity_;
  if (used_ * 2 >= capacity_ && !resize(larger)) return nullptr;
  Place* place = slot(context);
  place->context = context;
  ++used_;
  return place;
}

// Places that were seen once only are left behind when the table is as large as it may be.
bool Trail::resize(std::size_t capacity) noexcept {
  std::unique_ptr<Place[]> before = std::move(places_);
  const std::size_t places = std::exchange(capacity_, capacity);
  places_.reset(new (std::nothrow) Place[capacity]);
  if (places_ == nullptr) {
    places_ = std::move(before);
    capacity_ = places;
    return false;
  }
  const bool grows = capacity > places;
  used_ = 0;
  for (std::size_t index = 0; index < places; ++index) {
    const Place& old = before[index];
    const bool kept = old.context != 0 && (grows || old.variants != nullptr || (old.seen > 1 && used_ * 4 < capacity));
    if (!kept) continue;
    *slot(old.context) = old;
    ++used_;
  }
  return used_ * 2 < capacity;
}

void Trail::add(Variant& variant) noexcept {
  if (Place* place = at(variant.context)) variant.same_place = std::exchange(place->variants, &variant);
  if (Place* place = at(first_only(variant.tokens.front())))
    variant.same_first = std::exchange(place->variants, &variant);
}

void Trail::forget(const Variant& variant) noexcept {
  auto take_out = [&](std::uint64_t context, Variant* Variant::*next) {
    Place* place = find(context);
    if (place == nullptr) return;
    for (Variant** link = &place->variants; *link != nullptr; link = &((*link)->*next)) {
      if (*link != &variant) continue;
      *link = variant.*next;
      return;
    }
  };
  take_out(variant.context, &Variant::same_place);
  take_out(first_only(variant.tokens.front()), &Variant::same_first);
}

}  // namespace refrain::replay
