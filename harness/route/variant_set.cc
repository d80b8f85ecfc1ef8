#include "harness/route/variant_set.hpp"

#include <algorithm>

#include "harness/case/json.hpp"

namespace assay {
namespace {

bool is_id(std::string_view id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
           c == '-';
  });
}

}  // namespace

std::optional<Facts> witness(const Domain& a, const Domain& b) {
  const Domain both = intersect(a, b);
  if (both.empty_field()) return std::nullopt;
  Facts call;
  for (const auto& [field, set] : both.fields) {
    if (set.or_absent) continue;
    call.emplace(field, set.allowed ? set.allowed->front() : FactValue(std::max<std::int64_t>(0, set.lo.value_or(0))));
  }
  return call;
}

bool disjoint(const Domain& a, const Domain& b) { return intersect(a, b).empty_field() != nullptr; }

Descriptor call_with(const Facts& facts) {
  DescriptorBuilder builder;
  for (const auto& [field, value] : facts) {
    std::visit([&, &name = field](const auto& v) { builder.set(name, v); }, value);
  }
  if (!facts.contains("dtype")) builder.dtype("bfloat16");
  if (!facts.contains("architecture")) builder.architecture("cpu");
  if (!facts.contains("graph_mode")) builder.graph_mode("eager");
  return builder.build();
}

std::string Overlap::text() const {
  std::string list;
  for (const auto& [field, value] : call) list += (list.empty() ? "" : ", ") + field + "=" + text_of(value);
  return first + " and " + second + " both accept " + (list.empty() ? "every call" : "a call with " + list);
}

std::vector<Overlap> overlaps(const std::vector<NamedDomain>& rows) {
  std::vector<Overlap> found;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = i + 1; j < rows.size(); ++j) {
      if (rows[i].proof == Proof::not_provable || rows[j].proof == Proof::not_provable) continue;
      if (auto call = witness(rows[i].domain, rows[j].domain)) {
        found.push_back({rows[i].id, rows[j].id, std::move(*call)});
      }
    }
  }
  return found;
}

void VariantSet::add(std::string id, Domain domain, Proof proof) {
  if (!is_id(id)) {
    throw RegistrationError(
        "VR-1", slot_ + ": the variant id " + shown(id) + " may hold only letters, digits, '.', '_' and '-'");
  }
  if (const std::string* field = domain.empty_field()) {
    throw RegistrationError("VR-2", slot_ + ": the domain of " + id + " admits no value of " + *field);
  }
  for (const NamedDomain& other : variants_) {
    if (other.id == id) throw RegistrationError("VR-1", slot_ + ": two variants are called " + id);
    if (proof == Proof::not_provable || other.proof == Proof::not_provable) continue;
    if (auto call = witness(other.domain, domain)) {
      throw RegistrationError("VR-3", slot_ + ": " + Overlap{other.id, id, std::move(*call)}.text());
    }
  }
  variants_.push_back({std::move(id), std::move(domain), proof});
}

std::vector<std::string> VariantSet::accepting(const Descriptor& call) const {
  std::vector<std::string> ids;
  for (const NamedDomain& v : variants_) {
    if (match(v.domain, call).accepted()) ids.push_back(v.id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

}  // namespace assay
