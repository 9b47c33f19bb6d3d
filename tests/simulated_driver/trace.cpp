#include "tests/simulated_driver/trace.h"

#include <algorithm>
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "tests/simulated_driver/context.h"
#include "tests/simulated_driver/memory.h"
#include "tests/simulated_driver/module.h"
#include "tests/simulated_driver/options.h"

namespace refrain::tests::simulated {
namespace {

__attribute__((format(printf, 1, 2))) std::string format(const char* pattern, ...) {
  char text[512];
  va_list arguments;
  va_start(arguments, pattern);
  const int length = std::vsnprintf(text, sizeof text, pattern, arguments);
  va_end(arguments);
  return {text, std::min(sizeof text - 1, static_cast<size_t>(length))};
}

/// FNV-1a.
class Hash {
 public:
  void add(const void* bytes, size_t size) {
    for (size_t i = 0; i < size; ++i) value_ = (value_ ^ static_cast<const unsigned char*>(bytes)[i]) * 0x100000001b3;
  }
  uint64_t value() const { return value_; }

 private:
  uint64_t value_ = 0xcbf29ce484222325;
};

std::string place(uint64_t address) {
  const auto allocation = device_view().find(address);
  if (allocation == nullptr) return "host";
  return format("%u+%" PRIu64, allocation->ordinal, address - allocation->base);
}

/// A word that may be an address, in a form that is the same in each run.
uint64_t portable(uint64_t word) {
  constexpr uint64_t device_mark = uint64_t{0xd1} << 56, host_mark = uint64_t{0xd2} << 56,
                     registered_mark = uint64_t{0xd3} << 56;
  if (device_region().contains(word)) return device_mark | device_region().offset(word);
  if (host_region().contains(word)) return host_mark | host_region().offset(word);
  const auto allocation = device_view().find(word);
  if (allocation == nullptr) return word;
  return registered_mark | (uint64_t{allocation->ordinal} << 32) | (word - allocation->base);
}

uint64_t hash_parameters(const KernelLaunch& launch) {
  Hash hash;
  for (const ParameterPlace& parameter : launch.code->entry.parameters) {
    size_t at = parameter.offset;
    const size_t end = parameter.offset + parameter.size;
    while (at < end) {
      uint64_t word = 0;
      const size_t size = std::min<size_t>(sizeof word, end - at);
      std::memcpy(&word, launch.parameters.data() + at, size);
      if (size == sizeof word) word = portable(word);
      hash.add(&word, size);
      at += size;
    }
  }
  return hash.value();
}

/// Attributes that say how it runs: not a cooperation that is switched off, nor programmatic serialisation, which only
/// allows an overlap and in a graph is an edge's property.
size_t attribute_count(const KernelLaunch& launch) {
  return static_cast<size_t>(std::count_if(launch.attributes.begin(), launch.attributes.end(), [](const auto& one) {
    if (one.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE) return one.value.cooperative != 0;
    return one.id != CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION;
  }));
}

std::string describe(const KernelLaunch& launch) {
  const auto& grid = launch.grid;
  const auto& block = launch.block;
  return format("kernel %s %u,%u,%u %u,%u,%u %u attributes=%zu %016" PRIx64, launch.code->entry.name.c_str(), grid.x,
                grid.y, grid.z, block.x, block.y, block.z, launch.dynamic_shared, attribute_count(launch),
                hash_parameters(launch));
}

std::string describe(const Fill& fill) {
  return format("fill - - - - to=%s,value=%u,element=%u,width=%zu,height=%zu,pitch=%zu -",
                place(fill.destination).c_str(), fill.value, fill.element, fill.width, fill.height,
                fill.height > 1 ? fill.pitch : 0);
}

std::string describe(const Copy& copy) {
  Hash hash;
  hash.add(copy.staged.data(), copy.staged.size());
  return format("copy - - - - to=%s,from=%s,width=%zu,height=%zu,depth=%zu %016" PRIx64,
                copy.destination.pageable ? "host" : place(copy.destination.address).c_str(),
                copy.source.pageable ? "host" : place(copy.source.address).c_str(), copy.width, copy.height, copy.depth,
                hash.value());
}

std::string describe(const HostCall&) { return "host - - - - - -"; }
std::string describe(const StreamCallback&) { return "host - - - - callback -"; }
std::string describe(const ValueOperations& values) {
  return format("value - - - - operations=%zu -", values.operations.size());
}
std::string describe(const MemoryBegin& begin) {
  return format("alloc - - - - bytes=%" PRIu64 " -", begin.allocation->size);
}
std::string describe(const MemoryEnd& end) { return format("free - - - - bytes=%" PRIu64 " -", end.allocation->size); }
template <class Other>
std::string describe(const Other&) {
  return {};
}

class Trace {
 public:
  explicit Trace(std::FILE* file) : file_(file) {}

  void add(unsigned context, unsigned stream, const std::string& line, bool from_graph) {
    const std::lock_guard lock(mutex_);
    const uint64_t number = next_[{context, stream}]++;
    buffer_ += format("%" PRIu64 " %u %u ", number, context, stream);
    buffer_ += line;
    buffer_ += from_graph ? " graph\n" : " eager\n";
    if (buffer_.size() > size_t{1} << 20) write();
  }

  void finish() {
    const std::lock_guard lock(mutex_);
    write();
    std::fflush(file_);
  }

 private:
  void write() {
    std::fwrite(buffer_.data(), 1, buffer_.size(), file_);
    buffer_.clear();
  }

  std::mutex mutex_;
  std::FILE* const file_;
  std::map<std::pair<unsigned, unsigned>, uint64_t> next_;
  std::string buffer_;
};

Trace* current_trace() {
  static Trace* const opened = []() -> Trace* {
    if (options().trace.empty()) return nullptr;
    std::FILE* file = std::fopen(options().trace.c_str(), "w");
    return file != nullptr ? new Trace(file) : nullptr;
  }();
  return opened;
}

}  // namespace

void trace(const Work& work, const Context& context, unsigned stream_ordinal, bool from_graph) {
  Trace* const to = current_trace();
  if (to == nullptr) return;
  const std::string line = std::visit([](const auto& kind) { return describe(kind); }, work);
  if (!line.empty()) to->add(context.ordinal, stream_ordinal, line, from_graph);
}

void finish_trace() {
  if (Trace* const to = current_trace(); to != nullptr) to->finish();
}

}  // namespace refrain::tests::simulated
