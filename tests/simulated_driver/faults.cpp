#include "tests/simulated_driver/faults.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/simulated_driver/options.h"

namespace refrain::tests::simulated {
namespace {

constexpr const char* names[] = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};

std::array<std::atomic<uint64_t>, replay::entry_point_count> counts{};

struct Fault {
  unsigned entry;
  uint64_t first;  // number of the first call that fails
  uint64_t last;
  CUresult error;
};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const size_t at = text.find(separator);
    parts.push_back(text.substr(0, at));
    if (at == std::string_view::npos) return parts;
    text.remove_prefix(at + 1);
  }
}

[[noreturn]] void refuse(std::string_view item) {
  std::fprintf(stderr, "simulated driver: REFRAIN_SIM_FAIL: cannot understand \"%.*s\"\n",
               static_cast<int>(item.size()), item.data());
  std::_Exit(2);
}

Fault parse(std::string_view item) {
  const auto parts = split(item, ':');
  if (parts.size() < 3 || parts.size() > 4) refuse(item);
  Fault fault{replay::entry_point_count, 1, UINT64_MAX, CUDA_SUCCESS};
  for (unsigned i = 0; i < replay::entry_point_count; ++i) {
    if (parts[0] == names[i]) fault.entry = i;
  }
  if (fault.entry == replay::entry_point_count) refuse(item);
  if (parts[1] != "*") {
    fault.first = std::strtoull(std::string(parts[1]).c_str(), nullptr, 10);
    fault.last = parts.size() == 4 && parts[3] == "forever" ? UINT64_MAX : fault.first;
  }
  fault.error = static_cast<CUresult>(std::atoi(std::string(parts[2]).c_str()));
  if (fault.first == 0 || fault.error == CUDA_SUCCESS || (parts.size() == 4 && parts[3] != "forever")) refuse(item);
  return fault;
}

const std::vector<Fault>& faults() {
  static const std::vector<Fault>* const parsed = [] {
    auto* list = new std::vector<Fault>;
    if (!options().fail.empty()) {
      for (std::string_view item : split(options().fail, ',')) list->push_back(parse(item));
    }
    return list;
  }();
  return *parsed;
}

}  // namespace

CUresult count_call(replay::EntryPoint entry) {
  const auto index = static_cast<unsigned>(entry);
  const uint64_t number = counts[index].fetch_add(1, std::memory_order_relaxed) + 1;
  for (const Fault& fault : faults()) {
    if (fault.entry == index && number >= fault.first && number <= fault.last) return fault.error;
  }
  return CUDA_SUCCESS;
}

void write_call_counts() {
  if (options().calls.empty()) return;
  std::FILE* file = std::fopen(options().calls.c_str(), "w");
  if (file == nullptr) return;
  for (unsigned i = 0; i < replay::entry_point_count; ++i) {
    const auto count = counts[i].load(std::memory_order_relaxed);
    if (count != 0) std::fprintf(file, "%s %llu\n", names[i], static_cast<unsigned long long>(count));
  }
  std::fclose(file);
}

const char* name_of(replay::EntryPoint entry) { return names[static_cast<unsigned>(entry)]; }

}  // namespace refrain::tests::simulated
