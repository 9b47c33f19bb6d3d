// The payload extension of NVTX 3, as far as it opens and closes ranges.
//
// Programs mix both interfaces: NCCL opens a range by nvtxDomainRangePushEx and closes it by nvtxRangePopPayload. Names
// in payloads are not read; such a range only nests.
#include <cstddef>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExtPayload.h>
#undef NVTX_NO_IMPL

#include "interpose/nvtx_chain.h"
#include "interpose/nvtx_injection.h"
#include "interpose/ranges.h"

namespace refrain::interpose {

namespace {

// What an extension's slot holds when nobody filled it.
constexpr std::intptr_t slot_unused = 0, slot_off = 1;

struct NextPayloadFunctions {
  int (*push)(nvtxDomainHandle_t, const nvtxPayloadData_t*, std::size_t) = nullptr;
  int (*pop)(nvtxDomainHandle_t, const nvtxPayloadData_t*, std::size_t) = nullptr;
  void (*end)(nvtxDomainHandle_t, nvtxRangeId_t, const nvtxPayloadData_t*, std::size_t) = nullptr;
  bool operator==(const NextPayloadFunctions&) const noexcept = default;
};

constinit ClientKinds<NextPayloadFunctions> next_payload_functions;

template <unsigned Kind>
struct ReplacedPayload {
  static const NextPayloadFunctions& next() noexcept { return next_payload_functions[Kind]; }
  static int push(nvtxDomainHandle_t domain, const nvtxPayloadData_t* data, std::size_t count) noexcept {
    const int tools_level = next().push != nullptr ? next().push(domain, data, count) : 0;
    const int level = range_pushed(domain, {RangeMessage::Kind::unreadable, nullptr});
    return next().push != nullptr ? tools_level : level;
  }
  static int pop(nvtxDomainHandle_t domain, const nvtxPayloadData_t* data, std::size_t count) noexcept {
    const int level = range_popped(domain);
    return next().pop != nullptr ? next().pop(domain, data, count) : level;
  }
  static void end(nvtxDomainHandle_t domain, nvtxRangeId_t id, const nvtxPayloadData_t* data,
                  std::size_t count) noexcept {
    range_ended(domain, id);
    if (next().end != nullptr) next().end(domain, id, data, count);
  }
};

class PayloadSlots {
 public:
  explicit PayloadSlots(const nvtxExtModuleInfo_t& module) noexcept : segment_(module.segments[0]) {}

  template <typename Function>
  void read(std::size_t id, Function& function) const noexcept {
    if (id >= segment_.slotCount) return;
    const std::intptr_t value = segment_.functionSlots[id];
    if (value != slot_unused && value != slot_off) function = reinterpret_cast<Function>(value);
  }
  template <typename Function>
  void fill(std::size_t id, Function* function) const noexcept {
    if (id < segment_.slotCount) segment_.functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
  }
  template <unsigned Kind>
  void fill_kind() const noexcept {
    fill(NVTX3EXT_CBID_nvtxRangePushPayload, &ReplacedPayload<Kind>::push);
    fill(NVTX3EXT_CBID_nvtxRangePopPayload, &ReplacedPayload<Kind>::pop);
    fill(NVTX3EXT_CBID_nvtxRangeEndPayload, &ReplacedPayload<Kind>::end);
  }
  /// What a client sees after a tool that declined.
  void forget() const noexcept {
    for (std::size_t i = 0; i < segment_.slotCount; ++i) segment_.functionSlots[i] = slot_unused;
  }

 private:
  const nvtxExtModuleSegment_t& segment_;
};

bool is_payload_module(const nvtxExtModuleInfo_t& module) noexcept {
  return module.structSize >= offsetof(nvtxExtModuleInfo_t, segments) + sizeof(void*) &&
         module.moduleId == NVTX_EXT_PAYLOAD_MODULEID && module.segmentsCount != 0 && module.segments != nullptr &&
         module.segments[0].functionSlots != nullptr;
}

static_assert(client_kinds == 4, "one row for each kind in the function below");

int attach(nvtxExtModuleInfo_t* module) noexcept {
  if (module == nullptr) return 0;
  const Attaching guard(module);
  if (!guard.is_first()) return 0;
  const ToolAnswer answer = attach_tool("InitializeInjectionNvtxExtension", module);
  if (!is_payload_module(*module)) return answer == ToolAnswer::attached ? 1 : 0;
  const PayloadSlots slots(*module);
  if (answer != ToolAnswer::attached) slots.forget();
  NextPayloadFunctions next;
  slots.read(NVTX3EXT_CBID_nvtxRangePushPayload, next.push);
  slots.read(NVTX3EXT_CBID_nvtxRangePopPayload, next.pop);
  slots.read(NVTX3EXT_CBID_nvtxRangeEndPayload, next.end);
  switch (next_payload_functions.kind(next)) {
    case 0: slots.fill_kind<0>(); break;
    case 1: slots.fill_kind<1>(); break;
    case 2: slots.fill_kind<2>(); break;
    case 3: slots.fill_kind<3>(); break;
    default: return answer == ToolAnswer::attached ? 1 : 0;
  }
  return 1;
}

}  // namespace

}  // namespace refrain::interpose

int InitializeInjectionNvtxExtension(void* module) noexcept {
  return refrain::interpose::attach(static_cast<nvtxExtModuleInfo_t*>(module));
}
