// What issues held calls: whatever could tell, or whatever takes away what they need. Two calls of three are held each
// time; what happens then must find them executed.
#include <thread>

#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

using replay::EntryPoint;

CUstream stream_at(std::uintptr_t number) { return reinterpret_cast<CUstream>(number); }
const CUstream blocking = stream_at(0x11), other_blocking = stream_at(0x13), non_blocking = stream_at(0x12);

class Holding : public Engine {
 protected:
  void three(CUstream stream) {
    program->launch(first, {1, 10}, 1, stream);
    program->launch(second, {20, 2}, 1, stream);
    program->launch(third, {30, 31}, 1, stream);
  }
  /// A region is open, and two calls on `stream` are held.
  void hold_on(CUstream stream) {
    start();
    program->in_region([&] { three(stream); });
    program->synchronize();
    region = program->engine->enter(0);
    program->launch(first, {5, 10}, 1, stream);
    program->launch(second, {20, 6}, 1, stream);
    ASSERT_EQ(RecordingDriver::executed.size(), 3u) << "two calls are held";
  }
  /// What was held has been issued, once and in order; the pass goes on, and so does the next.
  void expect_issued(CUstream stream) {
    EXPECT_TRUE(compared()) << "held calls were not issued";
    program->launch(third, {30, 31}, 1, stream);
    program->engine->leave(region);
    EXPECT_TRUE(compared());
    program->in_region([&] { three(stream); });
    program->synchronize();
    EXPECT_EQ(program->counters().calls, 9u);
  }
  replay::OpenRegion* region = nullptr;
};

TEST_F(Holding, calls_that_wait_for_everything) {
  hold_on(non_blocking);
  program->engine->order_all(EntryPoint::cuCtxSynchronize);
  expect_issued(non_blocking);
}

TEST_F(Holding, other_calls_on_the_stream) {
  hold_on(non_blocking);
  program->engine->order_stream(stream_at(0x14), EntryPoint::cuEventRecord);
  EXPECT_EQ(RecordingDriver::executed.size(), 3u) << "another stream's";
  program->engine->order_stream(non_blocking, EntryPoint::cuEventRecord);
  expect_issued(non_blocking);
}

TEST_F(Holding, memory_that_is_freed) {
  hold_on(non_blocking);
  program->engine->memory_ends();
  expect_issued(non_blocking);
}

TEST_F(Holding, code_that_is_unloaded) {
  hold_on(non_blocking);
  program->engine->code_unloads(1);
  expect_issued(non_blocking);
}

TEST_F(Holding, a_stream_that_is_destroyed) {
  hold_on(non_blocking);
  program->engine->stream_ends(non_blocking);
  expect_issued(non_blocking);
}

TEST_F(Holding, a_context_that_is_destroyed) {
  hold_on(non_blocking);
  program->engine->context_ends(RecordingDriver::context);
  expect_issued(non_blocking);
}

TEST_F(Holding, a_capture_of_the_program) {
  hold_on(non_blocking);
  program->engine->capture_begins(stream_at(0x20));
  expect_issued(non_blocking);
}

TEST_F(Holding, a_state_that_launches_read) {
  hold_on(non_blocking);
  program->engine->state_changes(EntryPoint::cuCtxSetLimit);
  expect_issued(non_blocking);
}

TEST_F(Holding, a_pause) {
  hold_on(non_blocking);
  program->engine->pause();
  EXPECT_TRUE(compared());
  program->launch(third, {30, 31}, 1, non_blocking);
  EXPECT_TRUE(compared()) << "nothing is held in a pause";
  program->engine->leave(region);
}

TEST_F(Holding, the_end_of_the_process) {
  hold_on(non_blocking);
  program->engine->stop();
  EXPECT_TRUE(compared());
}

TEST_F(Holding, work_outside_of_a_region_on_the_same_stream) {
  hold_on(non_blocking);
  std::thread([&] { program->launch(branch, {7, 7}, 1, non_blocking); }).join();
  EXPECT_TRUE(compared());
  program->engine->leave(region);
}

TEST_F(Holding, another_region_on_the_same_stream) {
  hold_on(non_blocking);
  std::thread([&] {
    replay::OpenRegion* own = program->engine->enter(0);
    program->launch(branch, {7, 7}, 1, non_blocking);
    EXPECT_TRUE(compared());
    program->engine->leave(own);
  }).join();
}

TEST_F(Holding, another_pass_of_the_same_region) {
  hold_on(non_blocking);
  std::thread([&] {
    replay::OpenRegion* own = program->engine->enter(0);
    program->launch(first, {8, 10}, 1, non_blocking);
    program->engine->order_stream(non_blocking, EntryPoint::cuEventRecord);
    EXPECT_TRUE(compared()) << "each with the bytes of its own call";
    program->engine->leave(own);
  }).join();
}

