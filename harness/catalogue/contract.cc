#include "harness/catalogue/contract.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/catalogue/contract_content.hpp"

namespace assay {
namespace {

using nlohmann::json;

bool digit(char c) { return c >= '0' && c <= '9'; }
bool lower(char c) { return c >= 'a' && c <= 'z'; }

bool is_id(std::string_view text) {
  return !text.empty() && (lower(text[0]) || digit(text[0])) && std::all_of(text.begin(), text.end(), [](char c) {
    return lower(c) || digit(c) || c == '.' || c == '_' || c == '-';
  });
}
bool is_identifier(std::string_view text) {
  return !text.empty() && !digit(text[0]) && std::all_of(text.begin(), text.end(), [](char c) {
    return lower(c) || (c >= 'A' && c <= 'Z') || digit(c) || c == '_';
  });
}

void need(bool holds, const std::string& field, const std::string& why) {
  if (!holds) throw ContractError(field, why);
}

// Decimal places that a contract may have: enough for every double.
constexpr long kMostPlaces = 400;

std::string not_a_decimal(std::string_view text) {
  return shown(text) + " is no decimal: write digits, a point where one is needed, and no sign but a leading -";
}

void check_decimal(const std::string& text, const std::string& field, double most) {
  need(decimal(text, field) == text, field, shown(text) + " is not spelled " + decimal(text, field));
  need(text[0] != '-', field, shown(text) + " is negative");
  need(std::strtod(text.c_str(), nullptr) <= most, field, shown(text) + " is over " + decimal(most));
}

const char* const kModes[] = {"allclose", "matched_ratio", "cosine", "topk_overlap"};

void check_correctness(const Correctness& c) {
  need(std::find(std::begin(kModes), std::end(kModes), c.mode) != std::end(kModes), "/correctness/mode",
       shown(c.mode) + " is none of allclose, matched_ratio, cosine, topk_overlap");
  need(c.top_k >= 0, "/correctness/top_k", "it is negative");
  need((c.mode == "topk_overlap") == (c.top_k > 0), "/correctness/top_k", "topk_overlap and no other mode has one");
  check_decimal(c.min_ratio, "/correctness/min_ratio", 1);
  check_decimal(c.min_cosine, "/correctness/min_cosine", 1);
  check_decimal(c.max_rel_norm_err, "/correctness/max_rel_norm_err", 1);
  check_decimal(c.min_overlap, "/correctness/min_overlap", 1);
  const std::string& floor = c.mode == "cosine" ? c.min_cosine : c.mode == "topk_overlap" ? c.min_overlap : c.min_ratio;
  need(floor != "0", "/correctness", "a floor of 0 passes everything");
}

void sort_tolerances(std::vector<ContractTolerance>& rows) {
  std::sort(rows.begin(), rows.end(), [](const auto& a, const auto& b) { return a.dtype < b.dtype; });
}

struct Text {
  const char* key;
  std::string TargetContractRef::*member;
};
constexpr std::array<Text, 8> kTexts = {{{"slot_id", &TargetContractRef::slot_id},
                                         {"kind", &TargetContractRef::kind},
                                         {"entry", &TargetContractRef::entry},
                                         {"input_abi_id", &TargetContractRef::input_abi_id},
                                         {"output_abi_id", &TargetContractRef::output_abi_id},
                                         {"reference_id", &TargetContractRef::reference_id},
                                         {"verification_profile_id", &TargetContractRef::verification_profile_id},
                                         {"binding_family_id", &TargetContractRef::binding_family_id}}};
constexpr std::array<Text, 4> kDigests = {{{"input_abi_digest", &TargetContractRef::input_abi_digest},
                                           {"output_abi_digest", &TargetContractRef::output_abi_digest},
                                           {"reference_digest", &TargetContractRef::reference_digest},
                                           {"profile_digest", &TargetContractRef::profile_digest}}};
struct Floor {
  const char* key;
  std::string Correctness::*member;
};
constexpr std::array<Floor, 4> kFloors = {{{"min_ratio", &Correctness::min_ratio},
                                           {"min_cosine", &Correctness::min_cosine},
                                           {"max_rel_norm_err", &Correctness::max_rel_norm_err},
                                           {"min_overlap", &Correctness::min_overlap}}};

json or_null(const std::optional<std::string>& text) { return text ? json(*text) : json(nullptr); }

// Members of an object, each taken once; done() refuses what is left.
class Members {
 public:
  Members(const json& object, std::string path) : object_(object), path_(std::move(path)) {
    need(object.is_object(), path_.empty() ? "/" : path_, "it has to be an object");
  }
  const json& take(const char* key) {
    const auto found = object_.find(key);
    need(found != object_.end(), at(key), "it is missing");
    taken_.insert(key);
    return *found;
  }
  std::string text(const char* key) {
    const json& value = take(key);
    need(value.is_string(), at(key), "it has to be text");
    return value.get<std::string>();
  }
  std::string number(const char* key) { return decimal(text(key), at(key)); }
  std::optional<std::string> text_or_null(const char* key) {
    return take(key).is_null() ? std::nullopt : std::optional(text(key));
  }
  void done() const {
    for (const auto& item : object_.items()) need(taken_.count(item.key()) != 0, at(item.key()), "no such field");
  }
  std::string at(const std::string& key) const { return path_ + "/" + key; }

