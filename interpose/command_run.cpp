// `refrain run`: the environment in which a program loads Refrain, and what is said and returned when it has ended.
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <string_view>

#include "interpose/child_process.h"
#include "interpose/command.h"
#include "interpose/find_library.h"
#include "interpose/run_report.h"
#include "policy/environment.h"
#include "policy/policy_file.h"

extern char** environ;

namespace refrain::interpose {
namespace {

/// Environment variables, as a list of NAME=value.
class Variables {
 public:
  Variables() {
    for (char** variable = environ; *variable != nullptr; ++variable) all_.emplace_back(*variable);
  }
  const char* get(std::string_view name) const {
    for (const std::string& variable : all_) {
      if (is_named(variable, name)) return variable.c_str() + name.size() + 1;
    }
    return nullptr;
  }
  void set(std::string_view name, std::string_view value) {
    std::erase_if(all_, [&](const std::string& variable) { return is_named(variable, name); });
    all_.push_back(std::string(name) + "=" + std::string(value));
  }
  const std::vector<std::string>& all() const { return all_; }

 private:
  static bool is_named(std::string_view variable, std::string_view name) {
    return variable.size() > name.size() && variable.starts_with(name) && variable[name.size()] == '=';
  }
  std::vector<std::string> all_;
};

/// The program may change its folder before it starts CUDA.
std::string absolute(const std::string& path) {
  std::error_code error;
  const std::filesystem::path result = std::filesystem::absolute(path, error);
  return path.empty() || error ? path : result.string();
}

void set_wishes(Variables& variables, const RunOptions& options) {
  if (options.policy) {
    variables.set("REFRAIN_POLICY",
                  *options.policy == policy::built_in_name ? *options.policy : absolute(*options.policy));
  }
  if (options.mode) variables.set("REFRAIN_MODE", *options.mode);
  if (options.log) variables.set("REFRAIN_LOG", absolute(*options.log));
  if (variables.get("REFRAIN_POLICY") == nullptr) variables.set("REFRAIN_POLICY", "built-in");
}

/// The library goes first among preloaded ones, and takes the ranges; who was to take them before gets them from it.
void set_library(Variables& variables, const std::string& library) {
  const char* preloaded = variables.get("LD_PRELOAD");
  const bool others = preloaded != nullptr && *preloaded != 0 && preloaded != library;
  variables.set("LD_PRELOAD", others ? library + ":" + preloaded : library);
  const char* injection = variables.get("NVTX_INJECTION64_PATH");
  if (injection != nullptr && *injection != 0 && injection != library) variables.set("REFRAIN_NVTX_CHAIN", injection);
  variables.set("NVTX_INJECTION64_PATH", library);
}

/// The last words, and the exit code. `active`: Refrain was to do something.
int conclude(const RunReport& report, bool active, int code) {
  bool fell_back = false;
  std::string log;
  const std::vector<Summary> summaries = report.read();
  if (summaries.empty() && active && !report.path().empty()) {
    std::fputs("refrain: no process on this machine told at its end that it had used CUDA\n", stderr);
  }
  for (const Summary& summary : summaries) {
    fell_back |= summary.strict && summary.fallbacks != 0;
    if (log.empty()) log = summary.log;
  }
  if (!log.empty()) std::fprintf(stderr, "refrain: next: refrain show %s\n", log.c_str());
  if (!fell_back) return code;
  std::fprintf(stderr, "refrain: strict: regions fell back\n");
  return code == 0 ? 3 : code;
}

}  // namespace

int run_program(const RunOptions& options) {
  const std::string library = find_library(options.library);
  if (library.empty()) {
    std::fprintf(stderr, "refrain: %s not found; give its path by --library\n",
                 options.library.empty() ? "librefrain.so" : options.library.c_str());
    return 2;
  }
  // The loader takes spaces and colons as the ends of a path.
  if (library.find_first_of(" :") != std::string::npos) {
    std::fprintf(stderr, "refrain: %s: LD_PRELOAD cannot name a path with a space or a colon\n", library.c_str());
    return 2;
  }
  Variables variables;
  set_wishes(variables, options);
  const policy::Environment environment =
      policy::read_environment([&](const char* name) { return variables.get(name); });
  for (const std::string& error : environment.errors) std::fprintf(stderr, "refrain: %s\n", error.c_str());
  if (!environment.errors.empty()) return 2;
  set_library(variables, library);
  const RunReport report;
  if (!report.path().empty()) variables.set(report_variable, report.path());
  const bool active = environment.settings.mode != policy::Mode::off;
  return conclude(report, active, run_child(options.program, variables.all()));
}

}  // namespace refrain::interpose
