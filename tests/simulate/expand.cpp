#include "tests/simulate/expand.h"

#include <algorithm>

#include "tests/simulate/order.h"

namespace refrain::tests::simulate {
namespace {

int remainder(int value, int of) { return of <= 0 ? 0 : ((value % of) + of) % of; }

bool happens(const Call& call, int iteration) {
  return call.every <= 0 ? iteration == call.at : remainder(iteration - call.at, call.every) == 0;
}

bool has_stream(const Strand& strand, int context) {
  return std::any_of(strand.streams.begin(), strand.streams.end(),
                     [&](const StreamPlan& plan) { return plan.context == context; });
}

/// The call with this iteration's numbers.
Call settle(Call call, const Strand& strand, int iteration) {
  const int streams = static_cast<int>(strand.streams.size());
  call.stream = remainder(call.stream, streams);
  call.to = remainder(call.to, streams);
  call.x = remainder(call.x + call.move * iteration, strand.buffers);
  call.y = remainder(call.y + call.move * iteration, strand.buffers);
  call.value += call.drift * iteration;
  if (call.shape > 0) {
    call.n += 4 * (iteration % call.shape);
    call.grid += iteration % call.shape;
  }
  call.n = std::clamp(call.n, 1, 48);
  call.grid = std::clamp(call.grid, 1, 64);
  call.block = std::clamp(call.block, 1, 256);
  call.shared = std::clamp(call.shared, 0, 1024);
  call.thread = remainder(call.thread, strand.helpers + 1);
  // A helper has a default stream of its own, which is none of the strand's.
  const auto own_only = [&](int stream) {
    return strand.streams[static_cast<std::size_t>(stream)].kind == StreamKind::per_thread;
  };
  if (own_only(call.stream) || own_only(call.to)) call.thread = 0;
  return call;
}

class Expansion {
 public:
  explicit Expansion(const Strand& strand, Strip& strip) : strand_(strand), strip_(strip), order_(strand.streams) {
    for (const Phase& phase : strand.phases) {
      for (int iteration = 0; iteration < phase.iterations; ++iteration) {
        for (const Call& call : phase.calls) {
          if (happens(call, iteration)) add(settle(call, strand, iteration));
        }
      }
    }
    Step last;
    last.action = Action::finish;
    strip_.steps.push_back(last);
  }

 private:
  void step(Action action, const Call& by, int stream, int to = 0) {
    Step made;
    made.action = action;
    made.call.stream = stream;
    made.call.to = to;
    made.call.thread = by.thread;
    const auto own_only = [&](int one) {
      return strand_.streams[static_cast<std::size_t>(one)].kind == StreamKind::per_thread;
    };
    if (own_only(stream) || own_only(to)) made.call.thread = 0;
    strip_.steps.push_back(made);
  }

  void call(const Call& made, bool surely_done = false) {
    strip_.steps.push_back({Action::call, made, surely_done, {}});
  }
  void work(const Call& made) { strip_.steps.push_back({Action::call, made, false, order_.newest(made.stream)}); }

  /// The host waits for all that `stream` has.
  void host_waits(const Call& by, int stream, int style) {
    const StreamPlan& plan = strand_.streams[static_cast<std::size_t>(stream)];
    switch (style % 5) {
      case 0: step(Action::wait_stream, by, stream); break;
      case 1:
        step(Action::record, by, stream);
        order_.records(stream);
        step(Action::wait_event, by, stream);
        order_.host_waits_event(stream);
        return;
      case 2: step(Action::poll_stream, by, stream); break;
      case 3:
        order_.works(stream, {}, {});
        step(Action::spin, by, stream);
        strip_.steps.back().after = order_.newest(stream);
        order_.host_sees_flag(stream);
        return;
      default:
        if (strand_.captures || may_not_wait_for(plan.context)) return host_waits(by, stream, 0);
        step(Action::wait_context, by, stream);
        order_.host_waits_context(plan.context);
        return;
    }
    order_.host_waits_stream(stream);
  }

  bool may_not_wait_for(int context) const { return (forbidden_contexts & (1 << context)) != 0; }

  void order_before(const Call& by, int stream, const Uses& uses) {
    for (int other : order_.missing(stream, uses.writes, uses.reads)) {
      if (by.style % 8 < 3) {
        step(Action::record, by, other);
        order_.records(other);
        step(Action::wait, by, stream, other);
        order_.waits(stream, other);
      } else {
        host_waits(by, other, by.style % 8 - 3);
      }
    }
  }

  void add_work(const Call& one) {
    const Uses uses = uses_of(one, strand_);
    order_before(one, one.stream, uses);
    order_.works(one.stream, uses.writes, uses.reads);
    work(one);
  }

  void add(const Call& one);

 public:
  static inline int forbidden_contexts = 0;

