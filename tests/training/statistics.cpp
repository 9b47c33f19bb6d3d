#include "tests/training/statistics.h"

#include <dlfcn.h>

#include <cinttypes>
#include <cstdio>

namespace refrain::tests::training {
namespace {

struct Field {
  const char* name;
  std::uint64_t refrain_statistics::*member;
};

constexpr Field fields[] = {{"launches_seen", &refrain_statistics::launches_seen},
                            {"calls", &refrain_statistics::calls},
                            {"held", &refrain_statistics::held},
                            {"passed", &refrain_statistics::passed},
                            {"replayed", &refrain_statistics::replayed},
                            {"flushed", &refrain_statistics::flushed},
                            {"patched", &refrain_statistics::patched},
                            {"graph_launches", &refrain_statistics::graph_launches},
                            {"region_calls", &refrain_statistics::region_calls},
                            {"region_replayed", &refrain_statistics::region_replayed},
                            {"fallbacks", &refrain_statistics::fallbacks}};

void write_fields(std::FILE* file, const refrain_statistics& after, const refrain_statistics* before) {
  const char* separator = "{";
  for (const Field& field : fields) {
    const std::uint64_t start = before != nullptr ? before->*field.member : 0;
    std::fprintf(file, "%s\"%s\": %" PRIu64, separator, field.name, after.*field.member - start);
    separator = ", ";
  }
  std::fputs("}", file);
}

}  // namespace

std::optional<refrain_statistics> statistics() {
  const auto read = reinterpret_cast<decltype(&refrain_stats)>(dlsym(RTLD_DEFAULT, "refrain_stats"));
  refrain_statistics result{};
  result.size = sizeof result;
  if (read == nullptr || read(&result) != 0) return {};
  return result;
}

bool write_statistics(const std::string& path, const std::optional<refrain_statistics>& before,
                      const std::optional<refrain_statistics>& after) {
  std::FILE* file = std::fopen(path.c_str(), "w");
  if (file == nullptr) return false;
  if (!before || !after) {
    std::fputs("{\"loaded\": false}\n", file);
  } else {
    std::fputs("{\"loaded\": true, \"total\": ", file);
    write_fields(file, *after, nullptr);
    std::fputs(", \"steady\": ", file);
    write_fields(file, *after, &*before);
    std::fputs("}\n", file);
  }
  return std::fclose(file) == 0;
}

}  // namespace refrain::tests::training
