// Lets the unwinder that is linked into the library run on C libraries without _dl_find_object (glibc before 2.35).
//
// The static libgcc of a newer compiler asks that function where an object's unwind tables are. Ours answers from what
// every C library offers, so the library needs no newer one than the oldest that is supported.
#include <dlfcn.h>
#include <link.h>

#include <cstddef>
#include <cstdint>

#if defined(DLFO_STRUCT_HAS_EH_DBASE)

namespace {

struct ObjectSearch {
  std::uintptr_t address;
  dl_find_object* result;
};

int search_object(dl_phdr_info* object, std::size_t, void* data) {
  const auto& search = *static_cast<ObjectSearch*>(data);
  std::uintptr_t begin = 0, end = 0;
  void* tables = nullptr;
  for (unsigned i = 0; i < object->dlpi_phnum; ++i) {
    const ElfW(Phdr)& segment = object->dlpi_phdr[i];
    const std::uintptr_t first = object->dlpi_addr + segment.p_vaddr;
    if (segment.p_type == PT_GNU_EH_FRAME) tables = reinterpret_cast<void*>(first);
    if (segment.p_type != PT_LOAD || search.address < first || search.address >= first + segment.p_memsz) continue;
    begin = first;
    end = first + segment.p_memsz;
  }
  if (begin == 0) return 0;
  if (tables == nullptr) return -1;
  *search.result = {};
  search.result->dlfo_map_start = reinterpret_cast<void*>(begin);
  search.result->dlfo_map_end = reinterpret_cast<void*>(end);
  search.result->dlfo_eh_frame = tables;
  return 1;
}

}  // namespace

extern "C" [[gnu::visibility("hidden")]] int _dl_find_object(void* address, dl_find_object* result) noexcept {
  ObjectSearch search{reinterpret_cast<std::uintptr_t>(address), result};
  return dl_iterate_phdr(search_object, &search) == 1 ? 0 : -1;
}

#endif
