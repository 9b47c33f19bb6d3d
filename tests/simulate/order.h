// Which work of a strand is known to come before which, by what the driver promises: vector clocks over its streams.
//
// Owns:    clocks; one Order a strand.
// Threads: a value.
#pragma once

#include <vector>

#include "tests/simulate/program.h"

namespace refrain::tests::simulate {

class Order {
 public:
  explicit Order(const std::vector<StreamPlan>& streams);

  /// The streams whose work must be waited for before work on `stream` may write `writes` and read `reads` (buffers).
  std::vector<int> missing(int stream, const std::vector<int>& writes, const std::vector<int>& reads) const;
  /// As missing(), for work of the host.
  std::vector<int> missing_for_host(const std::vector<int>& writes, const std::vector<int>& reads) const;
  void works(int stream, const std::vector<int>& writes, const std::vector<int>& reads);
  void records(int stream);        ///< its event is behind all that it has
  void waits(int stream, int of);  ///< for the newest record of `of`
  void host_waits_stream(int stream);
  void host_sees_flag(int stream);  ///< that its last operation, a kernel, wrote before it ended
  void host_waits_event(int of);
  void host_waits_context(int context);
  /// The host has waited for all work of the stream, and not only for an event or a flag at its end: those come a
  /// moment before the stream itself is done.
  bool idle(int stream) const;
  bool event_reached(int of) const;
  /// What comes before the newest operation of the stream: of each stream, how many operations; its own with that one.
  const std::vector<unsigned>& newest(int stream) const { return clocks_[static_cast<std::size_t>(stream)]; }

 private:
  using Clock = std::vector<unsigned>;  ///< of each stream: how many of its operations
  struct Buffer {
    Clock writes, reads;  ///< of each stream: its last operation that did
  };
  Clock before(int stream) const;
  static void merge(Clock& into, const Clock& from);
  void step(int stream);
  Buffer& buffer(int number);
  Clock needed(const std::vector<int>& writes, const std::vector<int>& reads) const;

  std::vector<StreamPlan> plans_;
  std::vector<Clock> clocks_;   ///< what is before the next operation of each stream, with its own
  std::vector<Clock> records_;  ///< what is before each stream's event
  Clock host_, drained_;
  std::vector<Buffer> buffers_;
};

}  // namespace refrain::tests::simulate
