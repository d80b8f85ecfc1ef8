// harness/capability/library_check.hpp: may this library's variants be called, and if not, what is to be mended.
//
// Promises: every mistake of a table is found at load, before any candidate kernel runs, and told in one sentence that
// ends with the remedy; one variant's mistake hides no other's. A variant of a slot that abi.h names and this build
// lacks is skipped and told, no error. Not checked: overlap of domains, which harness/route decides; the entry's real type (a
// C++ compiler or ASSAY_ANY did that).
// Who calls it: the judge, on what the worker described.
//
//   const LoadReport report = validate(library_from_json(text), catalogue);
//   for (const LoadError& e : report.errors) std::cerr << name_of(e.code) << ": " << e.sentence << '\n';
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/capability/domain.hpp"
#include "harness/capability/library_table.hpp"
#include "harness/capability/supply.hpp"

namespace assay {

struct SlotFacts {
  std::string signature;  // the slot's signature text, "iod"
  bool in_this_build = true;
  SlotSupply supply;  // the fields, and whether the slot prepares
};
using SlotCatalogueView = std::map<std::string, SlotFacts, std::less<>>;  // by slot id

enum class LoadCode {
  no_table,
  abi_version,
  table_size,
  no_variants,
  too_many_variants,
  null_variant,
  bad_text,
  unknown_slot,
  unknown_device,
  unknown_flag,
  bad_id,
  duplicate_id,
  null_entry,
  signature_mismatch,
  prepare_missing,
  prepare_superfluous,
  bad_capabilities,
};
[[nodiscard]] std::string_view name_of(LoadCode) noexcept;

struct LoadError {
  LoadCode code = LoadCode::no_table;
  std::optional<std::uint32_t> variant;  // index in the table; unset: the table itself, or all variants of a slot
  std::string predicate;                 // "PE-2" for bad_capabilities, "PE-16" for a slot with too many variants
  std::string sentence;
};

struct SkippedVariant {
  std::uint32_t variant = 0;
  std::string slot, sentence;
};

struct AcceptedVariant {
  std::uint32_t variant = 0;  // index in the table
  std::string slot, id;       // a slot's only variant may leave its id NULL: "default"
  Domain domain;
};

struct LoadReport {
  std::vector<LoadError> errors;  // the library is refused unless empty
  std::vector<SkippedVariant> skipped;
  std::vector<AcceptedVariant> accepted;  // in table order
  [[nodiscard]] bool ok() const noexcept { return errors.empty(); }
};

[[nodiscard]] LoadReport validate(const LibraryDescription&, const SlotCatalogueView&);

}  // namespace assay
