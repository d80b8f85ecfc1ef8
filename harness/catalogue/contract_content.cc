#include "harness/catalogue/contract_content.hpp"

#include <nlohmann/json.hpp>
#include <stdexcept>

#include "harness/case/generate.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/catalogue/contract.hpp"

namespace assay {
namespace {

using nlohmann::json;

// How values and cases come from a seed. To be bumped with fixtures/golden_values.json, and with what a tier draws.
constexpr int kSeedRule = 1, kJitterRule = 1;

const char* role(const ArgumentSpec& a) {
  return a.kind == 'i' ? "input" : a.kind == 'o' ? "output" : a.kind == 'p' ? "prepared" : "scalar";
}
const char* projection(const ArgumentSpec& a) {
  switch (a.kind) {
    case 'd':
      return "float64";
    case 'l':
      return "int64";
    case 'w':
      return "int32";
    case 'p':
      return "handle";
    default:
      return "tensor";
  }
}

json table_row(const ArgumentSpec& a, const SlotSpec& slot) {
  json row = {{"name", a.name}, {"role", role(a)}, {"projection", projection(a)}, {"mutability", "read"}};
  if (a.kind != 'i' && a.kind != 'o') return row;
  json dtypes = json::array();
  for (const DType d : a.dtype ? std::vector{*a.dtype} : std::vector{DType::bf16, DType::f16, DType::f32})
    dtypes.push_back(contract_name(d));
  row["mutability"] = a.kind == 'o' ? "write" : "read";
  row["dtypes"] = std::move(dtypes);
  row["extents"] = a.extents;
  row["rank"] = a.extents.size();
  for (const KnobSpec& k : slot.knobs)
    if (k.name == "lead" && a.extents.size() > 1) row["leading_extents"] = k.values;
  row["strides"] = a.strided ? json{{"rows_at_a_pitch_of_bytes", a.stride_bytes}} : json("contiguous");
  row["alignment"] = a.alignment;
  row["aliasing"] = "disjoint";
  if (slot.kind == Kind::collective) row["differs_by_rank"] = a.per_rank;
  return row;
}

json names_of_tensors(const SlotSpec& slot, const Case& c) {
  json shapes = json::object();
  for (const ArgumentSpec* a : slot.tensors(c)) shapes[a->name] = slot.shape(*a, c);
  return shapes;
}

json comparator_row(const Comparator& c) {
  return {{"mode", name_of(c.mode)},
          {"floor", decimal(c.floor)},
          {"max_norm_error", decimal(c.max_norm_error)},
          {"explained", decimal(c.explained)},
          {"k", c.k}};
}

json pin_row(const SlotSpec& slot, const PinSpec& pin) {
  const Case c = pinned_case(slot, pin, DType::f32, 0);
  json scalars = json::object();
  for (const ArgumentSpec& a : slot.arguments)
    if (!a.choices.empty()) scalars[a.name] = decimal(slot.scalar(a, c));
  return {{"tier", name_of(pin.tier)},
          {"dims", c.dims},
          {"knobs", c.knobs},
          {"recipe", c.recipe},
          {"far", c.far},
          {"scalars", std::move(scalars)},
          {"shapes", names_of_tensors(slot, c)},
          {"comparator", comparator_row(slot.comparing(c))},
          {"accumulation", decimal(slot.accumulation(c))}};
}

// In the slot's order, which what is drawn from a seed depends on.
template <class T, class Row>
json in_order(const std::vector<T>& items, Row row) {
  json list = json::array();
  for (const T& item : items) {
    list.push_back(row(item));
    list.back()["name"] = item.name;
  }
  return list;
}

}  // namespace

std::string contract_name(DType d) {
  switch (d) {
    case DType::bf16:
      return "bfloat16";
    case DType::f16:
      return "float16";
    case DType::f32:
      return "float32";
    case DType::f64:
      return "float64";
    case DType::i32:
      return "int32";
    case DType::i64:
      return "int64";
    case DType::u8:
      return "uint8";
  }
  throw std::logic_error("a dtype without a name");
}

Comparator registered_comparator(const SlotSpec& slot) {
  if (!slot.comparator_by_case) return slot.comparator;
  if (slot.pins.empty()) throw ContractError("/correctness", slot.id + " has no pin to take its comparator from");
  PinSpec simplest = slot.pins.front();
  simplest.knobs = {};
  return slot.comparator_by_case(pinned_case(slot, simplest, DType::f32, 0));
}

json input_abi(const SlotSpec& slot) {
  json arguments = json::array();
  for (std::size_t i = 0; i < slot.arguments.size(); ++i) {
    if (slot.arguments[i].kind == 'o') continue;
    arguments.push_back(table_row(slot.arguments[i], slot));
    arguments.back()["position"] = i;
  }
  json weights = json::array();
  for (const ArgumentSpec& w : slot.weights) {
    weights.push_back(table_row(w, slot));
    weights.back()["place"] = weight_place(w.name);
  }
  return {{"slot", slot.id}, {"signature", slot.signature}, {"arguments", arguments}, {"weights", weights}};
}

json output_abi(const SlotSpec& slot) {
  json outputs = json::array();
  for (std::size_t i = 0; i < slot.arguments.size(); ++i) {
    if (slot.arguments[i].kind != 'o') continue;
    outputs.push_back(table_row(slot.arguments[i], slot));
    outputs.back()["position"] = i;
  }
  return {{"slot", slot.id}, {"outputs", outputs}, {"workspaces", json::array()}};
}

json verification_profile(const SlotSpec& slot) {
  json pins = json::array(), relations = json::array(), tiers = json::object(), scalars = json::object(),
       groups = json::object();
  for (const PinSpec& pin : slot.pins) pins.push_back(pin_row(slot, pin));
  for (const RelationSpec& r : slot.relations)
    relations.push_back({{"form", r.form == RelationSpec::Form::rows ? "rows" : "change"},
                         {"rule", r.rule},
                         {"name", r.name},
                         {"dim", r.dim},
                         {"inputs", r.inputs},
                         {"outputs", r.outputs},
                         {"factor", decimal(r.factor)},
                         {"exact", r.exact}});
  for (const Tier t : {Tier::quick, Tier::full, Tier::gate}) {
    const TierLimits l = limits_of(t);
    tiers[std::string(name_of(t))] = {{"output_cells", l.output_cells},
                                      {"reference_work", decimal(l.reference_work)},
                                      {"input_bytes", l.input_bytes},
                                      {"cases", l.cases}};
  }
  for (const GroupSpec& g : slot.groups) groups[g.name] = g.dim ? json(*g.dim) : json(nullptr);
  for (const ArgumentSpec& a : slot.arguments) {
    json& values = scalars[a.name] = json::array();
    for (const double v : a.choices) values.push_back(decimal(v));
    if (a.choices.empty()) scalars.erase(a.name);
  }
  return {{"slot", slot.id},
          {"seed_rule", kSeedRule},
          {"jitter_rule", kJitterRule},
          {"tiers", tiers},
          {"dims", in_order(slot.dims,
                            [](const DimSpec& d) {
                              return json{{"min", d.min}, {"max", d.max}, {"edges", d.edges}, {"jitter", d.count}};
                            })},
          {"knobs", in_order(slot.knobs,
                             [](const KnobSpec& k) {
                               return json{{"values", k.values}};
                             })},
          {"recipes", in_order(slot.recipes,
                               [](const RecipeSpec& r) {
                                 return json{{"recipe", name_of(r.recipe)},
                                             {"scale", decimal(r.scale)},
                                             {"scale_f16", decimal(r.scale_f16)}};
                               })},
          {"groups", groups},
          {"paired", slot.paired},
          {"scalars", scalars},
          {"relations", relations},
          {"pins", pins}};
}

std::string input_abi_digest(const SlotSpec& slot) { return envelope_digest("assay.input-abi", input_abi(slot), 1); }
std::string output_abi_digest(const SlotSpec& slot) { return envelope_digest("assay.output-abi", output_abi(slot), 1); }
std::string profile_digest(const SlotSpec& slot) {
  return envelope_digest("assay.verification-profile", verification_profile(slot), 1);
}

}  // namespace assay
