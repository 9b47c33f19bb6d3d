// What a function's state belongs to: the code behind a handle, whatever else has its name.
#include "replay/function_table.h"
#include "tests/replay/engine_fixture.h"

namespace refrain::tests {
namespace {

constexpr std::uint64_t of_another_module = 901;  // handles of one hundred belong to one module

TEST_F(Engine, a_state_of_other_code_that_is_called_alike_builds_nothing_again) {
  start();
  // As generators do, which compile a kernel for each shape and call all of them alike.
  for (const std::uint64_t function : {first, of_another_module}) {
    RecordingDriver::add_function(function, {8, 8}, true, "generated_kernel");
  }
  auto built = [] { return RecordingDriver::calls["cuGraphInstantiateWithFlags"]; };
  auto set = [&](std::uint64_t function, int value) {
    const void* handle = reinterpret_cast<const void*>(function);
    program->engine->function_state_changes(handle, 8, value, replay::EntryPoint::cuFuncSetAttribute);
    program->engine->function_state_changed(handle, 8, value);
    program->synchronize();
  };
  pass();
  program->synchronize();
  ASSERT_EQ(built(), 1);
  for (int value = 1; value < 4; ++value) set(of_another_module, value);
  pass();
  EXPECT_EQ(built(), 1) << "that code is in no graph";
  EXPECT_EQ(program->counters().replayed, 3u);
  set(first, 1);
  EXPECT_EQ(built(), 2);
  pass();
  EXPECT_EQ(program->counters().replayed, 6u);
  EXPECT_TRUE(compared());
}

TEST(Code, is_told_apart_by_its_module_and_not_by_its_name) {
  capture::Function function;
  function.handle = 1;
  function.owner = 10;
  function.name = "kernel";
  struct Case {
    replay::Code code;
    bool may_be;
  };
  const Case cases[] = {
      {{1, 10, false, "kernel"}, true}, {{1, 20, false, "other"}, true},  // one handle is one code
      {{2, 10, false, "kernel"}, true}, {{2, 20, false, "kernel"}, false}, {{2, 10, false, "other"}, false},
      {{2, 20, true, "kernel"}, true},  // the module lies in that library, perhaps
      {{2, 20, true, "other"}, false},  {{2, 0, false, "kernel"}, true},   {{2, 20, false, nullptr}, true},
  };
  for (const Case& one : cases) EXPECT_EQ(one.code.may_be(function), one.may_be) << &one - cases;
  function.owner = 0;
  EXPECT_TRUE((replay::Code{2, 20, false, "kernel"}.may_be(function)));
  function.name.clear();
  EXPECT_TRUE((replay::Code{2, 20, false, "kernel"}.may_be(function)));
}

}  // namespace
}  // namespace refrain::tests
