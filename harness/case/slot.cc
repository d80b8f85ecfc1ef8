#include "assay/slot.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <set>
#include <stdexcept>

#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

std::vector<const SlotSpec*>& registry() {
  static auto* slots = new std::vector<const SlotSpec*>;  // outlives every destructor: what it owns stays reachable
  return *slots;
}

// "rows", "3", "2*d": a dim or a size that follows from dims, a number, a number of either.
std::int64_t evaluate(const SlotParts& slot, const std::string& extent, const Case& c) {
  std::int64_t factor = 1;
  std::string_view rest = extent;
  if (!rest.empty() && rest.front() >= '0' && rest.front() <= '9') {
    const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), factor);
    if (error != std::errc()) throw std::invalid_argument("bad extent " + extent);
    rest.remove_prefix(static_cast<std::size_t>(end - rest.data()));
    if (rest.empty()) return factor;
    if (rest.front() != '*') throw std::invalid_argument("bad extent " + extent);
    rest.remove_prefix(1);
  }
  if (const auto size = slot.sizes.find(std::string(rest)); size != slot.sizes.end()) return factor * size->second(c);
  return factor * c[rest];
}

[[noreturn]] void contradiction(const std::string& slot, const std::string& what) {
  std::fprintf(stderr, "assay: the slot '%s' contradicts itself: %s\n", slot.c_str(), what.c_str());
  std::abort();
}

}  // namespace

std::string_view name_of(Kind k) noexcept {
  return k == Kind::op ? "op" : k == Kind::block ? "block" : "collective";
}
std::string_view name_of(Tier t) noexcept { return t == Tier::quick ? "quick" : t == Tier::full ? "full" : "gate"; }
Tier tier_from(std::string_view name) {
  for (Tier t : {Tier::quick, Tier::full, Tier::gate})
    if (name_of(t) == name) return t;
  throw std::invalid_argument("no such tier: '" + std::string(name) + "'; take quick, full or gate");
}

Argument<'i'> in(std::string name, std::vector<std::string> extents) {
  Argument<'i'> a;
  a.spec.kind = 'i';
  a.spec.name = std::move(name);
  a.spec.extents = std::move(extents);
  return a;
}
Argument<'p'> prepared(std::string name) {
  Argument<'p'> a;
  a.spec.kind = 'p';
  a.spec.name = std::move(name);
  a.spec.dynamic = false;
  return a;
}
Argument<'o'> out(std::string name, std::vector<std::string> extents) {
  Argument<'o'> a;
  a.spec.kind = 'o';
  a.spec.name = std::move(name);
  a.spec.extents = std::move(extents);
  a.spec.dynamic = false;
  return a;
}

namespace {
template <char K>
Argument<K> scalar(std::string name, std::vector<double> choices) {
  Argument<K> a;
  a.spec.kind = K;
  a.spec.name = std::move(name);
  a.spec.choices = std::move(choices);
  a.spec.dynamic = false;
  return a;
}
}  // namespace

Argument<'d'> f64(std::string name, std::vector<double> choices) { return scalar<'d'>(std::move(name), std::move(choices)); }
Argument<'l'> i64(std::string name, std::vector<double> choices) { return scalar<'l'>(std::move(name), std::move(choices)); }
Argument<'w'> i32(std::string name, std::vector<double> choices) { return scalar<'w'>(std::move(name), std::move(choices)); }

Extents SlotSpec::shape(const ArgumentSpec& a, const Case& c) const {
  Extents shape;
  for (const std::string& e : a.extents) shape.push_back(evaluate(*this, e, c));
  // The lead knob spreads the leading extent over another rank; only tensors that are row-shaped have it.
  const auto lead = c.knobs.find("lead");
  if (lead == c.knobs.end() || shape.size() < 2) return shape;
  if (lead->second == "1d" && shape[0] == 1) {
    shape.erase(shape.begin());
  } else if (lead->second == "3d") {
    const std::int64_t rows = shape[0];
    std::int64_t first = 1;
    for (std::int64_t f : {2, 3, 5, 7})
      if (rows > 0 && rows % f == 0) {
        first = f;
        break;
      }
    shape[0] = rows / first;
    shape.insert(shape.begin(), first);
  }
  return shape;
}

DType SlotSpec::dtype(const ArgumentSpec& a, const Case& c) const { return a.dtype.value_or(c.dtype); }

const ArgumentSpec& SlotSpec::argument(std::string_view name) const {
  for (const ArgumentSpec& a : arguments)
    if (a.name == name) return a;
  throw std::out_of_range("the slot " + id + " has no argument " + std::string(name));
}

std::uint64_t base_key(const Case& c, std::string_view argument) { return derive_key(c.seed, argument, 0); }
std::uint64_t rank_key(std::uint64_t key, int rank) {
  return rank == 0 ? key : derive_key(key, "rank", static_cast<std::uint64_t>(rank));
}

std::uint64_t SlotSpec::input_bytes(const Case& c) const {
  std::uint64_t bytes = 0;
  for (const ArgumentSpec* a : tensors(c))
    if (a->kind == 'i') bytes += static_cast<std::uint64_t>(element_count(shape(*a, c))) * size_of(dtype(*a, c));
  return bytes;
}

