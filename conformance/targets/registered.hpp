// registered.hpp: the catalogue that this program registers: a target for each of abi.h's slots, the atomic ones, and
// how they compose.
//
// Promises: one place for what a slot's file does not say: entry, binding family, quality threshold, versions of ids.
// What a slot's file does say is read from it. Building the catalogue runs no reference and loads no library. Who
// calls it: `assay targets`, `assay contract`, receipts, the contract rules.
//
//   registered_catalogue().find("norm.rmsnorm")->contract_digest();
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "harness/catalogue/availability.hpp"
#include "harness/catalogue/target.hpp"

namespace assay {

// In the order of routing-and-targets.md 2.4.
[[nodiscard]] const std::vector<ContractNames>& registered_names();
[[nodiscard]] const ContractNames* names_of(std::string_view slot);  // NULL: the slot is no target

// The digests that ids stand for, by id: what content_digests.inc says. Every id that ever was has a line.
[[nodiscard]] const std::map<std::string, std::string>& content_digests();

// Throws CatalogueError in a program that does not hold all of abi.h's slots, such as one of assay_add_suite.
[[nodiscard]] const Catalogue& registered_catalogue();
// What registered_catalogue() is made of.
[[nodiscard]] std::vector<TargetSpec> registered_targets();
[[nodiscard]] std::vector<CompositionRule> registered_rules();
[[nodiscard]] CataloguePolicy registered_policy();

[[nodiscard]] const std::vector<DeploymentArena>& arenas();
[[nodiscard]] const AvailabilityTable& availability();

}  // namespace assay
