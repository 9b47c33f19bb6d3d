// Prints, when the library is built, what it exports: `map` a version script, with names that are given added;
// `assembly` the driver's names, each a jump through the table of hooks. One list and one classification decide about
// both. `names` is the whole list, for tests.
#include <cstdio>
#include <cstring>

#include "interpose/entry_points.h"

namespace {

using namespace refrain::interpose;

template <typename Print>
void for_each_export(Print print) {
  for (unsigned i = 0; i < entry_point_count; ++i) {
    if (is_hooked(static_cast<EntryPoint>(i))) print(entry_point_names[i], i);
  }
}

void print_map(char** more) {
  std::puts("{\n  global:\n    dlsym;");
  std::puts("    InitializeInjectionNvtx;\n    InitializeInjectionNvtx2;\n    InitializeInjectionNvtxExtension;");
  std::puts("    refrain_pause;\n    refrain_resume;\n    refrain_stats;");
  for (; *more != nullptr; ++more) std::printf("    %s;\n", *more);
  for_each_export([](const char* name, unsigned) { std::printf("    %s;\n", name); });
  std::puts("  local:\n    *;\n};");
}

void print_assembly() {
  std::puts("  .text\n  .hidden refrain_hooks\n  .hidden refrain_exports_begin\n  .hidden refrain_exports_end");
  std::puts("  .globl refrain_exports_begin\n  .globl refrain_exports_end\n  .p2align 4\nrefrain_exports_begin:");
  std::puts("  .macro export name, number\n  .globl \\name\n  .type \\name, %function\n  .p2align 3\n\\name:");
  std::puts("#if defined(__x86_64__)\n  jmp *(refrain_hooks + 8 * \\number)(%rip)\n#else");
  std::puts("  adrp x16, refrain_hooks + 8 * \\number\n  ldr x16, [x16, :lo12:(refrain_hooks + 8 * \\number)]");
  std::puts("  br x16\n#endif\n  .size \\name, . - \\name\n  .endm");
  for_each_export([](const char* name, unsigned number) { std::printf("  export %s, %u\n", name, number); });
  std::puts("refrain_exports_end:\n  .section .note.GNU-stack, \"\", %progbits");
}

}  // namespace

int main(int count, char** arguments) {
  if (count >= 2 && std::strcmp(arguments[1], "map") == 0) {
    print_map(arguments + 2);
  } else if (count == 2 && std::strcmp(arguments[1], "assembly") == 0) {
    print_assembly();
  } else if (count == 2 && std::strcmp(arguments[1], "names") == 0) {
    for (const char* name : entry_point_names) std::puts(name);
  } else {
    std::fputs("usage: list_exports map [NAME...]|assembly|names\n", stderr);
    return 2;
  }
  return 0;
}
