// After a call that passed: count it, step on, or record it.
#include <algorithm>
#include <iterator>
#include <mutex>
#include <new>
#include <type_traits>
#include <utility>

#include "capture/demangle.h"
#include "capture/grow.h"
#include "replay/engine_impl.h"

#include <fmt/format.h>

namespace refrain::replay {

using capture::Reason;

namespace {

constexpr std::size_t most_text = 200;

std::string describe_configuration(const capture::Dimensions& grid, const capture::Dimensions& block,
                                   std::uint32_t shared) {
  return fmt::format("grid {}x{}x{} block {}x{}x{} shared {}", grid.x, grid.y, grid.z, block.x, block.y, block.z,
                     shared);
}

std::string name_of_function(const capture::Function* function) {
  if (function == nullptr || function->name.empty()) return "a kernel without a name";
  return capture::demangle_on_host_thread(function->name).substr(0, most_text);
}

std::string describe_operation(const Variant& variant, std::uint32_t index) {
  const capture::Operation& operation = variant.sequence.operations[index];
  if (operation.kind != capture::OperationKind::kernel) return capture::to_string(operation.kind);
  return name_of_function(operation.function);
}

// The first parameter whose bytes differ, with both values, for a person who wants to know which one moved.
std::pair<std::string, std::string> describe_parameters(const KernelCall& call, const Variant& variant,
                                                        std::uint32_t index) {
  const capture::Operation& operation = variant.sequence.operations[index];
  const std::byte* shadow = variant.sequence.bytes_of(operation);
  const std::byte* block = nullptr;
  std::size_t bytes = 0;
  if (call.parameters == nullptr && (call.extra == nullptr || !packed_block(call.extra, block, bytes))) return {};
  std::size_t number = 0;
  for (const capture::Parameter& parameter : operation.function->layout.parameters) {
    const auto* value =
        call.parameters != nullptr ? static_cast<const std::byte*>(call.parameters[number]) : block + parameter.offset;
    const std::byte* expected = shadow + parameter.offset;
    if (!std::equal(expected, expected + parameter.size, value)) {
      const std::size_t shown = std::min<std::size_t>(parameter.size, 32);
      auto text = [&](const std::byte* from) {
        std::string out = fmt::format("parameter {} ({} bytes) ", number, parameter.size);
        for (std::size_t at = 0; at < shown; ++at)
          fmt::format_to(std::back_inserter(out), "{:02x}", static_cast<unsigned>(from[at]));
        return out;
      };
      return {text(expected), text(value)};
    }
    ++number;
  }
  return {};
}

std::pair<std::string, std::string> describe_difference(const KernelCall& call, const Variant& variant,
                                                        std::uint32_t index, Reason reason,
                                                        const capture::Function* function) {
  const capture::Operation& operation = variant.sequence.operations[index];
  if (operation.kind == capture::OperationKind::kernel && reason == Reason::different_parameters) {
    return describe_parameters(call, variant, index);
  }
  if (operation.kind == capture::OperationKind::kernel && reason == Reason::different_configuration) {
    return {describe_configuration(operation.grid, operation.block, operation.shared),
            describe_configuration(call.grid, call.block, call.shared)};
  }
  return {describe_operation(variant, index), name_of_function(function)};
}

std::pair<std::string, std::string> describe_difference(const MemsetCall& call, const Variant& variant,
                                                        std::uint32_t index, Reason, const capture::Function*) {
  return {describe_operation(variant, index), fmt::format("memset of {}x{} elements of {} bytes", call.bytes.width,
                                                          call.bytes.height, call.bytes.element_size)};
}

std::pair<std::string, std::string> describe_difference(const CopyCall& call, const Variant& variant,
                                                        std::uint32_t index, Reason, const capture::Function*) {
  return {describe_operation(variant, index), fmt::format("copy of {} bytes", call.bytes.bytes)};
}

// What the policy or the program itself wants is counted as a cause, but is no failure to replay.
constexpr bool is_fallback(Reason reason) noexcept {
  return reason != Reason::eager_operation && reason != Reason::launch_error && reason != Reason::program_capture &&
         reason != Reason::paused;
}

}  // namespace

template <typename Call>
void Engine::Impl::passed(const Call& call, CUresult result) noexcept {
  Thread* thread = this_thread();
  if (thread == nullptr) return;
  OpenRegion* pass = std::exchange(thread->after_pass, nullptr);
  if (pass == nullptr) return;
  {
    const PassGuard guard(*pass);
    if (pass->region == nullptr) {
      Thread::add(thread->outside_calls);
      return;
    }
    step_on(call, result, *thread, *pass);
  }
  build_when_due(*pass);
}

template <typename Call>
void Engine::Impl::step_on(const Call& call, CUresult result, Thread& thread, OpenRegion& pass) noexcept {
  ++pass.counters.calls;
  ++pass.counters.passed;
  if (result != CUDA_SUCCESS) {
    notice_error(result);
    // The device got nothing: the sequence goes on as if the call had not been made
    if (thread.after != After::ignored) note(pass, Reason::launch_error, "", "");
    if (thread.after == After::mismatch && pass.variant != nullptr) {
      const std::lock_guard lane_guard(thread.after_lane->lock);
      pass.variant->note_interruption(pass.cursor);
    }
    return;
  }
  const bool recording = pass.state == OpenRegion::State::recording;
  if (thread.after == After::recorded ? !recording
                                      : thread.after != After::ignored && (pass.variant != thread.after_variant ||
                                                                           pass.cursor != thread.after_cursor)) {
    demote(pass);  // another thread went on in this pass while the call was made: their order is not known
    return;
  }
  switch (thread.after) {
    case After::matched:
      ++pass.cursor;
      if (pass.region->is_automatic() && pass.cursor == pass.variant->sequence.size()) finish_piece(pass);
      break;
    case After::unplaced: count_unplaced(pass, thread.after_token); break;
    case After::recorded:
    case After::mismatch:
      record(call, pass, *thread.after_lane, thread.after, thread.after_reason, thread.after_token);
      break;
    case After::ignored: break;
  }
}

// The driver accepted a larger block or more shared memory than ever before for the expected operation: the sequence
// goes on, and next time it is patched.
bool Engine::Impl::learn_configuration(const capture::Operation& operation, OpenRegion& pass, Reason why) noexcept {
  if (why != Reason::different_configuration || pass.region->rule.strict_configuration) return false;
  const capture::Operation& expected = pass.variant->sequence.operations[pass.cursor];
  if (operation.kind != capture::OperationKind::kernel || expected.attribute_count != 0) return false;
  pass.variant->nodes[pass.cursor].accept(operation.block, operation.shared);
  ++pass.cursor;
  return true;
}

template <typename Call>
void Engine::Impl::record(const Call& call, OpenRegion& pass, Lane& lane, After after, Reason why,
                          std::uint64_t token) noexcept try {
  FunctionPointer function;
  if constexpr (std::is_same_v<Call, KernelCall>) function = functions.learn(call.function);
  capture::Operation operation;
  std::vector<std::byte>& bytes = pass.described_bytes;
  std::vector<capture::Attribute>& attributes = pass.described_attributes;
  Reason reason{};
  if (!describe(call, function.get(), operation, bytes, attributes, reason)) {
    // Not an operation that a sequence can have: a cut when recording, nothing otherwise.
    if (pass.region->is_automatic()) {
      finish_piece(pass);
      count_unplaced(pass, token);
      return;
    }
    if (pass.state == OpenRegion::State::recording) pass.recording.add_break(capture::to_string(reason));
    if (pass.state == OpenRegion::State::recording && pass.recording.size() == 0)
      pass.state = OpenRegion::State::choosing;
    if (note_cause(pass, reason)) log_cause(pass, reason, "", name_of_function(function.get()));
    return;
  }
  if (after == After::mismatch) {
    note_mismatch(call, pass, why, function.get());
    if (learn_configuration(operation, pass, why)) return;
    Reason refused{};
    Region& region = *pass.region;
    Variant& left = *pass.variant;
    bool may = false;
    {
      const std::lock_guard guard(region.lock);
      may = may_record(region, refused);
    }
    if (may) {
      pass.recording = left.sequence.prefix(pass.cursor);
      // A cut where the branches part lets both replay what they share, and then their own; not for a piece too short
      // to replay.
      const bool inside = pass.cursor < left.sequence.size();
      if (!inside || pass.cursor - left.segment_of(pass.cursor).first >= settings.segment_min) {
        pass.recording.add_break("another branch");
      }
    } else {
      note(pass, refused, "", "");
    }
    const std::lock_guard guard(region.lock);
    release(region, left);
    pass.variant = nullptr;
    pass.state = may ? OpenRegion::State::recording : OpenRegion::State::eager;
    if (!may) return;
  }
  const auto bound_end = pass.roles.begin() + pass.role_count;
  const auto role = std::find(pass.roles.begin(), bound_end, &lane);
  if (role == pass.roles.end() || pass.recording.size() >= settings.max_operations) {
    pass.state = OpenRegion::State::eager;
    pass.recording = {};
    note(pass, Reason::sequence_limit, "", "");
    return;
  }
  if (role == bound_end) pass.roles[pass.role_count++] = &lane;
  operation.role = static_cast<std::uint16_t>(role - pass.roles.begin());
  const bool is_automatic = pass.region->is_automatic();
  if (is_automatic) capture::make_room(pass.tokens, 1);
  pass.recording.append(operation, bytes, attributes);
  pass.pace.operation(now_ns());
  if (is_automatic) pass.tokens.push_back(token);
  if (function != nullptr) pass.recording.functions.push_back(std::move(function));
} catch (...) {
  demote(pass);
}

template <typename Call>
void Engine::Impl::note_mismatch(const Call& call, OpenRegion& pass, Reason reason,
                                 const capture::Function* function) noexcept try {
  if (!note_cause(pass, reason)) return;  // names are dear
  if (pass.cursor == pass.variant->sequence.size()) {
    log_cause(pass, reason, "the end of the region",
              function != nullptr ? name_of_function(function) : "a memset or copy");
    return;
  }
  const auto [expected, found] = describe_difference(call, *pass.variant, pass.cursor, reason, function);
  log_cause(pass, reason, expected, found);
} catch (...) {
}

namespace {

// Of a pass that follows a variant, or records.
std::uint32_t variant_of(const OpenRegion& pass) noexcept { return pass.variant != nullptr ? pass.variant->id : 0; }
std::uint32_t place_of(const OpenRegion& pass) noexcept {
  return pass.variant != nullptr ? pass.cursor : pass.recording.size();
}

}  // namespace

void Engine::Impl::note(OpenRegion& pass, Reason reason, const char* expected, const char* found) noexcept try {
  if (note_cause(pass, reason)) log_cause(pass, reason, expected, found);
} catch (...) {
}

bool Engine::Impl::note_cause(OpenRegion& pass, Reason reason) noexcept {
  if (is_fallback(reason) && !pass.region->is_automatic()) fallbacks.fetch_add(1, std::memory_order_relaxed);
  return pass.region->note(reason, variant_of(pass), place_of(pass)) && log != nullptr;
}

void Engine::Impl::log_cause(const OpenRegion& pass, Reason reason, std::string_view expected, std::string_view found) {
  capture::FallbackRecord record;
  record.region = pass.region->rule.name;
  record.variant = variant_of(pass);
  const std::uint32_t operation = record.operation = place_of(pass);
  record.reason = reason;
  record.expected = expected.substr(0, most_text);
  record.found = found.substr(0, most_text);
  if (pass.variant != nullptr && operation < pass.variant->sequence.size()) {
    const capture::Operation& recorded = pass.variant->sequence.operations[operation];
    if (recorded.function != nullptr) record.kernel = recorded.function->name;
  }
  log->write(std::move(record));
}

#define INSTANTIATE(Call)                                             \
  template void Engine::Impl::passed(const Call&, CUresult) noexcept; \
  template void Engine::Impl::record(const Call&, OpenRegion&, Lane&, After, Reason, std::uint64_t) noexcept;
INSTANTIATE(KernelCall)
INSTANTIATE(MemsetCall)
INSTANTIATE(CopyCall)
#undef INSTANTIATE

}  // namespace refrain::replay
