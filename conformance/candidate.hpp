// candidate.hpp: a candidate library as its judge knows it: loaded once in a worker, its table validated.
//
// Promises: no candidate code but static initialisers and assay_get_library runs here. A mistake in the table is bad
// input, one sentence each; a library that dies while it is loaded is the candidate's failure (load_crash).
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/capability/library_check.hpp"
#include "harness/drive/call_descriptor.hpp"
#include "harness/drive/observation.hpp"
#include "harness/route/variant_set.hpp"
#include "harness/worker/session.hpp"

namespace assay {

struct CandidateVariant {
  VariantInfo info;
  const SlotSpec* slot = nullptr;
  DeviceType device = DeviceType::host;
  Domain domain;                               // lowered
};

struct Candidate {
  std::string name, version, sha256;
  NcclFacts nccl;                              // of its CUDA collectives
  std::vector<CandidateVariant> variants;      // of slots that this build judges
  std::vector<std::string> notes;              // skipped variants, in sentences
  std::vector<std::string> errors;             // bad input
  std::optional<Fault> fault;                  // it died in load
};

[[nodiscard]] Candidate load_candidate(const WorkerConfig&);

// A declared domain with what the slot makes of facts that it is silent about (SlotParts::paired): a variant that names
// no quant runs dense weights only.
[[nodiscard]] Domain lowered(const SlotSpec&, Domain);

// Two variants of one slot and device that accept the same call: whoever routes to this library has to refuse it.
struct SlotOverlap {
  const SlotSpec* slot = nullptr;
  DeviceType device = DeviceType::host;
  Overlap overlap;
};
[[nodiscard]] std::vector<SlotOverlap> overlaps_among(const std::vector<const CandidateVariant*>&);

// Whether a variant is asked for such a call.
[[nodiscard]] Match applicable(const CandidateVariant&, const Descriptor&);

}  // namespace assay
