// Which calls are the recorded operation again, and which are not: every field that counts, one at a time.
#include "replay/match.h"

#include <gtest/gtest.h>

#include <functional>
#include <random>
#include <string>
#include <utility>

#include "replay/addresses.h"
#include "replay/attributes.h"

namespace refrain::tests {
namespace {

using capture::Reason;
using replay::CopyCall;
using replay::KernelCall;
using replay::MemsetCall;

/// A variant with one kernel, one memset of a row, one of several rows, and one copy; and a call that is its kernel.
class Compare : public testing::Test {
 protected:
  Compare() {
    function->handle = 7;
    function->layout_known = true;
    function->layout = {{{0, 8}, {8, 4}, {12, 3}}, 15};
    call.function = reinterpret_cast<CUfunction>(std::uintptr_t{7});
    call.grid = {4, 4, 4};
    call.block = {64, 2, 1};
    call.shared = 512;
    call.parameters = pointers;
    capture::Sequence sequence;
    add(sequence, call, function.get());
    add(sequence, row, nullptr);
    add(sequence, rows, nullptr);
    add(sequence, copy, nullptr);
    sequence.functions.push_back(function);
    variant = std::make_unique<replay::Variant>(std::move(sequence), 0, 2, 32);
  }

  template <typename Call>
  static void add(capture::Sequence& sequence, const Call& recorded, const capture::Function* of) {
    capture::Operation operation;
    std::vector<std::byte> bytes;
    std::vector<capture::Attribute> attributes;
    Reason reason{};
    ASSERT_TRUE(replay::describe(recorded, of, operation, bytes, attributes, reason));
    sequence.append(operation, bytes, attributes);
  }

  template <typename Call>
  Reason reason_of(const Call& changed, std::uint32_t index) const {
    const replay::Verdict verdict = replay::compare(changed, *variant, index, rule);
    EXPECT_FALSE(verdict.equal);
    return verdict.reason;
  }
  bool is_kernel(const KernelCall& changed) const { return replay::compare(changed, *variant, 0, rule).equal; }

