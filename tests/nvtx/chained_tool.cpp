#include "tests/nvtx/chained_tool.h"

#include <dlfcn.h>

#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#define NVTX_NO_IMPL
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

namespace refrain::tests {

namespace {

std::atomic<ChainedTool::Mode> mode{ChainedTool::Mode::usual};
std::atomic<void (*)(const char*)> listener{nullptr};
std::atomic<int> initialised{0};

[[gnu::format(printf, 1, 2)]] void say(const char* format, ...) {
  char line[256];
  std::va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  if (auto* listen = listener.load()) listen(line);
}

/// Handles that look like nobody else's: small numbers, told apart by their kind.
template <typename Handle>
Handle handle(std::uintptr_t number) {
  return reinterpret_cast<Handle>(number);
}
template <typename Handle>
unsigned long number(Handle handle) {
  return static_cast<unsigned long>(reinterpret_cast<std::uintptr_t>(handle));
}
std::atomic<std::uintptr_t> last_handle{0};

const char* text(const nvtxEventAttributes_t* event) {
  return event->messageType == NVTX_MESSAGE_TYPE_ASCII ? event->message.ascii : "?";
}

void mark_ex(const nvtxEventAttributes_t* event) { say("MarkEx %s", text(event)); }
void mark_a(const char* message) { say("MarkA %s", message); }
void mark_w(const wchar_t* message) { say("MarkW %ls", message); }
nvtxRangeId_t start_ex(const nvtxEventAttributes_t* event) { return say("RangeStartEx %s", text(event)), 71; }
nvtxRangeId_t start_a(const char* message) { return say("RangeStartA %s", message), 72; }
void end(nvtxRangeId_t id) { say("RangeEnd %lu", static_cast<unsigned long>(id)); }
int push_ex(const nvtxEventAttributes_t* event) {
  if (event->messageType == NVTX_MESSAGE_TYPE_REGISTERED) {
    return say("RangePushEx registered %lu", number(event->message.registered)), 100;
  }
  return say("RangePushEx %s", text(event)), 100;
}
int push_a(const char* message) { return say("RangePushA %s", message), 101; }
int pop() { return say("RangePop"), 102; }
int other_push_a(const char* message) { return say("other RangePushA %s", message), 201; }
int other_pop() { return say("other RangePop"), 202; }
void category_a(std::uint32_t id, const char* name) { say("NameCategoryA %u %s", id, name); }
void category_w(std::uint32_t id, const wchar_t* name) { say("NameCategoryW %u %ls", id, name); }
void thread_a(std::uint32_t, const char* name) { say("NameOsThreadA %s", name); }

void domain_mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  say("DomainMarkEx %lu %s", number(domain), text(event));
}
nvtxRangeId_t domain_start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return say("DomainRangeStartEx %lu %s", number(domain), text(event)), 73;
}
void domain_end(nvtxDomainHandle_t domain, nvtxRangeId_t id) {
  say("DomainRangeEnd %lu %lu", number(domain), static_cast<unsigned long>(id));
}
int domain_push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* event) {
  return say("DomainRangePushEx %lu %s", number(domain), text(event)), 103;
}
int domain_pop(nvtxDomainHandle_t domain) { return say("DomainRangePop %lu", number(domain)), 104; }
nvtxResourceHandle_t resource(nvtxDomainHandle_t domain, nvtxResourceAttributes_t*) {
  return say("DomainResourceCreate %lu", number(domain)), handle<nvtxResourceHandle_t>(900);
}
void resource_gone(nvtxResourceHandle_t gone) { say("DomainResourceDestroy %lu", number(gone)); }
void domain_category_a(nvtxDomainHandle_t domain, std::uint32_t, const char* name) {
  say("DomainNameCategoryA %lu %s", number(domain), name);
}
void domain_category_w(nvtxDomainHandle_t domain, std::uint32_t, const wchar_t* name) {
  say("DomainNameCategoryW %lu %ls", number(domain), name);
}
nvtxStringHandle_t string_a(nvtxDomainHandle_t domain, const char* name) {
  return say("DomainRegisterStringA %lu %s", number(domain), name), handle<nvtxStringHandle_t>(++last_handle);
}
nvtxStringHandle_t string_w(nvtxDomainHandle_t domain, const wchar_t* name) {
  return say("DomainRegisterStringW %lu %ls", number(domain), name), handle<nvtxStringHandle_t>(++last_handle);
}
nvtxDomainHandle_t domain_a(const char* name) {
  return say("DomainCreateA %s", name), handle<nvtxDomainHandle_t>(++last_handle);
}
nvtxDomainHandle_t domain_w(const wchar_t* name) {
  return say("DomainCreateW %ls", name), handle<nvtxDomainHandle_t>(++last_handle);
}
void domain_gone(nvtxDomainHandle_t domain) { say("DomainDestroy %lu", number(domain)); }
void initialize(const void*) { say("Initialize"); }

int pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t*, std::size_t count) {
  return say("RangePopPayload %lu %zu", number(domain), count), 105;
}

