#include "tests/simulated_driver/registry.h"

#include <dlfcn.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <string>

#include "tests/simulated_driver/options.h"

namespace refrain::tests::simulated {
namespace {

using Register = void (*)(Registry*);

class Bodies : public Registry {
 public:
  Bodies() : Registry{add_body} {}

  KernelBody find(const char* name) {
    const std::lock_guard lock(mutex_);
    if (!libraries_opened_) {
      libraries_opened_ = true;
      open_libraries();
    }
    if (const auto found = bodies_.find(name); found != bodies_.end()) return found->second;
    ask(reinterpret_cast<Register>(dlsym(RTLD_DEFAULT, "refrain_sim_register")));
    const auto found = bodies_.find(name);
    return found != bodies_.end() ? found->second : nullptr;
  }

 private:
  static void add_body(Registry* registry, const char* name, KernelBody body) {
    static_cast<Bodies*>(registry)->bodies_[name] = body;
  }

  void open_libraries() {
    std::string names = options().kernels;
    while (!names.empty()) {
      const size_t end = names.find(':');
      const std::string name = names.substr(0, end);
      names = end == std::string::npos ? "" : names.substr(end + 1);
      if (name.empty()) continue;
      void* library = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL);
      if (library == nullptr) {
        std::fprintf(stderr, "simulated driver: REFRAIN_SIM_KERNELS: %s\n", dlerror());
        continue;
      }
      ask(reinterpret_cast<Register>(dlsym(library, "refrain_sim_register")));
    }
  }

  void ask(Register function) {
    if (function != nullptr && asked_.insert(function).second) function(this);
  }

  std::mutex mutex_;
  std::map<std::string, KernelBody, std::less<>> bodies_;
  std::set<Register> asked_;
  bool libraries_opened_ = false;
};

}  // namespace

KernelBody find_kernel_body(const char* name) {
  static Bodies* const bodies = new Bodies;
  return bodies->find(name);
}

}  // namespace refrain::tests::simulated
