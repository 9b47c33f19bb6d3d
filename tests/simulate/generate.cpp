#include "tests/simulate/generate.h"

#include <algorithm>

#include "tests/simulate/random.h"

namespace refrain::tests::simulate {
namespace {

constexpr int most_streams = 8, most_threads = 6;

class Generator {
 public:
  explicit Generator(std::uint64_t seed) : random_(seed) {}

  Program make(std::uint64_t seed) {
    Program program;
    program.seed = static_cast<int>(seed & 0x7fffffff);
    make_schedule(program);
    make_policy(program);
    const int strands = pick({1, 1, 1, 2, 2, 2, 3, 3, 4});
    int threads = most_threads - strands, streams = most_streams - strands;
    for (int i = 0; i < strands; ++i) {
      program.strands.push_back(make_strand(threads, streams));
    }
    return program;
  }

 private:
  int pick(std::initializer_list<int> values) {
    return values.begin()[random_.below(static_cast<unsigned>(values.size()))];
  }

  void make_schedule(Program& program) {
    program.calls = pick({4, 16, 16, 32, 64});
    program.locks = pick({0, 0, 1, 2, 8});
    program.pace = pick({50, 300, 1000, 4000});
    program.slips = pick({0, 0, 0, 1, 8, 60});
  }

  void make_policy(Program& program) {
    program.segment_min = pick({1, 2, 2, 2, 2, 3});
    program.segment_max = std::max(program.segment_min, pick({2, 3, 7, 32, 32, 64}));
    program.build_after = pick({1, 1, 1, 1, 1, 2, 3});
    program.max_hold_us = pick({10, 200, 2000, 2000, 2000, 100000, 1000000, 1000000});
    program.skip = pick({0, 0, 0, 0, 0, 0, 1, 2});
    program.variants = random_.chance(1, 8) ? pick({8, 4, 2, 1}) : 64;
    program.graph_mib = pick({256, 256, 256, 1});
    program.patch = !random_.chance(1, 24);
    program.strict_configuration = random_.chance(1, 24);
    program.strict_parameters = random_.chance(1, 40);
    program.process_scope = random_.chance(1, 10);
    program.one_rule = random_.chance(1, 4);
    program.max_failures = pick({1, 8, 8, 8, 1000, 1000, 1000, 1000});
    program.observe = random_.chance(1, 150);
    program.automatic = pick({0, 0, 0, 0, 1, 1, 2});
    program.issue_above_us = pick({1000000, 1000000, 2, 0, 0});
    if (random_.chance(1, 30)) program.max_operations = pick({4, 8, 16});
  }

  Strand make_strand(int& threads, int& streams) {
    Strand strand;
    strand.helpers = threads > 0 && random_.chance(1, 3) ? 1 : 0;
    threads -= strand.helpers;
    strand.buffers = random_.between(3, 6);
    strand.own_code = pick({0, 0, 1, 1, 2});
    strand.captures = random_.chance(1, 4);
    const int home = random_.chance(1, 4) ? 1 : 0;
    const int more = std::min(streams, pick({0, 1, 1, 2, 3}));
    streams -= more;
    for (int i = 0; i <= more; ++i) {
      StreamPlan plan;
      plan.context = i > 0 && random_.chance(1, 8) ? 1 - home : home;
      plan.kind = static_cast<StreamKind>(random_.chance(2, 3) ? 3 : pick({0, 0, 1, 2, 2}));
      // The legacy stream has one owner in each context.
      bool& taken = legacy_taken_[plan.context];
      if (plan.kind == StreamKind::legacy && taken) plan.kind = StreamKind::blocking;
      if (plan.kind == StreamKind::legacy) taken = true;
      const bool has_per_thread = std::any_of(strand.streams.begin(), strand.streams.end(), [&](const StreamPlan& one) {
        return one.kind == StreamKind::per_thread && one.context == plan.context;
      });
      const bool main_one = i == 0 && random_.chance(3, 4);  // nothing is held on it
      if (plan.kind == StreamKind::per_thread && (has_per_thread || main_one)) plan.kind = StreamKind::non_blocking;
      strand.streams.push_back(plan);
    }
    make_phases(strand);
    return strand;
  }

