#include "replay/attributes.h"

#include <cstddef>
#include <cstring>

namespace refrain::replay {
namespace {

constexpr std::uint32_t size_of_flag = sizeof(int);

// An attribute that says nothing: the launch is the same without it.
bool is_neutral(const CUlaunchAttribute& attribute) noexcept {
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_IGNORE) return true;
  if (attribute.id == CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION) {
    return attribute.value.programmaticStreamSerializationAllowed == 0;
  }
  return attribute.id == CU_LAUNCH_ATTRIBUTE_COOPERATIVE && attribute.value.cooperative == 0;
}

capture::Attribute canonical(const CUlaunchAttribute& attribute, std::uint32_t size) noexcept {
  capture::Attribute out;
  out.id = static_cast<std::uint32_t>(attribute.id);
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
  return static_cast<std::uint32_t>(attribute.id) == expected.id &&
         std::memcmp(&attribute.value, expected.value.data(), expected.size) == 0;
}

}  // namespace

std::uint32_t held_attribute_size(CUlaunchAttributeID id) noexcept {
  using Value = CUlaunchAttributeValue;
  // Compared as numbers: a newer driver's programs may pass ids that this header does not name.
  switch (static_cast<unsigned>(id)) {
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
  for (unsigned index = 0; index < call.attribute_count; ++index) {
    const CUlaunchAttribute& attribute = call.attributes[index];
    if (is_neutral(attribute)) continue;
    if (matched == count || !equal(attribute, expected[matched])) return false;
    ++matched;
  }
  if (call.cooperative) {
    if (matched == count || !equal(cooperative_attribute(), expected[matched])) return false;
    ++matched;
  }
  return matched == count;
}

bool canonical_attributes(const KernelCall& call, std::vector<capture::Attribute>& attributes) {
  attributes.clear();
  for (unsigned index = 0; index < call.attribute_count; ++index) {
    const CUlaunchAttribute& attribute = call.attributes[index];
    if (is_neutral(attribute)) continue;
    const std::uint32_t size = held_attribute_size(attribute.id);
    if (size == 0) return false;
    attributes.push_back(canonical(attribute, size));
  }
  if (call.cooperative) attributes.push_back(canonical(cooperative_attribute(), size_of_flag));
  return attributes.size() <= most_attributes;
}

}  // namespace refrain::replay
