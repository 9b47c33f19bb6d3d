// Push and pop: threads, levels, crossed and missing pops, the events' life.
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "tests/nvtx/nvtx_test.h"

namespace refrain::tests {

namespace {

std::size_t bytes_in_use() { return mallinfo2().uordblks; }

}  // namespace

TEST_F(Nvtx, N1_push_on_one_thread_opens_no_region_on_another) {
  watch({{.range = "step"}});
  emitter().RangePushA("step");
  std::thread other([] {
    EXPECT_EQ(emitter().RangePop(), -1);
    EXPECT_EQ(emitter().RangePushA("backward"), 0);
    EXPECT_EQ(emitter().RangePop(), 0);
  });
  other.join();
  std::vector<RecordedEvent> seen = events();
  ASSERT_EQ(seen.size(), 1u);
  EXPECT_EQ(seen[0].kind, RecordedEvent::Kind::opened);
  EXPECT_EQ(seen[0].thread, gettid());
  EXPECT_EQ(emitter().RangePop(), 0);
  EXPECT_EQ(story(), "-0");
}

TEST_F(Nvtx, N1_two_shared_objects_share_the_stack_of_a_thread) {
  watch({{.range = "step"}});
  emitter().RangePushA("step");
  EXPECT_EQ(other_emitter().RangePushA("inner"), 1);
  EXPECT_EQ(emitter().RangePop(), 1);
  EXPECT_EQ(other_emitter().RangePop(), 0);
  EXPECT_EQ(story(), "+0 -0");
  EXPECT_EQ(recorder().clients_attached(), 2u);
  EXPECT_EQ(recorder().clients_unwatched(), 0u);
}

TEST_F(Nvtx, N4_crossed_missing_and_orphan_pops) {
  watch({{.range = "outer"}, {.range = "inner"}});
  const Emitter& nvtx = emitter();
  EXPECT_EQ(nvtx.RangePop(), -1);  // orphan
  EXPECT_EQ(nvtx.RangePushA("outer"), 0);
  EXPECT_EQ(nvtx.RangePushA("inner"), 1);
  EXPECT_EQ(nvtx.RangePop(), 1);
  EXPECT_EQ(story(), "+0 +1 -1");
  EXPECT_EQ(nvtx.RangePushA("inner"), 1);  // an exception: its pop never comes
  EXPECT_EQ(nvtx.RangePop(), 1);
  EXPECT_EQ(nvtx.RangePop(), 0);
  EXPECT_EQ(nvtx.RangePop(), -1);
  EXPECT_EQ(nvtx.RangePop(), -1);
  EXPECT_EQ(story(), "+1 -1 -0");
  EXPECT_EQ(nvtx.RangePushA("outer"), 0);
  EXPECT_EQ(nvtx.RangePop(), 0);
  EXPECT_EQ(story(), "+0 -0");
}

TEST_F(Nvtx, N4_thread_end_closes_open_ranges_innermost_first) {
  watch({{.range = "first"}, {.range = "second"}, {.range = "third"}});
  std::thread leaving([] {
    const nvtxDomainHandle_t domain = emitter().DomainCreateA("N4");
    emitter().RangePushA("first");
    const nvtxEventAttributes_t second = attributes("second");
    emitter().DomainRangePushEx(domain, &second);
    emitter().RangePushA("third");
  });
  leaving.join();
  EXPECT_EQ(story(), "+0 +1 +2 -2 -1 -0");
  EXPECT_EQ(recorder().open_count(), 0u);
}

TEST_F(Nvtx, N4_a_million_ranges_leak_nothing) {
  watch({{.range = "step"}});
  const Emitter& nvtx = emitter();
  const auto loop = [&](int count) {
    for (int i = 0; i < count; ++i) {
      nvtx.RangePushA("other");
      nvtx.RangePushA(i % 2 == 0 ? "kernel" : "copy");
      nvtx.RangePop();
      nvtx.RangePop();
    }
  };
  loop(1000);
  const std::size_t before = bytes_in_use();
  loop(500000);
  EXPECT_LE(bytes_in_use(), before + 4096);
  EXPECT_EQ(nvtx.RangePop(), -1);
  EXPECT_EQ(story(), "");
}

TEST_F(Nvtx, N4_pushes_without_pops_stay_bounded_and_keep_their_levels) {
  watch({{.range = "step"}});
  const Emitter& nvtx = emitter();
  const std::uint64_t unwatched = recorder().unwatched_ranges();
  constexpr int pushes = 100000;
  for (int i = 0; i < 2000; ++i) ASSERT_EQ(nvtx.RangePushA("lost"), i);
  const std::size_t before = bytes_in_use();
  for (int i = 2000; i < pushes; ++i) ASSERT_EQ(nvtx.RangePushA("lost"), i);
  EXPECT_LE(bytes_in_use(), before + 4096);
  EXPECT_EQ(nvtx.RangePushA("step"), pushes);  // too deep to be watched
  EXPECT_EQ(story(), "");
  EXPECT_GT(recorder().unwatched_ranges(), unwatched);
  for (int i = pushes; i >= 0; --i) ASSERT_EQ(nvtx.RangePop(), i);
  EXPECT_EQ(nvtx.RangePop(), -1);
  EXPECT_EQ(nvtx.RangePushA("step"), 0);
  EXPECT_EQ(story(), "+0");
}

TEST_F(Nvtx, N5_levels_count_per_thread_and_domain) {
  const Emitter& nvtx = emitter();
  const nvtxDomainHandle_t domain = nvtx.DomainCreateA("N5");
  ASSERT_NE(domain, nullptr);
  const nvtxEventAttributes_t event = attributes("x");
  EXPECT_EQ(nvtx.RangePushA("a"), 0);
  EXPECT_EQ(nvtx.RangePushW(L"b"), 1);
  EXPECT_EQ(nvtx.RangePushEx(&event), 2);
  EXPECT_EQ(nvtx.DomainRangePushEx(domain, &event), 0);
  EXPECT_EQ(nvtx.DomainRangePushEx(nullptr, &event), 3);
  EXPECT_EQ(nvtx.DomainRangePushEx(domain, &event), 1);
  EXPECT_EQ(nvtx.DomainRangePop(nullptr), 3);
  EXPECT_EQ(nvtx.RangePop(), 2);
  EXPECT_EQ(nvtx.DomainRangePop(domain), 1);
  EXPECT_EQ(nvtx.RangePop(), 1);
  EXPECT_EQ(nvtx.RangePop(), 0);
  EXPECT_EQ(nvtx.RangePop(), -1);
  EXPECT_EQ(nvtx.DomainRangePop(domain), 0);
  EXPECT_EQ(nvtx.DomainRangePop(domain), -1);
  nvtx.DomainDestroy(domain);
}

TEST_F(Nvtx, N5_levels_stay_right_while_events_come_and_go) {
  const Emitter& nvtx = emitter();
  EXPECT_EQ(nvtx.RangePushA("step"), 0);  // before anybody watches
  watch({{.range = "step"}});
  EXPECT_EQ(story(), "");
  EXPECT_EQ(nvtx.RangePushA("step"), 1);
  EXPECT_EQ(story(), "+0");
  EXPECT_EQ(nvtx.RangePop(), 1);
  EXPECT_EQ(nvtx.RangePushA("step"), 1);
  EXPECT_EQ(story(), "-0 +0");
  recorder().clear();
  EXPECT_EQ(nvtx.RangePushA("step"), 2);
  EXPECT_EQ(nvtx.RangePop(), 2);
  EXPECT_EQ(nvtx.RangePop(), 1);  // its region was withdrawn: nobody is told
  EXPECT_EQ(story(), "");
  watch({{.range = "step"}});
  EXPECT_EQ(nvtx.RangePushA("step"), 1);
  EXPECT_EQ(nvtx.RangePop(), 1);
  EXPECT_EQ(nvtx.RangePop(), 0);
  EXPECT_EQ(story(), "+0 -0");
}

TEST_F(Nvtx, N9_no_state_is_left_after_a_pop) {
  watch({{.range = "inner", .path = "outer/inner"}});
  const Emitter& nvtx = emitter();
  for (int i = 0; i < 3; ++i) {
    nvtx.RangePushA("outer");
    nvtx.RangePop();
    nvtx.RangePushA("inner");  // no longer inside "outer"
    nvtx.RangePop();
  }
  EXPECT_EQ(story(), "");
  nvtx.RangePushA("outer");
  nvtx.RangePushA("inner");
  nvtx.RangePop();
  nvtx.RangePop();
  EXPECT_EQ(story(), "+0 -0");
  EXPECT_EQ(recorder().open_count(), 0u);
}

TEST_F(Nvtx, a_region_that_is_not_watched_is_never_closed) {
  watch({{.range = "step"}});
  recorder().refuse(true);
  emitter().RangePushA("step");
  recorder().refuse(false);
  emitter().RangePop();
  EXPECT_EQ(story(), "");
}

TEST_F(Nvtx, ranges_may_be_used_by_whoever_is_told_of_a_region) {
  watch({{.range = "step"}});
  recorder().on_event([](RecordedEvent::Kind, unsigned) {
    // Enough to move every block of this thread's stacks.
    const nvtxDomainHandle_t domain = other_emitter().DomainCreateA("told");
    for (int i = 0; i < 200; ++i) other_emitter().RangePushA("deep");
    const nvtxEventAttributes_t event = attributes("deep");
    other_emitter().DomainRangePushEx(domain, &event);
    other_emitter().DomainRangePop(domain);
    for (int i = 0; i < 200; ++i) other_emitter().RangePop();
    other_emitter().DomainDestroy(domain);
  });
  EXPECT_EQ(emitter().RangePushA("step"), 0);
  EXPECT_EQ(emitter().RangePop(), 0);
  EXPECT_EQ(emitter().RangePop(), -1);
  EXPECT_EQ(story(), "+0 -0");
}

TEST_F(Nvtx, a_forked_child_nests_ranges_and_tells_nobody) {
  watch({{.range = "step"}});
  emitter().RangePushA("step");
  events();
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    recorder().clear();
    const nvtxDomainHandle_t domain = emitter().DomainCreateA("child");
    const bool right = domain != nullptr && emitter().RangePushA("step") == 1 && emitter().RangePop() == 1 &&
                       emitter().RangePop() == 0 && story().empty();
    _exit(right ? 0 : 1);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  emitter().RangePop();
  EXPECT_EQ(story(), "-0");
}

}  // namespace refrain::tests
