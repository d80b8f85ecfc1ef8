#include "harness/capability/domain.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"

namespace assay {

bool FieldDomain::admits(const FactValue& value) const {
  if (allowed) return std::binary_search(allowed->begin(), allowed->end(), value);
  const auto* number = std::get_if<std::int64_t>(&value);
  if (!number) return !lo && !hi;
  return (!lo || *number >= *lo) && (!hi || *number <= *hi);
}

bool FieldDomain::empty() const noexcept {
  if (or_absent) return false;
  return allowed ? allowed->empty() : hi && (*hi < 0 || (lo && *lo > *hi));
}

std::string FieldDomain::text() const {
  if (or_absent) {
    FieldDomain named = *this;
    named.or_absent = false;
    return (named.empty() ? std::string() : named.text() + ", ") + "absent, or named by the domain";
  }
  if (allowed) {
    if (allowed->empty()) return "nothing";
    std::string list = allowed->size() == 1 ? "" : "one of ";
    for (const FactValue& value : *allowed) {
      if (&value != &allowed->front()) list += ", ";
      list += text_of(value);
    }
    return list;
  }
  if (lo && hi) return std::to_string(*lo) + " to " + std::to_string(*hi);
  if (lo) return "at least " + std::to_string(*lo);
  if (hi) return "at most " + std::to_string(*hi);
  return "anything";
}

FieldDomain intersect(const FieldDomain& a, const FieldDomain& b) {
  FieldDomain both;
  both.or_absent = a.or_absent && b.or_absent;
  if (a.allowed || b.allowed) {
    both.allowed.emplace();
    const FieldDomain& listed = a.allowed ? a : b;
    const FieldDomain& other = a.allowed ? b : a;
    std::copy_if(listed.allowed->begin(), listed.allowed->end(), std::back_inserter(*both.allowed),
                 [&](const FactValue& value) { return other.admits(value); });
    return both;
  }
  both.lo = a.lo && b.lo ? std::max(*a.lo, *b.lo) : a.lo ? a.lo : b.lo;
  both.hi = a.hi && b.hi ? std::min(*a.hi, *b.hi) : a.hi ? a.hi : b.hi;
  return both;
}

void Domain::restrict_to(std::string_view canonical, const FieldDomain& more) {
  const auto [at, fresh] = fields.emplace(std::string(canonical), more);
  if (!fresh) at->second = intersect(at->second, more);
}

Domain intersect(const Domain& a, const Domain& b) {
  Domain both = a;
  for (const auto& [field, set] : b.fields) both.restrict_to(field, set);
  return both;
}

const std::string* Domain::empty_field() const noexcept {
  for (const auto& [field, set] : fields) {
    if (set.empty()) return &field;
  }
  return nullptr;
}

std::string Domain::encode() const {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [field, set] : fields) {
    if (set.or_absent) continue;
    nlohmann::json spec = nlohmann::json::object();
    if (set.allowed) {
      nlohmann::json list = nlohmann::json::array();
      for (const FactValue& value : *set.allowed) {
        std::visit([&list](const auto& v) { list.push_back(v); }, value);
      }
      spec["one_of"] = std::move(list);
    }
    if (set.lo) spec["min"] = *set.lo;
    if (set.hi) spec["max"] = *set.hi;
    object[field] = std::move(spec);
  }
  return canonical(object);
}

std::string Mismatch::text() const {
  if (kind == MismatchKind::missing) return field + ": missing, expected " + expected;
  return field + ": " + text_of(*actual) + ", expected " + expected;
}

Match match(const Domain& domain, const Descriptor& descriptor) {
  Match result;
  for (const auto& [field, set] : domain.fields) {
    const FactValue* value = descriptor.find(field);
    if (!value && set.or_absent) continue;
    if (!value) {
      result.mismatches.push_back({field, MismatchKind::missing, set.text(), std::nullopt});
    } else if (!set.admits(*value)) {
      result.mismatches.push_back({field, MismatchKind::outside_domain, set.text(), *value});
    }
  }
  return result;
}

}  // namespace assay
