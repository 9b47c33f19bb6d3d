// Which file a process logs to: one file a process, whatever the user wrote.
#pragma once

#include <sys/types.h>

#include <functional>
#include <string>
#include <string_view>

namespace refrain::capture {

/// What makes the file of one process different from those of all others.
struct LogIdentity {
  std::string host;
  int rank = -1;  ///< -1: the launcher told none; "none" in the file name
  pid_t pid = 0;
};

/// This machine's name, with anything but letters, digits, '.', '_' and '-' replaced.
std::string host_name();

/// The rank that the launcher put into the environment, from the first of RANK, LOCAL_RANK, OMPI_COMM_WORLD_RANK and
/// SLURM_PROCID that is a whole number; -1 when none is. `look_up` gives a variable's value or nullptr.
int rank_from(const std::function<const char*(const char*)>& look_up);

/// What lies at a path now.
enum class PathKind {
  file,    ///< a regular file, or nothing yet
  folder,  ///< a folder, or a name that ends in '/'
  device,  ///< a device, pipe or socket: written as it is
};
PathKind look_at(const std::string& path) noexcept;

/// The file to write. `path` with %h (host), %r (rank), %p (pid) and %% replaced; without any of the first three,
/// a folder gets `refrain-<host>-<rank>-<pid>.jsonl` and a file gets `-<host>-<rank>-<pid>` before its extension.
std::string log_file_name(std::string_view path, PathKind kind, const LogIdentity& identity);

/// The name to try when `name` exists already: `attempt` 1 is the first such name.
std::string next_file_name(std::string_view name, int attempt);

}  // namespace refrain::capture
