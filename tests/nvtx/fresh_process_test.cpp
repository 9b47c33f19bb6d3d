// What happens before the events are set for the first time. One test a process.
#include "tests/nvtx/nvtx_test.h"

namespace refrain::tests {

TEST_F(Nvtx, N5_ranges_that_were_open_before_the_events_nest_and_have_names) {
  EXPECT_EQ(emitter().RangePushA("train"), 0);
  EXPECT_EQ(emitter().RangePushW(L"epoch"), 1);
  const nvtxRangeId_t early = emitter().RangeStartA("step");
  EXPECT_NE(early, 0u);
  watch({{.range = "step", .path = "train/epoch/step"}, {.range = "train"}});
  EXPECT_EQ(emitter().RangePushA("step"), 2);
  EXPECT_EQ(story(), "+0");
  EXPECT_EQ(emitter().RangePop(), 2);
  emitter().RangeEnd(early);
  EXPECT_EQ(emitter().RangePop(), 1);
  EXPECT_EQ(emitter().RangePop(), 0);
  EXPECT_EQ(story(), "-0");
}

}  // namespace refrain::tests
