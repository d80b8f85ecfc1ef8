// boundaries.hpp: calls on both sides of every boundary that a variant's domain declares.
//
// Promises: pure in slot, domain, dtype and tier. An inside case lies in the domain; its partner differs from such a
// case in one named fact only and lies outside. Counts are moved through the dims that yield them: to the ends of a
// range and to every listed value, one fact at a time and in combination (a list or range checked fact by fact may hide
// that a combination has no kernel). Words are moved through knobs and dtypes. Does not: reach what the tier's sizes do
// not allow; `beyond` names it. Who calls it: examiner_trials.cc.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "assay/slot.hpp"
#include "harness/capability/domain.hpp"

namespace assay {

struct Boundaries {
  std::vector<std::pair<Case, Case>> pairs;  // inside, and on the other side
  std::vector<std::string> beyond;           // facts with an end that no case of the tier reaches
};

struct BoundaryQuestion {
  const SlotSpec& slot;
  const Domain& domain;
  std::string architecture;
  DType dtype = DType::f32;
  std::int64_t world = 1;
  Tier tier = Tier::quick;
  std::uint64_t seed = 0;
};

[[nodiscard]] Boundaries boundaries_of(const BoundaryQuestion&);

// Moves a case into the domain: its counts through dims, its words through knobs. False: that did not suffice, and the
// case is as it was.
[[nodiscard]] bool move_inside(const BoundaryQuestion&, Case&);

}  // namespace assay
