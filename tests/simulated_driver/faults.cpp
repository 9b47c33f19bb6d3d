#include "tests/simulated_driver/faults.h"

#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tests/simulated_driver/options.h"

namespace refrain::tests::simulated {
namespace {

constexpr const char* names[] = {
#define ENTRY(name, group) #name,
#include "replay/driver_entry_points.inc"
};

std::array<std::atomic<uint64_t>, replay::entry_point_count> counts{}, library_counts{};
std::atomic<uint64_t> failed{0};
thread_local ProgramCall* stated = nullptr;
// Without any statement nothing is known about who makes a call.
std::atomic<bool> program_states{false};

enum class Maker { anybody, program, library };

struct Fault {
  unsigned entry;
  Maker maker;
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
  auto parts = split(item, ':');
  if (parts.size() < 3 || parts.size() > 4) refuse(item);
  Fault fault{replay::entry_point_count, Maker::anybody, 1, UINT64_MAX, CUDA_SUCCESS};
  if (const auto words = split(parts[0], '/'); words.size() == 2) {
    if (words[0] != "program" && words[0] != "library") refuse(item);
    fault.maker = words[0] == "program" ? Maker::program : Maker::library;
    parts[0] = words[1];
  }
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

/// The name without its version and variant: cuMemAlloc of cuMemAlloc_v2.
std::string_view plain_name(unsigned index) {
  std::string_view name = names[index];
  if (name.ends_with("_ptsz") || name.ends_with("_ptds")) name.remove_suffix(5);
  if (name.size() > 3 && name.substr(name.size() - 3, 2) == "_v") name.remove_suffix(3);
  return name;
}

/// Whether this call is the one that the program states now; at most one is.
bool is_stated(unsigned index, const ArgumentWords& arguments) {
  if (stated == nullptr || stated->arrived) return false;
  if (stated->arguments != arguments || plain_name(index) != stated->name) return false;
  stated->arrived = true;
  return true;
}

}  // namespace

CUresult count_call(replay::EntryPoint entry, const ArgumentWords& arguments) {
  const auto index = static_cast<unsigned>(entry);
  const uint64_t number = counts[index].fetch_add(1, std::memory_order_relaxed) + 1;
  if (!program_states.load(std::memory_order_relaxed) && faults().empty()) return CUDA_SUCCESS;
  const bool own = is_stated(index, arguments);
  const bool by_library = program_states.load(std::memory_order_relaxed) && !own;
  const uint64_t library_number =
      by_library ? library_counts[index].fetch_add(1, std::memory_order_relaxed) + 1 : uint64_t{0};
  for (const Fault& fault : faults()) {
    if (fault.entry != index) continue;
    uint64_t which = number;
    if (fault.maker == Maker::program) which = own ? stated->number : 0;
    if (fault.maker == Maker::library) which = library_number;
    if (which < fault.first || which > fault.last) continue;
    failed.fetch_add(1, std::memory_order_relaxed);
    return fault.error;
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
    const auto by_library = library_counts[i].load(std::memory_order_relaxed);
    if (by_library != 0) std::fprintf(file, "library/%s %llu\n", names[i], static_cast<unsigned long long>(by_library));
  }
  std::fprintf(file, "failed %llu\n", static_cast<unsigned long long>(failed.load()));
  std::fclose(file);
}

const char* name_of(replay::EntryPoint entry) { return names[static_cast<unsigned>(entry)]; }

}  // namespace refrain::tests::simulated

refrain::tests::ProgramCall* refrain_sim_program_call(refrain::tests::ProgramCall* call) {
  using namespace refrain::tests::simulated;
  program_states.store(true, std::memory_order_relaxed);
  return std::exchange(stated, call);
}
