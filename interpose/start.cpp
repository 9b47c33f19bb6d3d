#include "interpose/start.h"

#include <errno.h>
#include <time.h>
#include <unistd.h>

#include <cstdlib>
#include <new>
#include <string>

#include "capture/log_path.h"
#include "interpose/message.h"
#include "interpose/version.h"
#include "policy/describe.h"
#include "policy/words.h"

namespace refrain::interpose {
namespace {

constexpr int oldest_driver = 12040;  // cuFuncGetParamInfo, cuKernelGetParamInfo
constexpr int newest_major = 13;

bool is_supported(const replay::Driver& driver, int version) noexcept {
  if (version / 1000 > newest_major) {
    say(Message::new_driver, "the driver is for CUDA %d.%d, newer than this version of Refrain knows; off",
        version / 1000, version % 1000 / 10);
    return false;
  }
  if (version >= oldest_driver && driver.cuFuncGetParamInfo != nullptr && driver.cuKernelGetParamInfo != nullptr) {
    return true;
  }
  say(Message::old_driver,
      "the driver is for CUDA %d.%d, and 12.4 is the oldest that tells what Refrain must know; off", version / 1000,
      version % 1000 / 10);
  return false;
}

std::string now_utc() {
  const time_t now = time(nullptr);
  tm parts{};
  char text[32] = "";
  if (gmtime_r(&now, &parts) != nullptr) strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

std::string device_name(const replay::Driver& driver) {
  CUdevice device = 0;
  char name[256] = "";
  if (driver.cuDeviceGet == nullptr || driver.cuDeviceGet(&device, 0) != CUDA_SUCCESS) return {};
  if (driver.cuDeviceGetName == nullptr || driver.cuDeviceGetName(name, sizeof name, device) != CUDA_SUCCESS) return {};
  name[sizeof name - 1] = 0;
  return name;
}

capture::HeaderRecord header(const LoadedDriver& driver, int version, const policy::Settings& settings) {
  capture::HeaderRecord record;
  record.refrain_version = refrain_version;
  record.host = capture::host_name();
  record.program = program_invocation_name != nullptr ? program_invocation_name : "";
  record.started = now_utc();
  record.rank = capture::rank_from([](const char* name) { return std::getenv(name); });
  record.pid = getpid();
  record.device = device_name(driver.functions);
  record.driver_version = version;
  record.policy_source = settings.source;
  record.policy = policy::to_json(settings, -1);
  record.mode = policy::to_string(settings.mode);
  return record;
}

std::unique_ptr<capture::LogWriter> open_log(const LoadedDriver& driver, int version,
                                             const policy::Settings& settings) {
  if (settings.log_path.empty()) return nullptr;
  capture::HeaderRecord first = header(driver, version, settings);
  capture::LogOptions options;
  options.path = settings.log_path;
  options.rank = first.rank;
  options.max_bytes = std::uint64_t{settings.log_max_mib} << 20;
  options.warn = [](const std::string& line) { say(Message::log, "%s", line.c_str()); };
  auto log = std::make_unique<capture::LogWriter>(options);
  log->write(std::move(first));
  return log;
}

void tell(replay::Notice notice, const char* subject, const char* error) noexcept {
  switch (notice) {
    case replay::Notice::region_off:
      say(Message::region_off, "region '%s' failed too often, the last time with %s; it runs eagerly from here on",
          subject, error);
      break;
    case replay::Notice::device_failed:
      say(Message::device_failed, "the driver reports %s; nothing is held from here on", error);
      break;
  }
}

std::unique_ptr<Running> make(const LoadedDriver& driver) {
  auto running = std::make_unique<Running>();
  running->environment = policy::read_environment([](const char* name) { return std::getenv(name); });
  const policy::Environment& environment = running->environment;
  if (!environment.errors.empty()) say(Message::environment, "%s", environment.errors.front().c_str());
  if (!environment.wanted || environment.settings.mode == policy::Mode::off) return nullptr;
  int version = 0;
  const auto tell_version = driver.functions.cuDriverGetVersion;
  if (tell_version == nullptr || tell_version(&version) != CUDA_SUCCESS) version = 0;
  if (!is_supported(driver.functions, version)) return nullptr;
  running->selector = std::make_unique<policy::Selector>(environment.settings);
  running->log = open_log(driver, version, environment.settings);
  running->engine = std::make_unique<replay::Engine>(driver.functions, environment.settings, running->log.get(), &tell);
  if (!running->engine->active()) throw std::bad_alloc();
  return running;
}

}  // namespace

std::unique_ptr<Running> start(const LoadedDriver& driver) noexcept {
  try {
    return make(driver);
  } catch (...) {
    say(Message::no_memory, "there is not enough memory to start; off");
    return nullptr;
  }
}

}  // namespace refrain::interpose
