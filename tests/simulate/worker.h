// Makes the steps of a strand: the driver calls, what they answered, and what the model expects of them.
//
// Threads: the strand's threads in turn; each has its own current context.
#pragma once

#include <map>
#include <string>

#include "tests/simulate/arguments.h"
#include "tests/simulate/expand.h"
#include "tests/simulate/model.h"
#include "tests/simulate/objects.h"

namespace refrain::tests::simulate {

class StrandWorker {
 public:
  StrandWorker(const World& world, StrandObjects& objects, const Strip& strip)
      : world_(world), objects_(objects), strip_(strip), passed_(objects.streams.size(), {0}) {}

  /// What thread `number` of the strand does, from its beginning to its end.
  void run(int number);
  const std::string& answers() const { return answers_; }

 private:
  void make(const Step& step);
  void make_work(const Step& step);
  void call(const Step& step);
  void work(const Call& call);
  void launch(const Call& call, const char* name, Arguments& arguments);
  void fill_or_copy(const Call& call);
  void question(const Step& step);
  void range(const Call& call);
  void new_memory(const Call& call);
  void new_memory_in_stream(const Call& call);
  void new_code();
  void new_stream(const Call& call);
  void graph(const Call& call);
  bool capture(const Call& call, ProgramGraph& graph);
  void launch_beside(const Call& call);
  void spin(const Call& call);
  void read(const Call& call);
  void finish();

  void enter_context(int context);
  CUresult note(const char* name, CUresult result);
  /// `bytes` are what the device must execute on the stream, if the driver accepts the call.
  void expect(int stream, const char* kind, const std::vector<std::byte>& bytes);
  Memory& buffer(const Call& call, int number);
  CUfunction function(const Call& call, const char* name);
  CUstream stream(const Call& call) { return objects_.stream(call.stream); }
  int context_of(const Call& call) const { return objects_.stream_plan(call.stream).context; }

  const World& world_;
  StrandObjects& objects_;
  const Strip& strip_;
  std::size_t position_ = 0;
  /// By stream and number of its operation as Order counts: how many operations the device shall have got by then.
  std::vector<std::vector<std::size_t>> passed_;
  std::vector<model::Place> before_;  ///< what must come before this step's work
  std::string answers_;
  std::vector<unsigned long> started_;  ///< nvtxRangeStart
  static thread_local int current_context;
};

}  // namespace refrain::tests::simulate
