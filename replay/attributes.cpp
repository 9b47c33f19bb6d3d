#include "replay/attributes.h"

#include <cstddef>
#include <cstring>

namespace refrain::replay {
namespace {

constexpr std::uint32_t size_of_flag = sizeof(int);

// An attribute that says nothing: the launch is the same without it.
bool is_neutral(const CUlaunchAttribute& attribute) noexcept {
  switch (attribute_id(attribute)) {
    case CU_LAUNCH_ATTRIBUTE_IGNORE: return true;
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION:
      return attribute.value.programmaticStreamSerializationAllowed == 0;
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return attribute.value.cooperative == 0;
    default: return false;
  }
}

// Which of two values counts, a launch and a graph node need not agree on.
bool gives_one_twice(const KernelCall& call) noexcept {
  for (unsigned second = 1; second < call.attribute_count; ++second) {
    const unsigned id = attribute_id(call.attributes[second]);
    if (id == CU_LAUNCH_ATTRIBUTE_IGNORE) continue;
    for (unsigned first = 0; first < second; ++first) {
      if (attribute_id(call.attributes[first]) == id) return true;
    }
  }
  return false;
}

capture::Attribute canonical(const CUlaunchAttribute& attribute, std::uint32_t size) noexcept {
  capture::Attribute out;
  out.id = attribute_id(attribute);
  out.size = size;
  std::memcpy(out.value.data(), &attribute.value, size);
  return out;
}

// cuLaunchCooperativeKernel is the cooperative attribute by another name.
CUlaunchAttribute cooperative_attribute() noexcept {
  CUlaunchAttribute attribute{};
  attribute.id = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
  attribute.value.cooperative = 1;
  return attribute;
}

bool equal(const CUlaunchAttribute& attribute, const capture::Attribute& expected) noexcept {
  return attribute_id(attribute) == expected.id &&
         std::memcmp(&attribute.value, expected.value.data(), expected.size) == 0;
}

}  // namespace

unsigned attribute_id(const CUlaunchAttribute& attribute) noexcept {
  unsigned id = 0;
  static_assert(sizeof attribute.id == sizeof id);
  std::memcpy(&id, &attribute.id, sizeof id);
  return id;
}

std::uint32_t held_attribute_size(unsigned id) noexcept {
  using Value = CUlaunchAttributeValue;
  switch (id) {
    case CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW:
      return offsetof(CUaccessPolicyWindow, missProp) + sizeof(CUaccessProperty);  // no tail padding
    case CU_LAUNCH_ATTRIBUTE_COOPERATIVE: return size_of_flag;
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION: return sizeof(Value::clusterDim);
    case CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE:
      return sizeof(Value::clusterSchedulingPolicyPreference);
    case CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION: return size_of_flag;
    case CU_LAUNCH_ATTRIBUTE_PRIORITY: return sizeof(Value::priority);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP: return sizeof(Value::memSyncDomainMap);
    case CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN: return sizeof(Value::memSyncDomain);
    case CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION: return sizeof(Value::preferredClusterDim);
    default: return 0;
  }
}

bool same_attributes(const KernelCall& call, const capture::Attribute* expected, unsigned count) noexcept {
  unsigned matched = 0;
  bool left_out = false;
  for (unsigned index = 0; index < call.attribute_count; ++index) {
    const CUlaunchAttribute& attribute = call.attributes[index];
    if (is_neutral(attribute)) {
      left_out = true;
      continue;
    }
    if (matched == count || !equal(attribute, expected[matched])) return false;
    ++matched;
  }
  if (call.cooperative) {
    if (matched == count || !equal(cooperative_attribute(), expected[matched])) return false;
    ++matched;
  }
  // What is expected has each id once; only what was left out can have come twice.
  return matched == count && !(left_out && gives_one_twice(call));
}

bool canonical_attributes(const KernelCall& call, std::vector<capture::Attribute>& attributes) {
  attributes.clear();
  if (gives_one_twice(call)) return false;
  for (unsigned index = 0; index < call.attribute_count; ++index) {
    const CUlaunchAttribute& attribute = call.attributes[index];
    if (is_neutral(attribute)) continue;
    const std::uint32_t size = held_attribute_size(attribute_id(attribute));
    if (size == 0) return false;
    attributes.push_back(canonical(attribute, size));
  }
  if (call.cooperative) attributes.push_back(canonical(cooperative_attribute(), size_of_flag));
  return attributes.size() <= most_attributes;
}

}  // namespace refrain::replay
