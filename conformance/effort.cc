#include "conformance/effort.hpp"

namespace assay {

// Ranks cost several times as much a trial, and come once a group size. A lost rank costs a set of workers, where it
// hangs a deadline; on a GPU both take seconds. Ranks that share a GPU by time slices wait for each other's slices, 5 to
// 20 ms in every call: they get an eighth of the cases.
Effort effort_of(Tier tier, DeviceType device, int ranks, bool time_sliced) noexcept {
  if (time_sliced) return {tier == Tier::quick ? 4 : 16, 6, 16};
  if (ranks > 1) return {1, tier == Tier::quick ? 12 : 16, device == DeviceType::cuda ? 96 : tier == Tier::quick ? 32 : 16};
  return {1, tier == Tier::quick ? 32 : 96, 1};
}

bool tried_of(const Effort& effort, std::int64_t ordinal) noexcept { return ordinal % effort.one_in == 1 % effort.one_in; }

// After the first cases one goes through the plain call and takes its turn in one of six groups of the other drives:
// more cases, not more of everything. Bursts and groups are many calls each.
bool due(const Effort& effort, Drive drive, std::int64_t ordinal) noexcept {
  constexpr std::int64_t kGroups = 6;
  if (drive == Drive::one_rank) return ordinal % effort.loss_every == 1 % effort.loss_every;
  if (drive == (ordinal % 2 ? Drive::groups : Drive::burst)) return false;
  return ordinal <= effort.all_drives || drive == Drive::eager ||
         static_cast<std::int64_t>(drive) % kGroups == ordinal % kGroups;
}

}  // namespace assay
