/* How many trampolines there are, and how far apart: for trampoline.S and trampoline.cpp. */
#pragma once

#define REFRAIN_TRAMPOLINES 256
#define REFRAIN_TRAMPOLINE_BYTES 16
