// A tool was configured before us: it must see what it would have seen alone.
#include <thread>

#include "tests/nvtx/chained_tool.h"
#include "tests/nvtx/nvtx_test.h"
#include "tests/nvtx/toy_client.h"

namespace refrain::tests {

namespace {

using Mode = ChainedTool::Mode;

std::vector<std::string>& calls() {
  static auto* all = new std::vector<std::string>;
  return *all;
}

const ChainedTool& tool() {
  static const ChainedTool& table =
      *reinterpret_cast<const ChainedTool* (*)()>(library_function(NVTX_TEST_TOOL, "chained_tool"))();
  return table;
}

class NvtxChain : public Nvtx {
 protected:
  void SetUp() override {
    recorder().set_chained_injection(NVTX_TEST_TOOL);
    tool().set_mode(Mode::usual);
    tool().on_call([](const char* line) { calls().emplace_back(line); });
    calls().clear();
  }
  void TearDown() override {
    tool().on_call(nullptr);
    Nvtx::TearDown();
  }
  /// The tool's calls since the last time.
  static std::vector<std::string> taken() { return std::exchange(calls(), {}); }
  using Lines = std::vector<std::string>;
};

}  // namespace

TEST_F(NvtxChain, N6_everything_reaches_the_tool_once_and_in_order) {
  const Emitter& nvtx = emitter();
  const nvtxEventAttributes_t event = attributes("e");
  nvtx.MarkEx(&event);
  nvtx.MarkA("m");
  nvtx.MarkW(L"w");
  EXPECT_EQ(nvtx.RangeStartEx(&event), 71u);
  EXPECT_EQ(nvtx.RangeStartA("s"), 72u);
  nvtx.RangeEnd(72);
  EXPECT_EQ(nvtx.RangePushEx(&event), 100);
  EXPECT_EQ(nvtx.RangePushA("p"), 101);
  EXPECT_EQ(nvtx.RangePop(), 102);
  EXPECT_EQ(nvtx.RangePop(), 102);
  EXPECT_EQ(nvtx.RangePop(), 102);  // also what we ignore
  nvtx.NameCategoryA(3, "c");
  nvtx.NameCategoryW(4, L"d");
  nvtx.NameOsThreadA(1, "t");
  nvtx.Initialize(nullptr);
  EXPECT_EQ(taken(), (Lines{"MarkEx e", "MarkA m", "MarkW w", "RangeStartEx e", "RangeStartA s", "RangeEnd 72",
                            "RangePushEx e", "RangePushA p", "RangePop", "RangePop", "RangePop", "NameCategoryA 3 c",
                            "NameCategoryW 4 d", "NameOsThreadA t", "Initialize"}));
}

TEST_F(NvtxChain, N6_domains_and_strings_are_the_tools_and_still_match) {
  watch({{.range = "step", .domain = "D"}, {.range = "registered"}});
  const Emitter& nvtx = other_emitter();
  const nvtxDomainHandle_t domain = nvtx.DomainCreateA("D");
  const auto id = static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(domain));
  ASSERT_LT(id, 1000u);  // not ours
  const std::string name = std::to_string(id);
  const nvtxStringHandle_t text = nvtx.DomainRegisterStringW(nullptr, L"registered");
  const std::string text_name = std::to_string(reinterpret_cast<std::uintptr_t>(text));
  const nvtxEventAttributes_t event = attributes("step"), registered = attributes(text);
  nvtxResourceAttributes_t resource{};
  EXPECT_EQ(nvtx.DomainRangePushEx(domain, &event), 103);
  EXPECT_EQ(nvtx.RangePushEx(&registered), 100);
  EXPECT_EQ(nvtx.RangePop(), 102);
  EXPECT_EQ(nvtx.DomainRangePop(domain), 104);
  EXPECT_EQ(nvtx.DomainRangeStartEx(domain, &event), 73u);
  nvtx.DomainRangeEnd(domain, 73);
  nvtx.DomainMarkEx(domain, &event);
  nvtx.DomainNameCategoryA(domain, 1, "c");
  nvtx.DomainResourceDestroy(nvtx.DomainResourceCreate(domain, &resource));
  nvtx.DomainDestroy(domain);
  EXPECT_EQ(taken(),
            (Lines{"DomainCreateA D", "DomainRegisterStringW 0 registered", "DomainRangePushEx " + name + " step",
                   "RangePushEx registered " + text_name, "RangePop", "DomainRangePop " + name,
                   "DomainRangeStartEx " + name + " step", "DomainRangeEnd " + name + " 73",
                   "DomainMarkEx " + name + " step", "DomainNameCategoryA " + name + " c",
                   "DomainResourceCreate " + name, "DomainResourceDestroy 900", "DomainDestroy " + name}));
  EXPECT_EQ(story(), "+0 +1 -1 -0 +0 -0");
}

TEST_F(NvtxChain, N6_a_slot_that_the_tool_left_alone_is_never_called) {
  watch({{.range = "step"}});
  EXPECT_EQ(emitter().RangePushW(L"step"), 0);  // ours, as no tool takes it
  EXPECT_EQ(emitter().RangePop(), 102);
  emitter().NameOsThreadW(1, L"t");
  EXPECT_EQ(taken(), Lines{"RangePop"});
  EXPECT_EQ(story(), "+0 -0");
  // The tool ends ranges, so it must get none of our identifiers: 0, as without us.
  EXPECT_EQ(emitter().RangeStartW(L"step"), 0u);
  EXPECT_EQ(story(), "");
}

