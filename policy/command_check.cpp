#include "policy/command_check.h"

#include "policy/describe.h"
#include "policy/policy_file.h"

namespace refrain::policy {

namespace {

int check(const std::string& path, bool print_effective, std::FILE* out, std::FILE* err) {
  const ParseResult result = load_policy(path);
  if (!result.ok) {
    for (const PolicyError& error : result.errors) std::fprintf(err, "%s\n", to_string(error).c_str());
    if (result.errors.empty()) std::fprintf(err, "%s: not enough memory to read the policy\n", path.c_str());
    if (result.errors.size() == ErrorList::limit) std::fputs("there may be more faults than these\n", err);
    return 1;
  }
  std::fprintf(out, "%s: ok\n", printable(path, 4096).c_str());
  if (print_effective) {
    std::fprintf(out, "%s\n\n%s", to_json(result.settings).c_str(), settings_table(result.settings).c_str());
  }
  return 0;
}

}  // namespace

int run_check(const std::string& path, bool print_effective, std::FILE* out, std::FILE* err) noexcept {
  try {
    return check(path, print_effective, out, err);
  } catch (...) {
    return 1;
  }
}

}  // namespace refrain::policy
