#include "harness/worker/environment.hpp"

#include <algorithm>
#include <cstdlib>

namespace assay {

std::vector<std::string> worker_environment(const std::vector<std::string>& given, Confined confined) {
  std::vector<std::string> env = given;
  const auto is_given = [&](const std::string& name) {
    return std::any_of(given.begin(), given.end(), [&](const std::string& e) { return e.rfind(name + "=", 0) == 0; });
  };
  std::vector<const char*> names = {"PATH",
                                    "LD_LIBRARY_PATH",
                                    "CUDA_VISIBLE_DEVICES",
                                    "NCCL_HOSTID",
                                    "NCCL_SOCKET_IFNAME",
                                    "NCCL_IB_DISABLE",
                                    "NCCL_NVLS_ENABLE",
                                    "NCCL_DEBUG",
                                    "ASAN_OPTIONS",
                                    "UBSAN_OPTIONS"};
  if (confined == Confined::yes)
    env.insert(env.end(), {"HOME=/tmp", "TMPDIR=/tmp", "CUDA_CACHE_PATH=/tmp/.nv"});
  else
    names.insert(names.end(), {"HOME", "TMPDIR", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_CACHE_PATH"});
  for (const char* name : names)
    if (const char* value = is_given(name) ? nullptr : std::getenv(name))
      env.push_back(std::string(name) + "=" + value);
  // Ranks and sizes in the ambient environment are lies, so that a candidate that believes them is found out.
  for (const char* lie : {"RANK=5", "LOCAL_RANK=3", "WORLD_SIZE=7", "LOCAL_WORLD_SIZE=5", "OMPI_COMM_WORLD_RANK=6",
                          "OMPI_COMM_WORLD_SIZE=9", "SLURM_PROCID=4", "SLURM_NTASKS=11", "PMI_RANK=2", "PMI_SIZE=13",
                          "MASTER_ADDR=192.0.2.1", "MASTER_PORT=1", "TP_SIZE=3"})
    env.emplace_back(lie);
  return env;
}

}  // namespace assay
