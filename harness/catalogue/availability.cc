#include "harness/catalogue/availability.hpp"

#include <nlohmann/json.hpp>

#include "harness/catalogue/canonical.hpp"

namespace assay {

std::string_view name_of(Availability a) noexcept {
  switch (a) {
    case Availability::installable:
      return "installable";
    case Availability::not_reached:
      return "not_reached";
    case Availability::no_adapter:
      return "no_adapter";
    case Availability::topology_excluded:
      return "topology_excluded";
    case Availability::form_excluded:
      return "form_excluded";
  }
  return "?";
}

std::string_view name_of(ArtifactForm f) noexcept {
  return f == ArtifactForm::library ? "library" : f == ArtifactForm::source ? "source" : "sealed";
}

std::string probe_digest(const ProbeRecord& p) {
  return envelope_digest("assay.availability-probe",
                         {{"arena", p.arena},
                          {"target", p.target},
                          {"ranks", p.ranks},
                          {"completed", p.completed},
                          {"fallbacks", p.fallbacks}},
                         1);
}

const AvailabilityRow* find_row(const AvailabilityTable& table, std::string_view arena, std::string_view target) {
  for (const AvailabilityRow& r : table)
    if (r.arena == arena && r.target == target) return &r;
  return nullptr;
}

std::string availability_digest(const AvailabilityTable& table) {
  nlohmann::json rows = nlohmann::json::object();
  for (const AvailabilityRow& r : table) {
    nlohmann::json excluded = nlohmann::json::array();
    for (const ArtifactForm f : r.excluded) excluded.push_back(name_of(f));
    rows[r.arena + " " + r.target] = {{"state", name_of(r.state)}, {"excluded", excluded}, {"probe", r.probe}};
  }
  return envelope_digest("assay.availability", rows, 1);
}

ArenaAdmission admit(const AvailabilityTable& table, std::string_view arena, std::string_view target,
                     CandidateForm form) {
  const AvailabilityRow* row = find_row(table, arena, target);
  const std::string who = std::string(target) + " in " + std::string(arena);
  if (!row) return {false, who + " has no row of availability"};
  // No resolver of group handles exists anywhere (spec/direct-artifacts.md 8.6).
  if (form.form == ArtifactForm::sealed && form.group_projection)
    return {false, who + ": a sealed artifact that projects the group fails closed, as nothing resolves the handle"};
  const bool form_stands = row->state == Availability::form_excluded && row->excluded.count(form.form) == 0;
  if (row->state == Availability::form_excluded && !form_stands)
    return {false, who + " takes no " + std::string(name_of(form.form)) + " artifact: " + row->reason};
  if (row->state != Availability::installable && !form_stands)
    return {false, who + " is " + std::string(name_of(row->state)) + ": " + row->reason};
  if (row->probe.empty()) return {false, who + " was never probed: nobody has seen its call site reached"};
  return {true, {}};
}

}  // namespace assay
