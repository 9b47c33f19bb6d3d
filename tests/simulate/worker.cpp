#include "tests/simulate/worker.h"

#include <nvtx3/nvToolsExt.h>

#include <algorithm>
#include <cstdio>

#include "tests/programs/kernel_types.h"
#include "tests/simulate/schedule.h"

namespace refrain::tests::simulate {

thread_local int StrandWorker::current_context = -1;

namespace {

void do_nothing(void*) {}

constexpr const char* range_names[] = {"region a", "region b", "region c", "region d", "region eager", "plain"};

std::uint64_t hash_words(const unsigned* words, std::size_t count) {
  std::uint64_t hash = 14695981039346656037ull;
  for (std::size_t i = 0; i < count; ++i) hash = (hash ^ words[i]) * 1099511628211ull;
  return hash;
}

struct Turn {
  const std::size_t* position;
  const Strip* strip;
  int thread;
};

bool is_turn(void* argument) {
  const Turn& turn = *static_cast<const Turn*>(argument);
  const auto& steps = turn.strip->steps;
  return *turn.position == steps.size() || steps[*turn.position].call.thread == turn.thread;
}

/// cuLaunchKernel_ptsz, for which NULL is the thread's own default stream.
decltype(&::cuLaunchKernel) per_thread_launch() {
  static const auto found = [] {
    void* function = nullptr;
    CUdriverProcAddressQueryResult status{};
    check(driver().cuGetProcAddress("cuLaunchKernel", &function, CUDA_VERSION,
                                    CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM, &status),
          "cuGetProcAddress");
    return reinterpret_cast<decltype(&::cuLaunchKernel)>(function);
  }();
  return found;
}

template <class... Values>
std::vector<std::byte> join(const Values&... values) {
  Arguments list;
  (list.add(values), ...);
  return list.joined();
}

}  // namespace

void StrandWorker::run(int number) {
  // Nothing of this is noted: another thread of the strand may be at work already.
  const auto enter = [&](int context) {
    check(driver().cuCtxSetCurrent(world_.contexts[context]), "cuCtxSetCurrent");
    current_context = context;
  };
  for (int i = 0; number == 0 && i < static_cast<int>(objects_.streams.size()); ++i) {
    if (objects_.stream_plan(i).kind != StreamKind::per_thread) continue;
    enter(objects_.stream_plan(i).context);
    make_marker(world_, objects_, i);
    check(driver().cuStreamSynchronize(objects_.stream(i)), "cuStreamSynchronize");
  }
  enter(objects_.stream_plan(0).context);
  Turn turn{&position_, &strip_, number};
  while (true) {
    if (!is_turn(&turn)) schedule::wait_until(is_turn, &turn, "turn in the strand");
    if (position_ == strip_.steps.size()) return;
    make_work(strip_.steps[position_]);
    ++position_;
  }
}

CUresult StrandWorker::note(const char* name, CUresult result) {
  char line[96];
  std::snprintf(line, sizeof line, "%d:%zu %s %d\n", objects_.number, position_, name, static_cast<int>(result));
  answers_ += line;
  return result;
}

#define NOTED(function, ...) note(#function, driver().function(__VA_ARGS__))

void StrandWorker::enter_context(int context) {
  if (current_context == context) return;
  NOTED(cuCtxSetCurrent, world_.contexts[context]);
  current_context = context;
}

Memory& StrandWorker::buffer(const Call& call, int number) {
  return objects_.buffers[static_cast<std::size_t>(context_of(call) * buffers_a_context + number)];
}

CUfunction StrandWorker::function(const Call& call, const char* name) {
  const int context = context_of(call);
  const bool own = objects_.plan->own_code != 0;
  return (own ? objects_.functions[context] : world_.functions[context]).at(name);
}

void StrandWorker::expect(int stream, const char* kind, const std::vector<std::byte>& bytes) {
  model::expect(objects_.first_stream + stream,
                model::operation(kind, "", {0, 0, 0}, {0, 0, 0}, 0, bytes.data(), bytes.size()), before_);
}

/// Makes a step with what must come before its work, and notes how far the stream is then.
void StrandWorker::make_work(const Step& step) {
  before_.clear();
  for (std::size_t other = 0; other < step.after.size(); ++other) {
    const std::vector<std::size_t>& passed = passed_[other];
    const std::size_t count = passed[std::min<std::size_t>(step.after[other], passed.size() - 1)];
    if (static_cast<int>(other) != step.call.stream && count != 0)
      before_.push_back({objects_.first_stream + static_cast<int>(other), count});
  }
  make(step);
  if (step.after.empty()) return;
  const auto of = static_cast<std::size_t>(step.call.stream);
  passed_[of].resize(step.after[of], passed_[of].back());
  passed_[of].push_back(model::expected(objects_.first_stream + step.call.stream));
}

void StrandWorker::make(const Step& step) {
  const Call& one = step.call;
  enter_context(context_of(one));
  const auto of = static_cast<std::size_t>(one.stream);
  switch (step.action) {
    case Action::call: return call(step);
    case Action::record: NOTED(cuEventRecord, objects_.events[of], stream(one)); return;
    case Action::wait:
      NOTED(cuStreamWaitEvent, stream(one), objects_.events[static_cast<std::size_t>(one.to)], 0);
      return;
    case Action::wait_event: NOTED(cuEventSynchronize, objects_.events[of]); return;
    case Action::wait_stream: NOTED(cuStreamSynchronize, stream(one)); return;
    case Action::wait_context: NOTED(cuCtxSynchronize); return;
    case Action::poll_stream: {
      CUresult result = CUDA_ERROR_NOT_READY;
      while (result == CUDA_ERROR_NOT_READY) result = driver().cuStreamQuery(stream(one));
      note("cuStreamQuery, last of many", result);
      return;
    }
    case Action::spin: return spin(one);
    case Action::read: return read(one);
    case Action::finish: return finish();
  }
}

void StrandWorker::call(const Step& step) {
  const Call& one = step.call;
  switch (one.kind) {
    case Kind::push:
    case Kind::pop:
    case Kind::start:
    case Kind::end: return range(one);
    case Kind::query_stream:
    case Kind::query_event: return question(step);
    case Kind::refused: {
      unsigned n = 4;
      void* parameters[] = {&n, &n, &n, &n};
      NOTED(cuLaunchKernel, function(one, "mix"), 1, 1, 1, 4096, 1, 1, 0, stream(one), parameters, nullptr);
      return;
    }
    case Kind::attribute:
      NOTED(cuFuncSetAttribute, function(one, "mix"), CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES,
            4096 + 512 * (one.value & 15));
      return;
    case Kind::new_memory: return new_memory(one);
    case Kind::new_memory_in_stream: return new_memory_in_stream(one);
    case Kind::new_code: return new_code();
    case Kind::new_stream: return new_stream(one);
    case Kind::graph: return graph(one);
    case Kind::memset:
    case Kind::memset_bytes:
    case Kind::memset_rows:
    case Kind::copy:
    case Kind::upload:
    case Kind::upload_pinned:
    case Kind::download:
    case Kind::host: return fill_or_copy(one);
    default: return work(one);
  }
}

void StrandWorker::range(const Call& one) {
  const char* name = range_names[static_cast<std::size_t>(one.slot) % std::size(range_names)];
  switch (one.kind) {
    case Kind::push: nvtxRangePushA(name); return;
    case Kind::pop: nvtxRangePop(); return;
    case Kind::start: started_.push_back(nvtxRangeStartA(name)); return;
    default:
      if (started_.empty()) return;
      // The older one of two first, now and then: they cross.
      const auto which = one.slot % 2 != 0 ? started_.begin() : std::prev(started_.end());
      nvtxRangeEnd(*which);
      started_.erase(which);
  }
}

void StrandWorker::question(const Step& step) {
  const bool of_stream = step.call.kind == Kind::query_stream;
  const CUresult result = of_stream
                              ? driver().cuStreamQuery(stream(step.call))
                              : driver().cuEventQuery(objects_.events[static_cast<std::size_t>(step.call.stream)]);
  // Unless all is known to be done, both answers are right.
  note(of_stream ? "cuStreamQuery" : "cuEventQuery",
       !step.surely_done && result == CUDA_ERROR_NOT_READY ? CUDA_SUCCESS : result);
}

void StrandWorker::work(const Call& one) {
  const CUdeviceptr x = buffer(one, one.x).address, y = buffer(one, one.y).address;
  const auto n = static_cast<unsigned>(one.n), value = static_cast<unsigned>(one.value);
  Arguments arguments;
  switch (one.kind) {
    case Kind::mix: return launch(one, "mix", arguments.add(x).add(y).add(n).add(value));
    case Kind::accumulate: return launch(one, "accumulate", arguments.add(x).add(y).add(n));
    case Kind::fill: return launch(one, "fill", arguments.add(x).add(n).add(value));
    case Kind::configuration: return launch(one, "configuration", arguments.add(x).add(n));
    case Kind::described: {
      Descriptor descriptor{};
      descriptor.base = reinterpret_cast<unsigned*>(x);
      descriptor.n = n;
      descriptor.add = value;
      for (unsigned& word : descriptor.salt) word = value ^ static_cast<unsigned>(&word - descriptor.salt);
      return launch(one, "described", arguments.add(descriptor));
    }
    case Kind::padded: {
      Padded padded;
      std::memset(static_cast<void*>(&padded), one.value & 0xff, sizeof padded);  // whatever was there before
      padded.negative = (value & 1) != 0;
      padded.number = one.value;
      return launch(one, "padded", arguments.add(padded).add(x));
    }
    case Kind::table: {
      PointerTable table{};
      table.entries[0] = reinterpret_cast<unsigned*>(x);
      table.entries[1] = reinterpret_cast<unsigned*>(y);
      table.count = 2;
      table.n = n;
      table.step = value;
      return launch(one, "table_update", arguments.add(table));
    }
    default: return launch(one, "empty", arguments);
  }
}

void StrandWorker::launch(const Call& one, const char* name, Arguments& arguments) {
  const unsigned grid[] = {static_cast<unsigned>(one.grid), 1, 1}, block[] = {static_cast<unsigned>(one.block), 1, 1};
  const auto shared = static_cast<unsigned>(one.shared);
  const CUfunction kernel = function(one, name);
  const int stream_number = objects_.first_stream + one.stream;
  const std::vector<std::byte> bytes = arguments.joined();
  model::expect(stream_number, model::operation("kernel", name, grid, block, shared, bytes.data(), bytes.size()),
                before_);
  CUresult result = CUDA_SUCCESS;
  const int form = arguments.empty() && one.form == 1 ? 0 : one.form;
  if (form >= 2) {
    CUlaunchAttribute attribute{};
    std::memset(static_cast<void*>(&attribute), 0xab, sizeof attribute);  // unused bytes of the union hold anything
    attribute.id = CU_LAUNCH_ATTRIBUTE_PRIORITY;
    attribute.value.priority = 0;
    CUlaunchConfig config{};
    config.gridDimX = grid[0];
    config.blockDimX = block[0];
    config.gridDimY = config.gridDimZ = config.blockDimY = config.blockDimZ = 1;
    config.sharedMemBytes = shared;
    config.hStream = stream(one);
    config.attrs = form == 3 ? &attribute : nullptr;
    config.numAttrs = form == 3 ? 1 : 0;
    result = NOTED(cuLaunchKernelEx, &config, kernel, arguments.pointers(), nullptr);
    std::memset(static_cast<void*>(&config), 0xee, sizeof config);
    std::memset(static_cast<void*>(&attribute), 0xee, sizeof attribute);
  } else {
    // The thread's own stream has two names.
    const bool by_name = objects_.stream_plan(one.stream).kind == StreamKind::per_thread && one.value % 2 != 0;
    void** const parameters = form == 0 ? arguments.pointers() : nullptr;
    void** const extra = form == 1 ? arguments.extra() : nullptr;
    if (by_name) {
      result = note("cuLaunchKernel",
                    per_thread_launch()(kernel, grid[0], 1, 1, block[0], 1, 1, shared, nullptr, parameters, extra));
    } else {
      result = NOTED(cuLaunchKernel, kernel, grid[0], 1, 1, block[0], 1, 1, shared, stream(one), parameters, extra);
    }
  }
  arguments.spoil();
  if (result != CUDA_SUCCESS) model::take_back(stream_number);
}

void StrandWorker::fill_or_copy(const Call& one) {
  const CUdeviceptr x = buffer(one, one.x).address, y = buffer(one, one.y).address;
  const std::uint64_t n = static_cast<std::uint64_t>(one.n), bytes = n * 4, one_row = 1, none = 0;
  const auto value = static_cast<std::uint64_t>(static_cast<unsigned>(one.value));
  unsigned* const down = objects_.host + 3 * buffer_words;
  switch (one.kind) {
    case Kind::memset:
      expect(one.stream, "fill", join(x, none, value, std::uint64_t{4}, n, one_row));
      NOTED(cuMemsetD32Async, x, static_cast<unsigned>(value), n, stream(one));
      return;
    case Kind::memset_bytes:
      expect(one.stream, "fill", join(x, none, value & 0xff, std::uint64_t{1}, n, one_row));
      NOTED(cuMemsetD8Async, x, static_cast<unsigned char>(value), n, stream(one));
      return;
    case Kind::memset_rows: {
      const std::uint64_t pitch = 64, width = 1 + n % 8, rows = 3;
      expect(one.stream, "fill", join(x, pitch, value, std::uint64_t{4}, width, rows));
      NOTED(cuMemsetD2D32Async, x, pitch, static_cast<unsigned>(value), width, rows, stream(one));
      return;
    }
    case Kind::copy:
      if (x == y) return;
      expect(one.stream, "copy", join(x, y, bytes));
      NOTED(cuMemcpyDtoDAsync, x, y, bytes, stream(one));
      return;
    case Kind::upload: {
      unsigned staged[buffer_words];
      for (unsigned& word : staged) word = static_cast<unsigned>(value) + static_cast<unsigned>(&word - staged);
      std::vector<std::byte> all = join(x, none, bytes);
      all.insert(all.end(), reinterpret_cast<std::byte*>(staged), reinterpret_cast<std::byte*>(staged) + bytes);
      expect(one.stream, "copy", all);
      NOTED(cuMemcpyHtoDAsync, x, staged, bytes, stream(one));
      std::memset(staged, 0xee, sizeof staged);
      return;
    }
    case Kind::upload_pinned:
      expect(one.stream, "copy", join(x, reinterpret_cast<std::uint64_t>(objects_.host), bytes));
      NOTED(cuMemcpyHtoDAsync, x, objects_.host, bytes, stream(one));
      return;
    case Kind::download:
      expect(one.stream, "copy", join(reinterpret_cast<std::uint64_t>(down), x, bytes));
      NOTED(cuMemcpyDtoHAsync, down, x, bytes, stream(one));
      return;
    default:
      expect(one.stream, "host", join(&do_nothing, reinterpret_cast<void*>(static_cast<std::uintptr_t>(value))));
      NOTED(cuLaunchHostFunc, stream(one), do_nothing, reinterpret_cast<void*>(static_cast<std::uintptr_t>(value)));
  }
}

void StrandWorker::read(const Call& one) {
  char line[96];
  const unsigned* const down = objects_.host + 3 * buffer_words;
  std::snprintf(line, sizeof line, "%d:%zu buffer %d %016llx\n", objects_.number, position_, one.x,
                static_cast<unsigned long long>(hash_words(down, static_cast<std::size_t>(one.n))));
  answers_ += line;
}

void StrandWorker::spin(const Call& one) {
  const auto of = static_cast<std::size_t>(one.stream);
  struct Flag {
    unsigned* word;
    unsigned value;
  } flag{objects_.flags + of, ++objects_.told[of]};
  Arguments arguments;
  Call told = one;
  told.form = 0;
  launch(told, "tell", arguments.add(objects_.flags_device + 4 * of).add(flag.value));
  const auto arrived = [](void* argument) {
    const Flag& wanted = *static_cast<const Flag*>(argument);
    return __atomic_load_n(wanted.word, __ATOMIC_ACQUIRE) >= wanted.value;
  };
  if (!arrived(&flag)) schedule::wait_until(arrived, &flag, "a flag in mapped memory");
}

// On the first stream of each context in turn; every other stream has been waited for.
void StrandWorker::finish() {
  const int streams = static_cast<int>(objects_.streams.size());
  for (int i = 0; i < streams; ++i) {
    enter_context(objects_.stream_plan(i).context);
    NOTED(cuStreamSynchronize, objects_.stream(i));
  }
  for (int context = 0; context < 2; ++context) {
    int first = 0;
    while (first < streams && objects_.stream_plan(first).context != context) ++first;
    for (int x = 0; first < streams && x < objects_.plan->buffers; ++x) {
      Call down;
      down.kind = Kind::download;
      down.stream = first;
      down.x = x;
      down.n = static_cast<int>(buffer_words);
      enter_context(context);
      fill_or_copy(down);
      NOTED(cuStreamSynchronize, stream(down));
      read(down);
    }
  }
}

}  // namespace refrain::tests::simulate
