// What a push and its pop cost, in ns: without an injection, with ours before and after regions are known, matched or
// not.
#include <dlfcn.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>

#include "tests/nvtx/emitter.h"
#include "tests/nvtx/recorder.h"

namespace refrain::tests {

namespace {

template <typename Table>
const Table& table_of(const char* path, const char* name) {
  void* library = dlopen(path, RTLD_LAZY);
  void* function = library != nullptr ? dlsym(library, name) : nullptr;
  if (function == nullptr) {
    std::fprintf(stderr, "%s\n", dlerror());
    std::exit(2);
  }
  return *reinterpret_cast<const Table* (*)()>(function)();
}

/// The best of several rounds.
template <typename Pair>
double nanoseconds(Pair pair) {
  constexpr int rounds = 15, pairs = 200000;
  double best = 1e9;
  for (int round = 0; round < rounds; ++round) {
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < pairs; ++i) pair(i);
    const std::chrono::duration<double, std::nano> spent = std::chrono::steady_clock::now() - begin;
    best = std::min(best, spent.count() / pairs);
  }
  return best;
}

template <typename Pair>
void report(const char* what, Pair pair) {
  std::printf("%-52s %6.1f ns\n", what, nanoseconds(pair));
}

/// The names of a transformer's step, as a training script pushes them.
constexpr const char* names[] = {"forward",    "layer_0",       "self_attention", "mlp",
                                 "router",     "experts",       "optimizer",      "backward",
                                 "all_reduce", "preprocessing", "cross_entropy",  "embedding"};

void push_pop_names(const Emitter& nvtx, int i) {
  nvtx.RangePushA(names[static_cast<unsigned>(i) % std::size(names)]);
  nvtx.RangePop();
}

void set(const Recorder& recorder, std::initializer_list<RecorderRule> rules) {
  recorder.set(rules.begin(), rules.size());
}

int run() {
  unsetenv("NVTX_INJECTION64_PATH");
  const Emitter& bare = table_of<Emitter>(NVTX_TEST_EMITTER_A, "nvtx_emitter");
  report("no injection", [&](int i) { push_pop_names(bare, i); });

  setenv("NVTX_INJECTION64_PATH", NVTX_TEST_INJECTION, 1);
  const Recorder& recorder = table_of<Recorder>(NVTX_TEST_INJECTION, "nvtx_recorder");
  const Emitter& nvtx = table_of<Emitter>(NVTX_TEST_EMITTER_B, "nvtx_emitter");
  report("injected, before the policy is known", [&](int i) { push_pop_names(nvtx, i); });

  set(recorder, {{"*attn*"}, {"training_step_*"}, {"moe.*"}, {"GPTModel*"}, {"TransformerLayer*"}});
  report("unmatched, 5 rules", [&](int i) { push_pop_names(nvtx, i); });
  const nvtxDomainHandle_t domain = nvtx.DomainCreateA("NCCL");
  nvtxEventAttributes_t event{};
  event.version = NVTX_VERSION;
  event.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
  event.messageType = NVTX_MESSAGE_TYPE_REGISTERED;
  event.message.registered = nvtx.DomainRegisterStringA(domain, "ncclAllReduce");
  report("unmatched, domain and registered string", [&](int) {
    nvtx.DomainRangePushEx(domain, &event);
    nvtx.DomainRangePop(domain);
  });
  char name[32];
  report("unmatched, a new name each time (with its snprintf)", [&](int i) {
    std::snprintf(name, sizeof name, "batch %d", i);
    nvtx.RangePushA(name);
    nvtx.RangePop();
  });

  set(recorder, {{"*attn*"}, {"training_step_*"}, {"*"}});
  recorder.refuse(true);
  report("matched, the event refused", [&](int i) { push_pop_names(nvtx, i); });
  set(recorder, {{"nothing", "*", "outer/*"}});
  report("unmatched, rules by path", [&](int i) { push_pop_names(nvtx, i); });
  recorder.clear();
  report("withdrawn", [&](int i) { push_pop_names(nvtx, i); });
  return 0;
}

}  // namespace

}  // namespace refrain::tests

int main() { return refrain::tests::run(); }
