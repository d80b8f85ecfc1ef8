// communicator.hpp: a group's ncclComm_t, of the candidate's own NCCL, and the collective that says whether it works.
//
// Promises: no wait of its own outlasts the group's abort word or kControlMs; where one ends so, the communicator is
// aborted. A communicator is aborted, never destroyed: teardown of one that was captured can hang.
// Does not: end a candidate's collective that waits for a lost peer; the judge's deadline does.
// Who calls it: device_group.cc, on the candidate thread.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "harness/device/device.hpp"
#include "harness/worker/nccl.hpp"

namespace assay {

namespace cuda {
struct DriverApi;
}

inline constexpr int kControlMs = 10'000;

class Communicator {
 public:
  virtual ~Communicator() = default;
  [[nodiscard]] virtual ncclComm* handle() const noexcept = 0;
  // One member makes the id that all are given. Each returns a sentence, empty where all went well.
  [[nodiscard]] virtual std::string make_id(NcclUniqueId&) = 0;
  [[nodiscard]] virtual std::string connect(const NcclUniqueId&, int rank, int world) = 0;
  // The sum of all members' words, over NCCL. `aborted`: whether a peer is gone.
  [[nodiscard]] virtual Outcome add_up(std::uint64_t mine, std::uint64_t& sum,
                                       const std::function<bool()>& aborted) = 0;
  // What NCCL noticed by itself since the last call.
  [[nodiscard]] virtual Outcome failure() = 0;
};

// Throws DeviceError, in a build without CUDA too.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator(const NcclApi&, int ordinal);
// Builds with the toolkit only. The tables outlive what is made from them.
[[nodiscard]] std::unique_ptr<Communicator> make_communicator(const NcclApi&, const cuda::DriverApi&, int ordinal);

}  // namespace assay
