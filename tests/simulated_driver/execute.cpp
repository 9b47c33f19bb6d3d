#include "tests/simulated_driver/execute.h"

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <thread>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/event.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/module.h"
#include "tests/simulated_driver/observe.h"
#include "tests/simulated_driver/pool.h"
#include "tests/simulated_driver/process.h"
#include "tests/simulated_driver/trace.h"

namespace refrain::tests::simulated {
namespace {

/// Faults of one operation, and the bytes that stand in for memory it may not touch.
class Device {
 public:
  Device(Context& context, const char* what) : context_(context), what_(what) {}

  std::byte* access(uint64_t address, size_t size, size_t alignment) {
    if (address % alignment != 0) {
      fault(CUDA_ERROR_MISALIGNED_ADDRESS, address, size);
    } else if (std::byte* memory = accessible(context_, address, size); memory != nullptr) {
      return memory;
    } else {
      fault(CUDA_ERROR_ILLEGAL_ADDRESS, address, size);
    }
    constexpr size_t unit = sizeof(std::max_align_t);
    strays_.push_back(std::make_unique<std::max_align_t[]>(std::min(size, size_t{1} << 30) / unit + 1));
    return reinterpret_cast<std::byte*>(strays_.back().get());
  }

  void fault(CUresult error, uint64_t address, size_t size) {
    context_.fail(error);
    if (!options().verbose) return;
    std::fprintf(stderr, "simulated driver: %s: error %d, address 0x%llx, %zu bytes\n", what_, static_cast<int>(error),
                 static_cast<unsigned long long>(address), size);
  }

