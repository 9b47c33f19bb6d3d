#include "tests/simulate/shrink.h"

#include <algorithm>

#include "tests/simulate/expand.h"

namespace refrain::tests::simulate {
namespace {

class Shrinking {
 public:
  Shrinking(Program program, const std::function<bool(const Program&)>& fails, int most_runs)
      : best_(std::move(program)), fails_(fails), left_(most_runs) {}

  Program run() {
    while (left_ > 0 && round()) {
    }
    return best_;
  }

 private:
  /// Takes the candidate when it fails too. A fault may need its schedule, and a smaller program has another one: a few
  /// are tried.
  bool attempt(Program candidate) {
    constexpr int schedules = 6, step = 7919;
    for (int i = 0; i < schedules && left_ > 0; ++i) {
      --left_;
      if (fails_(candidate)) {
        best_ = candidate;
        return true;
      }
      candidate.seed = (candidate.seed + step) & 0x7fffffff;
    }
    return false;
  }

  template <class Change>
  bool attempt_change(Change change) {
    Program candidate = best_;
    change(candidate);
    if (to_text(candidate) == to_text(best_)) return false;
    return attempt(candidate);
  }

  bool round() {
    bool smaller = drop_strands();
    smaller |= drop_phases();
    smaller |= fewer_iterations();
    smaller |= drop_calls();
    smaller |= drop_streams_and_helpers();
    smaller |= simpler_calls();
    smaller |= simpler_program();
    return smaller;
  }

  bool drop_strands() {
    bool any = false;
    for (std::size_t i = 0; i < best_.strands.size() && best_.strands.size() > 1;) {
      const bool done =
          attempt_change([&](Program& p) { p.strands.erase(p.strands.begin() + static_cast<std::ptrdiff_t>(i)); });
      any |= done;
      if (!done) ++i;
    }
    return any;
  }

  bool drop_phases() {
    bool any = false;
    for (std::size_t s = 0; s < best_.strands.size(); ++s) {
      for (std::size_t i = 0; i < best_.strands[s].phases.size();) {
        const bool done = attempt_change([&](Program& p) {
          auto& phases = p.strands[s].phases;
          phases.erase(phases.begin() + static_cast<std::ptrdiff_t>(i));
        });
        any |= done;
        if (!done) ++i;
      }
    }
    return any;
  }

  bool fewer_iterations() {
    bool any = false;
    for (std::size_t s = 0; s < best_.strands.size(); ++s) {
      for (std::size_t i = 0; i < best_.strands[s].phases.size(); ++i) {
        for (const int count : {1, 2, 3, 4, 6, 8, 10, 12}) {
          if (count >= best_.strands[s].phases[i].iterations) break;
          if (attempt_change([&](Program& p) { p.strands[s].phases[i].iterations = count; })) {
            any = true;
            break;
          }
        }
      }
    }
    return any;
  }

  bool drop_calls() {
    bool any = false;
    for (std::size_t s = 0; s < best_.strands.size(); ++s) {
      for (std::size_t f = 0; f < best_.strands[s].phases.size(); ++f) {
        for (std::size_t piece = best_.strands[s].phases[f].calls.size(); piece >= 1; piece /= 2) {
          for (std::size_t at = 0; at < best_.strands[s].phases[f].calls.size();) {
            const bool done = attempt_change([&](Program& p) {
              auto& calls = p.strands[s].phases[f].calls;
              const std::size_t end = std::min(calls.size(), at + piece);
              calls.erase(calls.begin() + static_cast<std::ptrdiff_t>(at),
                          calls.begin() + static_cast<std::ptrdiff_t>(end));
            });
            any |= done;
            if (!done) at += piece;
          }
        }
      }
    }
    return any;
  }

  bool drop_streams_and_helpers() {
    bool any = false;
    for (std::size_t s = 0; s < best_.strands.size(); ++s) {
      any |= attempt_change([&](Program& p) { p.strands[s].helpers = 0; });
      any |= attempt_change([&](Program& p) { p.strands[s].own_code = 0; });
      any |= attempt_change([&](Program& p) { p.strands[s].captures = false; });
      for (std::size_t i = 0; i < best_.strands[s].streams.size() && best_.strands[s].streams.size() > 1;) {
        const bool done = attempt_change([&](Program& p) {
          auto& streams = p.strands[s].streams;
          streams.erase(streams.begin() + static_cast<std::ptrdiff_t>(i));
        });
        any |= done;
        if (!done) ++i;
      }
      for (std::size_t i = 0; i < best_.strands[s].streams.size(); ++i) {
        any |= attempt_change([&](Program& p) { p.strands[s].streams[i] = StreamPlan{}; });
        any |= attempt_change([&](Program& p) { p.strands[s].streams[i].context = 0; });
      }
    }
    return any;
  }

  /// Every number of every call as it is when it is not written; then the plainest kernel.
  bool simpler_calls() {
    bool any = false;
    const Call plain;
    for (std::size_t s = 0; s < best_.strands.size(); ++s) {
      for (std::size_t f = 0; f < best_.strands[s].phases.size(); ++f) {
        for (std::size_t c = 0; c < best_.strands[s].phases[f].calls.size(); ++c) {
          any |= attempt_change([&](Program& p) {
            Call& call = p.strands[s].phases[f].calls[c];
            const Kind kind = call.kind;
            const int slot = call.slot, x = call.x, y = call.y;
            call = plain;
            call.kind = kind;
            call.slot = slot;
            call.x = x;
            call.y = y;
          });
#define NUMBER(name, initial) \
  any |= attempt_change([&](Program& p) { p.strands[s].phases[f].calls[c].name = initial; });
          CALL_NUMBERS
#undef NUMBER
        }
      }
    }
    return any;
  }

  bool simpler_program() {
    bool any = false;
    const Program plain;
#define NUMBER(name, initial) \
  if (std::string(#name) != "seed") any |= attempt_change([&](Program& p) { p.name = plain.name; });
    PROGRAM_NUMBERS
#undef NUMBER
    return any;
  }

  Program best_;
  const std::function<bool(const Program&)>& fails_;
  int left_;
};

}  // namespace

Program shrink(Program program, const std::function<bool(const Program&)>& fails, int most_runs) {
  return Shrinking(std::move(program), fails, most_runs).run();
}

}  // namespace refrain::tests::simulate