class Slots {
 public:
  explicit Slots(NvtxGetExportTableFunc_t get) {
    const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get(NVTX_ETID_CALLBACKS));
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core_, nullptr);
    callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2_, nullptr);
  }
  template <typename Function>
  void core(unsigned id, Function function) {
    *core_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }
  template <typename Function>
  void core2(unsigned id, Function function) {
    *core2_[id] = reinterpret_cast<NvtxFunctionPointer>(function);
  }

 private:
  NvtxFunctionTable core_ = nullptr, core2_ = nullptr;
};

void fill(Slots& slots) {
  slots.core(NVTX_CBID_CORE_MarkEx, mark_ex);
  slots.core(NVTX_CBID_CORE_MarkA, mark_a);
  slots.core(NVTX_CBID_CORE_MarkW, mark_w);
  slots.core(NVTX_CBID_CORE_RangeStartEx, start_ex);
  slots.core(NVTX_CBID_CORE_RangeStartA, start_a);
  slots.core(NVTX_CBID_CORE_RangeEnd, end);
  slots.core(NVTX_CBID_CORE_RangePushEx, push_ex);
  slots.core(NVTX_CBID_CORE_RangePushA, push_a);
  slots.core(NVTX_CBID_CORE_RangePop, pop);
  slots.core(NVTX_CBID_CORE_NameCategoryA, category_a);
  slots.core(NVTX_CBID_CORE_NameCategoryW, category_w);
  slots.core(NVTX_CBID_CORE_NameOsThreadA, thread_a);
  slots.core2(NVTX_CBID_CORE2_DomainMarkEx, domain_mark);
  slots.core2(NVTX_CBID_CORE2_DomainRangeStartEx, domain_start);
  slots.core2(NVTX_CBID_CORE2_DomainRangeEnd, domain_end);
  slots.core2(NVTX_CBID_CORE2_DomainRangePushEx, domain_push);
  slots.core2(NVTX_CBID_CORE2_DomainRangePop, domain_pop);
  slots.core2(NVTX_CBID_CORE2_DomainResourceCreate, resource);
  slots.core2(NVTX_CBID_CORE2_DomainResourceDestroy, resource_gone);
  slots.core2(NVTX_CBID_CORE2_DomainNameCategoryA, domain_category_a);
  slots.core2(NVTX_CBID_CORE2_DomainNameCategoryW, domain_category_w);
  slots.core2(NVTX_CBID_CORE2_DomainRegisterStringA, string_a);
  slots.core2(NVTX_CBID_CORE2_DomainRegisterStringW, string_w);
  slots.core2(NVTX_CBID_CORE2_DomainCreateA, domain_a);
  slots.core2(NVTX_CBID_CORE2_DomainCreateW, domain_w);
  slots.core2(NVTX_CBID_CORE2_DomainDestroy, domain_gone);
  slots.core2(NVTX_CBID_CORE2_Initialize, initialize);
}

/// As a tool does that chains to an injection which was configured before it: it finds whoever is configured now.
void come_back(NvtxGetExportTableFunc_t get) {
  void* injection = dlopen(std::getenv("NVTX_INJECTION64_PATH"), RTLD_LAZY);
  const auto initialise =
      reinterpret_cast<NvtxInitializeInjectionNvtxFunc_t>(dlsym(injection, "InitializeInjectionNvtx2"));
  say("came back: %d", initialise(get));
}

constexpr ChainedTool table{
    .set_mode = [](ChainedTool::Mode chosen) { mode = chosen; },
    .on_call = [](void (*chosen)(const char*)) { listener = chosen; },
    .initialised = [] { return initialised.load(); },
};

}  // namespace

}  // namespace refrain::tests

const refrain::tests::ChainedTool* chained_tool() { return &refrain::tests::table; }

extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get);
extern "C" [[gnu::visibility("default")]] int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module);

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get) {
  using namespace refrain::tests;
  using Mode = ChainedTool::Mode;
  ++initialised;
  Slots slots(get);
  const Mode chosen = mode;
  if (chosen == Mode::comes_back) come_back(get);
  if (chosen == Mode::push_only) {
    slots.core(NVTX_CBID_CORE_RangePushA, push_a);
    slots.core(NVTX_CBID_CORE_RangePop, pop);
    return 1;
  }
  if (chosen == Mode::end_only) {
    slots.core(NVTX_CBID_CORE_RangeEnd, end);
    return 1;
  }
  fill(slots);
  if (chosen == Mode::other) {
    slots.core(NVTX_CBID_CORE_RangePushA, other_push_a);
    slots.core(NVTX_CBID_CORE_RangePop, other_pop);
  }
  return chosen == Mode::declines ? 0 : 1;
}

int InitializeInjectionNvtxExtension(nvtxExtModuleInfo_t* module) {
  if (module->moduleId != NVTX_EXT_PAYLOAD_MODULEID) return 0;
  module->segments[0].functionSlots[NVTX3EXT_CBID_nvtxRangePopPayload] =
      reinterpret_cast<intptr_t>(&refrain::tests::pop_payload);
  return 1;
}
