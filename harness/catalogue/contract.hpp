// harness/catalogue/contract.hpp: what a slot promises, as data with one identity.
//
// Promises: TargetContractRef of routing-and-targets.md 11.1, and its schema 2 (11.2), which adds digests of the
// content behind the names. Everything that a SlotSpec knows is read from it (contract_content.hpp has the tables);
// ContractNames holds the rest, once. A contract read or made here is legal: decimals in their one spelling,
// tolerances sorted by dtype. Not promised: that a name's version was bumped (conformance/targets/content_digests.inc).
// Who calls it: the target catalogue, `assay contract`, receipts by way of contract_digest.
//
//   const TargetContractRef c = contract_of(*find_slot("norm.rmsnorm"), names, reference_digest);
//   contract_digest(c);                   // schema 2
//   canonical(to_json(c, 1));             // what other implementations read
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "assay/slot.hpp"

namespace assay {

// The field is a path in the contract's JSON, "/tolerances/0/atol".
class ContractError : public std::runtime_error {
 public:
  ContractError(std::string field, const std::string& why)
      : std::runtime_error("contract, at " + field + ": " + why), field_(std::move(field)) {}
  [[nodiscard]] const std::string& field() const noexcept { return field_; }

 private:
  std::string field_;
};

// A finite decimal in its one spelling: no exponent, no trailing zeros, no -0. "0.0200" and "2e-2" are "0.02". Throws
// ContractError for text that is no number, or one of more than 400 places.
[[nodiscard]] std::string decimal(std::string_view text, const std::string& field = "/");
[[nodiscard]] std::string decimal(double finite);  // the shortest that reads back

struct Correctness {
  std::string mode;  // allclose, matched_ratio, cosine, topk_overlap
  std::int64_t top_k = 0;
  std::string min_ratio = "0", min_cosine = "0", max_rel_norm_err = "0", min_overlap = "0";
  friend bool operator==(const Correctness&, const Correctness&) = default;
};
[[nodiscard]] Correctness correctness_of(const Comparator&);

struct ContractTolerance {
  std::string dtype, atol, rtol;
  friend bool operator==(const ContractTolerance&, const ContractTolerance&) = default;
};

struct TargetContractRef {
  std::string slot_id, kind, entry;
  std::optional<std::string> prepare;
  std::vector<std::string> graph_dynamic_inputs;  // in the order of the call
  std::string input_abi_id, output_abi_id, reference_id, verification_profile_id, binding_family_id;
  Correctness correctness;
  std::vector<ContractTolerance> tolerances;
  std::optional<std::string> kl_threshold;
  // Schema 2.
  std::string input_abi_digest, output_abi_digest, reference_digest, profile_digest;
  friend bool operator==(const TargetContractRef&, const TargetContractRef&) = default;
};

// What a slot's file does not say. Ids are "<slot>.<part>.v<version>".
struct ContractNames {
  std::string slot, entry;
  std::optional<std::string> prepare;
  std::string binding_family;
  std::optional<std::string> kl_threshold;
  int input = 1, output = 1, reference = 1, profile = 1;  // versions
};

// Throws ContractError where the parts make no legal contract.
[[nodiscard]] TargetContractRef contract_of(const SlotSpec&, const ContractNames&, const std::string& reference_digest);

[[nodiscard]] nlohmann::json to_json(const TargetContractRef&, int schema);
// Exactly the fields of the schema that the text names. Throws ContractError.
[[nodiscard]] TargetContractRef contract_from_json(const nlohmann::json&);
// Throws ContractError where a contract made by hand is not legal.
void check(const TargetContractRef&, int schema);

inline constexpr std::string_view contract_domain = "assay.target-contract";
[[nodiscard]] std::string contract_digest(const TargetContractRef&, int schema = 2);

}  // namespace assay
