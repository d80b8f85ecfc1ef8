// harness/catalogue/availability.hpp: where a registered target can be reached, and by which form of artifact.
//
// Promises: routing-and-targets.md 12. A contract is a name, no promise of a call site: admission wants a row, the
// state installable, and evidence of the probe that made it so. A table has a digest, which attempts are bound to. Who
// calls it: admission, `assay targets`, the rule contract.call_site.
//
//   const ArenaAdmission a = admit(table, "h200-single", "norm.rmsnorm", {ArtifactForm::library});
//   if (!a.admitted) report(a.why);
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace assay {

enum class Availability : std::uint8_t { installable, not_reached, no_adapter, topology_excluded, form_excluded };
[[nodiscard]] std::string_view name_of(Availability) noexcept;

enum class ArtifactForm : std::uint8_t { library, source, sealed };
[[nodiscard]] std::string_view name_of(ArtifactForm) noexcept;

// A frozen tuple of model, runtime, hardware, topology and workload.
struct DeploymentArena {
  std::string id, summary;
};

struct AvailabilityRow {
  std::string arena = {}, target = {};
  Availability state = Availability::no_adapter;
  std::string reason = {};               // why, where it is not installable as it stands
  std::set<ArtifactForm> excluded = {};  // form_excluded
  std::string probe = {};                // digest of the probe's record; empty: nobody has probed it
};

// What an inert probe candidate was seen to do: probe_digest is the row's evidence.
struct ProbeRecord {
  std::string arena = {}, target = {};
  std::int64_t ranks = 0, completed = 0, fallbacks = 0;
};
[[nodiscard]] std::string probe_digest(const ProbeRecord&);

using AvailabilityTable = std::vector<AvailabilityRow>;  // a row an (arena, target)
[[nodiscard]] const AvailabilityRow* find_row(const AvailabilityTable&, std::string_view arena,
                                              std::string_view target);
[[nodiscard]] std::string availability_digest(const AvailabilityTable&);

struct CandidateForm {
  ArtifactForm form = ArtifactForm::library;
  bool group_projection = false;  // a sealed artifact that wants the group's handle
};
struct ArenaAdmission {
  bool admitted = false;
  std::string why;  // one sentence where it is not
};
[[nodiscard]] ArenaAdmission admit(const AvailabilityTable&, std::string_view arena, std::string_view target,
                                   CandidateForm);

}  // namespace assay