double SlotSpec::scalar(const ArgumentSpec& a, const Case& c) const {
  const auto chosen = c.scalars.find(a.name);
  return (chosen == c.scalars.end() ? a.choices.front() : chosen->second) * (a.unit ? a.unit(c) : 1.0);
}

// An fp32 sum of K terms in some order is off by about sqrt(K) * 2^-24 of its magnitude, where 1e-5 of a result that
// cancels is less. Ops have no sum long enough, and their tolerance stays what it is.
Comparator SlotSpec::comparing(const Case& c) const {
  Comparator mode = comparator_by_case ? comparator_by_case(c) : comparator;
  if (kind != Kind::op && c.dtype == DType::f32) mode.explained = 4.0 * std::sqrt(accumulation(c)) * 0x1p-24;
  return mode;
}

std::vector<const ArgumentSpec*> SlotSpec::tensors(const Case& c) const {
  std::vector<const ArgumentSpec*> list;
  for (const ArgumentSpec& a : arguments)
    if (a.kind == 'i' || a.kind == 'o') list.push_back(&a);
  for (const ArgumentSpec& w : weights)
    if (!w.present || w.present(c)) list.push_back(&w);
  return list;
}

std::int64_t SlotSpec::output_cells(const Case& c) const {
  std::int64_t most = 0;
  for (const ArgumentSpec& a : arguments)
    if (a.kind == 'o') most = std::max(most, element_count(shape(a, c)));
  return most;
}

SlotRow::SlotRow(SlotSpec spec) {
  if (spec.id.empty()) contradiction("?", "it has no id");
  if (find_slot(spec.id)) contradiction(spec.id, "it is registered twice");
  std::set<std::string> names;
  bool has_output = false, has_dynamic = false;
  for (const ArgumentSpec& a : spec.arguments) {
    if (!names.insert(a.name).second) contradiction(spec.id, "two arguments are called " + a.name);
    has_output = has_output || a.kind == 'o';
    has_dynamic = has_dynamic || (a.kind == 'i' && a.dynamic);
    if (a.kind == 'i' && a.dtype && !is_float(*a.dtype) && !a.fill && !a.rank_fill)
      contradiction(spec.id, "the integers of " + a.name + " have no fill");
    if (a.kind == 'p' && (spec.weights.empty() || !spec.weight_facts))
      contradiction(spec.id, "it has a prepared argument and no weights to prepare");
    if ((a.kind == 'd' || a.kind == 'l' || a.kind == 'w') && a.choices.empty())
      contradiction(spec.id, "the scalar " + a.name + " has no values");
    if (a.per_rank && (a.kind != 'i' || spec.kind != Kind::collective))
      contradiction(spec.id, a.name + " differs by rank and is no input of a collective slot");
    if (a.alignment <= 0 || (a.alignment & (a.alignment - 1)))
      contradiction(spec.id, "the alignment of " + a.name + " is not a power of two");
  }
  for (const ArgumentSpec& w : spec.weights)
    if (!names.insert(w.name).second || weight_place(w.name) < 0)
      contradiction(spec.id, "the weight " + w.name + " is no member of assay_moe_weights, or is there twice");
  if (!has_output) contradiction(spec.id, "it has no output");
  if (!has_dynamic) contradiction(spec.id, "it has no dynamic input");
  if (spec.recipes.empty() || spec.dims.empty()) contradiction(spec.id, "it has no recipes or no dims");
  if (!spec.descriptor || !spec.accumulation) contradiction(spec.id, "its descriptor or its accumulation is missing");
  if (!spec.reference.symbol && !spec.reference.function) contradiction(spec.id, "it has no reference");
  for (const DimSpec& d : spec.dims)
    if (d.min > d.max || d.min < 0) contradiction(spec.id, "the dim " + d.name + " has no range");
  auto* owned = new SlotSpec(std::move(spec));  // lives as long as the program, like the row that registered it
  auto& slots = registry();
  slots.insert(std::upper_bound(slots.begin(), slots.end(), owned,
                                [](const SlotSpec* a, const SlotSpec* b) { return a->id < b->id; }),
               owned);
}

int weight_place(std::string_view name) noexcept {
  static constexpr std::pair<std::string_view, int> places[] = {
      {"w13", 0}, {"w13_weight", 0}, {"w2", 1}, {"w2_weight", 1}, {"w13_weight_scale", 2}, {"w2_weight_scale", 3},
      {"g1_alphas", 4}, {"g2_alphas", 5}, {"w13_input_scale_quant", 6}, {"w2_input_scale_quant", 7}};
  for (const auto& [known, place] : places)
    if (known == name) return place;
  return -1;
}

const std::vector<const SlotSpec*>& slot_catalogue() { return registry(); }

const SlotSpec* find_slot(std::string_view id) {
  for (const SlotSpec* s : registry())
    if (s->id == id) return s;
  return nullptr;
}

}  // namespace assay
