#include "tests/interpose/recording_engine.h"

#include <fmt/core.h>

#include "interpose/entry_points.h"

namespace refrain::tests {
Recording recording;
}

namespace refrain::replay {
namespace {

using tests::recording;

std::string text(CUstream stream) { return fmt::format("{:#x}", reinterpret_cast<std::uintptr_t>(stream)); }
std::string text(const KernelCall& call) {
  return fmt::format("kernel {:#x} on {} grid {} {} {} block {} {} {} shared {} attributes {} cooperative {} {} {}",
                     reinterpret_cast<std::uintptr_t>(call.function), text(call.stream), call.grid.x, call.grid.y,
                     call.grid.z, call.block.x, call.block.y, call.block.z, call.shared, call.attribute_count,
                     call.cooperative, call.parameters != nullptr ? "parameters" : "-",
                     call.extra != nullptr ? "extra" : "-");
}
std::string text(const MemsetCall& call) {
  return fmt::format("memset {:#x} pitch {} value {} size {} {}x{} on {}", call.bytes.destination, call.bytes.pitch,
                     call.bytes.value, call.bytes.element_size, call.bytes.width, call.bytes.height, text(call.stream));
}
std::string text(const CopyCall& call) {
  return fmt::format("copy {:#x} {:#x} {} on {}", call.bytes.destination, call.bytes.source, call.bytes.bytes,
                     text(call.stream));
}
template <class Call>
Decision hold_call(const Call& call, CUresult& result) {
  recording.calls.push_back("hold " + text(call));
  result = recording.held_result;
  return recording.hold ? Decision::held : Decision::report;
}
template <class Call>
void passed_call(const Call& call, CUresult result) {
  recording.calls.push_back(fmt::format("passed {} = {}", text(call), static_cast<int>(result)));
}
void note(std::string call) { recording.calls.push_back(std::move(call)); }

}  // namespace

struct Engine::Impl {};

namespace {
ProcessGlance glance;
}  // namespace

Engine::Engine(const Driver&, const policy::Settings&, capture::LogWriter*, Notify) noexcept { glance_ = &glance; }
Engine::~Engine() = default;
[[gnu::tls_model("initial-exec")]] constinit thread_local ThreadGlance* thread_glance = nullptr;
Decision Engine::hold(const KernelCall& call, CUresult& result) noexcept { return hold_call(call, result); }
Decision Engine::hold(const MemsetCall& call, CUresult& result) noexcept { return hold_call(call, result); }
Decision Engine::hold(const CopyCall& call, CUresult& result) noexcept { return hold_call(call, result); }
void Engine::passed(const KernelCall& call, CUresult result) noexcept { passed_call(call, result); }
void Engine::passed(const MemsetCall& call, CUresult result) noexcept { passed_call(call, result); }
void Engine::passed(const CopyCall& call, CUresult result) noexcept { passed_call(call, result); }
void Engine::order_stream(CUstream stream, EntryPoint cause) noexcept {
  note(fmt::format("order_stream {} {}", text(stream), interpose::name_of(cause)));
}
void Engine::order_all(EntryPoint cause) noexcept { note(fmt::format("order_all {}", interpose::name_of(cause))); }
void Engine::safe_point() noexcept { note("safe_point"); }
void Engine::code_unloads(std::uint64_t owner) noexcept { note(fmt::format("code_unloads {:#x}", owner)); }
void Engine::context_ends(CUcontext context) noexcept {
  note(fmt::format("context_ends {:#x}", reinterpret_cast<std::uintptr_t>(context)));
}
void Engine::stream_ends(CUstream stream) noexcept { note("stream_ends " + text(stream)); }
void Engine::memory_ends() noexcept { note("memory_ends"); }
void Engine::state_changes(EntryPoint cause) noexcept {
  note(fmt::format("state_changes {}", interpose::name_of(cause)));
}
void Engine::function_state_changes(const void* function, int which, int value, EntryPoint cause) noexcept {
  note(fmt::format("function_state_changes {:#x} {} {} {}", reinterpret_cast<std::uintptr_t>(function), which, value,
                   interpose::name_of(cause)));
}
void Engine::function_state_changed(const void*, int which, int value) noexcept {
  note(fmt::format("function_state_changed {} {}", which, value));
}
void Engine::capture_begins(CUstream stream) noexcept { note("capture_begins " + text(stream)); }
void Engine::capture_began(CUstream stream, CUresult result) noexcept {
  note(fmt::format("capture_began {} = {}", text(stream), static_cast<int>(result)));
}
void Engine::capture_ended(CUstream stream) noexcept { note("capture_ended " + text(stream)); }
OpenRegion* Engine::enter(unsigned) noexcept { return nullptr; }
void Engine::leave(OpenRegion*) noexcept {}
void Engine::thread_ends() noexcept {}
void Engine::pause() noexcept {}
void Engine::resume() noexcept {}
void Engine::stop() noexcept { note("stop"); }
void Engine::abandon() noexcept {}
bool Engine::verdict(ArmVerdict&) noexcept { return false; }
void Engine::counters(capture::CountersRecord&) noexcept {}
bool Engine::active() const noexcept { return true; }

}  // namespace refrain::replay

namespace refrain::tests {

void keep_error(CUresult error) { replay::glance.pending_error = error; }

}  // namespace refrain::tests