  void make_phases(Strand& strand) {
    Phase phase;
    phase.calls = make_body(strand);
    const int phases = pick({1, 1, 1, 2, 2, 3});
    for (int i = 0; i < phases; ++i) {
      phase.iterations = random_.between(16, 40);
      strand.phases.push_back(phase);
      change(phase, strand);
    }
  }

  /// The body of the next phase: some calls are others, left out or put in between.
  void change(Phase& phase, const Strand& strand) {
    for (int changes = random_.between(0, 3); changes > 0; --changes) {
      const std::size_t at = random_.below(static_cast<unsigned>(phase.calls.size()));
      Call& call = phase.calls[at];
      switch (random_.below(4)) {
        case 0:
          if (call.kind <= Kind::host) call = make_work(strand, call.stream);
          break;
        case 1:
          if (call.kind <= Kind::host) phase.calls.erase(phase.calls.begin() + static_cast<std::ptrdiff_t>(at));
          break;
        case 2: call.value += 7; break;
        default:
          phase.calls.insert(phase.calls.begin() + static_cast<std::ptrdiff_t>(at),
                             make_work(strand, static_cast<int>(random_.below(8))));
      }
      if (phase.calls.empty()) phase.calls.push_back(make_work(strand, 0));
    }
  }

  std::vector<Call> make_body(const Strand& strand) {
    std::vector<Call> calls;
    const int blocks = random_.between(1, 3);
    for (int block = 0; block < blocks; ++block) {
      add_range(strand, calls);
      if (random_.chance(1, 3)) add_between(strand, calls);
    }
    if (random_.chance(1, 2)) calls.push_back(make_wait(strand));
    if (random_.chance(1, 2)) add_life(strand, calls);
    return calls;
  }

  void add_range(const Strand& strand, std::vector<Call>& calls) {
    const int thread = strand.helpers != 0 && random_.chance(1, 3) ? 1 : 0;
    const bool started = random_.chance(1, 12);
    const std::size_t begin = calls.size();
    Call range;
    range.kind = started ? Kind::start : Kind::push;
    range.slot = random_.chance(1, 16) ? pick({4, 5}) : static_cast<int>(random_.below(4));
    range.thread = thread;
    calls.push_back(range);
    const int stream = static_cast<int>(random_.below(8));
    const int count = random_.between(4, 12);
    for (int i = 0; i < count; ++i) {
      const bool elsewhere = random_.chance(1, 24);
      calls.push_back(make_work(strand, elsewhere ? static_cast<int>(random_.below(8)) : stream));
      calls.back().thread = thread;
      if (random_.chance(1, 18)) add_branch(strand, calls, stream, thread);
      if (random_.chance(1, 60)) add_between(strand, calls);
      if (random_.chance(1, 30)) add_nested(strand, calls, stream, thread);
    }
    range.kind = started ? Kind::end : Kind::pop;
    // Crossed with the range before, now and then.
    const auto place = random_.chance(1, 20) ? calls.begin() + static_cast<std::ptrdiff_t>(begin) + 1 +
                                                   random_.below(static_cast<unsigned>(count))
                                             : calls.end();
    calls.insert(place, range);
  }

  void add_nested(const Strand& strand, std::vector<Call>& calls, int stream, int thread) {
    Call range;
    range.kind = Kind::push;
    range.slot = static_cast<int>(random_.below(6));
    range.thread = thread;
    calls.push_back(range);
    for (int i = random_.between(1, 4); i > 0; --i) {
      calls.push_back(make_work(strand, stream));
      calls.back().thread = thread;
    }
    range.kind = Kind::pop;
    calls.push_back(range);
  }

  /// One thing in some iterations, another thing in the others.
  void add_branch(const Strand& strand, std::vector<Call>& calls, int stream, int thread) {
    const int every = random_.between(2, 4);
    for (int at = 0; at < (random_.chance(1, 2) ? 1 : every); ++at) {
      Call call = make_work(strand, stream);
      call.every = every;
      call.at = at;
      call.thread = thread;
      calls.push_back(call);
    }
  }

