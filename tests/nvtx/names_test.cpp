// Names: domains, registered and wide strings, attributes of other versions, many names, what matched and what did not.
#include <malloc.h>

#include <algorithm>
#include <cstddef>

#include "tests/nvtx/nvtx_test.h"

namespace refrain::tests {

namespace {

/// Opens and closes a range of the default domain.
void pass(const nvtxEventAttributes_t& event) {
  emitter().RangePushEx(&event);
  emitter().RangePop();
}

std::string utf8(const wchar_t* text, std::size_t capacity = 64) {
  std::string bytes(capacity, '\0');
  bytes.resize(recorder().to_utf8(text, bytes.data(), capacity));
  return bytes;
}

}  // namespace

TEST_F(Nvtx, N3_domains_registered_and_wide_strings) {
  watch({{.range = "step", .domain = "A"}, {.range = "step", .domain = "B"}, {.range = "step", .domain = ""}});
  const Emitter& nvtx = emitter();
  const nvtxDomainHandle_t a = nvtx.DomainCreateA("A"), b = other_emitter().DomainCreateW(L"B");
  ASSERT_NE(a, b);
  const nvtxStringHandle_t registered_a = nvtx.DomainRegisterStringA(a, "step");
  const nvtxStringHandle_t registered_b = other_emitter().DomainRegisterStringW(b, L"step");
  const nvtxStringHandle_t registered = nvtx.DomainRegisterStringA(nullptr, "step");
  const nvtxEventAttributes_t text = attributes("step"), wide = attributes(L"step");
  const nvtxEventAttributes_t in_a = attributes(registered_a), in_b = attributes(registered_b);

  EXPECT_EQ(nvtx.DomainRangePushEx(a, &in_a), 0);
  EXPECT_EQ(nvtx.DomainRangePushEx(b, &in_b), 0);  // the other object's domain and string
  EXPECT_EQ(nvtx.DomainRangePushEx(b, &wide), 1);
  EXPECT_EQ(nvtx.DomainRangePushEx(nullptr, &text), 0);
  EXPECT_EQ(story(), "+0 +1 +1 +2");
  EXPECT_EQ(nvtx.DomainRangePop(a), 0);  // crossed: the domains have stacks of their own
  EXPECT_EQ(nvtx.RangePop(), 0);
  EXPECT_EQ(nvtx.DomainRangePop(b), 1);
  EXPECT_EQ(nvtx.DomainRangePop(b), 0);
  EXPECT_EQ(story(), "-0 -2 -1 -1");

  pass(attributes(registered));
  nvtx.RangePushW(L"step");
  nvtx.RangePop();
  EXPECT_EQ(story(), "+2 -2 +2 -2");
  nvtx.DomainDestroy(a);
  other_emitter().DomainDestroy(b);
  pass(attributes(registered));  // of the default domain, which stays
  pass(in_a);                    // gone with its domain
  EXPECT_EQ(story(), "+2 -2");
}

TEST_F(Nvtx, N3_names_may_contain_separators) {
  watch({{.range = "fwd@layer/0"}, {.range = "c", .path = "a/b/c"}});
  pass(attributes("fwd@layer/0"));
  EXPECT_EQ(story(), "+0 -0");
  emitter().RangePushA("a");
  emitter().RangePushA("b");
  emitter().RangePushA("c");
  EXPECT_EQ(story(), "+1");
  emitter().RangePushA("c");
  EXPECT_EQ(story(), "");
  for (int i = 0; i < 3; ++i) emitter().RangePop();
  EXPECT_EQ(story(), "-1");
  // The same path, but another name.
  emitter().RangePushA("b/c");
  EXPECT_EQ(story(), "");
}

TEST_F(Nvtx, N3_attributes_honour_version_and_size) {
  watch({{.range = "step"}, {.range = ""}});
  nvtxEventAttributes_t event = attributes("step");
  pass(event);
  event.version = 1;
  pass(event);
  event.version = 7;  // a later version that only adds
  event.size = sizeof event + 64;
  pass(event);
  EXPECT_EQ(story(), "+0 -0 +0 -0 +0 -0");

  event = attributes("step");
  event.size = offsetof(nvtxEventAttributes_t, message);  // too short for a message: no name
  pass(event);
  event = attributes("step");
  event.version = 0;
  pass(event);
  event = attributes(emitter().DomainRegisterStringA(nullptr, "step"));
  event.version = 1;  // had no registered strings
  pass(event);
  event = attributes("step");
  event.messageType = 99;
  pass(event);
  pass(attributes(static_cast<const char*>(nullptr)));
  pass(attributes(static_cast<const wchar_t*>(nullptr)));
  emitter().RangePushA(nullptr);
  emitter().RangePop();
  emitter().RangePushEx(nullptr);
  emitter().RangePop();
  EXPECT_EQ(story(), "+1 -1 +1 -1 +1 -1 +1 -1 +1 -1 +1 -1 +1 -1 +1 -1");
}

TEST_F(Nvtx, N3_unknown_handles_nest_and_are_no_regions) {
  watch({{.range = "*"}});
  int elsewhere = 0;
  const auto domain = reinterpret_cast<nvtxDomainHandle_t>(&elsewhere);
  const nvtxEventAttributes_t text = attributes("step");
  const nvtxEventAttributes_t unknown = attributes(reinterpret_cast<nvtxStringHandle_t>(&elsewhere));
  EXPECT_EQ(emitter().DomainRangePushEx(domain, &text), 0);
  EXPECT_EQ(emitter().DomainRangePushEx(domain, &text), 1);
  EXPECT_EQ(emitter().RangePushEx(&unknown), 0);
  EXPECT_EQ(emitter().RangePop(), 0);
  EXPECT_EQ(emitter().DomainRangePop(domain), 1);
  EXPECT_EQ(emitter().DomainRangePop(domain), 0);
  EXPECT_EQ(story(), "");
}

TEST_F(Nvtx, N3_wide_text_becomes_utf8) {
  EXPECT_EQ(utf8(L"a\u00e9\u20ac\U0001F600"), "a\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80");
  const wchar_t broken[] = {L'x', static_cast<wchar_t>(0xD800), static_cast<wchar_t>(0x110000), L'y', 0};
  EXPECT_EQ(utf8(broken), "x\xEF\xBF\xBD\xEF\xBF\xBDy");
  EXPECT_EQ(utf8(L"ab\u20ac", 4), "ab");  // whole characters only
  EXPECT_EQ(utf8(L""), "");
}

TEST_F(Nvtx, N4_domains_and_strings_may_come_and_go_a_hundred_thousand_times) {
  watch({{.range = "step", .domain = "again"}});
  const auto loop = [](int count) {
    for (int i = 0; i < count; ++i) {
      const nvtxDomainHandle_t domain = emitter().DomainCreateA("again");
      const nvtxEventAttributes_t event = attributes(emitter().DomainRegisterStringA(domain, "step"));
      emitter().DomainRangePushEx(domain, &event);
      emitter().DomainRangePop(domain);
      emitter().DomainDestroy(domain);
    }
  };
  loop(10);
  EXPECT_EQ(events().size(), 20u);
  recorder().refuse(true);  // the record of the regions would grow
  const std::size_t before = mallinfo2().uordblks;
  loop(100000);
  EXPECT_LE(mallinfo2().uordblks, before + 4096);
  recorder().refuse(false);
  loop(1);
  EXPECT_EQ(story(), "+0 -0");
}

TEST_F(Nvtx, N8_a_hundred_thousand_names_match_by_pattern_and_stay_bounded) {
  watch({{.range = "training_step_*"}, {.range = "fixed"}});
  pass(attributes("fixed"));
  pass(attributes("training_step_first"));
  EXPECT_EQ(story(), "+1 -1 +0 -0");
  const std::size_t before = mallinfo2().uordblks;
  std::size_t opened = 0;
  char name[64];
  for (int i = 0; i < 100000; ++i) {
    std::snprintf(name, sizeof name, "training_step_%d", i);
    emitter().RangePushA(name);
    std::snprintf(name, sizeof name, "batch %d", i);
    emitter().RangePushA(name);
    opened += recorder().open_count();
    emitter().RangePop();
    emitter().RangePop();
    if (i % 1000 == 999) events();
  }
  EXPECT_EQ(opened, 100000u);
  EXPECT_LE(mallinfo2().uordblks, before + 65536);
  pass(attributes("fixed"));
  EXPECT_EQ(story(), "+1 -1");
  EXPECT_LE(recorder().unmatched_name_count(), 64u);
}

TEST_F(Nvtx, N8_long_names_are_matched_whole) {
  watch({{.range = "*end"}});
  const std::string long_name(5000, 'x');
  pass(attributes((long_name + "end").c_str()));
  EXPECT_EQ(story(), "+0 -0");
  pass(attributes((long_name + "other").c_str()));
  pass(attributes((long_name + "end").c_str()));
  EXPECT_EQ(story(), "+0 -0");
}

TEST_F(Nvtx, J2_rules_without_a_match_and_names_without_a_rule_are_known) {
  watch({{.range = "attention"}, {.range = "atention"}, {.range = "mlp*"}});
  for (int i = 0; i < 3; ++i) {
    for (const char* name : {"attention", "mlp_0", "router", "experts"}) pass(attributes(name));
  }
  EXPECT_TRUE(recorder().rule_was_matched(0));
  EXPECT_FALSE(recorder().rule_was_matched(1));
  EXPECT_TRUE(recorder().rule_was_matched(2));
  EXPECT_EQ(unmatched_names(), (std::vector<std::string>{"router", "experts"}));
  const std::string long_name(200, 'n');
  pass(attributes(long_name.c_str()));
  EXPECT_EQ(unmatched_names().back(), long_name.substr(0, 63));
  for (int i = 0; i < 1000; ++i) pass(attributes(std::to_string(i).c_str()));
  EXPECT_EQ(unmatched_names().size(), 64u);
}

TEST_F(Nvtx, N4_payload_ranges_nest_with_others) {
  // As NCCL does: opened by attributes, closed with a payload.
  watch({{.range = "AllReduce", .domain = "NCCL"}});
  const Emitter& nvtx = emitter();
  const nvtxDomainHandle_t domain = nvtx.DomainCreateA("NCCL");
  EXPECT_EQ(nvtx.DomainIsEnabled(domain), 1);  // programs ask before they open ranges
  const nvtxEventAttributes_t event = attributes("AllReduce");
  const std::uint64_t bytes = 42;
  const nvtxPayloadData_t payload{1, sizeof bytes, &bytes};
  EXPECT_EQ(nvtx.DomainRangePushEx(domain, &event), 0);
  EXPECT_EQ(nvtx.RangePushPayload(domain, &payload, 1), 1);
  EXPECT_EQ(nvtx.RangePopPayload(domain, &payload, 1), 1);
  EXPECT_EQ(nvtx.RangePopPayload(domain, &payload, 1), 0);
  EXPECT_EQ(nvtx.RangePopPayload(domain, &payload, 1), -1);
  EXPECT_EQ(story(), "+0 -0");
  const nvtxRangeId_t id = nvtx.DomainRangeStartEx(domain, &event);
  nvtx.RangeEndPayload(domain, id, &payload, 1);
  EXPECT_EQ(story(), "+0 -0");
  nvtx.DomainDestroy(domain);
}

}  // namespace refrain::tests
