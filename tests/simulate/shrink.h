// Makes a failing program small while it still fails.
#pragma once

#include <functional>

#include "tests/simulate/program.h"

namespace refrain::tests::simulate {

/// `fails` runs a program. At most `most_runs` are tried.
Program shrink(Program program, const std::function<bool(const Program&)>& fails, int most_runs);

}  // namespace refrain::tests::simulate
