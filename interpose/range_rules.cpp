#include "interpose/range_rules.h"

#include <algorithm>
#include <atomic>
#include <mutex>

#include "interpose/text_hash.h"
#include "replay/lock.h"

namespace refrain::interpose {

namespace {

constexpr unsigned recorded_rules = 4096, word_bits = 64;
constinit std::atomic<std::uint64_t> matched_rules[recorded_rules / word_bits]{};

struct NameRecord {
  std::size_t size = 0;
  char bytes[63] = {};
};
constexpr std::size_t recorded_names = 64;
constinit NameRecord unmatched_names[recorded_names]{};
constinit std::atomic<std::size_t> unmatched_count{0};
constinit replay::Lock unmatched_lock;

void record_match(unsigned rule) noexcept {
  if (rule >= recorded_rules) return;
  std::atomic<std::uint64_t>& word = matched_rules[rule / word_bits];
  const std::uint64_t bit = std::uint64_t{1} << (rule % word_bits);
  // Every range of a region comes here: write to the shared word once only.
  if ((word.load(std::memory_order_relaxed) & bit) == 0) word.fetch_or(bit, std::memory_order_relaxed);
}

void record_unmatched(std::string_view name) noexcept {
  if (unmatched_count.load(std::memory_order_relaxed) == recorded_names) return;
  // Only one thread needs to record at a time, and none may wait: the name will come again.
  const std::unique_lock guard(unmatched_lock, std::try_to_lock);
  if (!guard) return;
  NameRecord record;
  record.size = std::min(name.size(), sizeof record.bytes);
  std::copy_n(name.data(), record.size, record.bytes);
  const std::size_t count = unmatched_count.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < count; ++i) {
    if (unmatched_name(i) == std::string_view(record.bytes, record.size)) return;
  }
  if (count == recorded_names) return;
  unmatched_names[count] = record;
  unmatched_count.store(count + 1, std::memory_order_release);
}

int ask(const RangeWatch& watch, const RangeKey& key) noexcept {
  const int rule = watch.selector->region_rule(key.domain.name, key.path, key.name);
  if (rule < 0) record_unmatched(key.name);
  return rule;
}

}  // namespace

int RangeRules::rule(const RangeWatch& watch, const RangeKey& key) noexcept {
  const std::string_view text = watch.by_path ? key.path : key.name;
  int rule = -1;
  if (text.size() > text_capacity) {
    rule = ask(watch, key);
  } else {
    const std::uint64_t hash = text_hash(text, key.domain.serial);
    Entry* set = entries_[hash % sets];
    const auto same = [&](const Entry& entry) {
      return entry.hash == hash && entry.generation == watch.generation && entry.serial == key.domain.serial &&
             entry.name_size == key.name.size() && std::string_view(entry.text, entry.text_size) == text;
    };
    Entry* entry = std::find_if(set, set + ways, same);
    if (entry == set + ways) {
      entry = &set[turn_++ % ways];
      entry->rule = ask(watch, key);
      entry->hash = hash;
      entry->serial = key.domain.serial;
      entry->generation = watch.generation;
      entry->text_size = static_cast<std::uint32_t>(text.size());
      entry->name_size = static_cast<std::uint32_t>(key.name.size());
      std::copy_n(text.data(), text.size(), entry->text);
    }
    rule = entry->rule;
  }
  if (rule >= 0) record_match(static_cast<unsigned>(rule));
  return rule;
}

void reset_rule_record() noexcept {
  const std::scoped_lock guard(unmatched_lock);
  unmatched_count.store(0, std::memory_order_release);
  for (auto& word : matched_rules) word.store(0, std::memory_order_relaxed);
}

bool rule_was_matched(unsigned rule) noexcept {
  // Of rules beyond the record nothing is known; they are not accused.
  if (rule >= recorded_rules) return true;
  return ((matched_rules[rule / word_bits].load(std::memory_order_relaxed) >> (rule % word_bits)) & 1) != 0;
}

std::size_t unmatched_name_count() noexcept { return unmatched_count.load(std::memory_order_acquire); }

std::string_view unmatched_name(std::size_t index) noexcept {
  const NameRecord& record = unmatched_names[index];
  return {record.bytes, record.size};
}

}  // namespace refrain::interpose
