// harness/route/output_spec.hpp: what a call's outputs and workspaces have to be: the one resolver of verification,
// router and engine loop (DR-12).
//
// Promises: shape, dtype, stride policy, alignment and aliasing of every output, in the slot's order, from the call
// alone; two callers with the same call get equal specs. Only padding and placement may differ between them.
// Who calls it: Bench::bind (allocation), the router (the structural gate), a test that compares the two.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "assay/slot.hpp"

namespace assay {

struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Extents shape;
  bool strided = false;          // rows may lie at a pitch; else contiguous
  std::int64_t padding = 0;      // elements between rows; the verification allocation's alone
  std::int64_t alignment = 256;  // bytes
  bool disjoint = true;          // from every other tensor
  bool operator==(const TensorSpec&) const = default;
};

struct OutputSpec {
  std::vector<TensorSpec> outputs;
  std::vector<TensorSpec> workspaces;  // semantic ones; no slot has any (slots.md 2.1)
  bool operator==(const OutputSpec&) const = default;
};

// Throws std::invalid_argument for a spec that no call can have: a negative extent, padding of a contiguous output, an
// alignment that is no power of two, no output at all.
[[nodiscard]] OutputSpec resolve_outputs(const SlotSpec&, const Case&);
void validate(const OutputSpec&);

// In what two specs of one call differ beyond padding and placement, in one sentence; empty: in nothing.
[[nodiscard]] std::string difference(const OutputSpec& verifier, const OutputSpec& router);

}  // namespace assay
