// Contexts: the state of one device that a program works in, and the way to the current one.
//
// Owns:    its streams. Threads: any; `submission` orders what is submitted to the streams of a context.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "replay/driver.h"
#include "tests/simulated_driver/handle_table.h"

namespace refrain::tests::simulated {

struct Stream;

struct Context : std::enable_shared_from_this<Context> {
  CUcontext handle = nullptr;
  uint64_t id = 0;       ///< unique in the process, cuCtxGetId
  unsigned ordinal = 0;  ///< from 0, in the order of creation, for the trace
  int device = 0;
  std::atomic<unsigned> flags{0};
  bool primary = false;
  std::atomic<CUresult> error{CUDA_SUCCESS};  ///< sticky: once set, work is dropped and calls fail
  std::atomic<bool> destroyed{false};
  std::atomic<int> captures{0};  ///< blocking streams that capture now

  std::mutex submission;
  std::shared_ptr<Stream> legacy;
  std::vector<std::shared_ptr<Stream>> streams;  ///< all that live, the legacy one first
  unsigned next_stream_ordinal = 1;

  mutable std::mutex settings;
  std::map<CUlimit, size_t> limits;
  CUfunc_cache cache = CU_FUNC_CACHE_PREFER_NONE;
  CUsharedconfig shared_config = CU_SHARED_MEM_CONFIG_DEFAULT_BANK_SIZE;
  std::set<int> peers;  ///< devices whose memory this context may touch

  bool has_peer(int other_device) const;
  /// Makes `result` the sticky error, if there was none.
  void fail(CUresult result);
};

HandleTable<CUcontext, Context>& contexts();

/// The current context: INVALID_CONTEXT without one, CONTEXT_IS_DESTROYED, or its sticky error.
CUresult current_context(std::shared_ptr<Context>* context);
/// As current_context, but a sticky error does not count.
CUresult current_context_even_failed(std::shared_ptr<Context>* context);

std::shared_ptr<Context> create_context(int device, unsigned flags, bool primary);
/// Waits for the work, then ends everything that belongs to the context. The handle of a primary context stays what it
/// is.
void destroy_context(const std::shared_ptr<Context>& context);
/// A destroyed primary context is used again.
void revive_context(const std::shared_ptr<Context>& context);

/// Waits until all work that was submitted to the context before has executed; the sticky error.
CUresult synchronize(Context& context);

/// The context that a handle names: null means the current one.
CUresult context_or_current(CUcontext handle, std::shared_ptr<Context>* context);

inline bool valid_device(CUdevice device) { return device >= 0 && device < options().devices; }

}  // namespace refrain::tests::simulated
