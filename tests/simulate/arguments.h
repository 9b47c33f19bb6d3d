// The arguments of one kernel launch, in every form in which a launch takes them, overwritten after use.
#pragma once

#include <cuda.h>

#include <cstddef>
#include <cstring>
#include <string>
#include <vector>

namespace refrain::tests::simulate {

class Arguments {
 public:
  template <class Value>
  Arguments& add(const Value& value) {
    offset_ = (offset_ + alignof(Value) - 1) / alignof(Value) * alignof(Value);
    packed_.resize(offset_ + sizeof value, std::byte{0});
    std::memcpy(packed_.data() + offset_, &value, sizeof value);
    places_.push_back({offset_, sizeof value});
    alignment_ = std::max(alignment_, alignof(Value));
    offset_ += sizeof value;
    return *this;
  }

  /// One after the other, without the padding between them.
  std::vector<std::byte> joined() const {
    std::vector<std::byte> bytes;
    for (const Place& place : places_)
      bytes.insert(bytes.end(), packed_.data() + place.offset, packed_.data() + place.offset + place.size);
    return bytes;
  }

  void** pointers() {
    pointers_.clear();
    for (const Place& place : places_) pointers_.push_back(packed_.data() + place.offset);
    pointers_.push_back(nullptr);
    return pointers_.data();
  }

  void** extra() {
    size_ = packed_.size();
    extra_ = {CU_LAUNCH_PARAM_BUFFER_POINTER, packed_.data(), CU_LAUNCH_PARAM_BUFFER_SIZE, &size_, CU_LAUNCH_PARAM_END};
    return extra_.data();
  }
  bool empty() const { return places_.empty(); }

  /// The program uses the memory for something else.
  void spoil() {
    std::memset(packed_.data(), 0xee, packed_.size());
    for (void*& pointer : pointers_) pointer = nullptr;
    for (void*& pointer : extra_) pointer = CU_LAUNCH_PARAM_END;
    size_ = 0;
    asm volatile("" ::: "memory");
  }

 private:
  struct Place {
    std::size_t offset, size;
  };
  std::vector<std::byte> packed_;
  std::vector<Place> places_;
  std::vector<void*> pointers_, extra_;
  std::size_t offset_ = 0, alignment_ = 1, size_ = 0;
};

}  // namespace refrain::tests::simulate
