// Many threads at once, while events are set and withdrawn. Best run under the thread sanitizer.
#include <atomic>
#include <thread>

#include "tests/nvtx/nvtx_test.h"

namespace refrain::tests {

namespace {

constexpr int threads = 6, rounds = 3000;

/// A thread's life: all forms of ranges, in a shared domain and in one of its own.
void live(int index, nvtxDomainHandle_t shared, nvtxStringHandle_t registered, std::atomic<int>& wrong) {
  const Emitter& nvtx = index % 2 == 0 ? emitter() : other_emitter();
  const nvtxEventAttributes_t text = attributes("step"), wide = attributes(L"step");
  const nvtxEventAttributes_t known = attributes(registered);
  for (int i = 0; i < rounds; ++i) {
    const nvtxDomainHandle_t own = nvtx.DomainCreateA("own");
    const nvtxRangeId_t id = nvtx.DomainRangeStartEx(shared, &text);
    if (nvtx.RangePushA(i % 3 == 0 ? "step" : "other") != 0) ++wrong;
    if (nvtx.DomainRangePushEx(shared, &known) != 0) ++wrong;
    if (nvtx.DomainRangePushEx(own, &wide) != 0) ++wrong;
    if (nvtx.RangePushW(L"inner") != 1) ++wrong;
    nvtx.DomainRegisterStringA(own, "step");
    if (nvtx.DomainRangePop(shared) != 0) ++wrong;
    if (nvtx.DomainRangePop(own) != 0) ++wrong;
    if (nvtx.RangePop() != 1) ++wrong;
    if (nvtx.RangePop() != 0) ++wrong;
    nvtx.DomainRangeEnd(shared, id);
    nvtx.DomainDestroy(own);
  }
  nvtx.RangePushA("step");  // left open: the thread's end closes it
}

}  // namespace

TEST_F(Nvtx, N4_many_threads_balance) {
  watch({{.range = "step"}});
  const nvtxDomainHandle_t shared = emitter().DomainCreateA("shared");
  const nvtxStringHandle_t registered = emitter().DomainRegisterStringA(shared, "step");
  std::atomic<int> wrong{0};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) all.emplace_back([&, i] { live(i, shared, registered, wrong); });
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
  EXPECT_EQ(recorder().open_count(), 0u);
  std::size_t opened = 0, closed = 0;
  for (const RecordedEvent& event : events()) {
    ASSERT_NE(event.kind, RecordedEvent::Kind::closed_unknown);
    ++(event.kind == RecordedEvent::Kind::opened ? opened : closed);
  }
  // In each round: started, in the shared domain, in the own domain; and one push in three.
  EXPECT_EQ(opened, static_cast<std::size_t>(threads) * (3 * rounds + rounds / 3 + 1));
  EXPECT_EQ(opened, closed);
}

TEST_F(Nvtx, N4_events_may_be_set_and_withdrawn_while_threads_push) {
  const nvtxDomainHandle_t shared = emitter().DomainCreateA("changing");
  const nvtxStringHandle_t registered = emitter().DomainRegisterStringA(shared, "step");
  std::atomic<int> wrong{0}, running{threads};
  std::vector<std::thread> all;
  for (int i = 0; i < threads; ++i) {
    all.emplace_back([&, i] {
      live(i, shared, registered, wrong);
      --running;
    });
  }
  while (running > 0) {
    watch({{.range = "step", .path = "*step"}, {.range = "inner"}});
    std::this_thread::yield();
    recorder().clear();
    watch({{.range = "step"}});
    events();
  }
  for (std::thread& thread : all) thread.join();
  EXPECT_EQ(wrong, 0);
}

}  // namespace refrain::tests