// The legacy stream and the blocking streams of a context wait for each other; non-blocking ones do not.
TEST_F(Holding, the_legacy_stream_s_work_after_a_blocking_stream_s) {
  hold_on(blocking);
  program->engine->order_stream(other_blocking, EntryPoint::cuEventRecord);
  EXPECT_EQ(RecordingDriver::executed.size(), 3u);
  program->engine->order_stream(nullptr, EntryPoint::cuEventRecord);
  expect_issued(blocking);
}

TEST_F(Holding, a_launch_on_the_legacy_stream_after_a_blocking_stream_s) {
  hold_on(blocking);
  std::thread([&] {
    replay::OpenRegion* own = program->engine->enter(0);
    program->launch(branch, {7, 7});
    EXPECT_TRUE(compared());
    program->engine->leave(own);
  }).join();
}

TEST_F(Holding, a_blocking_stream_s_work_after_the_legacy_stream_s) {
  hold_on(nullptr);
  program->engine->order_stream(non_blocking, EntryPoint::cuEventRecord);
  EXPECT_EQ(program->expected.size(), 5u);
  program->engine->order_stream(blocking, EntryPoint::cuEventRecord);
  expect_issued(nullptr);
}

TEST_F(Holding, a_stream_whose_handle_was_another_kind_of_stream_before) {
  start();
  program->in_region([&] { three(non_blocking); });
  program->engine->stream_ends(non_blocking);
  RecordingDriver::flags[non_blocking] = CU_STREAM_DEFAULT;
  auto on_legacy_stream = [&] {
    program->launch(branch, {1, 10});
    program->launch(branch, {20, 2});
  };
  program->in_region([&] { program->launch(third, {1, 10}, 1, non_blocking); });
  program->in_region(on_legacy_stream);
  program->synchronize();
  replay::OpenRegion* open = program->engine->enter(0);
  program->launch(branch, {1, 10});
  ASSERT_EQ(RecordingDriver::executed.size(), 6u) << "it is held";
  program->engine->order_stream(non_blocking, EntryPoint::cuEventRecord);
  EXPECT_TRUE(compared()) << "a blocking stream now";
  program->engine->leave(open);
}

TEST_F(Holding, another_thread_issues_them_in_their_own_context) {
  hold_on(nullptr);
  const CUcontext own = RecordingDriver::context;
  RecordingDriver::context = reinterpret_cast<CUcontext>(std::uintptr_t{0xc1});
  std::thread([&] { program->engine->order_all(EntryPoint::cuCtxSynchronize); }).join();
  EXPECT_EQ(RecordingDriver::context, reinterpret_cast<CUcontext>(std::uintptr_t{0xc1})) << "put back";
  RecordingDriver::context = own;
  expect_issued(nullptr);
}

TEST_F(Holding, an_error_that_one_meets_is_told_by_the_next_call) {
  hold_on(non_blocking);
  RecordingDriver::fails["cuLaunchKernel"] = CUDA_ERROR_NOT_PERMITTED;  // one that does not end all work
  program->engine->order_all(EntryPoint::cuCtxSynchronize);
  RecordingDriver::fails.clear();
  program->engine->leave(region);
  region = program->engine->enter(0);
  EXPECT_EQ(program->launch(first, {1, 10}, 1, non_blocking), CUDA_ERROR_NOT_PERMITTED);
  EXPECT_EQ(RecordingDriver::executed.size(), 3u) << "it is held itself";
  EXPECT_EQ(program->launch(second, {1, 10}, 1, non_blocking), CUDA_SUCCESS) << "once";
  program->engine->leave(region);
}

TEST_F(Holding, a_call_that_differs_on_another_stream) {
  hold_on(non_blocking);
  program->launch(branch, {7, 7}, 1, stream_at(0x14));
  EXPECT_TRUE(compared());
  program->engine->leave(region);
}

TEST_F(Holding, calls_while_the_stream_is_captured_pass) {
  hold_on(non_blocking);
  program->engine->capture_begins(non_blocking);
  RecordingDriver::captured.insert(non_blocking);
  program->engine->capture_began(non_blocking, CUDA_SUCCESS);
  program->engine->leave(region);
  region = program->engine->enter(0);
  program->launch(first, {5, 10}, 1, non_blocking);
  EXPECT_TRUE(compared()) << "a captured call goes into the program's graph at once";
  program->launch(second, {20, 6}, 1, non_blocking);
  program->launch(third, {30, 31}, 1, non_blocking);
  program->engine->leave(region);
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], 0);
  RecordingDriver::captured.clear();
  program->engine->capture_ended(non_blocking);
  program->in_region([&] { three(non_blocking); });
  EXPECT_EQ(RecordingDriver::calls["cuGraphLaunch"], 1) << "and the next pass is held again";
}

}  // namespace
}  // namespace refrain::tests
