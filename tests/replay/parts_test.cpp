// The parts that the engine is made of, each by itself.
#include <gtest/gtest.h>

#include <cstring>
#include <thread>

#include "capture/sequence.h"
#include "replay/attributes.h"
#include "replay/build.h"
#include "replay/lock.h"
#include "replay/match.h"
#include "replay/step_places.h"
#include "replay/trail.h"
#include "replay/variant.h"

namespace refrain::tests {
namespace {

using capture::Operation;
using replay::KernelCall;

capture::Sequence sequence_of(std::initializer_list<std::uint16_t> roles) {
  capture::Sequence sequence;
  auto function = std::make_shared<capture::Function>();
  for (const std::uint16_t role : roles) {
    Operation operation;
    operation.function = function.get();
    operation.role = role;
    sequence.append(operation, {}, {});
  }
  sequence.functions.push_back(function);
  return sequence;
}

TEST(Sequence, is_not_copied_for_each_operation) {
  capture::Sequence sequence;
  const std::byte bytes[8]{};
  const capture::Attribute attribute;
  const capture::Function function;
  Operation operation;
  operation.function = &function;
  int moved = 0;
  const Operation* where = nullptr;
  const capture::Attribute* attributes = nullptr;
  for (int number = 0; number < 4096; ++number) {
    sequence.append(operation, bytes, {&attribute, 1});
    moved += where != sequence.operations.data() || attributes != sequence.attributes.data() ? 1 : 0;
    where = sequence.operations.data();
    attributes = sequence.attributes.data();
  }
  EXPECT_LE(moved, 24);
  const std::size_t before = sequence.prefix(4000).memory();
  const replay::Variant variant(sequence.prefix(4000), 0, 2, 32);
  EXPECT_LT(variant.sequence.memory(), before) << "what it had room for is given back";
}

TEST(Variant, is_cut_by_length_stream_and_breaks) {
  capture::Sequence sequence = sequence_of({0, 0, 0, 1, 1, 0});
  replay::Variant by_stream(sequence.prefix(6), 0, 2, 32);
  ASSERT_EQ(by_stream.segments.size(), 3u);
  EXPECT_EQ(by_stream.segments[1].first, 3u);
  EXPECT_EQ(by_stream.segments[1].count, 2u);
  replay::Variant by_length(sequence.prefix(6), 0, 2, 2);
  EXPECT_EQ(by_length.segments.size(), 4u);
  capture::Sequence with_break = sequence_of({0});
  with_break.add_break("cuEventRecord");
  Operation operation = with_break.operations[0];
  with_break.append(operation, {}, {});
  replay::Variant cut(std::move(with_break), 0, 2, 32);
  EXPECT_EQ(cut.segments.size(), 2u);
}

TEST(SegmentLengths, are_even_and_short_next_to_waits) {
  using Lengths = std::vector<std::uint32_t>;
  EXPECT_EQ(replay::segment_lengths(33, 2, 32, {}), (Lengths{17, 16}));
  EXPECT_EQ(replay::segment_lengths(32, 2, 32, {}), (Lengths{32}));
  EXPECT_EQ(replay::segment_lengths(3, 2, 32, {true, true}), (Lengths{3}));
  EXPECT_EQ(replay::segment_lengths(9, 2, 32, {true, true}), (Lengths{5, 4}));
  EXPECT_EQ(replay::segment_lengths(40, 2, 32, {true, true}), (Lengths{4, 8, 16, 8, 4}));
  EXPECT_EQ(replay::segment_lengths(60, 2, 32, {true, false}), (Lengths{4, 8, 16, 32}));
  EXPECT_EQ(replay::segment_lengths(60, 2, 32, {false, true}), (Lengths{32, 16, 8, 4}));
  EXPECT_EQ(replay::segment_lengths(20, 6, 7, {true, true}), (Lengths{6, 7, 7}));
}

TEST(SegmentLengths, add_up_and_keep_the_bounds) {
  for (std::uint32_t count = 1; count < 200; ++count) {
    for (const std::uint32_t most : {1u, 2u, 5u, 32u, 64u}) {
      for (const replay::Waits waits : {replay::Waits{false, false}, {true, false}, {false, true}, {true, true}}) {
        std::uint32_t sum = 0;
        for (const std::uint32_t length : replay::segment_lengths(count, 1, most, waits)) {
          EXPECT_LE(length, most);
          EXPECT_GE(length, 1u);
          sum += length;
        }
        EXPECT_EQ(sum, count);
      }
    }
  }
}

TEST(Variant, a_segment_that_takes_too_long_is_halved_until_it_is_short) {
  replay::Variant variant(sequence_of({0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}), 0, 2, 32);
  replay::Segment& segment = variant.segments.front();
  EXPECT_FALSE(variant.note_expiry(0));
  EXPECT_EQ(replay::Variant::wanted_cut(segment), 0u) << "once is chance";
  segment.launches = 100;
  EXPECT_FALSE(variant.note_expiry(0));
  EXPECT_EQ(replay::Variant::wanted_cut(segment), 0u) << "so is now and then";
  EXPECT_FALSE(variant.note_expiry(0));
  ASSERT_EQ(replay::Variant::wanted_cut(segment), 10u);
  variant.cut(10, 2);
  variant.segments.front().expiries = 0;
  variant.note_expiry(3);
  variant.note_expiry(3);
  EXPECT_EQ(replay::Variant::wanted_cut(variant.segments.front()), 5u);
  variant.cut(5, 2);
  variant.segments.front().expiries = 0;
  EXPECT_TRUE(variant.note_expiry(0)) << "short: the region has to rest";
  EXPECT_TRUE(variant.note_expiry(0));
  EXPECT_EQ(replay::Variant::wanted_cut(variant.segments.front()), 0u);
}

// What cuMemGetInfo showed on an H200 with driver 580 (docs/measurements.md): the cap must hold, and not waste much.
TEST(Graph, its_device_memory_is_estimated_from_above) {
  struct Seen {
    std::uint32_t parameter_bytes, nodes, kib;
  };
  constexpr Seen seen[] = {{64, 1, 112},    {64, 2, 114},   {64, 4, 120},    {64, 8, 130},   {64, 16, 148},
                           {64, 32, 184},   {64, 64, 256},  {480, 8, 130},   {480, 64, 256}, {1024, 8, 130},
                           {1024, 32, 184}, {2048, 8, 138}, {2048, 32, 216}, {4000, 8, 180}, {4000, 32, 384}};
  for (const Seen& graph : seen) {
    capture::Sequence sequence;
    auto function = std::make_shared<capture::Function>();
    Operation operation;
    operation.function = function.get();
    const std::vector<std::byte> parameters(graph.parameter_bytes);
    for (std::uint32_t index = 0; index < graph.nodes; ++index) sequence.append(operation, parameters, {});
    sequence.functions.push_back(function);
    replay::Variant variant(std::move(sequence), 0, 1, 64);
    ASSERT_EQ(variant.segments.size(), 1u);
    const std::uint64_t estimated = replay::estimated_graph_bytes(variant.sequence, variant.segments[0]);
    EXPECT_GE(estimated, std::uint64_t{graph.kib} << 10) << graph.parameter_bytes << ", " << graph.nodes;
    EXPECT_LE(estimated, (std::uint64_t{graph.kib} << 10) * 5 / 4) << graph.parameter_bytes << ", " << graph.nodes;
  }
}

TEST(Sequence, structure_tells_prefixes_apart_and_ignores_bytes) {
  capture::Sequence one = sequence_of({0, 0, 1});
  capture::Sequence prefix = one.prefix(2);
  EXPECT_EQ(prefix.structure(2), one.structure(2));
  EXPECT_NE(one.structure(2), one.structure(3));
  const std::byte bytes[] = {std::byte{1}, std::byte{2}};
  capture::Sequence a, b;
  Operation operation = one.operations[0];
  a.append(operation, bytes, {});
  b.append(operation, {}, {});
  EXPECT_EQ(a.structure(1), b.structure(1));
}

TEST(Attributes, unused_bytes_of_the_union_do_not_count) {
  CUlaunchAttribute attribute;
  std::memset(&attribute, 0xaa, sizeof attribute);
  attribute.id = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
  attribute.value.clusterDim.x = 2;
  attribute.value.clusterDim.y = attribute.value.clusterDim.z = 1;
  KernelCall call;
  call.attributes = &attribute;
  call.attribute_count = 1;
  std::vector<capture::Attribute> canonical;
  ASSERT_TRUE(replay::canonical_attributes(call, canonical));
  CUlaunchAttribute again;
  std::memset(&again, 0x55, sizeof again);
  again.id = attribute.id;
  again.value.clusterDim = attribute.value.clusterDim;
  call.attributes = &again;
  EXPECT_TRUE(replay::same_attributes(call, canonical.data(), 1));
  again.value.clusterDim.x = 4;
  EXPECT_FALSE(replay::same_attributes(call, canonical.data(), 1));
}

TEST(Attributes, neutral_ones_are_dropped_and_unknown_ones_refused) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  attributes[1].id = CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  KernelCall call;
  call.attributes = attributes;
  call.attribute_count = 2;
  std::vector<capture::Attribute> canonical;
  EXPECT_TRUE(replay::canonical_attributes(call, canonical));
  EXPECT_TRUE(canonical.empty());
  EXPECT_TRUE(replay::same_attributes(call, nullptr, 0));
  for (const unsigned id : {7u, 12u, 13u, 15u, 99u}) {
    attributes[0].id = static_cast<CUlaunchAttributeID>(id);
    EXPECT_FALSE(replay::canonical_attributes(call, canonical)) << id;
  }
}

TEST(Attributes, one_that_is_given_twice_is_not_carried) {
  CUlaunchAttribute attributes[2] = {};
  attributes[0].id = attributes[1].id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attributes[0].value.cooperative = 1;
  KernelCall call;
  call.attributes = attributes;
  call.attribute_count = 1;
  std::vector<capture::Attribute> canonical;
  ASSERT_TRUE(replay::canonical_attributes(call, canonical));
  EXPECT_TRUE(replay::same_attributes(call, canonical.data(), 1));
  call.attribute_count = 2;  // the second one takes it back
  EXPECT_FALSE(replay::same_attributes(call, canonical.data(), 1));
  EXPECT_FALSE(replay::canonical_attributes(call, canonical));
  attributes[0].id = attributes[1].id = CU_LAUNCH_ATTRIBUTE_IGNORE;
  EXPECT_TRUE(replay::canonical_attributes(call, canonical));
}

TEST(Attributes, a_cooperative_launch_is_the_attribute_by_another_name) {
  KernelCall call;
  call.cooperative = true;
  std::vector<capture::Attribute> canonical;
  ASSERT_TRUE(replay::canonical_attributes(call, canonical));
  ASSERT_EQ(canonical.size(), 1u);
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  KernelCall by_attribute;
  by_attribute.attributes = &attribute;
  by_attribute.attribute_count = 1;
  EXPECT_TRUE(replay::same_attributes(by_attribute, canonical.data(), 1));
}

TEST(Match, finds_the_packed_block_only_in_lists_that_it_knows) {
  std::uint64_t value = 5;
  std::size_t size = sizeof value;
  void* good[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &value, CU_LAUNCH_PARAM_BUFFER_SIZE, &size, CU_LAUNCH_PARAM_END};
  const std::byte* block = nullptr;
  std::size_t bytes = 0;
  EXPECT_TRUE(replay::packed_block(good, block, bytes));
  EXPECT_EQ(bytes, sizeof value);
  void* incomplete[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, &value, CU_LAUNCH_PARAM_END};
  EXPECT_FALSE(replay::packed_block(incomplete, block, bytes));
  void* strange[] = {reinterpret_cast<void*>(7), &value, CU_LAUNCH_PARAM_END};
  EXPECT_FALSE(replay::packed_block(strange, block, bytes));
}

TEST(Lock, excludes) {
  replay::Lock lock;
  long counter = 0;
  auto work = [&] {
    for (int round = 0; round < 20000; ++round) {
      lock.lock();
      ++counter;
      lock.unlock();
    }
  };
  std::thread one(work), other(work);
  one.join();
  other.join();
  EXPECT_EQ(counter, 40000);
}

TEST(Trail, a_context_is_the_same_whether_operations_were_pushed_or_are_followed) {
  for (const std::size_t count : {0, 1, 3, 5, 6, 9}) {
    replay::Trail pushed, following;
    for (std::uint64_t token = 1; token <= 7; ++token) pushed.push(token), following.push(token);
    std::vector<std::uint64_t> followed;
    for (std::uint64_t token = 0; token < count; ++token) followed.push_back(100 + token), pushed.push(100 + token);
    EXPECT_EQ(following.context(50, followed), pushed.context(50)) << count;
    EXPECT_NE(following.context(51, followed), pushed.context(50)) << count;
    if (count != 0) {
      EXPECT_NE(following.context(50), pushed.context(50)) << count;
    }
  }
}

/// What may begin at a place, of three structures.
std::string allowed(const replay::StepPlaces& places, std::uint64_t position) {
  const replay::StepPlace* const place = places.find(position);
  std::string names;
  for (const auto& [name, structure] : {std::pair{"a", 5u}, {"b", 6u}, {"c", 7u}}) {
    if (place == nullptr || place->allows(structure)) names += name;
  }
  return names;
}

TEST(StepPlaces, what_was_left_twice_may_not_begin_there_until_it_is_complete_again) {
  replay::StepPlaces places;
  constexpr std::uint64_t here = 17, a = 5, b = 6;
  EXPECT_EQ(places.find(here), nullptr);
  places.completed(here, a);
  EXPECT_EQ(places.find(here), nullptr) << "nothing went wrong";
  places.left(here, a, 1);
  ASSERT_NE(places.find(here), nullptr);
  EXPECT_EQ(allowed(places, here), "abc") << "once is chance";
  places.completed(here, a);
  places.left(here, a, 1);
  places.left(here, a, 1);
  EXPECT_EQ(allowed(places, here), "bc");
  places.completed(here, b);
  EXPECT_EQ(allowed(places, here), "b");
  places.left(here, b, 1);
  EXPECT_EQ(allowed(places, here), "abc") << "the program goes another way";
  places.left(here, b, 1);
  EXPECT_EQ(allowed(places, here), "ac");
  places.forget();
  EXPECT_EQ(places.find(here), nullptr);
}

TEST(StepPlaces, where_two_fail_in_turn_in_the_same_ways_a_new_one_is_recorded) {
  constexpr std::uint64_t here = 4711, a = 5, b = 6, c = 7;
  for (const std::uint64_t varies : {0, 1}) {
    replay::StepPlaces places;
    auto fail_in_turn = [&](std::uint64_t times) {
      for (std::uint64_t time = 0; time < times; ++time) {
        places.left(here, a, 10 + varies * time);
        places.left(here, b, 20 + varies * time);
      }
    };
    fail_in_turn(3);
    EXPECT_EQ(allowed(places, here), "abc");
    fail_in_turn(3);
    EXPECT_EQ(allowed(places, here), varies != 0 ? "abc" : "") << "what follows from data is no reason";
    places.completed(here, c);
    EXPECT_EQ(allowed(places, here), varies != 0 ? "abc" : "c");
    places.left(here, c, 1);
    fail_in_turn(8);
    EXPECT_EQ(allowed(places, here), "abc") << "it was in vain here";
    for (int count = 0; count < 250; ++count) places.completed(here, c);
    EXPECT_EQ(allowed(places, here), varies != 0 ? "abc" : "c") << "that was long ago";
  }
}

TEST(StepPlaces, steps_that_follow_from_data_are_not_restricted) {
  constexpr std::uint64_t here = 17, a = 5, b = 6;
  replay::StepPlaces places;
  auto lose_what_fits = [&](std::uint64_t times, std::uint64_t at) {
    for (std::uint64_t time = 0; time < times; ++time) {
      for (int left = 0; left < 2; ++left) places.left(at, a, time);
      places.completed(at, b);
      places.left(at, b, time);
    }
  };
  lose_what_fits(8, 100);
  for (int left = 0; left < 2; ++left) places.left(here, a, 1);
  EXPECT_EQ(allowed(places, here), "bc");
  lose_what_fits(1, 200);
  EXPECT_EQ(allowed(places, here), "abc");
  places.completed(here, b);
  for (int count = 0; count < 200; ++count) places.completed(here, b);
  EXPECT_EQ(allowed(places, here), "abc");
  for (int count = 0; count < 8000; ++count) places.completed(here, b);
  EXPECT_EQ(allowed(places, here), "b") << "what fits is kept for long";
}

TEST(StepPlaces, an_unknown_place_and_one_that_is_crowded_out) {
  replay::StepPlaces places;
  places.left(0, 5, 1);
  EXPECT_EQ(places.find(0), nullptr);
  places.left(3, 5, 1);
  EXPECT_NE(places.find(3), nullptr);
  places.left(3 + replay::StepPlaces::count, 5, 1);
  EXPECT_EQ(places.find(3), nullptr);
  EXPECT_NE(places.find(3 + replay::StepPlaces::count), nullptr);
}

}  // namespace
}  // namespace refrain::tests
