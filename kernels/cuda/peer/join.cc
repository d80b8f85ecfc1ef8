#include <cuda_runtime_api.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <new>

#include "kernels/cuda/peer/channel.cuh"
#include "kernels/cuda/peer/variants.hpp"

namespace assay_cuda {
namespace {

struct Place {
  char device[32];  // its address on the bus
  std::int32_t multiprocessors;
};

assay_status fail(const assay_call* call, assay_status status, const char* text) {
  if (call->error != nullptr && call->error_bytes != 0) std::snprintf(call->error, call->error_bytes, "%s", text);
  return status;
}

cudaError_t place_of_this_rank(Place* place) {
  int device = 0, count = 0;
  cudaError_t error = cudaGetDevice(&device);
  if (error == cudaSuccess) error = cudaDeviceGetPCIBusId(place->device, sizeof place->device, device);
  if (error == cudaSuccess) error = cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device);
  place->multiprocessors = count;
  return error;
}

// Blocks that all ranks may launch. One needs a multiprocessor at most, and one that waits holds it. Ranks of one
// device may all be resident at once (MPS), and half of a device is left to other groups and other work.
int channels_for_all(const Place* places, int world) {
  int channels = kMaxChannels;
  for (int rank = 0; rank < world; ++rank) {
    const auto sharing = std::count_if(places, places + world, [&](const Place& other) {
      return std::strcmp(other.device, places[rank].device) == 0;
    });
    channels = std::min(channels, places[rank].multiprocessors / 2 / static_cast<int>(sharing));
  }
  return std::max(channels, 1);
}

}  // namespace

assay_status join(const assay_call* call, int (*preload)(), void** state) {
  *state = nullptr;
  const assay_group* group = call->group;
  if (group == nullptr) return fail(call, ASSAY_ERROR, "peer: a call without a group");
  if (group->world_size > kMaxWorld) return fail(call, ASSAY_UNSUPPORTED, "peer: more than 8 ranks");
  Place mine{};
  cudaError_t error = place_of_this_rank(&mine);
  if (error == cudaSuccess) error = static_cast<cudaError_t>(preload());
  if (error != cudaSuccess) return fail(call, ASSAY_ERROR, cudaGetErrorString(error));

  Place places[kMaxWorld];
  assay_status status = group->api->exchange(group, &mine, places, sizeof mine);
  if (status != ASSAY_OK) return fail(call, status, "peer: the group's exchange failed");
  void* blocks[kMaxWorld] = {};
  status = group->api->symmetric(group, kSymmetricBytes, blocks);
  if (status != ASSAY_OK) return fail(call, status, "peer: the group has no symmetric memory of 24 MiB a rank");

  auto* const peers = new (std::nothrow) Peers{};
  if (peers == nullptr) return fail(call, ASSAY_ERROR, "peer: no memory");
  for (int rank = 0; rank < group->world_size; ++rank) peers->blocks[rank] = static_cast<char*>(blocks[rank]);
  peers->rank = group->rank;
  peers->world = group->world_size;
  peers->channels = channels_for_all(places, group->world_size);
  *state = peers;
  return ASSAY_OK;
}

assay_status part(void* state) {
  delete static_cast<Peers*>(state);
  return ASSAY_OK;
}

}  // namespace assay_cuda
