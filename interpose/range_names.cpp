#include "interpose/range_names.h"

#include <cstdlib>
#include <new>

#include "interpose/handle_table.h"
#include "interpose/text_hash.h"
#include "replay/lock.h"

namespace refrain::interpose {

namespace {

// All in zero pages: a process without NVTX pays address space only.
constinit HandleTable<1024> domains;
constinit HandleTable<131072> strings;

constinit replay::Lock names_lock;
constinit std::atomic<bool> waiting_forbidden{false};
constinit std::atomic<std::uint64_t> last_number{0};
constinit std::uint64_t last_serial = 0;

/// Holds the lock, unless waiting is forbidden and somebody else has it.
class NamesGuard {
 public:
  NamesGuard() noexcept {
    held_ = names_lock.try_lock();
    if (!held_ && !waiting_forbidden.load(std::memory_order_acquire)) {
      names_lock.lock();
      held_ = true;
    }
  }
  ~NamesGuard() {
    if (held_) names_lock.unlock();
  }
  NamesGuard(const NamesGuard&) = delete;
  NamesGuard& operator=(const NamesGuard&) = delete;
  explicit operator bool() const noexcept { return held_; }

 private:
  bool held_;
};

constexpr std::size_t text_places = 131072, longest_probe = 64, max_text_bytes = 16 << 20;
constinit const std::string_view* texts[text_places]{};
constinit std::size_t text_bytes = 0;

/// The one lasting copy of `text`, or nullptr when there is no room. Under the lock.
const std::string_view* keep_text(std::string_view text) noexcept {
  const std::uint64_t hash = text_hash(text, 0);
  for (std::size_t i = 0; i < longest_probe; ++i) {
    const std::string_view*& place = texts[(hash + i) % text_places];
    if (place != nullptr && *place == text) return place;
    if (place != nullptr) continue;
    if (text.size() > max_text_bytes - text_bytes) return nullptr;
    auto* memory = static_cast<char*>(std::malloc(sizeof(std::string_view) + text.size() + 1));
    if (memory == nullptr) return nullptr;
    char* bytes = memory + sizeof(std::string_view);
    text.copy(bytes, text.size());
    text_bytes += text.size();
    place = new (memory) std::string_view(bytes, text.size());
    return place;
  }
  return nullptr;
}

std::uintptr_t number_of(const void* handle) noexcept { return reinterpret_cast<std::uintptr_t>(handle); }

void remove_strings(HandleEntry& domain) noexcept {
  for (HandleEntry* string = domain.next; string != nullptr;) {
    HandleEntry* next = string->next;
    string->next = nullptr;
    strings.remove(*string);
    string = next;
  }
  domain.next = nullptr;
}

}  // namespace

std::uint64_t own_number() noexcept {
  constexpr std::uint64_t first = 0x5246'0000'0000'0001;
  return first + last_number.fetch_add(1, std::memory_order_relaxed);
}

void domain_created(const void* handle, std::string_view name) noexcept {
  const NamesGuard guard;
  if (!guard) return;
  const std::string_view* text = keep_text(name);
  if (HandleEntry* known = domains.find(number_of(handle)); known != nullptr) {
    ++known->uses;
    if (text != nullptr) known->text.store(text, std::memory_order_release);
    return;
  }
  HandleEntry* entry = text != nullptr ? domains.insert(number_of(handle)) : nullptr;
  if (entry == nullptr) return;
  entry->text.store(text, std::memory_order_release);
  entry->serial.store(++last_serial, std::memory_order_release);
  entry->uses = 1;
  entry->next = nullptr;
  domains.publish(*entry, number_of(handle));
}

bool domain_destroyed(const void* handle) noexcept {
  const NamesGuard guard;
  HandleEntry* entry = guard ? domains.find(number_of(handle)) : nullptr;
  if (entry == nullptr) return handle != nullptr;
  if (--entry->uses > 0) return false;
  remove_strings(*entry);
  domains.remove(*entry);
  return true;
}

Domain find_domain(const void* handle) noexcept {
  if (handle == nullptr) return {0, {}, true};
  const HandleEntry* entry = domains.find(number_of(handle));
  if (entry == nullptr) return {};
  return {entry->serial.load(std::memory_order_acquire), *entry->text.load(std::memory_order_acquire), true};
}

void string_registered(const void* domain, const void* handle, std::string_view text) noexcept {
  const NamesGuard guard;
  if (!guard) return;
  const std::string_view* kept = keep_text(text);
  if (kept == nullptr) return;
  if (HandleEntry* known = strings.find(number_of(handle)); known != nullptr) {
    known->text.store(kept, std::memory_order_release);
    return;
  }
  HandleEntry* entry = strings.insert(number_of(handle));
  if (entry == nullptr) return;
  entry->text.store(kept, std::memory_order_release);
  entry->next = nullptr;
  if (HandleEntry* owner = domains.find(number_of(domain)); owner != nullptr) {
    entry->next = owner->next;
    owner->next = entry;
  }
  strings.publish(*entry, number_of(handle));
}

bool find_string(const void* handle, std::string_view& text) noexcept {
  const HandleEntry* entry = strings.find(number_of(handle));
  if (entry == nullptr) return false;
  text = *entry->text.load(std::memory_order_acquire);
  return true;
}

void forbid_waiting_for_names(bool forbidden) noexcept {
  waiting_forbidden.store(forbidden, std::memory_order_release);
}

}  // namespace refrain::interpose
