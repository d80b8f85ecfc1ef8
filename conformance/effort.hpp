// effort.hpp: how much of a tier's work a unit gets.
//
// Promises: every unit has cases that go through every drive, whatever it costs; all numbers follow from the arguments,
// so that a run repeats. Who uses it: examiner.cc, examiner_trials.cc.
#pragma once

#include <cstdint>

#include "assay/slot.hpp"
#include "harness/rank/placing.hpp"

namespace assay {

struct Effort {
  std::int64_t one_in = 1;      // of the tier's cases, this share is tried
  std::int64_t all_drives = 0;  // of the tried ones with cells, so many go through every drive, the first ones
  std::int64_t turn_every = 1;  // after them, so many cases come to a drive's turn; 0: none does
  std::int64_t loss_every = 1;  // of the tried ones, each so many-th loses a rank; 0: none
  bool endures = true;          // a case of very many calls is among them
};

// `variants`: of the slot that the run judges on the device.
[[nodiscard]] Effort effort_of(Tier, DeviceType, int ranks, Sharing, DType, int variants = 1) noexcept;

// Whether the tier's `ordinal`-th case, from 1, is tried at all.
[[nodiscard]] bool tried_of(const Effort&, std::int64_t ordinal) noexcept;
// Whether the unit's `ordinal`-th tried case, from 1, goes through this drive; `place`: its number among those with
// cells, the next one's where it has none.
[[nodiscard]] bool due(const Effort&, Drive, std::int64_t ordinal, std::int64_t place) noexcept;

}  // namespace assay
