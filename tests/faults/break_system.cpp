// Preloaded after librefrain.so: makes system calls and allocations fail that are made from librefrain's own code, told
// by the return address (its C++ library is linked into it, so operator new counts as well).
//
//   REFRAIN_BREAK         WHAT:N or WHAT:N:forever; the N-th call fails, from 1. WHAT: memory (malloc and its kin), map
//                         (mmap), thread (pthread_create), write (the disk is full), open (no descriptor is free)
//   REFRAIN_BREAK=late:US threads start, but their function begins so many microseconds later
//   REFRAIN_BREAK_COUNTS  file for the counts: one line "WHAT COUNT" each, and "failed COUNT"
//
// Threads: any. Owns: nothing. Fails: a malformed REFRAIN_BREAK breaks nothing; the tests look at `failed`.
#undef _FILE_OFFSET_BITS  // both names of each function are defined here
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

extern "C" {
void* __libc_malloc(size_t);
void* __libc_calloc(size_t, size_t);
void* __libc_realloc(void*, size_t);
void* __libc_memalign(size_t, size_t);
}

namespace {

enum What : unsigned { memory, map, thread, write_, open_, late, what_count };
constexpr const char* names[] = {"memory", "map", "thread", "write", "open", "late"};

std::atomic<std::uintptr_t> code_begin{0}, code_end{0};
std::atomic<std::uint64_t> counts[what_count], failed{0};
std::atomic<unsigned> broken{what_count};
std::uint64_t number = 0;
bool forever = false;

int find_code(dl_phdr_info* object, size_t, void*) {
  if (std::strstr(object->dlpi_name, "librefrain.so") == nullptr) return 0;
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    if (segment.p_type != PT_LOAD || (segment.p_flags & PF_X) == 0) continue;
    code_begin = object->dlpi_addr + segment.p_vaddr;
    code_end = object->dlpi_addr + segment.p_vaddr + segment.p_memsz;
  }
  return 1;
}

[[gnu::constructor]] void begin() {
  const char* wanted = std::getenv("REFRAIN_BREAK");
  const char* colon = wanted != nullptr ? std::strchr(wanted, ':') : nullptr;
  if (colon != nullptr) {
    for (unsigned what = 0; what < what_count; ++what) {
      if (std::strlen(names[what]) != static_cast<size_t>(colon - wanted)) continue;
      if (std::strncmp(names[what], wanted, static_cast<size_t>(colon - wanted)) == 0) broken = what;
    }
    char* end = nullptr;
    number = std::strtoull(colon + 1, &end, 10);
    forever = std::strcmp(end, ":forever") == 0;
  }
  dl_iterate_phdr(find_code, nullptr);
}

[[gnu::destructor]] void end() {
  const char* path = std::getenv("REFRAIN_BREAK_COUNTS");
  const int file =
      path != nullptr ? static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT, 0600)) : -1;
  if (file < 0) return;
  for (unsigned what = 0; what < what_count; ++what) dprintf(file, "%s %lu\n", names[what], counts[what].load());
  dprintf(file, "failed %lu\n", failed.load());
  close(file);
}

bool is_librefrain(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  return at >= code_begin.load(std::memory_order_relaxed) && at < code_end.load(std::memory_order_relaxed);
}

/// Counts a call from `caller`; true when it shall fail.
bool fails(What what, const void* caller) {
  if (!is_librefrain(caller)) return false;
  const std::uint64_t call = counts[what].fetch_add(1) + 1;
  if (broken.load(std::memory_order_relaxed) != what || call < number || (call > number && !forever)) return false;
  failed.fetch_add(1);
  return true;
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlvsym(RTLD_NEXT, name, "GLIBC_2.34"));
}

bool is_late(const void* caller) {
  if (broken.load(std::memory_order_relaxed) != late || !is_librefrain(caller)) return false;
  failed.fetch_add(1);
  return true;
}

struct LateStart {
  void* (*run)(void*);
  void* argument;
};

void* start_late(void* given) {
  const LateStart start = *static_cast<LateStart*>(given);
  std::free(given);
  usleep(static_cast<useconds_t>(number));
  return start.run(start.argument);
}

void* no_memory() {
  errno = ENOMEM;
  return nullptr;
}

}  // namespace

#define CALLER __builtin_return_address(0)
#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT void* malloc(size_t bytes) { return fails(memory, CALLER) ? no_memory() : __libc_malloc(bytes); }
EXPORT void* calloc(size_t count, size_t bytes) {
  return fails(memory, CALLER) ? no_memory() : __libc_calloc(count, bytes);
}
EXPORT void* realloc(void* old, size_t bytes) {
  return fails(memory, CALLER) ? no_memory() : __libc_realloc(old, bytes);
}
EXPORT void* aligned_alloc(size_t alignment, size_t bytes) {
  return fails(memory, CALLER) ? no_memory() : __libc_memalign(alignment, bytes);
}
EXPORT int posix_memalign(void** made, size_t alignment, size_t bytes) {
  void* const address = fails(memory, CALLER) ? nullptr : __libc_memalign(alignment, bytes);
  if (address != nullptr) *made = address;
  return address != nullptr ? 0 : ENOMEM;
}

EXPORT void* mmap(void* address, size_t bytes, int protection, int flags, int file, off_t offset) {
  if (fails(map, CALLER)) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  return reinterpret_cast<void*>(syscall(SYS_mmap, address, bytes, protection, flags, file, offset));
}
EXPORT void* mmap64(void* address, size_t bytes, int protection, int flags, int file, off64_t offset)
    __attribute__((alias("mmap")));

EXPORT int pthread_create(pthread_t* made, const pthread_attr_t* attributes, void* (*run)(void*), void* argument) {
  using Create = int (*)(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*);
  static const auto create = next<Create>("pthread_create");
  if (fails(thread, CALLER)) return EAGAIN;
  if (!is_late(CALLER)) return create(made, attributes, run, argument);
  auto* const start = static_cast<LateStart*>(__libc_malloc(sizeof(LateStart)));
  *start = {run, argument};
  return create(made, attributes, start_late, start);
}

EXPORT ssize_t write(int file, const void* bytes, size_t size) {
  if (file > STDERR_FILENO && fails(write_, CALLER)) {
    errno = ENOSPC;
    return -1;
  }
  return syscall(SYS_write, file, bytes, size);
}

EXPORT int open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const int mode = va_arg(rest, int);
  va_end(rest);
  if (fails(open_, CALLER)) {
    errno = EMFILE;
    return -1;
  }
  return static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
EXPORT int open64(const char* path, int flags, ...) __attribute__((alias("open")));
