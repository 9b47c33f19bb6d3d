// What all NVTX tests share: the injection, two emitters, and short ways to make messages and to read the record.
#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "tests/nvtx/emitter.h"
#include "tests/nvtx/recorder.h"

namespace refrain::tests {

/// A function of a shared object that was built beside the tests; ends the process when it is missing.
void* library_function(const char* path, const char* name);

const Recorder& recorder();
/// Two shared objects, each with its own NVTX.
const Emitter& emitter();
const Emitter& other_emitter();

/// Event attributes with a message.
nvtxEventAttributes_t attributes(const char* text);
nvtxEventAttributes_t attributes(const wchar_t* text);
nvtxEventAttributes_t attributes(nvtxStringHandle_t text);

class Nvtx : public testing::Test {
 protected:
  void TearDown() override;

  static void watch(std::initializer_list<RecorderRule> rules);
  static std::vector<RecordedEvent> events();
  /// The events since the last call: "+0" for an opened region of rule 0, "-0" for a closed one, "?" for an end of
  /// something that was not open.
  static std::string story();
  static std::vector<std::string> unmatched_names();
};

}  // namespace refrain::tests
