#include "interpose/nvtx_injection.h"

#include <atomic>
#include <cstddef>

#include "interpose/nvtx_chain.h"
#include "interpose/nvtx_functions.h"

namespace refrain::interpose {

namespace {

constexpr const char* initialiser = "InitializeInjectionNvtx2";
constinit std::atomic<unsigned> clients_attached{0};
constinit std::atomic<unsigned> clients_unwatched{0};

/// What the slots of a client hold. NVTX 3 has at most 16 functions in a module; what a later one adds is not ours.
class Snapshot {
 public:
  explicit Snapshot(const ClientTables& tables) noexcept : tables_(tables) {
    each_slot([](NvtxFunctionPointer& slot, NvtxFunctionPointer& before) { before = slot; });
  }
  /// Puts every slot back: what a client of NVTX sees after a tool that declined.
  void restore() noexcept {
    each_slot([](NvtxFunctionPointer& slot, NvtxFunctionPointer& before) {
      if (slot != before) slot = before;
    });
  }
  bool changed(unsigned module, unsigned id) const noexcept {
    const NvtxFunctionPointer* slot = tables_.modules[module].slot(id);
    return slot != nullptr && id < max_slots && *slot != before_[module][id];
  }
  bool module_changed(unsigned module) const noexcept {
    for (unsigned id = 1; id < max_slots; ++id) {
      if (changed(module, id)) return true;
    }
    return false;
  }

 private:
  template <typename Visit>
  void each_slot(Visit visit) noexcept {
    for (unsigned module = 1; module < NVTX_CB_MODULE_SIZE; ++module) {
      for (unsigned id = 1; id < max_slots; ++id) {
        NvtxFunctionPointer* slot = tables_.modules[module].slot(id);
        if (slot != nullptr) visit(*slot, before_[module][id]);
      }
    }
  }

