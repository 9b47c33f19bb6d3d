// What the simulation alone can do: the record of executed operations, failures on demand, counts of calls, costs.
#include <chrono>
#include <fstream>
#include <sstream>

#include "tests/simulated_driver/test_kernels.h"

namespace refrain::tests {
namespace {

class SimulatedDriverRecord : public SimulatedDriver {
 protected:
  void SetUp() override {
    if (!on_simulation()) GTEST_SKIP() << "real driver";
    SimulatedDriver::SetUp();
  }

  /// The same three operations as calls or as a graph, on the test's stream; `value` in the second.
  void three_operations(bool as_graph, unsigned value) {
    if (as_graph) {
      OK(CU(cuStreamBeginCapture)(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    }
    OK(store(buffer, 1, stream));
    OK(append(buffer + 4, value, stream));
    OK(CU(cuMemsetD32Async)(buffer + 64, 3, 4, stream));
    if (as_graph) {
      CUgraph graph = nullptr;
      CUgraphExec exec = nullptr;
      OK(CU(cuStreamEndCapture)(stream, &graph));
      OK(CU(cuGraphInstantiateWithFlags)(&exec, graph, 0));
      OK(CU(cuGraphLaunch)(exec, stream));
    }
    OK(CU(cuStreamSynchronize)(stream));
  }

  static int compare(const std::string& expected, const std::string& actual) {
    const std::string script = SIMULATED_DRIVER_SOURCE "/compare_traces.py";
    const int status =
        std::system(("python3 '" + script + "' '" + expected + "' '" + actual + "' > /dev/null").c_str());
    return WEXITSTATUS(status);
  }
};

TEST_F(SimulatedDriverRecord, traces_of_calls_and_of_a_graph_compare_equal) {
  const std::string name = "SimulatedDriverRecord.traces_of_calls_and_of_a_graph_compare_equal";
  if (run_by_another()) {
    const std::string kind = std::getenv("CASE");
    three_operations(kind == "graph", kind == "other" ? 9 : 2);
    return;
  }
  std::map<std::string, std::string> files;
  for (const char* kind : {"calls", "graph", "other"}) {
    files[kind] = temporary_file(kind);
    ASSERT_EQ(run_again(name, {{"CASE", kind}, {"REFRAIN_SIM_TRACE", files[kind]}}), 0);
  }
  EXPECT_EQ(compare(files["calls"], files["graph"]), 0);
  EXPECT_EQ(compare(files["calls"], files["other"]), 1);
  EXPECT_EQ(compare(files["calls"], "/no/such/file"), 2);
  const std::string graph = read_text(files["graph"]);
  EXPECT_NE(graph.find("0 0 1 kernel store 1,1,1 1,1,1 0 "), std::string::npos) << graph;
  EXPECT_NE(graph.find(" graph\n"), std::string::npos);
  EXPECT_EQ(read_text(files["calls"]).find(" graph\n"), std::string::npos);
}

TEST_F(SimulatedDriverRecord, failures_come_on_demand_and_have_no_effect) {
  const std::string name = "SimulatedDriverRecord.failures_come_on_demand_and_have_no_effect";
  if (!run_by_another()) {
    const std::string faults = "cuGraphCreate:2:2,cuMemAllocManaged:*:801,cuEventRecord:2:400:forever";
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_FAIL", faults}}), 0);
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_FAIL", "cuNoSuchName:1:2"}}), 2);
    return;
  }
  CUgraph graph = nullptr;
  FAILS(CUDA_SUCCESS, CU(cuGraphCreate)(&graph, 0));
  graph = nullptr;
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, CU(cuGraphCreate)(&graph, 0));
  EXPECT_EQ(graph, nullptr);
  FAILS(CUDA_SUCCESS, CU(cuGraphCreate)(&graph, 0));
  CUdeviceptr managed = 0;
  for (int i = 0; i < 3; ++i)
    FAILS(CUDA_ERROR_NOT_SUPPORTED, CU(cuMemAllocManaged)(&managed, 64, CU_MEM_ATTACH_GLOBAL));
  CUevent event = nullptr;
  OK(CU(cuEventCreate)(&event, CU_EVENT_DISABLE_TIMING));
  FAILS(CUDA_SUCCESS, CU(cuEventRecord)(event, stream));
  for (int i = 0; i < 3; ++i) FAILS(CUDA_ERROR_INVALID_HANDLE, CU(cuEventRecord)(event, stream));
}

TEST_F(SimulatedDriverRecord, calls_are_counted_by_their_exported_names) {
  const std::string name = "SimulatedDriverRecord.calls_are_counted_by_their_exported_names";
  if (run_by_another()) {
    for (unsigned i = 0; i < 17; ++i) OK(launch(nothing, stream, nullptr));
    return;
  }
  const std::string file = temporary_file("calls");
  ASSERT_EQ(run_again(name, {{"REFRAIN_SIM_CALLS", file}}), 0);
  const std::string text = read_text(file);
  EXPECT_NE(text.find("cuLaunchKernel 17\n"), std::string::npos) << text;
  EXPECT_NE(text.find("cuMemAlloc_v2 1\n"), std::string::npos) << text;
  EXPECT_EQ(text.find("cuGraphLaunch"), std::string::npos) << text;
}

// A hook makes calls of its own before and after the program's; the statement tells them apart.
TEST_F(SimulatedDriverRecord, the_programs_own_calls_and_others_fail_apart) {
  const std::string name = "SimulatedDriverRecord.the_programs_own_calls_and_others_fail_apart";
  const std::string file = temporary_file("calls");
  if (!run_by_another()) {
    const char* fail = "program/cuEventCreate:7:2,library/cuEventCreate:2:1";
    ASSERT_EQ(run_again(name, {{"REFRAIN_SIM_CALLS", file}, {"REFRAIN_SIM_FAIL", fail}}), 0);
    const std::string text = read_text(file);
    EXPECT_NE(text.find("\nlibrary/cuEventCreate 2\n"), std::string::npos) << text;
    EXPECT_NE(text.find("\nfailed 2\n"), std::string::npos) << text;
    return;
  }
  const StateCall state = state_call();
  ASSERT_NE(state, nullptr);
  CUevent event = nullptr;
  const auto create = [&](unsigned flags) { return CU(cuEventCreate)(&event, flags); };
  ProgramCall sixth{"cuEventCreate", 6, ArgumentWords::of(&event, 2u)};
  EXPECT_EQ(state(&sixth), nullptr);
  OK(create(0));  // other arguments: not the program's
  OK(create(2));
  EXPECT_TRUE(sixth.arrived);
  FAILS(CUDA_ERROR_INVALID_VALUE, create(2));  // the second that is not the program's
  ProgramCall seventh{"cuEventCreate", 7, ArgumentWords::of(&event, 2u)};
  EXPECT_EQ(state(&seventh), &sixth);
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, create(2));
  EXPECT_EQ(state(nullptr), &seventh);
}

TEST_F(SimulatedDriverRecord, launches_can_be_made_to_cost_host_time) {
  const std::string name = "SimulatedDriverRecord.launches_can_be_made_to_cost_host_time";
  if (!run_by_another()) {
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_HOST_COST_NS", "1000000"}}), 0);
    return;
  }
  const auto begin = std::chrono::steady_clock::now();
  for (int i = 0; i < 20; ++i) OK(launch(nothing, stream, nullptr));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, std::chrono::milliseconds(20));
  OK(CU(cuStreamSynchronize)(stream));
}

TEST_F(SimulatedDriverRecord, memory_can_be_made_scarce) {
  const std::string name = "SimulatedDriverRecord.memory_can_be_made_scarce";
  if (!run_by_another()) {
    EXPECT_EQ(run_again(name, {{"REFRAIN_SIM_MEMORY_MIB", "64"}}), 0);
    return;
  }
  CUdeviceptr half = 0, more = 0;
  OK(CU(cuMemAlloc)(&half, size_t{40} << 20));
  FAILS(CUDA_ERROR_OUT_OF_MEMORY, CU(cuMemAlloc)(&more, size_t{40} << 20));
  OK(CU(cuMemFree)(half));
  OK(CU(cuMemAlloc)(&more, size_t{40} << 20));
  OK(CU(cuMemFree)(more));
}

}  // namespace
}  // namespace refrain::tests
