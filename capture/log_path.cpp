#include "capture/log_path.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <cstring>

namespace refrain::capture {
namespace {

std::string rank_text(int rank) { return rank < 0 ? "none" : std::to_string(rank); }

/// Puts `addition` before the extension of the last component; a leading dot begins no extension.
std::string before_extension(std::string_view name, std::string_view addition) {
  const std::size_t slash = name.rfind('/');
  const std::size_t first = slash == std::string_view::npos ? 0 : slash + 1;
  std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot <= first) dot = name.size();
  std::string result(name.substr(0, dot));
  result += addition;
  result += name.substr(dot);
  return result;
}

}  // namespace

std::string host_name() {
  std::array<char, 65> name{};
  if (gethostname(name.data(), name.size() - 1) != 0 || name[0] == '\0') return "unknown";
  std::string result(name.data());
  for (char& character : result) {
    const bool kept = (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
                      (character >= '0' && character <= '9') || character == '.' || character == '_' ||
                      character == '-';
    if (!kept) character = '_';
  }
  return result;
}

int rank_from(const std::function<const char*(const char*)>& look_up) {
  for (const char* name : {"RANK", "LOCAL_RANK", "OMPI_COMM_WORLD_RANK", "SLURM_PROCID"}) {
    const char* text = look_up(name);
    if (text == nullptr) continue;
    const char* end = text + std::strlen(text);
    int rank = -1;
    const auto [stop, error] = std::from_chars(text, end, rank);
    if (error == std::errc{} && stop == end && rank >= 0) return rank;
  }
  return -1;
}

PathKind look_at(const std::string& path) noexcept {
  if (path.ends_with('/')) return PathKind::folder;
  struct stat status {};
  if (stat(path.c_str(), &status) != 0 || S_ISREG(status.st_mode)) return PathKind::file;
  return S_ISDIR(status.st_mode) ? PathKind::folder : PathKind::device;
}

std::string log_file_name(std::string_view path, PathKind kind, const LogIdentity& identity) {
  std::string name;
  bool has_placeholder = false;
  for (std::size_t at = 0; at < path.size(); ++at) {
    const char next = path[at] == '%' && at + 1 < path.size() ? path[at + 1] : '\0';
    switch (next) {
      case 'h': name += identity.host; break;
      case 'r': name += rank_text(identity.rank); break;
      case 'p': name += std::to_string(identity.pid); break;
      case '%': name += '%'; break;
      default: name += path[at]; continue;
    }
    has_placeholder = has_placeholder || next != '%';
    ++at;
  }
  if (has_placeholder || kind == PathKind::device) return name;
  const std::string self = "-" + identity.host + "-" + rank_text(identity.rank) + "-" + std::to_string(identity.pid);
  if (kind == PathKind::file) return before_extension(name, self);
  if (!name.empty() && !name.ends_with('/')) name += '/';
  return name + "refrain" + self + ".jsonl";
}

std::string next_file_name(std::string_view name, int attempt) {
  return before_extension(name, std::string(1, '-').append(std::to_string(attempt + 1)));
}

}  // namespace refrain::capture
