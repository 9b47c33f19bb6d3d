// A toy of the tool that was configured before us. A test opens it and takes the table from "chained_tool".
#pragma once

namespace refrain::tests {

struct ChainedTool {
  enum class Mode {
    usual,       ///< fills all slots but RangePushW, NameOsThreadW and RangeStartW
    other,       ///< the same, with other functions for push and pop
    push_only,   ///< fills RangePushA and RangePop
    end_only,    ///< fills RangeEnd
    declines,    ///< fills all, then returns 0
    comes_back,  ///< as usual, but first looks for an injection in the variable and calls it
  };
  void (*set_mode)(Mode mode);
  /// Told each call, in one line.
  void (*on_call)(void (*listener)(const char* line));
  int (*initialised)();
};

}  // namespace refrain::tests

extern "C" [[gnu::visibility("default")]] const refrain::tests::ChainedTool* chained_tool();
