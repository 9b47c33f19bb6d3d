// A shared object that uses NVTX as any program does: by its headers, with tables of its own.
//
// It is built twice, so that a process has two clients of NVTX. A test opens it and takes the table from
// "nvtx_emitter".
#pragma once

#ifndef NVTX_EMITTER_IMPLEMENTATION
#define NVTX_NO_IMPL
#endif
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#define EMITTED_FUNCTIONS(ROW) \
  ROW(MarkEx)                  \
  ROW(MarkA)                   \
  ROW(MarkW)                   \
  ROW(RangeStartEx)            \
  ROW(RangeStartA)             \
  ROW(RangeStartW)             \
  ROW(RangeEnd)                \
  ROW(RangePushEx)             \
  ROW(RangePushA)              \
  ROW(RangePushW)              \
  ROW(RangePop)                \
  ROW(NameCategoryA)           \
  ROW(NameCategoryW)           \
  ROW(NameOsThreadA)           \
  ROW(NameOsThreadW)           \
  ROW(DomainMarkEx)            \
  ROW(DomainRangeStartEx)      \
  ROW(DomainRangeEnd)          \
  ROW(DomainRangePushEx)       \
  ROW(DomainRangePop)          \
  ROW(DomainResourceCreate)    \
  ROW(DomainResourceDestroy)   \
  ROW(DomainNameCategoryA)     \
  ROW(DomainNameCategoryW)     \
  ROW(DomainRegisterStringA)   \
  ROW(DomainRegisterStringW)   \
  ROW(DomainCreateA)           \
  ROW(DomainCreateW)           \
  ROW(DomainDestroy)           \
  ROW(Initialize)              \
  ROW(RangePushPayload) ROW(RangePopPayload) ROW(RangeStartPayload) ROW(RangeEndPayload) ROW(DomainIsEnabled)

namespace refrain::tests {

struct Emitter {
#define ROW(name) decltype(&nvtx##name) name;
  EMITTED_FUNCTIONS(ROW)
#undef ROW
};

}  // namespace refrain::tests

extern "C" [[gnu::visibility("default")]] const refrain::tests::Emitter* nvtx_emitter();
