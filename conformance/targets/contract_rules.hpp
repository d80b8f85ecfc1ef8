// contract_rules.hpp: contract.upstream, .signature, .call_site and .complete: is a slot's contract one that may be
// registered? (routing-and-targets.md 13; contract.oracle is targets/oracle_test.cc.)
//
// Promises: each rule is a pure function that returns a sentence for everything that is wrong; no sentence, and the
// rule holds. `upstream` and `signature` apply to every slot, of other projects too; the rest to registered targets.
// Who calls it: the tests that CI runs over the catalogue, and over mutants of it.
//
//   for (const std::string& s : upstream(slot, engine_loop())) ADD_FAILURE() << s;
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "assay/slot.hpp"
#include "conformance/targets/registered.hpp"
#include "harness/capability/supply.hpp"

namespace assay {

using Findings = std::vector<std::string>;

// Rules whose subject is the catalogue, not a candidate: they are tests of this tree, and `assay explain` knows them.
struct CatalogueRule {
  const char *id, *sentence, *how;
};
[[nodiscard]] const std::vector<CatalogueRule>& catalogue_rules();

// What of the engine reads a tensor, from a slot's output to the sampler. A node is "<slot>.<output>", trusted code of
// the engine, or one of the four results that no candidate may touch.
struct EngineLoop {
  std::map<std::string, std::set<std::string>> feeds;
};
[[nodiscard]] const EngineLoop& engine_loop();
// logits, log_probabilities, token_ids, sampler_state
[[nodiscard]] const std::set<std::string>& sampled_results();

// R1: every output has a trusted consumer before the logits and comes to nothing else first; nothing of the call is, or
// comes from, what is sampled.
[[nodiscard]] Findings upstream(const SlotSpec&, const EngineLoop&);

// A tensor as a call would hand it over: what of its arena, and how it lies there.
struct HandedTensor {
  std::string name;
  std::uint32_t arena = 0;
  std::uint64_t cell0_bytes = 0;  // of an arena's base, which is as aligned as can be
  DType dtype = DType::f32;
  Extents shape, strides;
  DeviceType device = DeviceType::host;
};
// Why the contract of an output refuses the tensor that stands for it in a call of this case: one sentence that names
// the property; empty: it does not. `others` are the call's other tensors.
[[nodiscard]] std::string objection(const SlotSpec&, const ArgumentSpec& output, const Case&, DeviceType run,
                                    const HandedTensor&, const std::vector<HandedTensor>& others);
// What the judge allocates for a case: the call's tensors in their order, then the weights.
using Allocate = std::function<std::vector<HandedTensor>(const SlotSpec&, const Case&)>;
// R2: every output states shape, dtype, strides and alignment; 64 drawn calls are allocated, poisoned and valid; one
// corrupted property at a time is refused.
[[nodiscard]] Findings signature(const SlotSpec&, const Allocate&);

// R7: the row is there with the evidence of a probe, and a row that is not installable completes nothing.
[[nodiscard]] Findings call_site(const AvailabilityTable&, std::string_view arena, std::string_view target,
                                 const ProbeRecord& probed);

// R10: everything that belongs to a registered slot, as it was found.
struct RegisteredParts {
  const SlotSpec* spec = nullptr;
  const ContractNames* names = nullptr;
  const SlotSupply* supply = nullptr;
  AvailabilityTable availability;                  // rows of this target
  std::set<std::string> rules;                     // ids that apply to it
  std::map<std::string, std::string> must_reject;  // planted faults: stem, and the rule that catches it
  std::string documents;                           // texts that name the slots
  bool second_form = false;                        // the reference's naive test was found
};
[[nodiscard]] Findings complete(const RegisteredParts&);

}  // namespace assay
