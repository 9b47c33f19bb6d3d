#include "interpose/command.h"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <exception>

#include "capture/command_show.h"
#include "interpose/version.h"
#include "policy/command_check.h"
#include "policy/words.h"

namespace refrain::interpose {
namespace {

std::vector<std::string> modes() {
  std::vector<std::string> words;
  for (const std::string_view word : policy::mode_words()) words.emplace_back(word);
  return words;
}

void add_run(CLI::App& command, RunOptions& options) {
  CLI::App* run =
      command.add_subcommand("run", "run a program, and replay its repeated kernel sequences as CUDA graphs");
  run->add_option("--policy", options.policy, "policy file, or built-in (default: $REFRAIN_POLICY, else built-in)")
      ->type_name("FILE");
  run->add_option("--mode", options.mode, "instead of the policy's mode")->check(CLI::IsMember(modes()));
  run->add_option("--log", options.log, "capture log: folder, file or pattern; empty for none")->type_name("PATH");
  run->add_option("--library", options.library, "librefrain.so to load (default: the one beside this program)")
      ->type_name("FILE");
  run->add_option("program", options.program, "the program and its arguments, after --")->required();
  run->positionals_at_end();
  run->footer(
      "The exit code is the program's own; 2 when it was not started; in mode strict 3 when it succeeded and regions\n"
      "fell back. Example: refrain run --log logs/ -- python train.py");
}

int parse_and_run(int count, char** arguments) {
  CLI::App command("Refrain makes an unmodified CUDA program launch its repeated kernel sequences as CUDA graphs.",
                   "refrain");
  command.set_version_flag("--version", std::string("refrain ") + refrain_version);
  command.require_subcommand(1);
  RunOptions run_options;
  add_run(command, run_options);

  std::string policy_path;
  bool print_effective = false;
  CLI::App* check = command.add_subcommand("check", "check a policy file");
  check->add_option("policy", policy_path, "policy file, or built-in")->required()->type_name("FILE");
  check->add_flag("--effective", print_effective, "print the whole policy, with every setting's value and meaning");

  std::string log_path;
  capture::ShowOptions show_options;
  CLI::App* show = command.add_subcommand("show", "show what a capture log tells");
  show->add_option("log", log_path, "capture log")->required()->type_name("FILE");
  show->add_flag("--json", show_options.json, "the last counters as one JSON object");
  show->add_option("--operations", show_options.operations, "list the recorded operations of a region")
      ->type_name("REGION");
  show->add_option("--variant", show_options.variant, "which variant of that region")->needs("--operations");

  try {
    command.parse(count, arguments);
  } catch (const CLI::ParseError& error) {
    return command.exit(error) == 0 ? 0 : 2;
  }
  if (check->parsed()) return policy::run_check(policy_path, print_effective, stdout, stderr);
  if (show->parsed()) return capture::run_show(log_path, show_options, stdout, stderr);
  return run_program(run_options);
}

}  // namespace

int run_command(int count, char** arguments) {
  try {
    return parse_and_run(count, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "refrain: %s\n", error.what());
    return 2;
  }
}

}  // namespace refrain::interpose
