#include "policy/selector.h"

#include <gtest/gtest.h>

#include "policy/built_in.h"
#include "tests/policy/support.h"

namespace refrain::tests {

using policy::Selector;
using policy::Settings;

namespace {

Settings settings_of(std::string_view text) {
  policy::ParseResult result = parse(text);
  EXPECT_TRUE(result.ok) << first_error(result);
  return result.settings;
}

}  // namespace

TEST(Selector, first_rule_that_matches_decides) {
  const Settings settings = settings_of(R"({"version": 1, "regions": [
    {"range": "attn_skip*", "action": "eager"}, {"range": "attn*"}, {"range": "*"}]})");
  const Selector selector(settings);
  EXPECT_EQ(selector.region_rule("", "attn_skip1", "attn_skip1"), 0);
  EXPECT_EQ(selector.region_rule("", "attn1", "attn1"), 1);
  EXPECT_EQ(selector.region_rule("", "mlp", "mlp"), 2);
}

TEST(Selector, no_rule_gives_minus_one) {
  const Settings settings = settings_of(R"({"version": 1, "regions": [{"range": "attn"}]})");
  EXPECT_EQ(Selector(settings).region_rule("", "mlp", "mlp"), -1);
  EXPECT_EQ(Selector(Settings{}).region_rule("", "mlp", "mlp"), -1);
}

TEST(Selector, N3_domain_is_matched_and_the_default_domain_is_empty) {
  const Settings settings = settings_of(R"({"version": 1, "regions": [
    {"range": "a", "domain": ""}, {"range": "a", "domain": "NCCL"}, {"range": "a", "domain": "?*"}, {"range": "b"}]})");
  const Selector selector(settings);
  EXPECT_EQ(selector.region_rule("", "a", "a"), 0);
  EXPECT_EQ(selector.region_rule("NCCL", "a", "a"), 1);
  EXPECT_EQ(selector.region_rule("other", "a", "a"), 2);
  EXPECT_EQ(selector.region_rule("any", "b", "b"), 3);
}

TEST(Selector, path_is_matched_and_known_to_be_needed) {
  const Settings settings = settings_of(R"({"version": 1, "regions": [{"range": "attn", "path": "*decoder/*/attn"}]})");
  const Selector selector(settings);
  EXPECT_TRUE(selector.depends_on_path());
  EXPECT_EQ(selector.region_rule("", "step/decoder/layer0/attn", "attn"), 0);
  EXPECT_EQ(selector.region_rule("", "step/encoder/layer0/attn", "attn"), -1);
  const Settings plain = settings_of(R"({"version": 1, "regions": [{"range": "a"}, {"range": "b", "path": "**"}]})");
  EXPECT_FALSE(Selector(plain).depends_on_path());
}

TEST(Selector, operation_rules_match_either_name) {
  const Settings settings = settings_of(R"({"version": 1, "operations": [
    {"kernel": "_Z3foo*", "action": "eager"}, {"kernel": "void bar<*", "action": "observe"}]})");
  const Selector selector(settings);
  ASSERT_NE(selector.operation_rule("_Z3fooi", "foo(int)"), nullptr);
  EXPECT_EQ(selector.operation_rule("_Z3fooi", "foo(int)")->action, policy::Action::eager);
  ASSERT_NE(selector.operation_rule("_Z3barIiEvv", "void bar<int>()"), nullptr);
  EXPECT_EQ(selector.operation_rule("_Z3barIiEvv", "void bar<int>()")->action, policy::Action::observe);
  EXPECT_EQ(selector.operation_rule("_Z3barIiEvv", ""), nullptr);
  EXPECT_EQ(selector.operation_rule("gemm", "gemm"), nullptr);
}

TEST(BuiltIn, O11_kernels_that_communicate_stay_eager) {
  const Settings settings = policy::built_in_settings();
  const Selector selector(settings);
  for (const char* name :
       {"_Z40ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE",
        "ncclKernel_AllGather_RING_LL_Sum_int8_t", "_Z29ncclSymkDevKernel_AllGather_LSA", "nvshmemi_barrier_all_kernel",
        "_Z24cross_device_reduce_1stageI13__nv_bfloat16Li8EEv", "oneShotAllReduceKernel", "twoshot_allreduce_kernel",
        "multimem_all_reduce_kernel", "_ZN7deep_ep9internode8dispatchE", "userbuffers_fp16_sum_inplace_gpu_rr_rs",
        "_ZN9hybrid_ep15dispatch_kernelE", "all_to_all_kernel", "AllToAllKernel", "reduceScatter_kernel"}) {
    const policy::OperationRule* rule = selector.operation_rule(name, "");
    ASSERT_NE(rule, nullptr) << name;
    EXPECT_EQ(rule->action, policy::Action::eager) << name;
  }
  for (const char* name : {"_ZN2at6native29vectorized_elementwise_kernelILi4E", "nvjet_tst_128x256_64x4_2x1_v_bz_TNT",
                           "cutlass_80_tensorop_bf16_s16816gemm", "triton_poi_fused_add_0", "flash_fwd_kernel",
                           "_ZN2at6native13reduce_kernelILi512ELi1E", "softmax_warp_forward"}) {
    EXPECT_EQ(selector.operation_rule(name, ""), nullptr) << name;
  }
}

TEST(BuiltIn, selects_the_ranges_of_training_code_in_any_case) {
  const Settings settings = policy::built_in_settings();
  EXPECT_EQ(settings.mode, policy::Mode::replay);
  EXPECT_EQ(settings.source, "built-in");
  const Selector selector(settings);
  EXPECT_FALSE(selector.depends_on_path());
  const auto region = [&](std::string_view range) -> std::string {
    const int rule = selector.region_rule("", range, range);
    return rule < 0 ? "" : settings.regions[static_cast<std::size_t>(rule)].name;
  };
  EXPECT_EQ(region("layer3.self_attention"), "attention");
  EXPECT_EQ(region("DotProductAttention forward"), "attention");
  EXPECT_EQ(region("self_attn: Qwen3MoeSdpa"), "attn");
  EXPECT_EQ(region("nvte_flash_attn_fwd"), "attn");
  EXPECT_EQ(region("ATTENTION"), "attention");
  EXPECT_EQ(region("moe_router"), "router");
  EXPECT_EQ(region("TopKRouter"), "router");
  EXPECT_EQ(region("token routing"), "routing");
  EXPECT_EQ(region("moe_preprocess"), "preprocess");
  EXPECT_EQ(region("PreProcess"), "preprocess");
  EXPECT_EQ(region("mlp"), "");
  EXPECT_EQ(region("optimizer step"), "");
}

}  // namespace refrain::tests
