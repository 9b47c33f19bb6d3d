// How a client of NVTX is attached: versions, sizes, repetition.
#include "tests/nvtx/nvtx_test.h"
#include "tests/nvtx/toy_client.h"

namespace refrain::tests {

TEST_F(Nvtx, N7_clients_of_version_2_and_3_are_both_seen) {
  watch({{.range = "step"}});
  ToyClient old;
  old.core2_size = NVTX_CBID_CORE2_Initialize;  // NVTX 2 ends before it
  ASSERT_EQ(old.initialise(), 1);
  EXPECT_EQ(old.told_version, static_cast<unsigned>(NVTX_VERSION));
  EXPECT_TRUE(old.is_untouched(old.core2[NVTX_CBID_CORE2_Initialize]));
  const auto push = ToyClient::as<nvtxRangePushA_impl_fntype>(old.core[NVTX_CBID_CORE_RangePushA]);
  const auto pop = ToyClient::as<nvtxRangePop_impl_fntype>(old.core[NVTX_CBID_CORE_RangePop]);
  EXPECT_EQ(push("step"), 0);
  EXPECT_EQ(emitter().RangePushA("step"), 1);
  EXPECT_EQ(pop(), 1);
  EXPECT_EQ(emitter().RangePop(), 0);
  EXPECT_EQ(story(), "+0 +0 -0 -0");
}

TEST_F(Nvtx, N7_the_entry_of_version_1_declines_without_a_tool) {
  // Its argument is not the function that later versions pass, so nothing may be asked of it.
  ToyClient oldest;
  EXPECT_EQ(oldest.initialise("InitializeInjectionNvtx"), 0);
  EXPECT_TRUE(oldest.is_untouched(oldest.core[NVTX_CBID_CORE_RangePushA]));
}

TEST_F(Nvtx, N7_slots_beyond_a_tables_size_are_not_touched) {
  ToyClient small;
  small.core_size = NVTX_CBID_CORE_RangePushA;
  small.core2_size = 0;
  ASSERT_EQ(small.initialise(), 1);
  EXPECT_FALSE(small.is_untouched(small.core[NVTX_CBID_CORE_RangePushEx]));
  EXPECT_TRUE(small.is_untouched(small.core[NVTX_CBID_CORE_RangePushA]));
  EXPECT_TRUE(small.is_untouched(small.core[NVTX_CBID_CORE_RangePop]));
  EXPECT_TRUE(small.is_untouched(small.core2[NVTX_CBID_CORE2_DomainCreateA]));
}

TEST_F(Nvtx, N7_a_client_without_tables_is_declined_and_counted) {
  const unsigned before = recorder().clients_unwatched();
  ToyClient strange;
  strange.callbacks = false;
  EXPECT_EQ(strange.initialise(), 0);
  EXPECT_EQ(recorder().clients_unwatched(), before + 1);
}

TEST_F(Nvtx, N6_functions_that_are_not_needed_stay_as_they_were) {
  ToyClient client;
  ASSERT_EQ(client.initialise(), 1);
  for (const unsigned id : {NVTX_CBID_CORE_MarkEx, NVTX_CBID_CORE_MarkA, NVTX_CBID_CORE_MarkW,
                            NVTX_CBID_CORE_NameCategoryA, NVTX_CBID_CORE_NameOsThreadA}) {
    EXPECT_TRUE(client.is_untouched(client.core[id])) << id;
  }
}

TEST_F(Nvtx, N6_attaching_twice_changes_nothing) {
  ToyClient client;
  ASSERT_EQ(client.initialise(), 1);
  const NvtxFunctionPointer push = client.core[NVTX_CBID_CORE_RangePushA];
  const unsigned attached = recorder().clients_attached();
  ASSERT_EQ(client.initialise(), 1);
  EXPECT_EQ(client.core[NVTX_CBID_CORE_RangePushA], push);
  EXPECT_EQ(recorder().clients_attached(), attached);
  EXPECT_EQ(ToyClient::as<nvtxRangePushA_impl_fntype>(push)("x"), 0);
}

TEST_F(Nvtx, N6_a_tool_that_comes_back_for_the_same_client_is_declined) {
  static ToyClient client;
  static int inner = -1;
  client.before_tables = [] {
    client.before_tables = nullptr;
    inner = client.initialise();
  };
  EXPECT_EQ(client.initialise(), 1);
  EXPECT_EQ(inner, 0);
}

}  // namespace refrain::tests
