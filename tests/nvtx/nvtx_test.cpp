#include "tests/nvtx/nvtx_test.h"

#include <dlfcn.h>

#include <cstdio>
#include <cstdlib>

namespace refrain::tests {

namespace {

/// Before the first NVTX call of the process, as NVTX asks once for each shared object.
const bool injected = setenv("NVTX_INJECTION64_PATH", NVTX_TEST_INJECTION, 1) == 0;

template <typename Table>
const Table& table_of(const char* path, const char* name) {
  return *reinterpret_cast<const Table* (*)()>(library_function(path, name))();
}

nvtxEventAttributes_t plain_attributes(nvtxMessageType_t type) {
  nvtxEventAttributes_t attributes{};
  attributes.version = NVTX_VERSION;
  attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  attributes.messageType = type;
  return attributes;
}

}  // namespace

void* library_function(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_LAZY | RTLD_LOCAL);
  void* function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return function;
}

const Recorder& recorder() {
  static const Recorder& table = table_of<Recorder>(NVTX_TEST_INJECTION, "nvtx_recorder");
  return table;
}

const Emitter& emitter() {
  static const Emitter& table = table_of<Emitter>(NVTX_TEST_EMITTER_A, "nvtx_emitter");
  return table;
}

const Emitter& other_emitter() {
  static const Emitter& table = table_of<Emitter>(NVTX_TEST_EMITTER_B, "nvtx_emitter");
  return table;
}

nvtxEventAttributes_t attributes(const char* text) {
  nvtxEventAttributes_t result = plain_attributes(NVTX_MESSAGE_TYPE_ASCII);
  result.message.ascii = text;
  return result;
}

nvtxEventAttributes_t attributes(const wchar_t* text) {
  nvtxEventAttributes_t result = plain_attributes(NVTX_MESSAGE_TYPE_UNICODE);
  result.message.unicode = text;
  return result;
}

nvtxEventAttributes_t attributes(nvtxStringHandle_t text) {
  nvtxEventAttributes_t result = plain_attributes(NVTX_MESSAGE_TYPE_REGISTERED);
  result.message.registered = text;
  return result;
}

void Nvtx::TearDown() {
  recorder().on_event(nullptr);
  recorder().thread_ends();
  recorder().clear();
}

void Nvtx::watch(std::initializer_list<RecorderRule> rules) {
  ASSERT_TRUE(injected);
  ASSERT_TRUE(recorder().set(rules.begin(), rules.size()));
}

std::vector<RecordedEvent> Nvtx::events() {
  std::vector<RecordedEvent> all;
  RecordedEvent some[64];
  while (const std::size_t count = recorder().take(some, std::size(some))) all.insert(all.end(), some, some + count);
  return all;
}

std::string Nvtx::story() {
  std::string text;
  for (const RecordedEvent& event : events()) {
    if (!text.empty()) text += ' ';
    switch (event.kind) {
      case RecordedEvent::Kind::opened: text += '+' + std::to_string(event.rule); break;
      case RecordedEvent::Kind::closed: text += '-' + std::to_string(event.rule); break;
      case RecordedEvent::Kind::closed_unknown: text += '?'; break;
    }
  }
  return text;
}

std::vector<std::string> Nvtx::unmatched_names() {
  std::vector<std::string> names;
  for (std::size_t i = 0; i < recorder().unmatched_name_count(); ++i) {
    char name[128];
    recorder().unmatched_name(i, name, sizeof name);
    names.emplace_back(name);
  }
  return names;
}

}  // namespace refrain::tests
