#include "replay/variant.h"

#include <algorithm>
#include <utility>

#include "replay/addresses.h"

namespace refrain::replay {

void Node::accept(const capture::Dimensions& block, std::uint32_t shared) noexcept {
  accepted_block = {std::max(accepted_block.x, block.x), std::max(accepted_block.y, block.y),
                    std::max(accepted_block.z, block.z)};
  accepted_threads = std::max(accepted_threads, std::uint64_t{block.x} * block.y * block.z);
  accepted_shared = std::max(accepted_shared, shared);
}

Variant::Variant(capture::Sequence recorded, std::uint32_t number, std::uint32_t segment_min, std::uint32_t longest,
                 Waits around)
    : sequence(std::move(recorded)), nodes(sequence.size()), id(number), segment_max(longest), waits(around) {
  sequence.trim();
  waited_after = waits.after ? most_waited : 0;
  auto cut = sequence.breaks.begin();
  std::uint32_t run = 0;  // where it began
  for (std::uint32_t index = 0; index < sequence.size(); ++index) {
    const capture::Operation& operation = sequence.operations[index];
    while (cut != sequence.breaks.end() && cut->before < index) ++cut;
    const bool is_cut = cut != sequence.breaks.end() && cut->before == index;
    if (index != run && (is_cut || sequence.operations[run].role != operation.role)) {
      add_segments(run, index, segment_min, segment_max);
      run = index;
    }
    std::uint32_t of_operation = 0;
    moved_address_bytes(sequence, sequence, index, of_operation);
    address_bytes += of_operation;
    nodes[index].accept(operation.block, operation.shared);
  }
  if (sequence.size() != 0) add_segments(run, sequence.size(), segment_min, segment_max);
  addresses = address_hash(sequence);
}

void Variant::add_segments(std::uint32_t first, std::uint32_t end, std::uint32_t least, std::uint32_t most) {
  const Waits around{waits.before && first == 0, waits.after && end == sequence.size()};
  for (const std::uint32_t count : segment_lengths(end - first, least, most, around)) {
    Segment& segment = segments.emplace_back();
    segment.first = first;
    segment.count = count;
    segment.role = sequence.operations[first].role;
    segment.first_marks = static_cast<std::uint32_t>(marks.size());
    marks.resize(marks.size() + Marks::for_operations(count));
    for (std::uint32_t index = first; index < first + count; ++index)
      nodes[index].segment = static_cast<std::uint32_t>(segments.size() - 1);
    first += count;
  }
}

Segment* Variant::segment_around(std::uint32_t before) noexcept {
  if (before >= sequence.size()) return nullptr;
  Segment& segment = segment_of(before);
  return segment.first < before ? &segment : nullptr;
}

namespace {

// What is issued one by one there costs several times what one graph more does, so that a branch that is taken one time
// in eight is worth a cut. Three times in a row are enough at the beginning.
constexpr std::uint32_t one_interruption = 8, interrupted_often = 3 * one_interruption;

}  // namespace

void Variant::note_interruption(std::uint32_t before) noexcept {
  Segment* segment = segment_around(before);
  if (segment == nullptr) return;
  if (before == segment->interrupted_before || segment->interruptions < one_interruption) {
    if (before != segment->interrupted_before) segment->interruptions = 0;
    segment->interrupted_before = before;
    segment->interruptions += one_interruption;
  } else {
    segment->interruptions -= one_interruption;  // another place: which of them it is, is not known yet
  }
}

namespace {

// Shorter segments are not cut because they take long: the program waits there, or hardly launches anything.
constexpr std::uint32_t short_enough = 8;

}  // namespace

bool Variant::note_expiry(std::uint32_t held) noexcept {
  constexpr std::uint32_t rare = 64;
  Segment& segment = segment_of(held);
  segment.expiries = segment.launches < rare ? segment.expiries + 1 : 1;
  segment.launches = 0;
  return segment.count <= short_enough;
}

std::uint32_t Variant::wanted_cut(const Segment& segment) noexcept {
  constexpr std::uint32_t late_often = 2;
  if (segment.interruptions >= interrupted_often) return segment.interrupted_before;
  // The program takes longer for it than calls may be held.
  return segment.expiries >= late_often && segment.count > short_enough ? segment.first + segment.count / 2 : 0;
}

bool Variant::is_built() const noexcept {
  return std::any_of(segments.begin(), segments.end(),
                     [](const Segment& segment) { return segment.state == Segment::State::built; });
}

bool Variant::wants_cut() const noexcept {
  return std::any_of(segments.begin(), segments.end(), [](const Segment& segment) { return wanted_cut(segment) != 0; });
}

void Variant::cut(std::uint32_t before, std::uint32_t segment_min) {
  const std::uint32_t number = nodes[before].segment;
  Segment rest;
  rest.first = before;
  rest.count = segments[number].first + segments[number].count - before;
  rest.role = segments[number].role;
  rest.first_marks = static_cast<std::uint32_t>(marks.size());
  segments.reserve(segments.size() + 1);
  marks.resize(marks.size() + Marks::for_operations(rest.count));
  segments.insert(segments.begin() + number + 1, rest);
  clear_marks(segments[number]);
  segments[number].count = before - segments[number].first;
  for (const std::uint32_t half : {number, number + 1}) {
    segments[half].state = segments[half].count < segment_min ? Segment::State::off : Segment::State::waits;
  }
  for (std::uint32_t index = before; index < sequence.size(); ++index) ++nodes[index].segment;
}

void Variant::clear_marks(Segment& segment) noexcept {
  std::fill_n(marks_of(segment), segment.count, std::uint8_t{0});
  segment.changed = 0;
}

void Variant::mark_addresses_changed(Segment& segment) noexcept {
  for (std::uint32_t index = segment.first; index < segment.first + segment.count; ++index) {
    if (sequence.operations[index].kind != capture::OperationKind::kernel) mark_changed(index);
  }
}

std::size_t Variant::memory() const noexcept {
  return sizeof *this + sequence.memory() + segments.capacity() * sizeof(Segment) + nodes.capacity() * sizeof(Node) +
         marks.capacity() * sizeof(Marks) + tokens.capacity() * sizeof(tokens[0]);
}

}  // namespace refrain::replay
