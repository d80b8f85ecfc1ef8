#include "kernels/cuda/peer/stress/ranks.hpp"

#include <cuda_runtime_api.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <new>
#include <stdexcept>
#include <vector>

namespace stress {
namespace {

constexpr int kNoDeviceExit = 3;

const Group& group_of(const assay_group* handle) { return *reinterpret_cast<const Group*>(handle); }

assay_status exchange(const assay_group* handle, const void* mine, void* all, std::size_t bytes) {
  const Group& group = group_of(handle);
  if (bytes > sizeof group.shared->exchange[0]) return ASSAY_ERROR;
  std::memcpy(group.shared->exchange[handle->rank], mine, bytes);
  group.meet();
  for (int rank = 0; rank < handle->world_size; ++rank)
    std::memcpy(static_cast<char*>(all) + rank * bytes, group.shared->exchange[rank], bytes);
  group.meet();
  return ASSAY_OK;
}

assay_status symmetric(const assay_group* handle, std::size_t bytes, void** peers) {
  void* mine = nullptr;
  cudaIpcMemHandle_t own, all[kMostRanks];
  if (cudaMalloc(&mine, bytes) != cudaSuccess || cudaMemset(mine, 0, bytes) != cudaSuccess ||
      cudaDeviceSynchronize() != cudaSuccess || cudaIpcGetMemHandle(&own, mine) != cudaSuccess)
    return ASSAY_ERROR;
  if (exchange(handle, &own, all, sizeof own) != ASSAY_OK) return ASSAY_ERROR;
  for (int rank = 0; rank < handle->world_size; ++rank) {
    if (rank == handle->rank) {
      peers[rank] = mine;
    } else if (cudaIpcOpenMemHandle(&peers[rank], all[rank], cudaIpcMemLazyEnablePeerAccess) != cudaSuccess) {
      return ASSAY_ERROR;
    }
  }
  group_of(handle).meet();
  return ASSAY_OK;
}

constexpr assay_group_api kApi = {sizeof(assay_group_api), exchange, symmetric, nullptr, nullptr};

// One rank's process, from fork to exit.
int live(Shared* shared, int rank, int world, const std::function<void(Group&)>& body) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  setenv("CUDA_MODULE_LOADING", "EAGER", 1);  // a kernel loaded at its launch may wait for a device that waits for us
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    shared->without_device = true;
    return kNoDeviceExit;
  }
  try {
    if (const cudaError_t error = cudaSetDevice(rank % devices); error != cudaSuccess)
      throw std::runtime_error(cudaGetErrorString(error));
    Group group(shared, rank, world);
    body(group);
  } catch (const std::exception& error) {
    std::snprintf(shared->ranks[rank].message, sizeof shared->ranks[rank].message, "%s", error.what());
    shared->stop = true;
    return 1;
  }
  return 0;
}

}  // namespace

Group::Group(Shared* s, int rank, int world) : handle{}, shared(s) {
  handle.size = sizeof handle;
  handle.rank = rank;
  handle.world_size = world;
  handle.id = 1;
  handle.api = &kApi;
}

void Group::meet() const {
  const std::uint32_t meeting = shared->meetings;
  if (shared->arrived.fetch_add(1) + 1 == static_cast<std::uint32_t>(handle.world_size)) {
    shared->arrived = 0;
    ++shared->meetings;
    return;
  }
  while (shared->meetings == meeting) {
    if (shared->stop) throw std::runtime_error("stopped: another rank failed");
    sched_yield();
  }
}

double Group::slowest(double mine) const {
  shared->ranks[handle.rank].number = mine;
  meet();
  double most = 0;
  for (int rank = 0; rank < handle.world_size; ++rank) most = std::max(most, shared->ranks[rank].number);
  meet();
  return most;
}

bool Group::all_equal(std::uint64_t mine) const {
  shared->ranks[handle.rank].word = mine;
  meet();
  bool equal = true;
  for (int rank = 0; rank < handle.world_size; ++rank) equal = equal && shared->ranks[rank].word == mine;
  meet();
  return equal;
}

Outcome run_ranks(int world, int seconds, const std::function<void(Group&)>& body) {
  void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::runtime_error("no shared memory between the ranks");
  auto* const shared = new (memory) Shared{};
  std::fflush(nullptr);
  std::vector<pid_t> living;
  for (int rank = 0; rank < world; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      const int code = live(shared, rank, world, body);
      std::fflush(nullptr);
      _exit(code);
    }
    living.push_back(child);
  }

  // Whoever still waits for a peer that is gone is ended after a grace of five seconds.
  const auto start = std::chrono::steady_clock::now();
  auto deadline = start + std::chrono::seconds(seconds);
  bool failed = false, ended = false;
  for (int left = world; left > 0;) {
    for (int rank = 0; rank < world; ++rank) {
      int status = 0;
      if (living[rank] == 0 || waitpid(living[rank], &status, WNOHANG) != living[rank]) continue;
      living[rank] = 0;
      --left;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      shared->stop = true;
      if (!ended && !shared->without_device) {
        std::printf("rank %d failed after %llu calls: %s\n", rank,
                    static_cast<unsigned long long>(shared->ranks[rank].calls.load()),
                    shared->ranks[rank].message[0] != 0 ? shared->ranks[rank].message
                    : WIFSIGNALED(status)               ? strsignal(WTERMSIG(status))
                                                        : "it left the process");
      }
      if (!failed) deadline = std::min(deadline, std::chrono::steady_clock::now() + std::chrono::seconds(5));
      failed = true;
    }
    if (!ended && std::chrono::steady_clock::now() > deadline) {
      ended = true;
      if (!failed) std::printf("the ranks did not end within %d seconds\n", seconds);
      for (int rank = 0; rank < world; ++rank) {
        if (living[rank] == 0) continue;
        std::printf("rank %d is ended after %llu calls\n", rank,
                    static_cast<unsigned long long>(shared->ranks[rank].calls.load()));
        kill(living[rank], SIGKILL);
      }
      failed = true;
    }
    usleep(2000);
  }
  const bool without_device = shared->without_device;
  munmap(memory, sizeof(Shared));
  return without_device ? Outcome::no_device : failed ? Outcome::failed : Outcome::passed;
}

}  // namespace stress
