// Kernel names for people.
#include "capture/demangle.h"

#include <pthread.h>

#include <gtest/gtest.h>

namespace refrain::tests {
namespace {

using namespace capture;

TEST(Demangle, gives_the_readable_name_or_leaves_it) {
  EXPECT_EQ(demangle("_ZN7example12softmax_rowsIfEEvPT_PKS1_i"),
            "void example::softmax_rows<float>(float*, float const*, int)");
  EXPECT_EQ(demangle("nvjet_hsh_128x256"), "nvjet_hsh_128x256");
  EXPECT_EQ(demangle("_Znot mangled"), "_Znot mangled");
  EXPECT_EQ(demangle("i"), "i") << "not the type int";
  EXPECT_EQ(demangle(""), "");
}

TEST(Demangle, leaves_names_that_are_too_long) {
  const std::string name = "_Z4096" + std::string(4096, 'k') + "v";
  EXPECT_EQ(demangle(name), name);
}

/// A function of pairs of pairs of pairs: each one is named by a reference to the one before, twice.
std::string name_that_doubles(int times) {
  const std::string digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string name = "_Z1fSt4pairIiiE";
  for (int round = 0; round < times; ++round) {
    const std::string last = std::string("S") + digits[static_cast<std::size_t>(round)] + "_";
    name += "S_I" + last + last + "E";
  }
  return name;
}

TEST(Demangle, leaves_names_that_would_fill_the_memory) {
  EXPECT_EQ(demangle(name_that_doubles(1)),
            "f(std::pair<int, int>, std::pair<std::pair<int, int>, std::pair<int, int> >)");
  const std::string long_name = demangle(name_that_doubles(8));
  EXPECT_GT(long_name.size(), 10000U);
  EXPECT_LE(long_name.size(), longest_readable_name);
  const std::string hostile = name_that_doubles(34);
  EXPECT_LT(hostile.size(), 400U);
  EXPECT_EQ(demangle(hostile), hostile);
}

TEST(Demangle, a_long_name_stays_as_it_is_on_a_small_stack) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "ThreadSanitizer gives every thread a large stack";
#endif
  const std::string long_name = "_Z900" + std::string(900, 'k') + "v", short_enough = "_Z1av";
  EXPECT_EQ(demangle_on_host_thread(long_name), std::string(900, 'k') + "()");
  struct Seen {
    const std::string& long_name;
    const std::string& short_enough;
    std::string of_long, of_short;
  } seen{long_name, short_enough, {}, {}};
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  ASSERT_EQ(pthread_attr_setstacksize(&attributes, 96 * 1024), 0);
  pthread_t thread{};
  const auto run = [](void* argument) -> void* {
    auto& out = *static_cast<Seen*>(argument);
    out.of_long = demangle_on_host_thread(out.long_name);
    out.of_short = demangle_on_host_thread(out.short_enough);
    return nullptr;
  };
  ASSERT_EQ(pthread_create(&thread, &attributes, run, &seen), 0);
  pthread_join(thread, nullptr);
  pthread_attr_destroy(&attributes);
  EXPECT_EQ(seen.of_long, long_name);
  EXPECT_EQ(seen.of_short, "a()");
}

TEST(Demangle, remembers_names_and_forgets_them_all_when_there_are_too_many) {
  ReadableNames names(3);
  for (const char* name : {"_Z1av", "_Z1bv", "_Z1av", "_Z1cv"}) names.of(name);
  EXPECT_EQ(names.size(), 3U);
  EXPECT_EQ(names.of("_Z1dv"), "d()");
  EXPECT_EQ(names.size(), 1U);
}

TEST(ShortName, has_no_return_type_arguments_or_parameters) {
  EXPECT_EQ(short_name("void example::softmax_rows<float>(float*, float const*, int)", 80),
            "example::softmax_rows<...>");
  EXPECT_EQ(short_name("void k<at::f<int> (*)(float), (bool)1>(int)", 80), "k<...>");
  EXPECT_EQ(short_name("(anonymous namespace)::k(int)", 80), "{anonymous}::k");
  EXPECT_EQ(short_name("f()::{lambda(int, int)#1}::operator()(int) const", 80),
            "f()::{lambda(int, int)#1}::operator()");
  EXPECT_EQ(short_name("triton_poi_fused_0", 80), "triton_poi_fused_0");
  EXPECT_EQ(short_name("", 80), "");
  EXPECT_EQ(short_name("a >>> b )) <", 80), "<");
  EXPECT_EQ(short_name(std::string(90, 'k'), 10), "...kkkkkkk");
}

}  // namespace
}  // namespace refrain::tests