 private:
  const json& object_;
  std::string path_;
  std::set<std::string> taken_;
};

}  // namespace

std::string decimal(std::string_view text, const std::string& field) {
  std::string_view rest = text;
  const bool negative = rest.starts_with('-');
  if (negative) rest.remove_prefix(1);
  const auto digits = [&] {
    const auto end = std::find_if_not(rest.begin(), rest.end(), digit);
    std::string run(rest.begin(), end);
    rest.remove_prefix(run.size());
    return run;
  };
  std::string whole = digits(), part;
  bool good = !whole.empty();
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    part = digits();
    good = good && !part.empty();
  }
  long exponent = 0;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest.remove_prefix(1);
    const bool down = rest.starts_with('-');
    if (down || rest.starts_with('+')) rest.remove_prefix(1);
    const std::string run = digits();
    good = good && !run.empty();
    need(run.size() <= 4, field, shown(text) + " has too many places");
    for (const char c : run) exponent = 10 * exponent + (c - '0');
    if (down) exponent = -exponent;
  }
  need(good && rest.empty(), field, not_a_decimal(text));
  // The number is 0.<all> * 10^point.
  std::string all = whole + part;
  long point = static_cast<long>(whole.size()) + exponent;
  const std::size_t first = all.find_first_not_of('0');
  if (first == std::string::npos) return "0";
  all = all.substr(first, all.find_last_not_of('0') - first + 1);
  point -= static_cast<long>(first);
  const auto count = static_cast<long>(all.size());
  need(std::max(point, 0L) <= kMostPlaces && count - point <= kMostPlaces, field, shown(text) + " has too many places");
  if (point >= count) {
    all += std::string(static_cast<std::size_t>(point - count), '0');
  } else if (point > 0) {
    all.insert(static_cast<std::size_t>(point), 1, '.');
  } else {
    all = "0." + std::string(static_cast<std::size_t>(-point), '0') + all;
  }
  return (negative ? "-" : "") + all;
}

std::string decimal(double value) {
  need(std::isfinite(value), "/", "NaN and infinity have no decimal");
  std::array<char, 800> buffer{};
  const auto end = std::to_chars(buffer.data(), buffer.data() + buffer.size(), value, std::chars_format::fixed).ptr;
  return decimal(std::string_view(buffer.data(), static_cast<std::size_t>(end - buffer.data())));
}

Correctness correctness_of(const Comparator& c) {
  Correctness result;
  const std::string floor = decimal(c.floor);
  switch (c.mode) {
    case Mode::allclose:
    case Mode::matched_ratio:
      result.mode = c.mode == Mode::allclose ? "allclose" : "matched_ratio";
      result.min_ratio = floor;
      break;
    case Mode::cosine:
      result.mode = "cosine";
      result.min_cosine = floor;
      result.max_rel_norm_err = decimal(c.max_norm_error);
      break;
    case Mode::topk_scores:
    case Mode::topk_indices:
      result.mode = "topk_overlap";
      result.min_overlap = floor;
      result.top_k = c.k;
      break;
  }
  return result;
}

TargetContractRef contract_of(const SlotSpec& slot, const ContractNames& names, const std::string& reference_digest) {
  TargetContractRef c;
  c.slot_id = slot.id;
  need(names.slot == slot.id, "/slot_id", shown(names.slot) + " names another slot's contract");
  c.kind = name_of(slot.kind);
  c.entry = names.entry;
  c.prepare = names.prepare;
  for (const ArgumentSpec& a : slot.arguments)
    if (a.kind == 'i' && a.dynamic) c.graph_dynamic_inputs.push_back(a.name);
  const auto id = [&](const char* part, int version) { return slot.id + "." + part + ".v" + std::to_string(version); };
  c.input_abi_id = id("input", names.input);
  c.output_abi_id = id("output", names.output);
  c.reference_id = id("reference", names.reference);
  c.verification_profile_id = id("verify", names.profile);
  c.binding_family_id = names.binding_family;
  c.correctness = correctness_of(registered_comparator(slot));
  for (const DType dtype : {DType::bf16, DType::f16, DType::f32}) {
    const Tolerance t = tolerance_for(dtype);
    c.tolerances.push_back({contract_name(dtype), decimal(t.atol), decimal(t.rtol)});
  }
  c.kl_threshold = names.kl_threshold;
  c.input_abi_digest = input_abi_digest(slot);
  c.output_abi_digest = output_abi_digest(slot);
  c.reference_digest = reference_digest;
  c.profile_digest = profile_digest(slot);
  sort_tolerances(c.tolerances);
  check(c, 2);
  return c;
}

