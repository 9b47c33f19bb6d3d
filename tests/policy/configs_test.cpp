// The policies that are shipped.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "policy/built_in.h"
#include "policy/describe.h"
#include "policy/policy_file.h"
#include "policy/selector.h"
#include "tests/policy/schema_check.h"
#include "tests/policy/support.h"

namespace refrain::tests {

using nlohmann::json;
using policy::ParseResult;

namespace {

json policy_schema() { return json::parse(file_text(source_root() / "configs" / "policy.schema.json")); }

ParseResult shipped(const char* name) {
  ParseResult result = policy::load_policy(source_root() / "configs" / name);
  EXPECT_TRUE(result.ok) << first_error(result);
  return result;
}

/// The name of the region that a range of the default domain falls under.
std::string region_of(const policy::Settings& settings, std::string_view range) {
  const int rule = policy::Selector(settings).region_rule("", range, range);
  return rule < 0 ? "" : settings.regions[static_cast<std::size_t>(rule)].name;
}

}  // namespace

TEST(Configs, all_shipped_policies_parse_and_satisfy_the_schema) {
  const json schema = policy_schema();
  for (const auto& path : shipped_policies()) {
    const ParseResult result = policy::load_policy(path);
    EXPECT_TRUE(result.ok) << first_error(result);
    EXPECT_EQ(schema_fault(schema, schema, json::parse(file_text(path))), "") << path;
    EXPECT_EQ(schema_fault(schema, schema, json::parse(policy::to_json(result.settings))), "") << path;
  }
}

TEST(Configs, built_in_policy_is_the_shipped_default) {
  EXPECT_EQ(policy::built_in_text(), file_text(source_root() / "configs" / "default.json"));
  EXPECT_TRUE(equal(policy::built_in_settings(), shipped("default.json").settings));
  EXPECT_FALSE(policy::built_in_settings().regions.empty());
}

TEST(Configs, observe_and_strict_are_the_default_with_another_mode) {
  policy::Settings wanted = policy::built_in_settings();
  wanted.log_path = ".";
  wanted.mode = policy::Mode::observe;
  EXPECT_TRUE(equal(shipped("observe.json").settings, wanted));
  wanted.mode = policy::Mode::strict;
  EXPECT_TRUE(equal(shipped("strict.json").settings, wanted));
}

TEST(Configs, O11_every_preset_keeps_communication_eager) {
  for (const auto& path : shipped_policies()) {
    const policy::Settings settings = policy::load_policy(path).settings;
    const policy::Selector selector(settings);
    const policy::OperationRule* rule = selector.operation_rule("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL", "");
    ASSERT_NE(rule, nullptr) << path;
    EXPECT_EQ(rule->action, policy::Action::eager) << path;
  }
}

TEST(Configs, megatron_core_selects_its_parts_by_the_last_component) {
  const policy::Settings settings = shipped("megatron_core.json").settings;
  EXPECT_EQ(region_of(settings, "megatron.core.transformer.transformer_layer._forward_attention.self_attention"),
            "self_attention");
  EXPECT_EQ(region_of(settings, "megatron.core.transformer.transformer_layer._apply_self_attn_bda_step.self_attn_bda"),
            "self_attn_bda");
  EXPECT_EQ(region_of(settings, "nvte_fused_topk_with_score_function_forward_v2"), "moe_router");
  EXPECT_EQ(region_of(settings, "nvte_fused_score_for_moe_aux_loss_backward"), "moe_router_loss");
  EXPECT_EQ(region_of(settings, "pre_dispatch_computation backward"), "moe_pre_dispatch");
  EXPECT_EQ(region_of(settings, "dispatch_preprocess in hybrid-ep"), "moe_preprocess");
  EXPECT_EQ(region_of(settings, "moe_dispatch forward"), "");
  EXPECT_EQ(region_of(settings, "megatron.core.transformer.attention.forward.qkv"), "");
}

TEST(Configs, nemo_automodel_has_a_region_for_each_of_its_graph_modules) {
  const policy::Settings settings = shipped("nemo_automodel.json").settings;
  std::set<std::string> names;
  for (const policy::RegionRule& rule : settings.regions) names.insert(rule.name);
  EXPECT_EQ(names, (std::set<std::string>{"attn", "moe_preprocess", "moe_router", "te_dpa"}));
  EXPECT_EQ(region_of(settings, "self_attn: Qwen3MoeAttention"), "attn");
  EXPECT_EQ(region_of(settings, "attn_module: DotProductAttention"), "te_dpa");
  EXPECT_EQ(region_of(settings, "gate: Gate"), "moe_router");
  EXPECT_EQ(region_of(settings, "routing_core: _GateRoutingCore"), "moe_router");
  EXPECT_EQ(region_of(settings, "pad_routing_map"), "moe_preprocess");
  EXPECT_EQ(region_of(settings, "experts: GroupedExperts"), "");
  EXPECT_EQ(region_of(settings, "mlp: MoE"), "");
}

TEST(Configs, N8_torch_emit_nvtx_matches_names_with_numbers_after_them) {
  const policy::Settings settings = shipped("torch_emit_nvtx.json").settings;
  EXPECT_EQ(region_of(settings, "aten::scaled_dot_product_attention, seq = 17, op_id = 4"), "attention");
  EXPECT_EQ(
      region_of(settings, "autograd::engine::evaluate_function: ScaledDotProductFlashAttentionBackward0, op_id = 9"),
      "attention_backward");
  EXPECT_EQ(region_of(settings, "autograd::engine::evaluate_function: FlashAttnFuncBackward"), "attention_backward");
  EXPECT_EQ(region_of(settings, "Optimizer.step#AdamW.step"), "optimizer");
  EXPECT_EQ(region_of(settings, "aten::mm, seq = 3"), "");
  const int fsdp =
      policy::Selector(settings).region_rule("", "FSDP::all_gather (layers.0)", "FSDP::all_gather (layers.0)");
  ASSERT_GE(fsdp, 0);
  EXPECT_EQ(settings.regions[static_cast<std::size_t>(fsdp)].action, policy::Action::eager);
}

TEST(Schema, refuses_what_the_parser_refuses) {
  const json schema = policy_schema();
  for (const char* text : {R"([])",
                           R"({})",
                           R"({"version": 2})",
                           R"({"version": 1, "x": 0})",
                           R"({"version": 1, "mode": "on"})",
                           R"({"version": 1, "mode": null})",
                           R"({"version": 1, "regions": {}})",
                           R"({"version": 1, "regions": [{}]})",
                           R"({"version": 1, "regions": [{"range": ""}]})",
                           R"({"version": 1, "regions": [{"range": "a", "b": 1}]})",
                           R"({"version": 1, "regions": [{"range": "a", "name": ""}]})",
                           R"({"version": 1, "regions": [{"range": "a", "path": ""}]})",
                           R"({"version": 1, "regions": [{"range": "a", "action": "run"}]})",
                           R"({"version": 1, "regions": [{"range": "a", "scope": "all"}]})",
                           R"({"version": 1, "regions": [{"range": "a", "strict": "parameters"}]})",
                           R"({"version": 1, "regions": [{"range": "a", "strict": ["x"]}]})",
                           R"({"version": 1, "regions": [{"range": "a", "strict": ["parameters", "parameters"]}]})",
                           R"({"version": 1, "operations": [{"action": "eager"}]})",
                           R"({"version": 1, "operations": [{"kernel": ""}]})",
                           R"({"version": 1, "operations": [{"kernel": "a", "x": 1}]})",
                           R"({"version": 1, "hold": {"x": 1}})",
                           R"({"version": 1, "hold": {"max_hold_us": 9}})",
                           R"({"version": 1, "hold": {"max_hold_us": 10000001}})",
                           R"({"version": 1, "hold": {"max_hold_us": "20"}})",
                           R"({"version": 1, "hold": []})",
                           R"({"version": 1, "replay": {"patch": 1}})",
                           R"({"version": 1, "log": {"path": 1}})",
                           R"({"version": 1, "description": 1})",
                           R"({"version": 1, "$schema": 1})"}) {
    EXPECT_FALSE(parse(text).ok) << text;
    EXPECT_NE(schema_fault(schema, schema, json::parse(text)), "") << text;
  }
}

}  // namespace refrain::tests
