// harness/capability/domain.hpp: capability predicates: the calls that a variant accepts.
//
// Promises: every declaration is read completely or refused with the id of one rule (PE-1 to PE-16 of
// routing-and-targets.md 3) and a sentence that names the field. A Domain is lowered: a conjunction of one set per
// canonical field, graph_safe and the older keys included, so there is one matcher and an absent fact always fails
// closed. Not checked here: whether the domain overlaps another variant's (harness/route/variant_set.hpp).
// Who calls it: library tables, sealed manifests, the router, the drives (is this case applicable?).
//
//   const Domain d = parse_domain(R"({"num_tokens": {"max": 64}})", {*supply_of("norm.rmsnorm")}, GraphSafe::yes);
//   if (const Match m = match(d, descriptor); !m.accepted()) std::cout << m.mismatches[0].text();
#pragma once

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/capability/descriptor.hpp"
#include "harness/capability/supply.hpp"
#include "harness/capability/vocabulary.hpp"

namespace assay {

class PredicateError : public std::runtime_error {
 public:
  PredicateError(std::string id, std::string field, const std::string& sentence)
      : std::runtime_error(id + ": " + sentence), id_(std::move(id)), field_(std::move(field)) {}
  [[nodiscard]] const std::string& id() const noexcept { return id_; }        // "PE-2"
  [[nodiscard]] const std::string& field() const noexcept { return field_; }  // as written; empty: the whole text

 private:
  std::string id_, field_;
};

// What one field may be: a finite set, or a closed range of integers; never both.
struct FieldDomain {
  std::optional<std::vector<FactValue>> allowed;  // ascending, without repetition; may become empty by intersection
  std::optional<std::int64_t> lo, hi;             // inclusive; unset: no bound
  // The call may do without the fact. No predicate says so: it is what a slot makes of a field that a domain has to
  // name to be asked for (SlotParts::paired).
  bool or_absent = false;

  [[nodiscard]] bool admits(const FactValue&) const;
  [[nodiscard]] bool empty() const noexcept;  // admits nothing, not even the fact's absence
  [[nodiscard]] std::string text() const;     // "one of 8, 64", "9 to 63", "nothing"
  bool operator==(const FieldDomain&) const = default;
};
[[nodiscard]] FieldDomain intersect(const FieldDomain&, const FieldDomain&);

struct Domain {
  std::map<std::string, FieldDomain, std::less<>> fields;  // absent field: unconstrained

  void restrict_to(std::string_view canonical, const FieldDomain&);  // intersects
  [[nodiscard]] const std::string* empty_field() const noexcept;     // the first that admits nothing; NULL: none does
  // Canonical JSON, itself a legal declaration unless a field admits nothing. Fields that may be absent are left out:
  // no declaration says so, and lowering adds them again.
  [[nodiscard]] std::string encode() const;
  bool operator==(const Domain&) const = default;
};
[[nodiscard]] Domain intersect(const Domain&, const Domain&);

enum class GraphSafe { no, yes };

struct DomainContext {
  const SlotSupply& supply;  // of the slot, in this arena
  RowForm form = RowForm::library;
};

// Lists that a manifest row holds beside its metadata; empty: no restriction.
struct ManifestLists {
  std::vector<std::string> dtypes, architectures;
};

// A C library's variant: assay_variant::capabilities (NULL: the whole slot) and its flag.
[[nodiscard]] Domain parse_domain(std::optional<std::string_view> capabilities, const DomainContext&, GraphSafe);
// A manifest row whose capabilities were read by another reader (TOML). null: the whole slot.
[[nodiscard]] Domain domain_of(const nlohmann::json& capabilities, const ManifestLists&, const DomainContext&,
                               GraphSafe);
// A row's metadata object: capabilities, graph_safe, and the older keys dtypes, architectures, quant, max_last_dim,
// min_num_tokens, max_num_tokens. Any other key is prose and never read as a predicate.
[[nodiscard]] Domain parse_metadata(std::optional<std::string_view> metadata, const ManifestLists&,
                                    const DomainContext&);

enum class MismatchKind { missing, outside_domain };

struct Mismatch {
  std::string field;
  MismatchKind kind = MismatchKind::missing;
  std::string expected;             // FieldDomain::text()
  std::optional<FactValue> actual;  // unset where missing
  [[nodiscard]] std::string text() const;
};

struct Match {
  std::vector<Mismatch> mismatches;  // all of them, in field order
  [[nodiscard]] bool accepted() const noexcept { return mismatches.empty(); }
};

[[nodiscard]] Match match(const Domain&, const Descriptor&);

}  // namespace assay
