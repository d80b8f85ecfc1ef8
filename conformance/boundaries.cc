#include "conformance/boundaries.hpp"

#include <algorithm>
#include <optional>

#include "conformance/candidate.hpp"
#include "harness/case/generate.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostPairs = 24, kMostValues = 6, kMostCombinations = 64;

class Search {
 public:
  explicit Search(const BoundaryQuestion& q) : q_(q) {}

  [[nodiscard]] Match asked(const Case& c) const {
    return match(q_.domain, descriptor_of(q_.slot, c, q_.architecture, false));
  }
  [[nodiscard]] bool inside(const Case& c) const { return asked(c).accepted(); }
  [[nodiscard]] std::optional<std::int64_t> count(const Case& c, const std::string& field) const {
    const Descriptor d = descriptor_of(q_.slot, c, q_.architecture, false);
    const FactValue* value = d.find(field);
    const auto* number = value ? std::get_if<std::int64_t>(value) : nullptr;
    return number ? std::optional(*number) : std::nullopt;
  }
  [[nodiscard]] bool within(const Case& c) const {
    const TierLimits limits = limits_of(q_.tier);
    return q_.slot.output_cells(c) <= limits.output_cells && work_of(q_.slot, c) <= limits.reference_work &&
           q_.slot.input_bytes(c) <= limits.input_bytes;
  }

  // The case with the fact at the smallest reachable value that is at least `target` (up), or the largest that is at
  // most `target`. A fact grows with the dims that yield it. Of several dims, the one that changes least else.
  [[nodiscard]] std::optional<Case> moved(const Case& from, const std::string& field, std::int64_t target,
                                          bool up) const {
    std::optional<Case> best;
    std::size_t best_changes = 0;
    std::int64_t best_value = 0;
    for (const DimSpec& d : q_.slot.dims) {
      const auto at = [&](std::int64_t v) {
        Case c = from;
        c.dims[d.name] = v;
        repair(q_.slot, c);
        return c;
      };
      std::int64_t lo = d.min, hi = d.max;
      if (count(at(lo), field) == count(at(hi), field)) continue;
      while (lo < hi) {  // the first value of the dim that brings the fact to the target
        const std::int64_t middle = lo + (hi - lo) / 2;
        const auto value = count(at(middle), field);
        if (value && *value >= target)
          hi = middle;
        else
          lo = middle + 1;
      }
      Case c = at(lo);
      if (!up && count(c, field) != target) {
        if (lo == d.min) continue;
        c = at(lo - 1);
      }
      const auto value = count(c, field);
      if (!value || (up ? *value < target : *value > target)) continue;
      std::size_t changes = 0;
      const Descriptor before = descriptor_of(q_.slot, from, q_.architecture, false),
                       after = descriptor_of(q_.slot, c, q_.architecture, false);
      for (const auto& [name, fact] : after.fields()) changes += !before.find(name) || *before.find(name) != fact;
      const bool nearer = best && (up ? *value < best_value : *value > best_value);
      if (!best || nearer || (*value == best_value && changes < best_changes)) {
        best = std::move(c);
        best_changes = changes;
        best_value = *value;
      }
    }
    return best;
  }

  // One fact into its set, at its nearest edge.
  [[nodiscard]] Case pulled(const Case& from, const std::string& field, const FieldDomain& set) const {
    const auto value = count(from, field);
    if (!value || set.admits(FactValue(*value))) return from;
    std::vector<Case> offers;
    const auto offer = [&](std::int64_t target, bool up) {
      if (auto c = moved(from, field, target, up)) offers.push_back(std::move(*c));
    };
    if (set.lo && *value < *set.lo) offer(*set.lo, true);
    if (set.hi && *value > *set.hi) offer(*set.hi, false);
    if (set.allowed)
      for (const FactValue& v : *set.allowed)
        if (const auto* n = std::get_if<std::int64_t>(&v)) offer(*n, true);
    for (Case& c : offers)
      if (const auto now = count(c, field); now && set.admits(FactValue(*now))) return c;
    return from;
  }

  [[nodiscard]] bool settle(Case& c) const {
    Case now = c;
    for (int round = 0; round < 3 && !inside(now); ++round) {
      for (const auto& [field, set] : q_.domain.fields)
        if (kind_of_field(field) == FieldKind::numeric) now = pulled(now, field, set);
      if (inside(now)) break;
      for (const KnobSpec& knob : q_.slot.knobs)
        for (const std::string& value : knob.values) {
          Case turned = now;
          turned.knobs[knob.name] = value;
          repair(q_.slot, turned);
          if (asked(turned).mismatches.size() < asked(now).mismatches.size()) now = std::move(turned);
        }
    }
    if (!inside(now)) return false;
    c = std::move(now);
    return true;
  }

 private:
  const BoundaryQuestion& q_;
};

bool only_outside_in(const Match& m, const std::string& field) {
  return !m.mismatches.empty() &&
         std::all_of(m.mismatches.begin(), m.mismatches.end(), [&](const Mismatch& x) { return x.field == field; });
}

}  // namespace

bool move_inside(const BoundaryQuestion& question, Case& c) {
  const Search search(question);
  Case now = c;
  if (!search.settle(now)) return false;
  fit(question.slot, now, limits_of(question.tier));
  if (!search.inside(now)) return false;
  c = std::move(now);
  return true;
}