 private:
  const Strand& strand_;
  Strip& strip_;
  Order order_;
};

void Expansion::add(const Call& one) {
  const StreamPlan& plan = strand_.streams[static_cast<std::size_t>(one.stream)];
  switch (one.kind) {
    case Kind::join:
      if (one.stream == one.to) return;
      step(Action::record, one, one.to);
      order_.records(one.to);
      step(Action::wait, one, one.stream, one.to);
      order_.waits(one.stream, one.to);
      return;
    case Kind::sync_stream: return host_waits(one, one.stream, 0);
    case Kind::sync_event: return host_waits(one, one.stream, 1);
    case Kind::sync_context: return host_waits(one, one.stream, 4);
    case Kind::poll: return host_waits(one, one.stream, 2);
    case Kind::spin: return host_waits(one, one.stream, 3);
    case Kind::query_stream: return call(one, order_.idle(one.stream));
    case Kind::query_event: return call(one, order_.event_reached(one.stream));
    case Kind::download: {
      const Uses uses = uses_of(one, strand_);
      order_before(one, one.stream, uses);
      order_.works(one.stream, uses.writes, uses.reads);
      work(one);
      step(Action::wait_stream, one, one.stream);
      order_.host_waits_stream(one.stream);
      Step read;
      read.action = Action::read;
      read.call = one;
      strip_.steps.push_back(read);
      return;
    }
    case Kind::new_memory:
      // Freeing waits for everything in the context.
      order_.host_waits_context(plan.context);
      order_.works(one.stream, uses_of(one, strand_).writes, {});
      return work(one);
    case Kind::new_code:
      if (strand_.own_code == 0) return;
      // Unloading a library does not wait on every driver: the strand does.
      for (int stream = 0; stream < static_cast<int>(strand_.streams.size()); ++stream) host_waits(one, stream, 0);
      return call(one);
    case Kind::new_stream:
      if (plan.kind != StreamKind::blocking && plan.kind != StreamKind::non_blocking) return;
      order_.records(one.stream);
      order_.waits(one.stream, one.stream);
      order_.works(one.stream, {}, {});
      return call(one);
    case Kind::graph:
      if (!strand_.captures || plan.kind != StreamKind::non_blocking) return;
      add_work(one);
      if (works_beside(one)) order_.works(one.to, {}, {});
      return;
    default:
      if (is_work(one.kind)) return add_work(one);
      return call(one);
  }
}

}  // namespace

bool is_work(Kind kind) { return kind <= Kind::host || kind == Kind::new_memory_in_stream || kind == Kind::graph; }

Uses uses_of(const Call& call, const Strand& strand) {
  const int context = strand.streams[static_cast<std::size_t>(call.stream)].context;
  const int x = context * buffers_a_context + call.x, y = context * buffers_a_context + call.y;
  switch (call.kind) {
    case Kind::mix:
    case Kind::accumulate:
    case Kind::copy:
    case Kind::graph: return {{x}, {y}};
    case Kind::table: return {{x, y}, {}};
    case Kind::download: return {{}, {x}};
    case Kind::empty:
    case Kind::host: return {};
    default: return {{x}, {}};
  }
}

std::vector<Strip> expand(const Program& program) {
  Expansion::forbidden_contexts = 0;
  for (const Strand& strand : program.strands) {
    for (int context = 0; strand.captures && context < 2; ++context) {
      if (has_stream(strand, context)) Expansion::forbidden_contexts |= 1 << context;
    }
  }
  std::vector<Strip> strips(program.strands.size());
  for (std::size_t i = 0; i < strips.size(); ++i) Expansion(program.strands[i], strips[i]);
  return strips;
}

std::size_t count_calls(const Program& program) {
  std::size_t count = 0;
  for (const Strip& strip : expand(program)) count += strip.steps.size() - 1;
  return count;
}

std::string describe(const std::vector<Strip>& strips) {
  static constexpr const char* names[] = {"call",
                                          "cuEventRecord",
                                          "cuStreamWaitEvent",
                                          "cuEventSynchronize",
                                          "cuStreamSynchronize",
                                          "cuCtxSynchronize",
                                          "poll cuStreamQuery",
                                          "tell, and spin on the flag",
                                          "look at the download",
                                          "wait for everything and read all buffers"};
  std::string text;
  for (std::size_t strand = 0; strand < strips.size(); ++strand) {
    text += "strand " + std::to_string(strand) + '\n';
    std::size_t number = 0;
    for (const Step& step : strips[strand].steps) {
      const Call& call = step.call;
      text += "  " + std::to_string(number++) + ": ";
      if (step.action != Action::call) {
        text += names[static_cast<std::size_t>(step.action)];
        text += " stream " + std::to_string(call.stream);
        if (step.action == Action::wait) text += " for the event of stream " + std::to_string(call.to);
      } else {
        text += to_string(call.kind);
#define NUMBER(name, initial)                                                                        \
  if (call.name != initial && std::string_view(#name) != "every" && std::string_view(#name) != "at") \
    text += " " #name "=" + std::to_string(call.name);
        CALL_NUMBERS
#undef NUMBER
      }
      text += '\n';
    }
  }
  return text;
}

}  // namespace refrain::tests::simulate
