// A program of the simulation, as a value: what it calls, on which thread and stream, in phases that repeat; the policy
// it runs under, and the schedule. Made from a seed (generate.h), read from and written to text, shrunk (shrink.h).
//
// Every value is legal: numbers of streams and buffers are taken modulo what the strand has, and what must be ordered
// is ordered when the program is expanded (expand.h). So anything may be left out.
//
// Units: numbers of elements are 4-byte words.
#pragma once

#include <string>
#include <vector>

namespace refrain::tests::simulate {

// clang-format off
#define CALL_KINDS \
  /* work, of which most can be held */ \
  KIND(mix) KIND(accumulate) KIND(fill) KIND(configuration) KIND(described) KIND(padded) KIND(table) KIND(empty) \
  KIND(memset) KIND(memset_bytes) KIND(memset_rows) KIND(copy) KIND(upload) KIND(upload_pinned) KIND(download) \
  KIND(host) KIND(refused) \
  /* ranges */ \
  KIND(push) KIND(pop) KIND(start) KIND(end) \
  /* order */ \
  KIND(join) KIND(sync_stream) KIND(sync_event) KIND(sync_context) KIND(query_stream) KIND(query_event) \
  KIND(poll) KIND(spin) \
  /* life */ \
  KIND(new_memory) KIND(new_memory_in_stream) KIND(new_code) KIND(new_stream) KIND(attribute) KIND(graph)
// clang-format on

enum class Kind {
#define KIND(name) name,
  CALL_KINDS
#undef KIND
};
const char* to_string(Kind kind);

// Every number of a call: name, value when it is not written. What it means depends on the kind:
//   stream, to   streams of the strand            x, y      buffers, written and read
//   n            elements                         value     a scalar; it grows by `drift` each iteration
//   move         buffers are other ones each iteration     shape     n and grid change, with this period
//   form         how a kernel is launched         style     how a missing order is made
//   thread       0: the strand's own, else a helper         slot      of a range's name or a graph
//   every, at    the call is made in iterations i with i % every == at; every 0: only in iteration `at`
// clang-format off
#define CALL_NUMBERS \
  NUMBER(stream, 0) NUMBER(to, 0) NUMBER(x, 0) NUMBER(y, 0) NUMBER(n, 16) NUMBER(value, 1) NUMBER(drift, 0) \
  NUMBER(move, 0) NUMBER(grid, 1) NUMBER(block, 32) NUMBER(shared, 0) NUMBER(shape, 0) NUMBER(form, 0) \
  NUMBER(style, 0) NUMBER(thread, 0) NUMBER(slot, 0) NUMBER(every, 1) NUMBER(at, 0)
// clang-format on

struct Call {
  Kind kind = Kind::empty;
#define NUMBER(name, initial) int name = initial;
  CALL_NUMBERS
#undef NUMBER
  bool operator==(const Call&) const = default;
};

struct Phase {
  int iterations = 1;
  std::vector<Call> calls;
};

enum class StreamKind { legacy, per_thread, blocking, non_blocking };

struct StreamPlan {
  StreamKind kind = StreamKind::non_blocking;
  int context = 0;
};

/// One line of calls, made in order by one thread and its helpers in turn, on streams and buffers of its own.
struct Strand {
  int helpers = 0;
  int buffers = 4;        ///< in each context where it has a stream
  int own_code = 0;       ///< 0: shares the process' module; 1: a module of its own; 2: a library of its own
  bool captures = false;  ///< it may capture; then nobody in its contexts waits for a whole context
  std::vector<StreamPlan> streams;
  std::vector<Phase> phases;
};

// clang-format off
#define PROGRAM_NUMBERS \
  /* the schedule */ \
  NUMBER(seed, 1) NUMBER(calls, 16) NUMBER(locks, 2) NUMBER(pace, 500) NUMBER(slips, 0) \
  /* the policy */ \
  NUMBER(skip, 0) NUMBER(max_operations, 4096) NUMBER(max_hold_us, 2000) NUMBER(segment_min, 2) \
  NUMBER(segment_max, 32) NUMBER(patch, 1) NUMBER(build_after, 1) NUMBER(variants, 64) NUMBER(graph_mib, 256) \
  NUMBER(strict_configuration, 0) NUMBER(strict_parameters, 0) NUMBER(process_scope, 0) NUMBER(observe, 0) \
  NUMBER(one_rule, 0) NUMBER(max_failures, 8) \
  /* 0: every complete segment is handed over to the issue thread; 1000000: none is slow enough */ \
  NUMBER(issue_above_us, 1000000) \
  /* 0: only ranges; 1: operations outside of them too; 2: no rule, all of them */ \
  NUMBER(automatic, 0)
// clang-format on

struct Program {
#define NUMBER(name, initial) int name = initial;
  PROGRAM_NUMBERS
#undef NUMBER
  std::vector<Strand> strands;
};

std::string to_text(const Program& program);
/// Throws std::runtime_error with the line that it cannot read.
Program parse(const std::string& text);

/// The policy of the program, as JSON.
std::string policy_of(const Program& program);

}  // namespace refrain::tests::simulate