  static constexpr unsigned max_slots = 32;
  const ClientTables& tables_;
  NvtxFunctionPointer before_[NVTX_CB_MODULE_SIZE][max_slots]{};
};

bool read_tables(NvtxGetExportTableFunc_t get_export_table, ClientTables& tables) noexcept {
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  constexpr std::size_t needed =
      offsetof(NvtxExportTableCallbacks, GetModuleFunctionTable) + sizeof(callbacks->GetModuleFunctionTable);
  if (callbacks == nullptr || callbacks->struct_size < needed || callbacks->GetModuleFunctionTable == nullptr) {
    return false;
  }
  for (unsigned module = 1; module < NVTX_CB_MODULE_SIZE; ++module) {
    SlotTable table;
    const int known =
        callbacks->GetModuleFunctionTable(static_cast<NvtxCallbackModule>(module), &table.slots, &table.size);
    if (known != 0 && table.slots != nullptr) tables.modules[module] = table;
  }
  return tables.modules[NVTX_CB_MODULE_CORE].size != 0;
}

void tell_version(NvtxGetExportTableFunc_t get_export_table) noexcept {
  const auto* info = static_cast<const NvtxExportTableVersionInfo*>(get_export_table(NVTX_ETID_VERSIONINFO));
  constexpr std::size_t needed =
      offsetof(NvtxExportTableVersionInfo, SetInjectionNvtxVersion) + sizeof(info->SetInjectionNvtxVersion);
  if (info == nullptr || info->struct_size < needed || info->SetInjectionNvtxVersion == nullptr) return;
  info->SetInjectionNvtxVersion(NVTX_VERSION);
}

/// The tool's functions: what it put into a slot. A slot that it left alone holds the client's own initialiser, which
/// waits for the end of the attachment that is going on: it must not be called.
NextFunctions read_next(const ClientTables& tables, const Snapshot& before) noexcept {
  NextFunctions next;
#define ROW(module, name)                                                            \
  if (before.changed(NVTX_CB_MODULE_##module, NVTX_CBID_##module##_##name)) {        \
    next.name = reinterpret_cast<nvtx##name##_impl_fntype>(                          \
        *tables.modules[NVTX_CB_MODULE_##module].slot(NVTX_CBID_##module##_##name)); \
  }
  NVTX_REPLACED_FUNCTIONS(ROW)
#undef ROW
  // A tool must never be handed a value that it did not make.
  const bool tool_takes_domains = before.module_changed(NVTX_CB_MODULE_CORE2);
  const bool tool_takes_strings = tool_takes_domains || next.RangeStartEx != nullptr || next.RangePushEx != nullptr ||
                                  before.changed(NVTX_CB_MODULE_CORE, NVTX_CBID_CORE_MarkEx);
  next.own_domains = !tool_takes_domains;
  next.own_strings = !tool_takes_strings;
  next.own_ids = next.RangeEnd == nullptr && next.DomainRangeEnd == nullptr;
  return next;
}

template <unsigned Kind>
void fill_slots(const ClientTables& tables) noexcept {
#define ROW(module, name)                                                                                      \
  if (NvtxFunctionPointer* slot = tables.modules[NVTX_CB_MODULE_##module].slot(NVTX_CBID_##module##_##name)) { \
    const nvtx##name##_impl_fntype function = &Replaced<Kind>::name;                                           \
    __atomic_store_n(slot, reinterpret_cast<NvtxFunctionPointer>(function), __ATOMIC_RELEASE);                 \
  }
  NVTX_REPLACED_FUNCTIONS(ROW)
#undef ROW
}

template <unsigned Kind>
bool holds_ours(const ClientTables& tables) noexcept {
  const NvtxFunctionPointer* pop = tables.modules[NVTX_CB_MODULE_CORE].slot(NVTX_CBID_CORE_RangePop);
  const nvtxRangePop_impl_fntype ours = &Replaced<Kind>::RangePop;
  return pop != nullptr && *pop == reinterpret_cast<NvtxFunctionPointer>(ours);
}

static_assert(client_kinds == 4, "one row for each kind in the two functions below");

bool is_attached(const ClientTables& tables) noexcept {
  return holds_ours<0>(tables) || holds_ours<1>(tables) || holds_ours<2>(tables) || holds_ours<3>(tables);
}

bool fill_slots(const ClientTables& tables, int kind) noexcept {
  switch (kind) {
    case 0: fill_slots<0>(tables); return true;
    case 1: fill_slots<1>(tables); return true;
    case 2: fill_slots<2>(tables); return true;
    case 3: fill_slots<3>(tables); return true;
    default: return false;
  }
}

int attach(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (get_export_table == nullptr) return 0;
  const Attaching guard(reinterpret_cast<const void*>(get_export_table));
  if (!guard.is_first()) return 0;
  ClientTables tables;
  if (!read_tables(get_export_table, tables)) {
    clients_unwatched.fetch_add(1, std::memory_order_relaxed);
    return attach_tool(initialiser, get_export_table) == ToolAnswer::attached ? 1 : 0;
  }
  if (is_attached(tables)) return 1;
  Snapshot before(tables);
  if (attach_tool(initialiser, get_export_table) != ToolAnswer::attached) before.restore();
  if (!fill_slots(tables, next_functions.kind(read_next(tables, before)))) {
    clients_unwatched.fetch_add(1, std::memory_order_relaxed);
    return 1;
  }
  tell_version(get_export_table);
  clients_attached.fetch_add(1, std::memory_order_relaxed);
  return 1;
}

}  // namespace

NvtxClients nvtx_clients() noexcept {
  return {clients_attached.load(std::memory_order_relaxed), clients_unwatched.load(std::memory_order_relaxed)};
}

}  // namespace refrain::interpose

int InitializeInjectionNvtx2(NvtxGetExportTableFunc_t get_export_table) noexcept {
  return refrain::interpose::attach(get_export_table);
}

int InitializeInjectionNvtx(void* get_export_table) noexcept {
  using namespace refrain::interpose;
  return attach_tool("InitializeInjectionNvtx", get_export_table) == ToolAnswer::attached ? 1 : 0;
}
