// generate.hpp: which cases a tier tries for a slot and dtype, and the moves by which a case shrinks.
//
// Promises: pins of the tier first, then drawn cases; every case is legal by repair, never by rejection; the same
// (run seed, slot, variant, dtype) draws the same cases whatever rule asks. Every move is legal and lowers measure().
// Who uses it: property.hpp (draws), shrink/driver.cc (moves).
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/slot.hpp"

namespace assay {

struct TierLimits {
  std::int64_t output_cells;     // most cells of one output of a drawn case
  double reference_work;         // most reference multiply-adds of a drawn case
  std::uint64_t input_bytes;     // most bytes of all inputs of a drawn case
  int cases;                     // drawn and pinned cases per slot and dtype
};
[[nodiscard]] TierLimits limits_of(Tier) noexcept;

// Reference multiply-adds of a case; cells of its outputs where the slot does not say.
[[nodiscard]] double work_of(const SlotSpec&, const Case&);

// Halves the widest dims until the case is within the limits; dims stay at their minimum, and at those of `least`.
void fit(const SlotSpec&, Case&, const TierLimits&, const Case* least = nullptr);

// Makes the case legal: dims in range, the slot's own repair, layouts that its policies allow, no unknown names.
void repair(const SlotSpec&, Case&);

[[nodiscard]] Case pinned_case(const SlotSpec&, const PinSpec&, DType, std::uint64_t seed);
[[nodiscard]] std::vector<Case> pins_of(const SlotSpec&, DType, Tier, std::uint64_t seed);

// A case of the given size, 0 (smallest) to 100, as a pure function of its random key.
[[nodiscard]] Case drawn_case(const SlotSpec&, DType, Tier, int size, std::uint64_t key);

// A second case for drives that take two, drawn from the first's seed: larger for regrow, of a subgroup for groups, at a
// switch of modes for burst, another one for the rest.
[[nodiscard]] Case companion(const SlotSpec&, const Case&, Drive, Tier);

// What shrinking must lower, lexicographically after weighting: cells, dims, features that are not at their simplest.
[[nodiscard]] double measure(const SlotSpec&, const Case&);

// Candidates for a smaller case, most drastic first.
[[nodiscard]] std::vector<Case> moves(const SlotSpec&, const Case&);

}  // namespace assay