  Call make_work(const Strand& strand, int stream) {
    static constexpr Kind kinds[] = {Kind::mix,        Kind::mix,           Kind::mix,           Kind::mix,
                                     Kind::accumulate, Kind::accumulate,    Kind::accumulate,    Kind::fill,
                                     Kind::fill,       Kind::configuration, Kind::configuration, Kind::described,
                                     Kind::padded,     Kind::table,         Kind::empty,         Kind::memset,
                                     Kind::memset,     Kind::copy,          Kind::copy,          Kind::memset_bytes};
    static constexpr Kind rare[] = {Kind::memset_rows, Kind::upload, Kind::upload_pinned, Kind::host, Kind::refused};
    Call call;
    call.kind = random_.chance(1, 50) ? rare[random_.below(std::size(rare))] : kinds[random_.below(std::size(kinds))];
    call.stream = stream;
    call.x = static_cast<int>(random_.below(static_cast<unsigned>(strand.buffers)));
    call.y = static_cast<int>(random_.below(static_cast<unsigned>(strand.buffers)));
    if (call.y == call.x) call.y = call.x + 1;
    call.n = pick({8, 16, 32});
    call.value = random_.between(1, 1000);
    call.drift = random_.chance(1, 3) ? random_.between(1, 9) : 0;
    call.move = random_.chance(1, 8) ? 1 : 0;
    call.shape = random_.chance(1, 16) ? random_.between(2, 4) : 0;
    call.grid = pick({1, 1, 2, 4});
    call.block = pick({32, 64});
    call.shared = random_.chance(1, 10) ? 256 : 0;
    call.form = pick({0, 0, 0, 0, 1, 2, 2, 3});
    call.style = static_cast<int>(random_.below(8));
    if (random_.chance(3, 4)) call.style %= 3;  // mostly by events, on the device
    return call;
  }

  Call make_wait(const Strand& strand) {
    static constexpr Kind kinds[] = {Kind::sync_stream, Kind::sync_stream, Kind::sync_event, Kind::sync_context,
                                     Kind::poll,        Kind::spin,        Kind::download};
    Call call = make_work(strand, static_cast<int>(random_.below(8)));
    call.kind = kinds[random_.below(std::size(kinds))];
    call.thread = strand.helpers != 0 && random_.chance(1, 6) ? 1 : 0;
    return call;
  }

  /// Memory, code or a stream that ends and begins again, anywhere: mostly once, else every few iterations.
  void add_life(const Strand& strand, std::vector<Call>& calls) {
    static constexpr Kind kinds[] = {Kind::new_memory,
                                     Kind::new_memory_in_stream,
                                     Kind::new_memory_in_stream,
                                     Kind::new_code,
                                     Kind::new_code,
                                     Kind::new_stream,
                                     Kind::attribute};
    Call call = make_work(strand, static_cast<int>(random_.below(8)));
    call.kind = kinds[random_.below(std::size(kinds))];
    call.every = random_.chance(1, 4) ? random_.between(4, 9) : 0;
    call.at = random_.between(3, 12);
    const unsigned place = random_.below(static_cast<unsigned>(calls.size()) + 1);
    calls.insert(calls.begin() + place, call);
  }

  /// What stands between ranges, and now and then inside: mostly in one iteration only.
  void add_between(const Strand& strand, std::vector<Call>& calls) {
    static constexpr Kind rare[] = {Kind::new_memory, Kind::new_memory_in_stream,
                                    Kind::new_code,   Kind::new_stream,
                                    Kind::attribute,  Kind::graph,
                                    Kind::graph,      Kind::refused,
                                    Kind::host,       Kind::upload};
    static constexpr Kind harmless[] = {Kind::join, Kind::join, Kind::query_stream, Kind::query_event,
                                        Kind::mix,  Kind::copy, Kind::graph};
    if (random_.chance(1, 3)) {
      calls.push_back(make_wait(strand));
      if (random_.chance(1, 2)) calls.back().every = random_.between(2, 5);
      return;
    }
    Call call = make_work(strand, static_cast<int>(random_.below(8)));
    call.to = static_cast<int>(random_.below(8));
    call.slot = static_cast<int>(random_.below(4));
    if (random_.chance(1, 2)) {
      call.kind = harmless[random_.below(std::size(harmless))];
    } else {
      call.kind = rare[random_.below(std::size(rare))];
      call.every = random_.chance(1, 3) ? random_.between(3, 6) : 0;
      call.at = random_.between(0, 9);
    }
    if (call.kind == Kind::graph) call.drift = 0;
    calls.push_back(call);
  }

  Random random_;
  bool legacy_taken_[2] = {false, false};
};

}  // namespace

Program generate(std::uint64_t seed) { return Generator(seed).make(seed); }

}  // namespace refrain::tests::simulate