 private:
  Context& context_;
  const char* what_;
  std::vector<std::unique_ptr<std::max_align_t[]>> strays_;
};

void run(const KernelLaunch& launch, Context& context) {
  Device device(context, launch.code->entry.name.c_str());
  if (launch.code->unloaded->load()) {
    device.fault(CUDA_ERROR_ILLEGAL_INSTRUCTION, 0, 0);
    return;
  }
  static std::atomic<uint64_t> next_gridid{1};
  const auto size = [](const Extent& extent) { return KernelContext::Size{extent.x, extent.y, extent.z}; };
  const KernelContext kernel{
      launch.code->entry.name.c_str(),
      size(launch.grid),
      size(launch.block),
      launch.dynamic_shared,
      next_gridid.fetch_add(1),
      launch.parameters.data(),
      launch.code->entry.parameters.data(),
      launch.code->entry.parameters.size(),
      launch.attributes.data(),
      static_cast<unsigned>(launch.attributes.size()),
      &device,
      [](void* self, uint64_t address, size_t bytes, size_t alignment) -> void* {
        return static_cast<Device*>(self)->access(address, bytes, alignment);
      },
      [](void* self, CUresult error) { static_cast<Device*>(self)->fault(error, 0, 0); },
  };
  launch.code->body.load(std::memory_order_relaxed)(kernel);
}

void run(const Fill& fill, Context& context) {
  Device device(context, "fill");
  for (size_t row = 0; row < fill.height; ++row) {
    std::byte* memory = device.access(fill.destination + row * fill.pitch, fill.width * fill.element, 1);
    if (context.error.load() != CUDA_SUCCESS) return;
    if (fill.element == 1) {
      std::memset(memory, static_cast<int>(fill.value & 0xff), fill.width);
    } else {
      for (size_t i = 0; i < fill.width; ++i) std::memcpy(memory + i * fill.element, &fill.value, fill.element);
    }
  }
}

void run(const Copy& copy, Context& context) {
  Device device(context, "copy");
  const auto side = [&](const CopySide& of, size_t row, size_t layer) -> std::byte* {
    const uint64_t address = of.address + layer * of.slice + row * of.pitch;
    return of.pageable ? reinterpret_cast<std::byte*>(address) : device.access(address, copy.width, 1);
  };
  const std::byte* staged = copy.staged.data();
  for (size_t layer = 0; layer < copy.depth; ++layer) {
    for (size_t row = 0; row < copy.height; ++row) {
      const std::byte* from = copy.staged.empty() ? side(copy.source, row, layer) : staged;
      std::byte* to = side(copy.destination, row, layer);
      if (context.error.load() != CUDA_SUCCESS) return;
      std::memmove(to, from, copy.width);
      staged += copy.width;
    }
  }
}

/// Marks this thread as one that runs the program's own function, which may not call the driver.
template <class Call>
void call_host(Call call) {
  this_thread().in_host_function = true;
  call();
  this_thread().in_host_function = false;
}

void run(const HostCall& host, Context&) {
  call_host([&] { host.function(host.data); });
}

void run(const StreamCallback& callback, Context& context) {
  call_host([&] { callback.function(callback.stream, context.error.load(), callback.data); });
}

void run(const EventRecord& event, Context&) {
  if (event.record != nullptr) event.record->finish();
}

void run(const EventWait& event, Context&) {
  if (event.record != nullptr) event.record->wait();
}

template <class Word>
bool satisfied(Word found, Word value, unsigned flags) {
  switch (flags & 3u) {
    case CU_STREAM_WAIT_VALUE_GEQ: return static_cast<std::make_signed_t<Word>>(found - value) >= 0;
    case CU_STREAM_WAIT_VALUE_EQ: return found == value;
    case CU_STREAM_WAIT_VALUE_AND: return (found & value) != 0;
    default: return static_cast<Word>(~(found | value)) != 0;  // CU_STREAM_WAIT_VALUE_NOR
  }
}

template <class Word>
void wait_for_value(Device& device, CUdeviceptr address, Word value, unsigned flags, const Context& context) {
  auto* word = reinterpret_cast<Word*>(device.access(address, sizeof(Word), sizeof(Word)));
  while (context.error.load() == CUDA_SUCCESS && !stopping() &&
         !satisfied(__atomic_load_n(word, __ATOMIC_ACQUIRE), value, flags)) {
    std::this_thread::sleep_for(std::chrono::microseconds(10));
  }
}

template <class Word>
void write_value(Device& device, CUdeviceptr address, Word value) {
  auto* word = reinterpret_cast<Word*>(device.access(address, sizeof(Word), sizeof(Word)));
  __atomic_store_n(word, value, __ATOMIC_RELEASE);
}

void run(const ValueOperations& values, Context& context) {
  Device device(context, "value operation");
  for (const CUstreamBatchMemOpParams& one : values.operations) {
    switch (one.operation) {
      case CU_STREAM_MEM_OP_WAIT_VALUE_32:
        wait_for_value<uint32_t>(device, one.waitValue.address, one.waitValue.value, one.waitValue.flags, context);
        break;
      case CU_STREAM_MEM_OP_WAIT_VALUE_64:
        wait_for_value<uint64_t>(device, one.waitValue.address, one.waitValue.value64, one.waitValue.flags, context);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_32:
        write_value<uint32_t>(device, one.writeValue.address, one.writeValue.value);
        break;
      case CU_STREAM_MEM_OP_WRITE_VALUE_64:
        write_value<uint64_t>(device, one.writeValue.address, one.writeValue.value64);
        break;
      case CU_STREAM_MEM_OP_BARRIER:
      case CU_STREAM_MEM_OP_FLUSH_REMOTE_WRITES: break;
    }
  }
}

void run(const MemoryBegin& begin, Context&) { device_view().insert(begin.allocation); }
void run(const MemoryEnd& end, Context&) { device_view().erase(end.allocation); }
void run(const Nothing&, Context&) {}
void run(const ChildGraph&, Context&) {}  // its nodes stand in the run one by one

/// Work that happens in a failed context too, because others wait for it.
bool survives_failure(const Work& work) {
  return std::holds_alternative<EventRecord>(work) || std::holds_alternative<EventWait>(work) ||
         std::holds_alternative<StreamCallback>(work) || std::holds_alternative<MemoryBegin>(work) ||
         std::holds_alternative<MemoryEnd>(work);
}

}  // namespace

void execute(const Work& work, Context& context, unsigned stream_ordinal, bool from_graph) {
  if (const auto* graph = std::get_if<std::shared_ptr<const GraphRun>>(&work)) {
    for (const auto& step : (*graph)->steps) execute(*step, context, stream_ordinal, true);
    return;
  }
  // A wait holds up nothing but its own stream: the exit handler need not wait for it.
  if (std::holds_alternative<EventWait>(work)) {
    run(std::get<EventWait>(work), context);
    return;
  }
  const Running running;
  if (context.error.load() != CUDA_SUCCESS && !survives_failure(work)) return;
  trace(work, context, stream_ordinal, from_graph);
  observe(work, context, stream_ordinal, from_graph);
  std::visit(
      [&](const auto& kind) {
        if constexpr (!std::is_same_v<std::decay_t<decltype(kind)>, std::shared_ptr<const GraphRun>>)
          run(kind, context);
      },
      work);
}

}  // namespace refrain::tests::simulated