  std::shared_ptr<capture::Function> function = std::make_shared<capture::Function>();
  std::uint64_t pointer = 0x7f0000000000;
  std::uint32_t number = 5;
  std::uint8_t odd[3] = {1, 2, 3};
  void* pointers[3] = {&pointer, &number, odd};
  KernelCall call;
  MemsetCall row{nullptr, {0x1000, 0, 64, 1, 3, 4}};
  MemsetCall rows{nullptr, {0x1000, 256, 16, 4, 3, 4}};
  CopyCall copy{nullptr, {0x1000, 0x2000, 64}};
  policy::RegionRule rule{"region", "region"};
  std::unique_ptr<replay::Variant> variant;
};

// The hash is kept word by word; counts, odd sizes and what becomes an address or ceases to be one are in it.
TEST_F(Compare, the_hash_of_all_addresses_follows_what_is_absorbed) {
  std::mt19937_64 random(1);
  auto address = [&] { return random() % 3 == 0 ? random() % 1000 : 0x7f0000000000 + random() % 64 * 512; };
  std::uint64_t before = variant->addresses;
  std::uint32_t moved = 0, changes = 0;
  for (int round = 0; round < 500; ++round) {
    pointer = address();
    number = static_cast<std::uint32_t>(random());
    row.bytes.destination = address();
    copy.bytes.source = address();
    if (round % 2 == 0) copy.bytes.destination = address();
    ASSERT_TRUE(replay::absorb(call, *variant, 0, moved));
    ASSERT_TRUE(replay::absorb(row, *variant, 1, moved));
    ASSERT_TRUE(replay::absorb(copy, *variant, 3, moved));
    ASSERT_EQ(variant->addresses, replay::address_hash(variant->sequence)) << "round " << round;
    changes += variant->addresses != before;
    before = variant->addresses;
  }
  EXPECT_GT(changes, 450u);
  const std::uint64_t moved_once = variant->addresses;
  std::swap(copy.bytes.source, copy.bytes.destination);
  ASSERT_TRUE(replay::absorb(copy, *variant, 3, moved));
  EXPECT_NE(variant->addresses, moved_once) << "the place counts";
}

TEST_F(Compare, the_same_calls_are_equal) {
  EXPECT_TRUE(is_kernel(call));
  EXPECT_TRUE(replay::same_bytes(call, *variant, 0));
  EXPECT_TRUE(replay::compare(row, *variant, 1, rule).equal);
  EXPECT_TRUE(replay::compare(rows, *variant, 2, rule).equal);
  EXPECT_TRUE(replay::compare(copy, *variant, 3, rule).equal);
}

TEST_F(Compare, each_kind_is_told_from_the_others) {
  EXPECT_EQ(reason_of(call, 1), Reason::different_kind);
  EXPECT_EQ(reason_of(call, 3), Reason::different_kind);
  EXPECT_EQ(reason_of(row, 0), Reason::different_kind);
  EXPECT_EQ(reason_of(row, 3), Reason::different_kind);
  EXPECT_EQ(reason_of(copy, 0), Reason::different_kind);
  EXPECT_EQ(reason_of(copy, 1), Reason::different_kind);
}

TEST_F(Compare, another_function_and_other_attributes_differ) {
  KernelCall other = call;
  other.function = reinterpret_cast<CUfunction>(std::uintptr_t{8});
  EXPECT_EQ(reason_of(other, 0), Reason::different_function);
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = -1;
  other = call;
  other.attributes = attributes;
  other.attribute_count = 1;
  EXPECT_EQ(reason_of(other, 0), Reason::different_attributes);
  other = call;
  other.cooperative = true;
  EXPECT_EQ(reason_of(other, 0), Reason::different_attributes);
}

TEST_F(Compare, an_attribute_that_is_missing_or_too_many_differs) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
  attributes[0].value.priority = -1;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN;
  attributes[1].value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  KernelCall other = call;
  other.attributes = attributes;
  other.attribute_count = 2;
  std::vector<capture::Attribute> recorded;
  ASSERT_TRUE(replay::canonical_attributes(other, recorded));
  EXPECT_TRUE(replay::same_attributes(other, recorded.data(), 2));
  other.attribute_count = 1;
  EXPECT_FALSE(replay::same_attributes(other, recorded.data(), 2));
  other.attribute_count = 2;
  EXPECT_FALSE(replay::same_attributes(other, recorded.data(), 1));
}

TEST_F(Compare, an_unknown_attribute_makes_no_operation) {
  CUlaunchAttribute attribute = {};
  attribute.id = static_cast<CUlaunchAttributeID>(99);
  KernelCall other = call;
  other.attributes = &attribute;
  other.attribute_count = 1;
  capture::Operation operation;
  std::vector<std::byte> bytes;
  std::vector<capture::Attribute> attributes;
  Reason reason{};
  EXPECT_FALSE(replay::describe(other, function.get(), operation, bytes, attributes, reason));
  EXPECT_EQ(reason, Reason::unknown_attribute);
  function->eager = true;
  EXPECT_FALSE(replay::describe(call, function.get(), operation, bytes, attributes, reason));
  EXPECT_EQ(reason, Reason::eager_operation);
}

TEST_F(Compare, a_configuration_is_held_only_within_what_was_accepted) {
  struct Case {
    capture::Dimensions grid, block;
    std::uint32_t shared;
    bool fits;
  };
  const Case cases[] = {{{9, 9, 9}, {64, 2, 1}, 512, true},        {{4, 4, 4}, {32, 2, 1}, 0, true},
                        {{0, 1, 1}, {64, 2, 1}, 512, false},       {{1, 65536, 1}, {64, 2, 1}, 512, false},
                        {{1, 1, 65536}, {64, 2, 1}, 512, false},   {{4, 4, 4}, {65, 1, 1}, 512, false},
                        {{4, 4, 4}, {32, 3, 1}, 512, false},       {{4, 4, 4}, {32, 2, 2}, 512, false},
                        {{4, 4, 4}, {0, 2, 1}, 512, false},        {{4, 4, 4}, {64, 2, 1}, 513, false},
                        {{0x80000000, 1, 1}, {64, 2, 1}, 0, false}};
  for (const Case& one : cases) {
    KernelCall other = call;
    other.grid = one.grid;
    other.block = one.block;
    other.shared = one.shared;
    EXPECT_EQ(is_kernel(other), one.fits) << one.grid.x << ' ' << one.block.x << ' ' << one.shared;
  }
  // Two blocks were accepted, each larger one way: no block is held that has more threads than either.
  variant->nodes[0].accept({2, 64, 1}, 0);
  KernelCall square = call;
  square.block = {64, 64, 1};
  EXPECT_EQ(reason_of(square, 0), Reason::different_configuration);
}

TEST_F(Compare, a_launch_with_attributes_keeps_its_configuration) {
  capture::Sequence sequence;
  KernelCall cooperative = call;
  cooperative.cooperative = true;
  add(sequence, cooperative, function.get());
  sequence.functions.push_back(function);
  replay::Variant with_attribute(std::move(sequence), 0, 2, 32);
  EXPECT_TRUE(replay::compare(cooperative, with_attribute, 0, rule).equal);
  cooperative.grid = {2, 1, 1};
  EXPECT_FALSE(replay::compare(cooperative, with_attribute, 0, rule).equal);
  const replay::Verdict plain = replay::compare(call, with_attribute, 0, rule);
  EXPECT_FALSE(plain.equal);
  EXPECT_EQ(plain.reason, Reason::different_attributes) << "a launch without any is another one";
}

TEST_F(Compare, a_call_that_lacks_a_value_is_the_driver_s_to_judge) {
  std::uint32_t moved = 0;
  for (void*& value : pointers) {
    void* const there = std::exchange(value, nullptr);
    EXPECT_FALSE(replay::absorb(call, *variant, 0, moved));
    EXPECT_FALSE(replay::same_bytes(call, *variant, 0));
    value = there;
  }
  EXPECT_TRUE(replay::absorb(call, *variant, 0, moved));
}

TEST_F(Compare, strict_rules_demand_equal_configuration_and_bytes) {
  rule.strict_configuration = true;
  KernelCall smaller = call;
  smaller.grid = {1, 1, 1};
  EXPECT_EQ(reason_of(smaller, 0), Reason::different_configuration);
  MemsetCall shorter = row;
  shorter.bytes.width = 8;
  EXPECT_EQ(reason_of(shorter, 1), Reason::different_configuration);
  CopyCall less = copy;
  less.bytes.bytes = 8;
  EXPECT_EQ(reason_of(less, 3), Reason::different_configuration);
  rule.strict_configuration = false;
  rule.strict_parameters = true;
  number = 6;
  EXPECT_EQ(reason_of(call, 0), Reason::different_parameters);
  MemsetCall moved = row;
  moved.bytes.destination += 4;
  EXPECT_EQ(reason_of(moved, 1), Reason::different_parameters);
  CopyCall from = copy;
  from.bytes.source += 4;
  EXPECT_EQ(reason_of(from, 3), Reason::different_parameters);
}

TEST_F(Compare, memsets_of_rows_keep_their_shape_and_address) {
  MemsetCall other = row;
  other.bytes.width = 0;
  EXPECT_EQ(reason_of(other, 1), Reason::different_configuration);
  other = row;
  other.bytes.element_size = 2;
  EXPECT_EQ(reason_of(other, 1), Reason::different_configuration);
  EXPECT_EQ(reason_of(rows, 1), Reason::different_configuration);
  EXPECT_EQ(reason_of(row, 2), Reason::different_configuration);
  other = rows;
  other.bytes.height = 5;
  EXPECT_EQ(reason_of(other, 2), Reason::different_configuration);
  other = rows;
  other.bytes.destination += 256;
  EXPECT_EQ(reason_of(other, 2), Reason::different_parameters);
  CopyCall none = copy;
  none.bytes.bytes = 0;
  EXPECT_EQ(reason_of(none, 3), Reason::different_configuration);
}

TEST_F(Compare, every_byte_of_an_operation_counts) {
  const std::pair<std::string, std::function<void()>> changes[] = {
      {"8 bytes", [&] { pointer ^= std::uint64_t{1} << 63; }},
      {"4 bytes", [&] { number ^= 1u << 31; }},
      {"3 bytes", [&] { odd[2] ^= 0x80; }},
  };
  for (const auto& [what, change] : changes) {
    EXPECT_TRUE(replay::same_bytes(call, *variant, 0));
    change();
    EXPECT_FALSE(replay::same_bytes(call, *variant, 0)) << what;
    change();
  }
  for (const auto field : {&capture::MemsetBytes::destination, &capture::MemsetBytes::width}) {
    MemsetCall other = row;
    other.bytes.*field += 1;
    EXPECT_FALSE(replay::same_bytes(other, *variant, 1));
  }
  MemsetCall value = row;
  value.bytes.value = 4;
  EXPECT_FALSE(replay::same_bytes(value, *variant, 1));
  for (const auto field : {&capture::CopyBytes::destination, &capture::CopyBytes::source, &capture::CopyBytes::bytes}) {
    CopyCall other = copy;
    other.bytes.*field += 1;
    EXPECT_FALSE(replay::same_bytes(other, *variant, 3));
  }
}

TEST_F(Compare, a_packed_block_of_another_size_is_the_driver_s_to_judge) {
  std::byte block[32] = {};
  std::size_t bytes = 15;
  void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, block, CU_LAUNCH_PARAM_BUFFER_SIZE, &bytes, CU_LAUNCH_PARAM_END};
  KernelCall packed = call;
  packed.parameters = nullptr;
  packed.extra = extra;
  EXPECT_TRUE(is_kernel(packed));
  for (const std::size_t wrong : {0u, 14u, 16u, 32u}) {
    bytes = wrong;
    EXPECT_EQ(reason_of(packed, 0), Reason::unholdable_operation) << wrong;
  }
  bytes = 15;
  packed.parameters = pointers;
  EXPECT_EQ(reason_of(packed, 0), Reason::unholdable_operation) << "both ways at once";
}

}  // namespace
}  // namespace refrain::tests
