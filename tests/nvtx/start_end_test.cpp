// Start and end: by identifier, across threads.
#include <unistd.h>

#include <thread>

#include "tests/nvtx/nvtx_test.h"

namespace refrain::tests {

TEST_F(Nvtx, N2_start_on_one_thread_end_on_another) {
  watch({{.range = "step"}});
  const nvtxRangeId_t id = emitter().RangeStartA("step");
  pid_t ender = 0;
  std::thread other([&] {
    ender = gettid();
    emitter().RangeEnd(id);
  });
  other.join();
  const std::vector<RecordedEvent> seen = events();
  ASSERT_EQ(seen.size(), 2u);
  EXPECT_EQ(seen[0].kind, RecordedEvent::Kind::opened);
  EXPECT_EQ(seen[0].thread, gettid());
  EXPECT_EQ(seen[1].kind, RecordedEvent::Kind::closed);
  EXPECT_EQ(seen[1].thread, ender);
}

TEST_F(Nvtx, N2_overlapping_identifiers_and_double_ends) {
  watch({{.range = "a"}, {.range = "b"}, {.range = "c"}});
  const Emitter& nvtx = emitter();
  const nvtxEventAttributes_t event = attributes("c");
  const nvtxRangeId_t a = nvtx.RangeStartA("a");
  const nvtxRangeId_t b = nvtx.RangeStartW(L"b");
  const nvtxRangeId_t c = nvtx.RangeStartEx(&event);
  const nvtxRangeId_t again = nvtx.RangeStartA("a");
  EXPECT_NE(a, b);
  EXPECT_NE(a, again);
  nvtx.RangeEnd(b);
  nvtx.RangeEnd(a);
  nvtx.RangeEnd(b);
  nvtx.RangeEnd(a);
  nvtx.RangeEnd(12345);
  nvtx.RangeEnd(0);
  EXPECT_EQ(story(), "+0 +1 +2 +0 -1 -0");
  nvtx.RangeEnd(again);
  nvtx.RangeEnd(c);
  EXPECT_EQ(story(), "-0 -2");
}

TEST_F(Nvtx, N2_started_ranges_belong_to_their_domain_and_do_not_nest) {
  watch({{.range = "step", .domain = "N2"}, {.range = "inner", .path = "outer/inner"}});
  const Emitter& nvtx = emitter();
  const nvtxDomainHandle_t domain = nvtx.DomainCreateA("N2");
  const nvtxEventAttributes_t event = attributes("step");
  const nvtxRangeId_t id = nvtx.DomainRangeStartEx(domain, &event);
  const nvtxRangeId_t elsewhere = nvtx.DomainRangeStartEx(nullptr, &event);
  EXPECT_EQ(story(), "+0");
  nvtx.RangeEnd(id);  // another domain
  EXPECT_EQ(story(), "");
  nvtx.DomainRangeEnd(domain, id);
  nvtx.DomainRangeEnd(nullptr, elsewhere);
  EXPECT_EQ(story(), "-0");
  // The path of a started range is where its thread is, and later ranges are not inside it.
  nvtx.RangePushA("outer");
  const nvtxRangeId_t inner = nvtx.RangeStartA("inner");
  EXPECT_EQ(nvtx.RangePushA("inner"), 1);
  EXPECT_EQ(story(), "+1 +1");
  nvtx.RangePop();
  nvtx.RangePop();
  nvtx.RangeEnd(inner);
  EXPECT_EQ(story(), "-1 -1");
  nvtx.DomainDestroy(domain);
}

TEST_F(Nvtx, N2_more_started_regions_than_are_kept_are_refused_and_counted) {
  watch({{.range = "step"}});
  const std::uint64_t before = recorder().unwatched_ranges();
  std::vector<nvtxRangeId_t> ids(1100);
  for (nvtxRangeId_t& id : ids) id = emitter().RangeStartA("step");
  EXPECT_EQ(recorder().open_count(), 1024u);
  EXPECT_EQ(recorder().unwatched_ranges() - before, ids.size() - 1024);
  for (const nvtxRangeId_t id : ids) emitter().RangeEnd(id);
  EXPECT_EQ(recorder().open_count(), 0u);
}

TEST_F(Nvtx, N2_domain_destroy_closes_what_is_open_in_it) {
  watch({{.range = "pushed"}, {.range = "started"}});
  const Emitter& nvtx = emitter();
  const nvtxDomainHandle_t domain = nvtx.DomainCreateA("short");
  const nvtxEventAttributes_t pushed = attributes("pushed"), started = attributes("started");
  nvtx.DomainRangePushEx(domain, &pushed);
  const nvtxRangeId_t id = nvtx.DomainRangeStartEx(domain, &started);
  nvtx.RangePushA("pushed");
  nvtx.DomainDestroy(domain);
  EXPECT_EQ(story(), "+0 +1 +0 -0 -1");
  nvtx.DomainRangeEnd(domain, id);
  EXPECT_EQ(nvtx.DomainRangePop(domain), -1);
  EXPECT_EQ(story(), "");
  EXPECT_EQ(nvtx.RangePop(), 0);
  EXPECT_EQ(story(), "-0");
}

TEST_F(Nvtx, N2_a_pop_after_another_thread_destroyed_the_domain_still_closes) {
  watch({{.range = "step"}});
  const nvtxDomainHandle_t domain = emitter().DomainCreateA("short");
  const nvtxEventAttributes_t event = attributes("step");
  emitter().DomainRangePushEx(domain, &event);
  std::thread([&] { emitter().DomainDestroy(domain); }).join();
  EXPECT_EQ(story(), "+0");
  EXPECT_EQ(emitter().DomainRangePop(domain), 0);
  EXPECT_EQ(story(), "-0");
}

}  // namespace refrain::tests
