// cuLaunchKernelEx: each kind of attribute, with values that are fine and values that are not.
#include "tests/conformance/configured.h"

namespace refrain::tests::conformance {
namespace {

/// One launch of `mix` with one attribute, and what it computed.
void one(Program& p, const CUlaunchAttribute& given, Shape shape = {4, 16}) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  launch_with({given}, p.kernel("mix"), shape, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 0, 2);
}

CUlaunchAttribute cluster(unsigned x, unsigned y = 1, unsigned z = 1) {
  CUlaunchAttribute made = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION);
  made.value.clusterDim = {x, y, z};
  return made;
}

}  // namespace

PROGRAM(attribute_none) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  launch_with({}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data);
}

PROGRAM(attribute_ignored) { one(p, attribute(CU_LAUNCH_ATTRIBUTE_IGNORE)); }

PROGRAM(attribute_unknown) { one(p, attribute(static_cast<CUlaunchAttributeID>(77))); }

PROGRAM(attribute_unknown_15) { one(p, attribute(static_cast<CUlaunchAttributeID>(15))); }

PROGRAM(attribute_count_without_list) {
  CUlaunchConfig config{};
  config.gridDimX = config.gridDimY = config.gridDimZ = 1;
  config.blockDimX = config.blockDimY = config.blockDimZ = 1;
  config.hStream = p.stream();
  config.numAttrs = 1;
  TELL(cuLaunchKernelEx, &config, p.kernel("empty"), nullptr, nullptr);
}

PROGRAM(attribute_config_missing) { TELL(cuLaunchKernelEx, nullptr, p.kernel("empty"), nullptr, nullptr); }

PROGRAM(attribute_cluster) { one(p, cluster(2)); }
PROGRAM(attribute_cluster_of_eight) { one(p, cluster(8), {8, 8}); }
PROGRAM(attribute_cluster_of_sixteen) { one(p, cluster(16), {16, 4}); }
PROGRAM(attribute_cluster_of_none) { one(p, cluster(0, 0, 0)); }
PROGRAM(attribute_cluster_zero_in_one_dimension) { one(p, cluster(2, 0, 1)); }
PROGRAM(attribute_cluster_does_not_divide) { one(p, cluster(3)); }
PROGRAM(attribute_cluster_too_large) { one(p, cluster(32), {32, 4}); }

PROGRAM(attribute_cluster_of_sixteen_allowed) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUfunction mix = p.kernel("mix");
  TELL(cuFuncSetAttribute, mix, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 1);
  launch_with({cluster(16)}, mix, {16, 4}, stream, data.address, data.address, 64u, 3u);
  TELL(cuFuncSetAttribute, mix, CU_FUNC_ATTRIBUTE_NON_PORTABLE_CLUSTER_SIZE_ALLOWED, 0);
  TELL(cuStreamSynchronize, stream);
  note_words("data", data, 0, 2);
}

PROGRAM(attribute_cluster_policy) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUlaunchAttribute policy = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  for (CUclusterSchedulingPolicy each : {CU_CLUSTER_SCHEDULING_POLICY_DEFAULT, CU_CLUSTER_SCHEDULING_POLICY_SPREAD,
                                         CU_CLUSTER_SCHEDULING_POLICY_LOAD_BALANCING}) {
    policy.value.clusterSchedulingPolicyPreference = each;
    launch_with({cluster(2), policy}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  }
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(attribute_cluster_policy_unknown) {
  CUlaunchAttribute policy = attribute(CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE);
  policy.value.clusterSchedulingPolicyPreference = static_cast<CUclusterSchedulingPolicy>(9);
  one(p, policy);
}

PROGRAM(attribute_cooperative) {
  CUlaunchAttribute cooperative = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  cooperative.value.cooperative = 1;
  one(p, cooperative);
}

PROGRAM(attribute_cooperative_off) { one(p, attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE)); }

PROGRAM(attribute_cooperative_too_large) {
  const Words data = p.words(64, 1);
  CUlaunchAttribute cooperative = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  cooperative.value.cooperative = 1;
  launch_with({cooperative}, p.kernel("mix"), {100000, 1024}, p.stream(), data.address, data.address, 64u, 3u);
}

