// A program as the flat list of what each strand calls: loops unrolled, and every order that the values of buffers need
// made by calls for it, so that the result of a program never depends on the schedule.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/simulate/program.h"

namespace refrain::tests::simulate {

enum class Action {
  call,        ///< `call` as it stands
  record,      ///< the event of `stream`
  wait,        ///< `stream` waits for the event of `to`
  wait_event,  ///< the host waits for the event of `stream`
  wait_stream,
  wait_context,  ///< of `stream`
  poll_stream,   ///< the host asks until all is done
  spin,          ///< a kernel writes a flag that the host looks at, without any call
  read,          ///< the host reads buffer x on `stream` and notes what is in it
  finish,        ///< the host waits for all streams and reads all buffers
};

struct Step {
  Action action = Action::call;
  Call call;                    ///< stream, to, x, y, n, value, grid as they are in this iteration
  bool surely_done = false;     ///< of a question: it must say that all is done
  std::vector<unsigned> after;  ///< of work: as Order::newest
};

struct Strip {
  std::vector<Step> steps;
};

/// One strip a strand.
std::vector<Strip> expand(const Program& program);

/// Driver calls and range calls that a program makes, without setup and end.
std::size_t count_calls(const Program& program);

/// The strips as text, a line a step.
std::string describe(const std::vector<Strip>& strips);

/// Buffers are numbered over all contexts.
constexpr int buffers_a_context = 64;

/// Which buffers a call writes and reads, as Order counts them.
struct Uses {
  std::vector<int> writes, reads;
};
Uses uses_of(const Call& call, const Strand& strand);

/// Whether work goes to another stream while a graph is captured.
inline bool works_beside(const Call& graph) { return graph.form >= 2 && graph.to != graph.stream; }

/// Whether the call is work for its stream.
bool is_work(Kind kind);

}  // namespace refrain::tests::simulate