Boundaries boundaries_of(const BoundaryQuestion& q) {
  const Search search(q);
  Boundaries found;
  auto fresh = [&, n = std::uint64_t{0}](Case c) mutable {
    c.seed = derive_key(q.seed, "boundary", static_cast<std::uint64_t>(q.dtype), n++) >> 16;
    return c;
  };
  // The smallest case of the domain with more than a cell where dims allow it: moved dims stay affordable.
  Case base;
  base.dtype = q.dtype;
  base.world = q.world;
  for (const DimSpec& d : q.slot.dims) base.dims[d.name] = std::clamp<std::int64_t>(d.count ? 3 : 8, d.min, d.max);
  repair(q.slot, base);
  if (!search.settle(base) || !search.within(base)) {
    if (!q.domain.fields.empty() && !search.inside(base)) return found;
  }

  std::vector<std::vector<std::pair<std::string, std::int64_t>>> edges;  // by field: values that lie inside
  std::vector<Case> outside;
  const auto beyond = [&](const std::string& text) {
    if (std::find(found.beyond.begin(), found.beyond.end(), text) == found.beyond.end()) found.beyond.push_back(text);
  };
  for (const auto& [field, set] : q.domain.fields) {
    if (kind_of_field(field) != FieldKind::numeric || !search.count(base, field)) continue;
    std::vector<std::pair<std::string, std::int64_t>> inner;
    const auto keep = [&](const std::optional<Case>& c, std::int64_t target) {
      const auto value = c ? search.count(*c, field) : std::nullopt;
      if (!value || !set.admits(FactValue(*value))) return;
      if (!search.within(*c)) return beyond(field + "=" + std::to_string(target));
      if (std::none_of(inner.begin(), inner.end(), [&](const auto& e) { return e.second == *value; }))
        inner.emplace_back(field, *value);
    };
    const auto leave = [&](const std::optional<Case>& c, std::int64_t target) {
      const auto value = c ? search.count(*c, field) : std::nullopt;
      if (!value || set.admits(FactValue(*value))) return;
      if (!search.within(*c)) return beyond(field + "=" + std::to_string(target));
      if (only_outside_in(search.asked(*c), field)) outside.push_back(*c);
    };
    std::vector<std::int64_t> listed;
    if (set.allowed)
      for (const FactValue& v : *set.allowed)
        if (const auto* n = std::get_if<std::int64_t>(&v)) listed.push_back(*n);
    if (set.lo) {
      keep(search.moved(base, field, *set.lo, true), *set.lo);
      if (*set.lo > 0) leave(search.moved(base, field, *set.lo - 1, false), *set.lo - 1);
    }
    if (set.hi) {
      keep(search.moved(base, field, *set.hi, false), *set.hi);
      leave(search.moved(base, field, *set.hi + 1, true), *set.hi + 1);
    }
    for (const std::int64_t n : listed) {
      keep(search.moved(base, field, n, true), n);
      if (n > 0) leave(search.moved(base, field, n - 1, false), n - 1);
      leave(search.moved(base, field, n + 1, true), n + 1);
    }
    if (inner.size() > kMostValues) inner.resize(kMostValues);
    if (!inner.empty()) edges.push_back(std::move(inner));
  }
  for (const auto& entry : q.domain.fields) {
    const std::string& field = entry.first;
    if (kind_of_field(field) == FieldKind::numeric) continue;
    std::vector<Case> turned;
    for (const KnobSpec& knob : q.slot.knobs)
      for (const std::string& value : knob.values) {
        turned.push_back(base);
        turned.back().knobs[knob.name] = value;
      }
    for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
      turned.push_back(base);
      turned.back().dtype = dtype;
    }
    for (Case& c : turned) {
      repair(q.slot, c);
      if (search.within(c) && only_outside_in(search.asked(c), field)) outside.push_back(std::move(c));
    }
  }

  // Every combination of edges, each fact moved in turn.
  std::vector<Case> inside;
  std::size_t combinations = 1;
  for (const auto& inner : edges) combinations = std::min(kMostCombinations, combinations * inner.size());
  for (std::size_t n = 0; n < combinations; ++n) {
    Case c = base;
    std::size_t rest = n;
    for (const auto& inner : edges) {
      const auto& [field, value] = inner[rest % inner.size()];
      rest /= inner.size();
      if (const auto moved = search.moved(c, field, value, true)) c = *moved;
    }
    if (search.inside(c) && search.within(c) && std::find(inside.begin(), inside.end(), c) == inside.end())
      inside.push_back(std::move(c));
  }
  if (inside.empty() || (edges.empty() && outside.empty())) return found;
  // Corners come in the order in which all facts vary, so that a cut leaves each edge in.
  const std::size_t pairs = std::min(kMostPairs, std::max(inside.size(), outside.size()));
  for (std::size_t i = 0; i < pairs; ++i) {
    const Case& in = inside[inside.size() <= pairs ? i % inside.size() : i * inside.size() / pairs];
    const Case out = outside.empty() ? in : outside[i % outside.size()];
    found.pairs.emplace_back(fresh(in), fresh(out));
  }
  return found;
}

}  // namespace assay
