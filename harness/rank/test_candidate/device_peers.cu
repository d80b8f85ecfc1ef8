// A candidate of collective.all_reduce for tests of a group's own functions on GPUs: init exchanges more than a mailbox
// holds, writes into every peer's symmetric memory and reads what the peers wrote. It has no NCCL.
#include <cuda_runtime.h>

#include <cstdint>
#include <cstdio>
#include <vector>

#include "assay/abi.h"

namespace {

bool exchange_works(const assay_group* group) {
  constexpr std::size_t bytes = 700'001;  // three mailboxes, the last one odd
  std::vector<unsigned char> mine(bytes), all(bytes * static_cast<std::size_t>(group->world_size));
  const auto value = [](int rank, std::size_t i) { return static_cast<unsigned char>(i * 31 + i / 257 + rank * 7); };
  for (std::size_t i = 0; i < bytes; ++i) mine[i] = value(group->rank, i);
  if (group->api->exchange(group, mine.data(), all.data(), bytes) != ASSAY_OK) return false;
  for (int r = 0; r < group->world_size; ++r)
    for (std::size_t i = 0; i < bytes; ++i)
      if (all[static_cast<std::size_t>(r) * bytes + i] != value(r, i)) return false;
  return true;
}

bool meet(const assay_group* group) {
  return cudaDeviceSynchronize() == cudaSuccess && group->api->exchange(group, nullptr, nullptr, 0) == ASSAY_OK;
}

__global__ void write_word(int* at, int value) { *at = value; }

// By kernel and by copy; what was there first is zero.
const char* symmetric_works(const assay_group* group) {
  constexpr std::size_t kBytes = 3 << 20;
  void* peers[16];
  if (group->api->symmetric(group, kBytes, peers) != ASSAY_OK) return "symmetric was refused";
  int last = -1;
  const int rank = group->rank, world = group->world_size;
  if (cudaMemcpy(&last, static_cast<char*>(peers[rank]) + kBytes - 4, 4, cudaMemcpyDefault) != cudaSuccess || last != 0)
    return "own symmetric memory is not zeroed";
  if (!meet(group)) return "exchange was refused";
  for (int p = 0; p < world; ++p) {
    write_word<<<1, 1>>>(static_cast<int*>(peers[p]) + rank, 1000 * rank + p);
    const int copied = 2000 * rank + p;
    if (cudaMemcpy(static_cast<int*>(peers[p]) + 16 + rank, &copied, 4, cudaMemcpyDefault) != cudaSuccess)
      return "a peer's memory cannot be written";
  }
  if (!meet(group)) return "a kernel that writes to a peer failed";
  int words[32];
  if (cudaMemcpy(words, peers[rank], sizeof words, cudaMemcpyDefault) != cudaSuccess) return "own memory is unreadable";
  for (int p = 0; p < world; ++p)
    if (words[p] != 1000 * p + rank || words[16 + p] != 2000 * p + rank) return "a peer's word is not there";
  return nullptr;
}

assay_status init(const assay_call* call, void** state) {
  *state = nullptr;
  const assay_group* group = call->group;
  const char* why = nullptr;
  if (group == nullptr || group->nccl != nullptr || group->rank < 0 || group->rank >= group->world_size)
    why = "not the group of a library without NCCL";
  else if (!exchange_works(group))
    why = "exchange gave something else";
  else
    why = symmetric_works(group);
  if (why == nullptr) return ASSAY_OK;
  std::snprintf(call->error, call->error_bytes, "%s: %s", why, cudaGetErrorString(cudaGetLastError()));
  return ASSAY_ERROR;
}

assay_status entry(const assay_call*, assay_in, assay_out) { return ASSAY_UNSUPPORTED; }

assay_variant describe() {
  assay_variant v{};
  v.size = sizeof v;
  v.device_type = kDLCUDA;
  v.slot = "collective.all_reduce";
  v.id = "device_peers";
  v.entry.all_reduce = entry;
  v.init = init;
  return v;
}

}  // namespace

extern "C" ASSAY_EXPORT const assay_library* assay_get_library(std::uint32_t version) {
  static const assay_variant variant = describe();
  static const assay_variant* const variants[] = {&variant};
  static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "device_peers", "1.0", variants, 1};
  return version == ASSAY_ABI_VERSION ? &library : nullptr;
}
