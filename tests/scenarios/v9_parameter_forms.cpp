// V9: parameters of every size, as an array of pointers and as one packed buffer, each ending at a page that cannot be
// read, overwritten as soon as the call returns; and a kernel without any.
#include <sys/mman.h>
#include <unistd.h>

#include <initializer_list>

#include "tests/programs/kernel_types.h"
#include "tests/programs/scenario.h"

namespace refrain::tests {
namespace {

/// Some pages with an unreadable one behind them.
class GuardedBytes {
 public:
  explicit GuardedBytes(std::size_t size) : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    readable_ = (size + page - 1) / page * page;
    void* memory = mmap(nullptr, readable_ + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) std::exit(3);
    memory_ = static_cast<char*>(memory);
    mprotect(memory_ + readable_, page, PROT_NONE);
  }
  ~GuardedBytes() { munmap(memory_, readable_ + static_cast<std::size_t>(sysconf(_SC_PAGESIZE))); }
  GuardedBytes(const GuardedBytes&) = delete;
  GuardedBytes& operator=(const GuardedBytes&) = delete;
  char* data() { return memory_ + readable_ - size_; }
  void put(const void* source) { std::memcpy(data(), source, size_); }
  void spoil() { std::memset(data(), 0xdd, size_); }

 private:
  std::size_t size_, readable_;
  char* memory_;
};

constexpr std::size_t forms_offsets[] = {0, 2, 4, 8, 16, 32, 48}, forms_sizes[] = {1, 2, 4, 8, 3, 16, 8};

struct FormsValues {
  unsigned char a;
  unsigned short b;
  unsigned c;
  unsigned long long d;
  Three e;
  Four f;
  CUdeviceptr out;
  const void* value(std::size_t index) const {
    const void* values[] = {&a, &b, &c, &d, &e, &f, &out};
    return values[index];
  }
};

/// Each value and the array of pointers end at a guard page of their own.
class ByPointers {
 public:
  explicit ByPointers(std::initializer_list<std::size_t> sizes) : array_(sizes.size() * sizeof(void*)) {
    for (const std::size_t size : sizes) values_.push_back(new GuardedBytes(size));
  }
  ~ByPointers() {
    for (GuardedBytes* value : values_) delete value;
  }
  ByPointers(const ByPointers&) = delete;
  ByPointers& operator=(const ByPointers&) = delete;
  GuardedBytes& value(std::size_t index) { return *values_[index]; }
  void launch(CUfunction function, CUstream stream) {
    for (std::size_t i = 0; i < values_.size(); ++i) {
      void* pointer = values_[i]->data();
      std::memcpy(array_.data() + i * sizeof pointer, &pointer, sizeof pointer);
    }
    CALL(cuLaunchKernel, function, 2, 1, 1, 64, 1, 1, 0, stream, reinterpret_cast<void**>(array_.data()), nullptr);
    for (GuardedBytes* value : values_) value->spoil();
    array_.spoil();
  }

 private:
  GuardedBytes array_;
  std::vector<GuardedBytes*> values_;
};

/// One packed buffer, its size and the list that names them.
class Packed {
 public:
  explicit Packed(std::size_t size) : buffer_(size), size_(size) {}
  char* data() { return buffer_.data(); }
  void launch(CUfunction function, CUstream stream) {
    std::size_t size = size_;
    void* extra[] = {CU_LAUNCH_PARAM_BUFFER_POINTER, buffer_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size,
                     CU_LAUNCH_PARAM_END};
    CALL(cuLaunchKernel, function, 2, 1, 1, 64, 1, 1, 0, stream, nullptr, extra);
    buffer_.spoil();
    spoil(size);
    spoil(extra);
  }

 private:
  GuardedBytes buffer_;
  std::size_t size_;
};

FormsValues values_of(Numbers& numbers, CUdeviceptr out) {
  auto byte = [&] { return static_cast<unsigned char>(numbers.below(256)); };
  FormsValues values{};
  values.a = byte();
  values.b = static_cast<unsigned short>(numbers.below(65536));
  values.c = numbers.next();
  values.d = static_cast<unsigned long long>(numbers.next()) << 32 | numbers.next();
  values.e = {{byte(), byte(), byte()}};
  values.f = {numbers.next(), numbers.next(), numbers.next(), numbers.next()};
  values.out = out;
  return values;
}

}  // namespace

SCENARIO(v9_parameter_forms) {
  const Buffer out(16, 1), out_packed(16, 2), out_4000(1000, 3), out_8192(2048, 4), out_8192_packed(2048, 5);
  const CUfunction forms = scenario.kernel("forms"), block_4000 = scenario.kernel("block_4000"),
                   block_8192 = scenario.kernel("block_8192"), empty = scenario.kernel("empty");
  const CUstream stream = scenario.stream();
  Ledger ledger(scenario, {&out, &out_packed, &out_4000, &out_8192, &out_8192_packed});
  ByPointers by_pointers({1, 2, 4, 8, 3, 16, 8}), large({4000, 8}), larger({8192, 8});
  Packed packed(56), larger_packed(8200);
  Numbers numbers(5);
  auto words = [&](char* to, std::size_t count, unsigned changed) {
    for (std::size_t i = 0; i < count; ++i) {
      const auto word = static_cast<unsigned>(i) * 7 + (i % 100 == 3 ? changed : 0);
      std::memcpy(to + i * 4, &word, 4);
    }
  };
  auto address = [](char* to, CUdeviceptr value) { std::memcpy(to, &value, sizeof value); };
  for (int i = 0; i < scenario.iterations(); ++i) {
    const Range range("region forms");
    const FormsValues values = values_of(numbers, out.address()), others = values_of(numbers, out_packed.address());
    for (std::size_t v = 0; v < 7; ++v) by_pointers.value(v).put(values.value(v));
    by_pointers.launch(forms, stream);
    for (std::size_t b = 0; b < 56; ++b) packed.data()[b] = static_cast<char>(numbers.next());
    for (std::size_t v = 0; v < 7; ++v) std::memcpy(packed.data() + forms_offsets[v], others.value(v), forms_sizes[v]);
    packed.launch(forms, stream);
    words(large.value(0).data(), 1000, numbers.next());
    address(large.value(1).data(), out_4000.address());
    large.launch(block_4000, stream);
    CALL(cuLaunchKernel, empty, 1, 1, 1, 32, 1, 1, 0, stream, nullptr, nullptr);
    words(larger.value(0).data(), 2048, static_cast<unsigned>(i) / 3);
    address(larger.value(1).data(), out_8192.address());
    larger.launch(block_8192, stream);
    words(larger_packed.data(), 2048, static_cast<unsigned>(i));
    address(larger_packed.data() + 8192, out_8192_packed.address());
    larger_packed.launch(block_8192, stream);
    ledger.take(stream);
  }
  ledger.close();
}

}  // namespace refrain::tests
