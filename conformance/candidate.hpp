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
#include "harness/worker/session.hpp"

namespace assay {

struct CandidateVariant {
  VariantInfo info;
  const SlotSpec* slot = nullptr;
  DeviceType device = DeviceType::host;
  Domain domain;
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

// Whether a variant is asked for such a call: its domain, and facts that a domain must name to be asked for
// (SlotParts::paired): a variant that names no quant runs dense weights only.
[[nodiscard]] Match applicable(const CandidateVariant&, const Descriptor&);

}  // namespace assay
