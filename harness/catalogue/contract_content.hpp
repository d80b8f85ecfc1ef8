// harness/catalogue/contract_content.hpp: the content that a contract's ids stand for, read from the slot.
//
// Promises: tables as canonical JSON values and their digests (routing-and-targets.md 11.2). They hold what a caller, a
// candidate or a verdict could notice: arguments in their order with dtypes, extents, strides, alignment; dims, pins,
// values and comparators of the verification, those that follow from a case evaluated at every pin. Not the summary,
// not the order of groups, no spelling. A function is seen through its values at the pins only.
// Who calls it: contract.cc, the ledger's test.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "assay/slot.hpp"

namespace assay {

[[nodiscard]] nlohmann::json input_abi(const SlotSpec&);
[[nodiscard]] nlohmann::json output_abi(const SlotSpec&);
[[nodiscard]] nlohmann::json verification_profile(const SlotSpec&);

[[nodiscard]] std::string input_abi_digest(const SlotSpec&);
[[nodiscard]] std::string output_abi_digest(const SlotSpec&);
[[nodiscard]] std::string profile_digest(const SlotSpec&);

// The comparator that the contract's `correctness` names: the slot's own with every knob at its simplest. Profiles with
// another one are in verification_profile.
[[nodiscard]] Comparator registered_comparator(const SlotSpec&);

[[nodiscard]] std::string contract_name(DType);  // "bfloat16": dtypes as descriptors spell them

}  // namespace assay
