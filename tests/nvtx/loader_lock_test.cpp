// NVTX begins under the dynamic loader's lock while another thread is attaching a client. One test a process.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <future>

#include "constructor_client.h"
#include "nvtx_test.h"
#include "toy_client.h"

namespace {

refrain::tests::ConstructorGate gate;

}  // namespace

extern "C" [[gnu::visibility("default")]] refrain::tests::ConstructorGate* constructor_gate() { return &gate; }

namespace refrain::tests {

TEST_F(Nvtx, X14_nvtx_in_a_constructor_does_not_wait_for_another_thread) {
  recorder().set_chained_injection(NVTX_TEST_TOOL);  // so that attaching opens a library
  watch({{.range = "constructed"}});
  static ToyClient client;
  // The other thread is in the middle of our initialiser when the constructor gets the loader's lock.
  client.before_tables = [] {
    client.before_tables = nullptr;
    gate.proceed = true;
    while (!gate.inside) std::this_thread::yield();
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  };
  std::future<void*> opened = std::async(std::launch::async, [] {
    while (!gate.proceed) std::this_thread::yield();
    gate.proceed = false;
    return dlopen(NVTX_TEST_CONSTRUCTOR_CLIENT, RTLD_NOW);
  });
  std::future<int> attached = std::async(std::launch::async, [] { return client.initialise(); });
  while (!gate.inside) std::this_thread::yield();
  gate.proceed = true;
  const auto limit = std::chrono::seconds(60);
  if (opened.wait_for(limit) != std::future_status::ready || attached.wait_for(limit) != std::future_status::ready) {
    std::fputs("the two threads wait for each other\n", stderr);
    _exit(1);  // the threads cannot be joined
  }
  EXPECT_NE(opened.get(), nullptr) << dlerror();
  EXPECT_EQ(attached.get(), 1);
  EXPECT_EQ(gate.level, 101);  // the tool's
  EXPECT_EQ(story(), "+0 -0");
}

}  // namespace refrain::tests
