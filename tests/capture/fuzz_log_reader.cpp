// libFuzzer target: no bytes may crash the reader or `refrain show`, and a log that can be read is written the same.
#include "tests/capture/fuzz_log_reader.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <string>

#include "capture/command_show.h"
#include "capture/log_decode.h"
#include "capture/log_format.h"
#include "capture/log_reader.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace refrain::tests {
namespace {

using namespace capture;

/// A written record must be readable, and must not change any more.
void check_round_trip(const LogEntry& entry) {
  LogFormat format;
  const std::string line = format.line(entry.record, entry.time);
  DecodedLine decoded;
  if (decode(line, decoded) != Decoded::record) std::abort();
  if (format.line(decoded.record, decoded.time) != line) std::abort();
}

}  // namespace

int read_and_show(std::string_view bytes) {
  const int file = memfd_create("log", MFD_CLOEXEC);
  std::FILE* nowhere = std::fopen("/dev/null", "we");
  if (file < 0 || nowhere == nullptr || write(file, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size())) {
    std::abort();
  }
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  LogReader reader(path);
  LogEntry entry;
  std::string region;
  while (reader.next(entry) == LogReader::Status::record) {
    check_round_trip(entry);
    if (const auto* sequence = std::get_if<SequenceRecord>(&entry.record)) region = sequence->region;
  }
  const bool readable = reader.error().empty();
  const int code = run_show(path, {}, nowhere, nowhere);
  if ((code == 2) == readable) std::abort();
  run_show(path, {true, {}, {}}, nowhere, nowhere);
  run_show(path, {false, region, {}}, nowhere, nowhere);
  run_show(path, {false, region, 1}, nowhere, nowhere);
  std::fclose(nowhere);
  close(file);
  return code;
}

}  // namespace refrain::tests

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  refrain::tests::read_and_show({reinterpret_cast<const char*>(data), size});
  return 0;
}
