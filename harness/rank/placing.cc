#include "harness/rank/placing.hpp"

#include <cstdlib>

namespace assay {

bool ranks_share(int world, int devices, int first) noexcept { return world > 1 && devices - first < world; }

bool under_mps() noexcept { return std::getenv("CUDA_MPS_PIPE_DIRECTORY") != nullptr; }

Sharing sharing_of(int world, int devices, int first) noexcept {
  if (!ranks_share(world, devices, first)) return Sharing::none;
  return under_mps() ? Sharing::under_mps : Sharing::by_turns;
}

std::vector<RankPlace> place_ranks(int world, int devices, int first, const std::string& set) {
  const bool shared = ranks_share(world, devices, first);
  std::vector<RankPlace> places;
  for (int rank = 0; rank < world; ++rank) {
    RankPlace place;
    place.ordinal = shared ? first : first + rank;
    place.environment = {"NCCL_NVLS_ENABLE=0", "NCCL_SOCKET_IFNAME=lo", "NCCL_IB_DISABLE=1"};
    if (shared) place.environment.push_back("NCCL_HOSTID=" + set + "-" + std::to_string(rank));
    places.push_back(std::move(place));
  }
  return places;
}

}  // namespace assay
