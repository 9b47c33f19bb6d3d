#include "tests/simulated_driver/observe.h"

#include <dlfcn.h>

#include <algorithm>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/module.h"

namespace refrain::tests::simulated {
namespace {

using Bytes = std::vector<std::byte>;

template <class... Values>
Bytes join(const Values&... values) {
  Bytes bytes;
  (bytes.insert(bytes.end(), reinterpret_cast<const std::byte*>(&values),
                reinterpret_cast<const std::byte*>(&values) + sizeof values),
   ...);
  return bytes;
}

struct Description {
  const char* kind = nullptr;  ///< null: nothing that is told
  Bytes bytes;
};

Description describe(const KernelLaunch& launch) {
  Bytes bytes;
  for (const ParameterPlace& place : launch.code->entry.parameters) {
    const auto begin = launch.parameters.begin() + static_cast<std::ptrdiff_t>(place.offset);
    bytes.insert(bytes.end(), begin, begin + static_cast<std::ptrdiff_t>(place.size));
  }
  return {"kernel", std::move(bytes)};
}
Description describe(const Fill& fill) {
  const uint64_t pitch = fill.height > 1 ? fill.pitch : 0;
  return {"fill", join(fill.destination, pitch, uint64_t{fill.value}, uint64_t{fill.element}, uint64_t{fill.width},
                       uint64_t{fill.height})};
}
Description describe(const Copy& copy) {
  Bytes bytes = join(copy.destination.address, copy.staged.empty() ? copy.source.address : 0, uint64_t{copy.width});
  bytes.insert(bytes.end(), copy.staged.begin(), copy.staged.end());
  return {"copy", std::move(bytes)};
}
Description describe(const HostCall& host) { return {"host", join(host.function, host.data)}; }
Description describe(const MemoryBegin& begin) { return {"alloc", join(begin.allocation->base)}; }
Description describe(const MemoryEnd& end) { return {"free", join(end.allocation->base)}; }
template <class Other>
Description describe(const Other&) {
  return {};
}

}  // namespace

const Observer* observer() {
  static const auto* const found = static_cast<const Observer*>(dlsym(RTLD_DEFAULT, "refrain_sim_observer"));
  return found;
}

void observe(const Work& work, const Context& context, unsigned stream_ordinal, bool from_graph) {
  if (observer() == nullptr) return;
  const Description description = std::visit([](const auto& kind) { return describe(kind); }, work);
  if (description.kind == nullptr) return;
  Executed executed{description.kind, "", context.ordinal, stream_ordinal, from_graph, {}, {}, 0, nullptr, 0};
  if (const auto* launch = std::get_if<KernelLaunch>(&work)) {
    executed.name = launch->code->entry.name.c_str();
    const unsigned grid[] = {launch->grid.x, launch->grid.y, launch->grid.z};
    const unsigned block[] = {launch->block.x, launch->block.y, launch->block.z};
    std::copy(std::begin(grid), std::end(grid), executed.grid);
    std::copy(std::begin(block), std::end(block), executed.block);
    executed.shared = launch->dynamic_shared;
  }
  executed.bytes = description.bytes.data();
  executed.size = description.bytes.size();
  observer()->executing(executed);
}

}  // namespace refrain::tests::simulated
