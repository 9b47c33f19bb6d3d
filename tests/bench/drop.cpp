// The switch of the library of the bound: while it is on, no launch is issued that Refrain could hold.
#include "replay/planted_bug.h"

std::atomic<bool> refrain::replay::launches_drop{false};

/// To be called between refrain_pause() and refrain_resume(): what is held when it changes would be lost, or issued.
extern "C" [[gnu::visibility("default")]] void refrain_drop(int on);

void refrain_drop(int on) { refrain::replay::launches_drop.store(on != 0, std::memory_order_relaxed); }