TEST_F(NvtxChain, N2_an_identifier_that_is_in_use_is_refused_and_counted) {
  watch({{.range = "step"}});
  const std::uint64_t before = recorder().unwatched_ranges();
  EXPECT_EQ(emitter().RangeStartA("step"), 72u);
  EXPECT_EQ(emitter().RangeStartA("step"), 72u);
  EXPECT_EQ(recorder().open_count(), 1u);
  EXPECT_EQ(recorder().unwatched_ranges(), before + 1);
  emitter().RangeEnd(72);
  EXPECT_EQ(recorder().open_count(), 0u);
}

TEST_F(NvtxChain, N6_a_region_lies_inside_the_tools_range) {
  watch({{.range = "step"}});
  recorder().on_event([](RecordedEvent::Kind kind, unsigned) {
    calls().emplace_back(kind == RecordedEvent::Kind::opened ? "region opens" : "region closes");
  });
  emitter().RangePushA("step");
  emitter().RangePop();
  EXPECT_EQ(emitter().RangeStartA("step"), 72u);
  emitter().RangeEnd(72);
  EXPECT_EQ(taken(), (Lines{"RangePushA step", "region opens", "region closes", "RangePop", "RangeStartA step",
                            "region opens", "region closes", "RangeEnd 72"}));
}

TEST_F(NvtxChain, N6_payload_ranges_reach_the_tool) {
  watch({{.range = "step"}});
  const nvtxEventAttributes_t event = attributes("step");
  EXPECT_EQ(emitter().DomainIsEnabled(nullptr), 1);  // as with that tool alone
  taken();                                           // the extension begins by nvtxInitialize
  EXPECT_EQ(emitter().RangePushPayload(nullptr, nullptr, 0), 0);
  EXPECT_EQ(emitter().DomainRangePushEx(nullptr, &event), 103);
  EXPECT_EQ(emitter().RangePopPayload(nullptr, nullptr, 0), 105);
  EXPECT_EQ(taken(), (Lines{"DomainRangePushEx 0 step", "RangePopPayload 0 0"}));
  EXPECT_EQ(story(), "+0 -0");
}

TEST_F(NvtxChain, N6_after_the_events_are_withdrawn_the_tool_goes_on) {
  watch({{.range = "step"}});
  recorder().clear();
  EXPECT_EQ(emitter().RangePushA("step"), 101);
  EXPECT_EQ(emitter().RangePop(), 102);
  EXPECT_EQ(taken(), (Lines{"RangePushA step", "RangePop"}));
  EXPECT_EQ(story(), "");
}

TEST_F(NvtxChain, N6_tools_that_differ_by_client) {
  watch({{.range = "step"}});
  const auto push_of = [](const ToyClient& client) {
    return ToyClient::as<nvtxRangePushA_impl_fntype>(client.core[NVTX_CBID_CORE_RangePushA]);
  };
  const auto pop_of = [](const ToyClient& client) {
    return ToyClient::as<nvtxRangePop_impl_fntype>(client.core[NVTX_CBID_CORE_RangePop]);
  };
  tool().set_mode(Mode::usual);
  EXPECT_EQ(emitter().RangePushA("step"), 101);
  EXPECT_EQ(emitter().RangePop(), 102);

  tool().set_mode(Mode::declines);
  ToyClient declined;
  ASSERT_EQ(declined.initialise(), 1);
  EXPECT_EQ(push_of(declined)("step"), 0);
  EXPECT_EQ(pop_of(declined)(), 0);
  EXPECT_TRUE(declined.is_untouched(declined.core[NVTX_CBID_CORE_MarkA]));  // its functions are gone

  tool().set_mode(Mode::other);
  ToyClient other;
  ASSERT_EQ(other.initialise(), 1);
  EXPECT_EQ(push_of(other)("step"), 201);
  EXPECT_EQ(pop_of(other)(), 202);

  tool().set_mode(Mode::push_only);
  ToyClient push_only;
  ASSERT_EQ(push_only.initialise(), 1);
  EXPECT_EQ(push_of(push_only)("step"), 101);
  EXPECT_EQ(pop_of(push_only)(), 102);
  const auto create = ToyClient::as<nvtxDomainCreateA_impl_fntype>(push_only.core2[NVTX_CBID_CORE2_DomainCreateA]);
  EXPECT_NE(create("ours"), nullptr);  // the tool never sees a domain

  EXPECT_EQ(story(), "+0 -0 +0 -0 +0 -0 +0 -0");
  EXPECT_EQ(recorder().clients_unwatched(), 0u);

  // A further kind of client is the tool's alone.
  tool().set_mode(Mode::end_only);
  ToyClient further;
  ASSERT_EQ(further.initialise(), 1);
  EXPECT_EQ(recorder().clients_unwatched(), 1u);
  EXPECT_TRUE(further.is_untouched(further.core[NVTX_CBID_CORE_RangePushA]));
  taken();
  ToyClient::as<nvtxRangeEnd_impl_fntype>(further.core[NVTX_CBID_CORE_RangeEnd])(5);
  EXPECT_EQ(taken(), Lines{"RangeEnd 5"});
}

TEST_F(NvtxChain, N6_a_tool_that_chains_back_to_us_ends_there) {
  tool().set_mode(Mode::comes_back);
  ToyClient client;
  EXPECT_EQ(client.initialise(), 1);
  EXPECT_EQ(taken(), Lines{"came back: 0"});
  EXPECT_EQ(ToyClient::as<nvtxRangePushA_impl_fntype>(client.core[NVTX_CBID_CORE_RangePushA])("x"), 101);
}

}  // namespace refrain::tests
