/* Refrain's C interface for a harness that wants to compare eager and replay in one process.
 *
 * The functions are found by dlsym(RTLD_DEFAULT, "refrain_pause") and so on; when the look-up gives NULL, Refrain is
 * not loaded. They may be called from any thread, at any time, and do nothing in a process where Refrain is off. */
#ifndef REFRAIN_H
#define REFRAIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Totals of this process since its start. calls = held + passed, held = replayed + flushed (+ those held just now). */
struct refrain_statistics {
  size_t size;            /* in: sizeof(struct refrain_statistics) of the caller; out: bytes filled */
  uint64_t launches_seen; /* kernel launches through any hook */
  uint64_t calls;         /* kernels, memsets and copies that could have been held, inside and outside regions */
  uint64_t held;
  uint64_t passed;
  uint64_t replayed;
  uint64_t flushed;
  uint64_t patched; /* replayed operations whose node was patched */
  uint64_t graph_launches;
  uint64_t region_calls; /* calls inside regions */
  uint64_t region_replayed;
  uint64_t graph_bytes; /* device memory of all graphs */
  uint64_t fallbacks;
  uint64_t host_bytes; /* host memory of recorded sequences */
};

/* Issues what is held and passes every call until refrain_resume(). Calls nest. */
void refrain_pause(void);
void refrain_resume(void);
/* 0 on success, -1 when Refrain is off here or `statistics->size` is too small to hold anything. */
int refrain_stats(struct refrain_statistics* statistics);

#ifdef __cplusplus
}
#endif
#endif