PROGRAM(attribute_programmatic_serialization) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUlaunchAttribute programmatic = attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION);
  programmatic.value.programmaticStreamSerializationAllowed = 1;
  for (unsigned i = 0; i < 3; ++i) launch_with({programmatic}, p.kernel("empty"), {4, 16}, stream);
  TELL(cuStreamSynchronize, stream);
  launch_with({}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
  note_hash("data", data);
}

PROGRAM(attribute_priority) {
  CUlaunchAttribute priority = attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  priority.value.priority = -2;
  one(p, priority);
}

PROGRAM(attribute_priority_out_of_range) {
  CUlaunchAttribute priority = attribute(CU_LAUNCH_ATTRIBUTE_PRIORITY);
  priority.value.priority = -100;
  one(p, priority);
}

PROGRAM(attribute_sync_policy_is_of_streams) {
  CUlaunchAttribute policy = attribute(CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY);
  policy.value.syncPolicy = CU_SYNC_POLICY_AUTO;
  one(p, policy);
}

PROGRAM(attribute_memory_domain) {
  CUlaunchAttribute domain = attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
  domain.value.memSyncDomain = CU_LAUNCH_MEM_SYNC_DOMAIN_REMOTE;
  one(p, domain);
}

PROGRAM(attribute_memory_domain_unknown) {
  CUlaunchAttribute domain = attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN);
  domain.value.memSyncDomain = static_cast<CUlaunchMemSyncDomain>(9);
  one(p, domain);
}

PROGRAM(attribute_memory_domain_map) {
  CUlaunchAttribute map = attribute(CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP);
  map.value.memSyncDomainMap = {0, 1};
  one(p, map);
}

PROGRAM(attribute_carveout) {
  CUlaunchAttribute carveout = attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  carveout.value.sharedMemCarveout = 50;
  one(p, carveout);
}

PROGRAM(attribute_carveout_out_of_range) {
  CUlaunchAttribute carveout = attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT);
  carveout.value.sharedMemCarveout = 101;
  one(p, carveout);
}

PROGRAM(attribute_access_policy_window) {
  // No bytes: no window.
  one(p, attribute(CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW));
}

PROGRAM(attribute_device_updatable_node) {
  CUlaunchAttribute updatable = attribute(CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE);
  updatable.value.deviceUpdatableKernelNode.deviceUpdatable = 1;
  one(p, updatable);
}

PROGRAM(attribute_launch_completion_event) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  CUlaunchAttribute completion = attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
  completion.value.launchCompletionEvent.event = event;
  launch_with({completion}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  TELL(cuEventSynchronize, event);
  TELL(cuEventQuery, event);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(attribute_programmatic_event) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  const CUevent event = p.event();
  CUlaunchAttribute programmatic = attribute(CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT);
  programmatic.value.programmaticEvent.event = event;
  launch_with({programmatic}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
  TELL(cuEventQuery, event);
}

PROGRAM(attribute_event_with_timing) {
  CUlaunchAttribute completion = attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT);
  completion.value.launchCompletionEvent.event = p.event(CU_EVENT_DEFAULT);
  one(p, completion);
}

PROGRAM(attribute_event_null) { one(p, attribute(CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT)); }

PROGRAM(attribute_twice) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  launch_with({cluster(2), cluster(4)}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(attribute_garbage_behind_the_value) {
  CUlaunchAttribute cooperative = attribute(CU_LAUNCH_ATTRIBUTE_COOPERATIVE);
  std::memset(&cooperative.value, 0xa5, sizeof cooperative.value);
  cooperative.value.cooperative = 0;
  one(p, cooperative);
}

PROGRAM(attribute_preferred_cluster) {
  const Words data = p.words(64, 1);
  const CUstream stream = p.stream();
  CUlaunchAttribute preferred = attribute(CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION);
  preferred.value.preferredClusterDim = {4, 1, 1};
  launch_with({cluster(2), preferred}, p.kernel("mix"), {4, 16}, stream, data.address, data.address, 64u, 3u);
  TELL(cuStreamSynchronize, stream);
}

PROGRAM(attribute_nvlink_scheduling) { one(p, attribute(CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING)); }

}  // namespace refrain::tests::conformance
