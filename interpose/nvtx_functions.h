// What Refrain puts into a client's slots: tell the ranges, and pass the call on.
//
// A range of ours lies inside the chained tool's: opened after its push, closed before its pop, so that launches held
// in the range are issued inside the range that the tool sees.
//
// The value returned is the tool's where a tool took the call. Else it is the nesting level, at least 0, as a tool
// would return it; programs exist that pop only what was pushed at such a level.
#pragma once

#include <cstddef>

#include "interpose/nvtx_chain.h"
#include "interpose/range_names.h"
#include "interpose/ranges.h"

namespace refrain::interpose {

/// The message of event attributes. A structure that is too short for one, or of no version, has none.
inline RangeMessage message_of(const nvtxEventAttributes_t* attributes) noexcept {
  constexpr std::size_t needed = offsetof(nvtxEventAttributes_t, message) + sizeof(nvtxMessageValue_t);
  if (attributes == nullptr || attributes->version == 0 || attributes->size < needed) return {};
  switch (attributes->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII: return {RangeMessage::Kind::text, attributes->message.ascii};
    case NVTX_MESSAGE_TYPE_UNICODE: return {RangeMessage::Kind::wide, attributes->message.unicode};
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (attributes->version < 2) return {};
      return {RangeMessage::Kind::registered, attributes->message.registered};
    default: return {};
  }
}

inline RangeMessage message_of(const char* text) noexcept { return {RangeMessage::Kind::text, text}; }
inline RangeMessage message_of(const wchar_t* text) noexcept { return {RangeMessage::Kind::wide, text}; }

/// Handles and identifiers of ours that a program gets when no tool gives it any.
template <typename Handle>
Handle own_handle() noexcept {
  return reinterpret_cast<Handle>(static_cast<std::uintptr_t>(own_number()));
}

/// The functions for one kind of client.
template <unsigned Kind>
struct Replaced {
  static const NextFunctions& next() noexcept { return next_functions[Kind]; }

  // ---- push and pop
  template <typename Message>
  static int push(int (*next_push)(Message), Message message) noexcept {
    const int tools_level = next_push != nullptr ? next_push(message) : 0;
    const int level = range_pushed(nullptr, message_of(message));
    return next_push != nullptr ? tools_level : level;
  }
  static int RangePushEx(const nvtxEventAttributes_t* attributes) noexcept {
    return push(next().RangePushEx, attributes);
  }
  static int RangePushA(const char* text) noexcept { return push(next().RangePushA, text); }
  static int RangePushW(const wchar_t* text) noexcept { return push(next().RangePushW, text); }
  static int RangePop() noexcept {
    const int level = range_popped(nullptr);
    return next().RangePop != nullptr ? next().RangePop() : level;
  }
  static int DomainRangePushEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
    const auto next_push = next().DomainRangePushEx;
    const int tools_level = next_push != nullptr ? next_push(domain, attributes) : 0;
    const int level = range_pushed(domain, message_of(attributes));
    return next_push != nullptr ? tools_level : level;
  }
  static int DomainRangePop(nvtxDomainHandle_t domain) noexcept {
    const int level = range_popped(domain);
    return next().DomainRangePop != nullptr ? next().DomainRangePop(domain) : level;
  }

  // ---- start and end
  static nvtxRangeId_t started(nvtxDomainHandle_t domain, RangeMessage message, bool passed,
                               nvtxRangeId_t tools_id) noexcept {
    nvtxRangeId_t id = tools_id;
    if (!passed && next().own_ids) id = own_number();
    range_started(domain, message, id);
    return id;
  }
  template <typename Message>
  static nvtxRangeId_t start(nvtxRangeId_t (*next_start)(Message), Message message) noexcept {
    const nvtxRangeId_t id = next_start != nullptr ? next_start(message) : 0;
    return started(nullptr, message_of(message), next_start != nullptr, id);
  }
  static nvtxRangeId_t RangeStartEx(const nvtxEventAttributes_t* attributes) noexcept {
    return start(next().RangeStartEx, attributes);
  }
  static nvtxRangeId_t RangeStartA(const char* text) noexcept { return start(next().RangeStartA, text); }
  static nvtxRangeId_t RangeStartW(const wchar_t* text) noexcept { return start(next().RangeStartW, text); }
  static void RangeEnd(nvtxRangeId_t id) noexcept {
    range_ended(nullptr, id);
    if (next().RangeEnd != nullptr) next().RangeEnd(id);
  }
  static nvtxRangeId_t DomainRangeStartEx(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* attributes) noexcept {
    const auto next_start = next().DomainRangeStartEx;
    const nvtxRangeId_t id = next_start != nullptr ? next_start(domain, attributes) : 0;
    return started(domain, message_of(attributes), next_start != nullptr, id);
  }
  static void DomainRangeEnd(nvtxDomainHandle_t domain, nvtxRangeId_t id) noexcept {
    range_ended(domain, id);
    if (next().DomainRangeEnd != nullptr) next().DomainRangeEnd(domain, id);
  }

  // ---- names
  template <typename Text>
  static nvtxStringHandle_t register_string(nvtxStringHandle_t (*next_register)(nvtxDomainHandle_t, Text),
                                            nvtxDomainHandle_t domain, Text text) noexcept {
    nvtxStringHandle_t handle = nullptr;
    if (next_register != nullptr) {
      handle = next_register(domain, text);
    } else if (next().own_strings) {
      handle = own_handle<nvtxStringHandle_t>();
    }
    if (handle != nullptr) string_registered(domain, handle, RangeName(message_of(text)).text());
    return handle;
  }
  static nvtxStringHandle_t DomainRegisterStringA(nvtxDomainHandle_t domain, const char* text) noexcept {
    return register_string(next().DomainRegisterStringA, domain, text);
  }
  static nvtxStringHandle_t DomainRegisterStringW(nvtxDomainHandle_t domain, const wchar_t* text) noexcept {
    return register_string(next().DomainRegisterStringW, domain, text);
  }
  template <typename Text>
  static nvtxDomainHandle_t create_domain(nvtxDomainHandle_t (*next_create)(Text), Text name) noexcept {
    nvtxDomainHandle_t handle = nullptr;
    if (next_create != nullptr) {
      handle = next_create(name);
    } else if (next().own_domains) {
      handle = own_handle<nvtxDomainHandle_t>();
    }
    if (handle != nullptr) domain_created(handle, RangeName(message_of(name)).text());
    return handle;
  }
  static nvtxDomainHandle_t DomainCreateA(const char* name) noexcept {
    return create_domain(next().DomainCreateA, name);
  }
  static nvtxDomainHandle_t DomainCreateW(const wchar_t* name) noexcept {
    return create_domain(next().DomainCreateW, name);
  }
  static void DomainDestroy(nvtxDomainHandle_t domain) noexcept {
    if (domain_destroyed(domain)) ranges_domain_ends(domain);
    if (next().DomainDestroy != nullptr) next().DomainDestroy(domain);
  }
};

}  // namespace refrain::interpose
