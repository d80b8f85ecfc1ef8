#include "harness/worker/environment.hpp"

#include <algorithm>
#include <cstdlib>

#include "harness/tensor/philox.hpp"

namespace assay {

namespace {

// Ranks and sizes in the ambient environment are lies, so that a candidate that believes them is found out.
std::vector<std::string> told_of_ranks(std::optional<std::uint64_t> draw) {
  if (!draw)
    return {"RANK=5",
            "LOCAL_RANK=3",
            "WORLD_SIZE=7",
            "LOCAL_WORLD_SIZE=5",
            "OMPI_COMM_WORLD_RANK=6",
            "OMPI_COMM_WORLD_SIZE=9",
            "SLURM_PROCID=4",
            "SLURM_NTASKS=11",
            "PMI_RANK=2",
            "PMI_SIZE=13",
            "MASTER_ADDR=192.0.2.1",
            "MASTER_PORT=1",
            "TP_SIZE=3"};
  std::uint64_t drawn = mix64(*draw);
  if (drawn & 1) return {};
  const auto below = [&](std::uint64_t end) {
    drawn = mix64(drawn + 0x9E3779B97F4A7C15ULL);
    return drawn % end;
  };
  std::vector<std::string> lies;
  for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "OMPI_COMM_WORLD_RANK",
                           "OMPI_COMM_WORLD_SIZE", "SLURM_PROCID", "SLURM_NTASKS", "PMI_RANK", "PMI_SIZE", "TP_SIZE"})
    lies.push_back(std::string(name) + "=" + std::to_string(17 + below(240)));
  lies.push_back("MASTER_ADDR=10." + std::to_string(below(256)) + "." + std::to_string(below(256)) + "." +
                 std::to_string(1 + below(254)));
  lies.push_back("MASTER_PORT=" + std::to_string(20000 + below(20000)));
  return lies;
}

}  // namespace

std::vector<std::string> worker_environment(const std::vector<std::string>& given, std::optional<std::uint64_t> draw) {
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
  if (draw)
    env.insert(env.end(), {"HOME=/tmp", "TMPDIR=/tmp", "CUDA_CACHE_PATH=/tmp/.nv"});
  else
    names.insert(names.end(), {"HOME", "TMPDIR", "CUDA_MPS_PIPE_DIRECTORY", "CUDA_CACHE_PATH"});
  for (const char* name : names)
    if (const char* value = is_given(name) ? nullptr : std::getenv(name))
      env.push_back(std::string(name) + "=" + value);
  const std::vector<std::string> lies = told_of_ranks(draw);
  env.insert(env.end(), lies.begin(), lies.end());
  return env;
}

}  // namespace assay
