// harness/capability/supply.hpp: which facts a slot's binding puts into every call descriptor.
//
// Promises: the supply matrix of spec/routing-and-targets.md 2.4 as data for the eleven slots of abi.h, and the same
// form for a slot of another project. dtype, architecture and graph_mode are supplied by every slot and not repeated.
// A predicate on any other field can never match: it is refused at load (PE-15).
// Who calls it: slot files, the predicate parser, the descriptor check, library tables.
//
//   const SlotSupply* silu = supply_of("activation.silu_and_mul");
//   SlotSupply mine = make_supply("mine.gelu", {"num_tokens", "last_dim"});
#pragma once

#include <initializer_list>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/capability/vocabulary.hpp"

namespace assay {

struct SuppliedField {
  std::string name;                 // canonical
  std::optional<FactValue> always;  // the one value that this slot's calls carry
  bool optional = false;            // only under a model profile
};

struct SlotSupply {
  std::string slot;
  std::vector<SuppliedField> fields;
  std::vector<std::pair<std::string, std::string>> equal;  // fields that carry one and the same number
  std::map<std::string, ScalarType, std::less<>> scalars;  // scalar.<argument>: sealed artifacts only
  bool prepares = false;                                   // the slot takes prepare and release
  bool collective = false;

  [[nodiscard]] bool supplies(std::string_view canonical) const;  // the mandatory fields included, scalars not
  // The same slot in an arena whose binding adds a field (alignment, runtime, model). Throws std::invalid_argument:
  // not in the vocabulary, or alignment on a collective, which is rank-local.
  [[nodiscard]] SlotSupply with(std::string_view field) const;
};

[[nodiscard]] const SlotSupply* supply_of(std::string_view slot);  // NULL: not one of abi.h's eleven
[[nodiscard]] std::span<const SlotSupply> supply_matrix();         // in the order of the catalogue

// For a slot outside abi.h. Throws std::invalid_argument where a field is not in the vocabulary or comes twice.
[[nodiscard]] SlotSupply make_supply(std::string_view slot, std::initializer_list<std::string_view> fields);

}  // namespace assay
