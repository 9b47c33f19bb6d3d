// What probe_local.cpp depends on.
#define EXPORT extern "C" [[gnu::visibility("default")]]

EXPORT int local_in_both() { return 2; }
EXPORT int local_only_in_dependency() { return 3; }
