// harness/route/structure.hpp: what the validator asks of a call's objects before it looks at any domain (5.2 step 3).
//
// Promises: pure functions of plain numbers; each answers with the sentence of the first thing in the way, or with
// nothing. An objection makes the call stock's with the outcome structural_mismatch.
// Who calls it: call sites (CallSite::structural): the `routed` drive, tests.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "assay/slot.hpp"
#include "harness/capability/descriptor.hpp"
#include "harness/route/selection.hpp"

namespace assay {

// A tensor as a live call hands it over.
struct PassedTensor {
  std::string name;
  DType dtype = DType::f32;
  Extents shape, strides;  // elements
};

// Rank, contiguity and strides of what is passed, against the slot's own argument list. Rows of op slots may lie at a
// pitch; a sealed artifact has a frame of rank 2, so leading dimensions have to collapse (direct-artifacts.md).
[[nodiscard]] Objection check_tensors(const SlotSpec&, DType run, const std::vector<PassedTensor>&, RowForm);

// Leading dimensions as one: rows and their pitch. nullopt: their strides are no multiples of each other.
[[nodiscard]] std::optional<std::pair<std::int64_t, std::int64_t>> collapsed(const Extents& shape,
                                                                             const Extents& strides);

// AG-7 and DR-7: the group that a collective is really given, and what the layer says of it.
struct GroupFacts {
  bool available = true;
  int size = 1;
  std::optional<int> claimed_size;  // a caller's hint, such as a cached world size
  enum class Role : std::uint8_t { tensor_parallel, data_parallel, pipeline, control } role = Role::tensor_parallel;
  int ep_size = 1;
  bool defers_reduction = false;
  bool may_be_alone = false;  // a verification run at world size 1 (slots.md 10.1)
  bool eligible = true;       // a rank's own state; drives clear it on one rank
};
[[nodiscard]] Objection check_group(const GroupFacts&);

// A persistent decode arena: a batch runs in the smallest bucket that holds it, with few padded rows.
struct BucketArena {
  std::vector<std::int64_t> buckets;  // ascending
  std::int64_t most_padded = 0;
};
[[nodiscard]] Objection check_bucket(const BucketArena&, std::int64_t requests);

// slots.md 1.5: what a gate makes of a variant that does not declare graph_safe, before anything runs.
enum class Admission : std::uint8_t { admitted, numerical_pass_at_best, not_admitted };
[[nodiscard]] Admission admission(const SlotSpec&, GraphSafe) noexcept;

}  // namespace assay
