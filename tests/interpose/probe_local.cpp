// A library that is loaded for its user alone and looks names up from where it stands.
#include <dlfcn.h>

#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int local_in_both() { return 1; }
EXPORT void* local_default(const char* name) {
  void* found = dlsym(RTLD_DEFAULT, name);
  asm volatile("" ::: "memory");  // no tail call: the look-up must come from here
  return found;
}
EXPORT void* local_next(const char* name) {
  void* found = dlsym(RTLD_NEXT, name);
  asm volatile("" ::: "memory");
  return found;
}
EXPORT void* local_look_up(void* handle, const char* name) {
  void* found = dlsym(handle, name);
  asm volatile("" ::: "memory");
  return found;
}
