// NVTX begins under the dynamic loader's lock while another thread is attaching a client. One test a process.
#include <dlfcn.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <thread>

#include "tests/nvtx/constructor_client.h"
#include "tests/nvtx/nvtx_test.h"
#include "tests/nvtx/toy_client.h"

namespace {

refrain::tests::ConstructorGate gate;

}  // namespace

refrain::tests::ConstructorGate* constructor_gate() { return &gate; }

namespace refrain::tests {

namespace {

/// A failure here means threads that wait for each other for ever, and cannot be joined.
void wait_for(const std::atomic<bool>& flag) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (!flag) {
    if (std::chrono::steady_clock::now() > limit) {
      std::fputs("a thread waits for ever\n", stderr);
      _exit(1);
    }
    std::this_thread::yield();
  }
}

std::atomic<bool> attaching{false}, constructor_loaded{false}, client_attached{false};

}  // namespace

TEST_F(Nvtx, X14_nvtx_in_a_constructor_does_not_wait_for_another_thread) {
  recorder().set_chained_injection(NVTX_TEST_TOOL);  // so that attaching opens a library
  watch({{.range = "constructed"}});
  static ToyClient client;
  // This thread is in the middle of our initialiser when the constructor gets the loader's lock.
  client.before_tables = [] {
    client.before_tables = nullptr;
    attaching = true;
    wait_for(gate.inside);
  };
  int attached = 0;
  void* opened = nullptr;
  std::thread loading([&] {
    wait_for(attaching);
    opened = dlopen(NVTX_TEST_CONSTRUCTOR_CLIENT, RTLD_NOW);
    constructor_loaded = true;
  });
  std::thread attaching_thread([&] {
    attached = client.initialise();
    client_attached = true;
  });
  wait_for(gate.inside);
  std::this_thread::sleep_for(std::chrono::milliseconds(50));  // the attaching thread comes to wait for the loader
  gate.proceed = true;
  wait_for(constructor_loaded);
  wait_for(client_attached);
  loading.join();
  attaching_thread.join();
  EXPECT_NE(opened, nullptr);
  EXPECT_EQ(attached, 1);
  EXPECT_EQ(gate.level, 101);  // the tool's
  EXPECT_EQ(story(), "+0 -0");
}

}  // namespace refrain::tests
