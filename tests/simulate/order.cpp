#include "tests/simulate/order.h"

#include <algorithm>

namespace refrain::tests::simulate {

Order::Order(const std::vector<StreamPlan>& streams) : plans_(streams) {
  clocks_.assign(plans_.size(), Clock(plans_.size()));
  records_ = clocks_;
  host_ = drained_ = Clock(plans_.size());
}

void Order::merge(Clock& into, const Clock& from) {
  for (std::size_t i = 0; i < into.size(); ++i) into[i] = std::max(into[i], from[i]);
}

// The legacy stream waits for what blocking streams of its context have, and they for what it has.
Order::Clock Order::before(int stream) const {
  const StreamPlan& plan = plans_[static_cast<std::size_t>(stream)];
  Clock clock = clocks_[static_cast<std::size_t>(stream)];
  merge(clock, host_);
  for (std::size_t other = 0; other < plans_.size(); ++other) {
    if (plans_[other].context != plan.context || plans_[other].kind == StreamKind::non_blocking) continue;
    const bool legacy = plan.kind == StreamKind::legacy, other_legacy = plans_[other].kind == StreamKind::legacy;
    const bool coupled = legacy ? !other_legacy : plan.kind != StreamKind::non_blocking && other_legacy;
    if (coupled) merge(clock, clocks_[other]);
  }
  return clock;
}

void Order::step(int stream) {
  const auto index = static_cast<std::size_t>(stream);
  clocks_[index] = before(stream);
  ++clocks_[index][index];
}

Order::Buffer& Order::buffer(int number) {
  const auto index = static_cast<std::size_t>(number);
  if (buffers_.size() <= index) buffers_.resize(index + 1, {Clock(plans_.size()), Clock(plans_.size())});
  return buffers_[index];
}

Order::Clock Order::needed(const std::vector<int>& writes, const std::vector<int>& reads) const {
  Clock need(plans_.size());
  const auto add = [&](int number, bool readers) {
    if (static_cast<std::size_t>(number) >= buffers_.size()) return;
    const Buffer& used = buffers_[static_cast<std::size_t>(number)];
    merge(need, used.writes);
    if (readers) merge(need, used.reads);
  };
  for (int number : writes) add(number, true);
  for (int number : reads) add(number, false);
  return need;
}

namespace {

std::vector<int> larger(const std::vector<unsigned>& need, const std::vector<unsigned>& have) {
  std::vector<int> streams;
  for (std::size_t i = 0; i < need.size(); ++i) {
    if (need[i] > have[i]) streams.push_back(static_cast<int>(i));
  }
  return streams;
}

}  // namespace

std::vector<int> Order::missing(int stream, const std::vector<int>& writes, const std::vector<int>& reads) const {
  return larger(needed(writes, reads), before(stream));
}

std::vector<int> Order::missing_for_host(const std::vector<int>& writes, const std::vector<int>& reads) const {
  return larger(needed(writes, reads), host_);
}

void Order::works(int stream, const std::vector<int>& writes, const std::vector<int>& reads) {
  step(stream);
  const auto index = static_cast<std::size_t>(stream);
  for (int number : writes) buffer(number).writes[index] = clocks_[index][index];
  for (int number : reads) buffer(number).reads[index] = clocks_[index][index];
}

void Order::records(int stream) {
  step(stream);
  records_[static_cast<std::size_t>(stream)] = clocks_[static_cast<std::size_t>(stream)];
}

// When the event is reached already there is nothing to wait for, and the wait may be nothing at all: it is not behind
// what work would be behind. Except on the legacy stream, where a wait is an action that orders with blocking streams.
void Order::waits(int stream, int of) {
  const auto index = static_cast<std::size_t>(stream);
  if (plans_[index].kind == StreamKind::legacy) {
    step(stream);
  } else {
    ++clocks_[index][index];
  }
  merge(clocks_[index], records_[static_cast<std::size_t>(of)]);
}

// Waiting for the legacy stream waits for the blocking ones too.
void Order::host_waits_stream(int stream) {
  const auto index = static_cast<std::size_t>(stream);
  merge(host_, plans_[index].kind == StreamKind::legacy ? before(stream) : clocks_[index]);
  drained_[index] = clocks_[index][index];
}

void Order::host_sees_flag(int stream) { merge(host_, clocks_[static_cast<std::size_t>(stream)]); }

void Order::host_waits_event(int of) { merge(host_, records_[static_cast<std::size_t>(of)]); }

void Order::host_waits_context(int context) {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    if (plans_[i].context != context) continue;
    merge(host_, clocks_[i]);
    drained_[i] = clocks_[i][i];
  }
}

bool Order::idle(int stream) const {
  const auto index = static_cast<std::size_t>(stream);
  return plans_[index].kind != StreamKind::legacy && drained_[index] == clocks_[index][index];
}

bool Order::event_reached(int of) const {
  const auto index = static_cast<std::size_t>(of);
  return host_[index] >= records_[index][index];
}

}  // namespace refrain::tests::simulate
