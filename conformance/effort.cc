#include "conformance/effort.hpp"

namespace assay {

// Ranks cost several times as much a trial, and come once a group size. A lost rank costs a set of workers, where it
// hangs a deadline; on a GPU both take seconds. Ranks that share a GPU by time slices wait for each other's slices, 5
// to 20 ms in every call: they get few cases, and lose a rank only in bf16, and of more than two. Under MPS a call costs
// 1 ms and few processes may run at once: a part of the cases, and no lost rank, since a client that is killed takes
// others along. Neither has cases of very many calls, under MPS 18 % of all time [m].
Effort effort_of(Tier tier, DeviceType device, int ranks, Sharing sharing, DType dtype, int variants) noexcept {
  const bool quick = tier == Tier::quick;
  if (sharing == Sharing::by_turns) {
    const std::int64_t loss_every = dtype == DType::bf16 && ranks > 2 ? 16 : 0;
    return {.one_in = quick ? 12 : 64, .all_drives = 1, .turn_every = 0, .loss_every = loss_every, .endures = false};
  }
  if (sharing == Sharing::under_mps)
    return {.one_in = quick ? 2 : 4, .all_drives = 4, .turn_every = quick ? 12 : 17, .loss_every = 0, .endures = false};
  // No number of parts but seven shares a factor with these turns: every part has its share of every drive. In an
  // edit-compile-check loop a slot's variants share its seconds; all have every case.
  if (ranks == 1) {
    const bool few = quick && variants <= 2;
    return {.all_drives = few ? 32 : quick ? 12 : 48, .turn_every = few ? 7 : 11};
  }
  const std::int64_t loss_every = device == DeviceType::cuda ? 96 : quick ? 32 : 16;
  return {.all_drives = quick ? 12 : 16, .turn_every = 12, .loss_every = loss_every};
}

bool tried_of(const Effort& effort, std::int64_t ordinal) noexcept {
  return ordinal % effort.one_in == 1 % effort.one_in;
}

// After the first cases one goes through the plain call and, each in so many, the other drives: more cases, not more of
// everything. Bursts and groups are many calls each.
bool due(const Effort& effort, Drive drive, std::int64_t ordinal, std::int64_t place) noexcept {
  if (drive == Drive::eager) return true;
  if (drive == Drive::endurance && !effort.endures) return false;
  if (drive == Drive::one_rank) return effort.loss_every > 0 && ordinal % effort.loss_every == 1 % effort.loss_every;
  if (effort.all_drives > 1 && drive == (ordinal % 2 ? Drive::groups : Drive::burst)) return false;
  if (place <= effort.all_drives) return true;
  return effort.turn_every > 0 && static_cast<std::int64_t>(drive) % effort.turn_every == ordinal % effort.turn_every;
}

}  // namespace assay