void check(const TargetContractRef& c, int schema) {
  need(schema == 1 || schema == 2, "/schema_version", "it is 1 or 2");
  for (const Text& t : kTexts)
    if (t.member != &TargetContractRef::entry)
      need(is_id(c.*t.member), std::string("/") + t.key, shown(c.*t.member) + " is no id");
  need(c.kind == "op" || c.kind == "block" || c.kind == "collective", "/kind",
       shown(c.kind) + " is none of op, block, collective");
  need(is_identifier(c.entry), "/entry", shown(c.entry) + " is no identifier");
  need(!c.prepare || is_identifier(*c.prepare), "/prepare", shown(c.prepare.value_or("")) + " is no identifier");
  std::set<std::string> seen;
  need(!c.graph_dynamic_inputs.empty(), "/graph_dynamic_inputs", "a replay that follows no input proves nothing");
  for (const std::string& name : c.graph_dynamic_inputs)
    need(is_identifier(name) && seen.insert(name).second, "/graph_dynamic_inputs",
         shown(name) + " is no identifier or there twice");
  check_correctness(c.correctness);
  need(!c.tolerances.empty(), "/tolerances", "a dtype without a row fails closed, and there is no row");
  for (std::size_t i = 0; i < c.tolerances.size(); ++i) {
    const ContractTolerance& t = c.tolerances[i];
    const std::string at = "/tolerances/" + std::to_string(i);
    need(is_id(t.dtype), at + "/dtype", shown(t.dtype) + " is no dtype");
    need(i == 0 || c.tolerances[i - 1].dtype < t.dtype, at + "/dtype",
         shown(t.dtype) + " is out of order or there twice");
    check_decimal(t.atol, at + "/atol", 1);
    check_decimal(t.rtol, at + "/rtol", 1);
  }
  if (c.kl_threshold) check_decimal(*c.kl_threshold, "/kl_threshold", 1);
  if (schema == 2)
    for (const Text& t : kDigests)
      need(is_digest(c.*t.member), std::string("/") + t.key, shown(c.*t.member) + " is no digest");
}

json to_json(const TargetContractRef& c, int schema) {
  check(c, schema);
  json object = {{"schema_version", schema},
                 {"prepare", or_null(c.prepare)},
                 {"graph_dynamic_inputs", c.graph_dynamic_inputs},
                 {"kl_threshold", or_null(c.kl_threshold)},
                 {"tolerances", json::array()}};
  for (const Text& t : kTexts) object[t.key] = c.*t.member;
  json& correctness = object["correctness"] = {{"mode", c.correctness.mode}, {"top_k", c.correctness.top_k}};
  for (const Floor& f : kFloors) correctness[f.key] = c.correctness.*f.member;
  for (const ContractTolerance& t : c.tolerances)
    object["tolerances"].push_back({{"dtype", t.dtype}, {"atol", t.atol}, {"rtol", t.rtol}});
  if (schema == 2)
    for (const Text& t : kDigests) object[t.key] = c.*t.member;
  return object;
}

TargetContractRef contract_from_json(const json& object) {
  TargetContractRef c;
  Members m(object, "");
  const json& version = m.take("schema_version");
  need(version == 1 || version == 2, "/schema_version", "it is 1 or 2");
  need(version.is_number_integer(), "/schema_version", "it has to be an integer");
  const int schema = version.get<int>();
  for (const Text& t : kTexts) c.*t.member = m.text(t.key);
  c.prepare = m.text_or_null("prepare");
  const json& inputs = m.take("graph_dynamic_inputs");
  need(inputs.is_array(), "/graph_dynamic_inputs", "it has to be an array");
  for (const json& name : inputs) {
    need(name.is_string(), "/graph_dynamic_inputs", "it has to hold texts");
    c.graph_dynamic_inputs.push_back(name);
  }
  Members correctness(m.take("correctness"), "/correctness");
  c.correctness.mode = correctness.text("mode");
  const json& top_k = correctness.take("top_k");
  need(top_k.is_number_integer() && top_k >= 0 && top_k <= std::numeric_limits<std::int32_t>::max(),
       "/correctness/top_k", "it has to be an integer from 0");
  c.correctness.top_k = top_k;
  for (const Floor& f : kFloors) c.correctness.*f.member = correctness.number(f.key);
  correctness.done();
  const json& tolerances = m.take("tolerances");
  need(tolerances.is_array(), "/tolerances", "it has to be an array");
  for (const json& item : tolerances) {
    Members row(item, "/tolerances/" + std::to_string(c.tolerances.size()));
    ContractTolerance t;
    t.dtype = row.text("dtype");
    t.atol = row.number("atol");
    t.rtol = row.number("rtol");
    row.done();
    c.tolerances.push_back(std::move(t));
  }
  sort_tolerances(c.tolerances);
  c.kl_threshold = m.take("kl_threshold").is_null() ? std::nullopt : std::optional(m.number("kl_threshold"));
  if (schema == 2)
    for (const Text& t : kDigests) c.*t.member = m.text(t.key);
  m.done();
  check(c, schema);
  return c;
}

std::string contract_digest(const TargetContractRef& c, int schema) {
  return envelope_digest(contract_domain, to_json(c, schema), schema);
}

}  // namespace assay
