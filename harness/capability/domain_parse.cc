// The reader of declarations. Order of the checks, where several rules are broken: the text (PE-1, PE-11), the shape of
// the older keys (PE-12), then field by field in byte order of the names as written (PE-2, PE-3, then its predicate),
// then the lists (PE-10, PE-13), whether the slot supplies every field that is constrained (PE-15), and last whether
// any value is left to each (PE-14).
#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>

#include "harness/capability/domain.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr std::size_t text_limit = 64u << 10u;
constexpr std::size_t one_of_limit = 64;

[[noreturn]] void refuse(const char* id, const std::string& field, const std::string& why) {
  throw PredicateError(id, field, "field " + shown(field) + " " + why);
}
[[noreturn]] void refuse_whole(const char* id, const std::string& why) { throw PredicateError(id, "", why); }

void refuse_floats(const json& value, const std::string& what) {
  if (value.is_number_float()) refuse_whole("PE-11", what + " holds a float; write integers, or f64_hex text");
  if (value.is_structured()) {
    for (const auto& item : value.items()) {
      refuse_floats(item.value(), value.is_object() ? what + ", " + shown(item.key()) + "," : what);
    }
  }
}

json read_text(std::string_view text, const std::string& what) {
  try {
    return parse_strict(text, what, text_limit);
  } catch (const JsonError& error) {
    switch (error.fault()) {
      case JsonFault::duplicate_key:
      case JsonFault::not_finite:
        throw PredicateError("PE-11", "", error.what());
      case JsonFault::integer_range:
        throw PredicateError("PE-9", "", error.what());
      default:  // text that is no JSON is no object either
        throw PredicateError("PE-1", "", error.what());
    }
  }
}

void require_object(const json& value, const std::string& what) {
  if (value.is_null() || value.is_object()) return;
  refuse_whole("PE-1", what + " is present and not an object but " + value.type_name() +
                           "; leave it out or write an object of field: predicate");
}

std::int64_t number_of(const json& value, const std::string& field, const char* id) {
  if (!value.is_number_integer())
    refuse(id, field, std::string("takes a non-negative integer, not ") + value.type_name());
  const bool negative = !value.is_number_unsigned() && value.get<std::int64_t>() < 0;
  if (negative) refuse(id, field, "takes no negative number");
  if (value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    refuse(id, field, "takes integers up to 2^63-1");
  }
  return value.get<std::int64_t>();
}

std::string token_of(const json& value, const std::string& field, const std::string& canonical_field) {
  if (!value.is_string()) refuse("PE-9", field, std::string("takes text, not ") + value.type_name());
  const auto& text = value.get_ref<const std::string&>();
  FoldedText folded = fold_text(canonical_field, text);
  if (folded.blank) refuse("PE-9", field, "holds blank text");
  if (!folded.token) {
    std::string list;
    for (const std::string_view token : closed_tokens(canonical_field)) {
      list.append(list.empty() ? "" : ", ").append(token);
    }
    refuse("PE-10", field, "cannot be " + shown(text) + "; it is one of " + list);
  }
  return std::move(*folded.token);
}

FactValue scalar_of(const json& value, const std::string& field, ScalarType type) {
  switch (type) {
    case ScalarType::boolean:
      if (!value.is_boolean()) refuse("PE-9", field, "takes true or false");
      return value.get<bool>();
    case ScalarType::i64:
      // A slot's scalar may be negative; only counts may not.
      if (!value.is_number_integer()) refuse("PE-9", field, "takes an integer");
      if (value.is_number_unsigned()) return number_of(value, field, "PE-9");
      return value.get<std::int64_t>();
    case ScalarType::f64:
      break;
  }
  if (!value.is_string() || !is_f64_hex(value.get_ref<const std::string&>())) {
    refuse("PE-9", field, "takes a float as f64_hex text, such as \"" + f64_hex(1.0) + '"');
  }
  return value.get<std::string>();
}

// One field's predicate, as written under one name.
class SpecReader {
 public:
  SpecReader(std::string written, std::string field, FieldKind kind, const SlotSupply& supply)
      : written_(std::move(written)), field_(std::move(field)), kind_(kind) {
    if (kind_ == FieldKind::scalar) type_ = supply.scalars.find(field_)->second;
  }

  FieldDomain read(const json& spec) const {
    if (spec.is_array()) return one_of(spec);
    if (!spec.is_object()) return listed({value(spec)});
    static const std::set<std::string, std::less<>> known = {"exact", "one_of", "min", "max"};
    for (const auto& item : spec.items()) {
      if (!known.contains(item.key())) {
        refuse("PE-4", written_,
               "has the unknown predicate " + shown(item.key()) + "; predicates are exact, one_of, min and max");
      }
    }
    const bool range = spec.contains("min") || spec.contains("max");
    if (spec.empty()) refuse("PE-6", written_, "has an empty predicate; leave the field out to accept everything");
    if (spec.contains("exact") && spec.contains("one_of")) refuse("PE-5", written_, "mixes exact with one_of");
    if (!range) return spec.contains("exact") ? listed({value(spec["exact"])}) : one_of(spec["one_of"]);
    if (spec.size() != 1 + static_cast<std::size_t>(spec.contains("min") && spec.contains("max"))) {
      refuse("PE-5", written_, "mixes a list of values with a range");
    }
    if (kind_ != FieldKind::numeric)
      refuse("PE-7", written_, "is not a count: it takes exact or one_of, no min or max");
    FieldDomain domain;
    if (spec.contains("min")) domain.lo = number_of(spec["min"], written_, "PE-9");
    if (spec.contains("max")) domain.hi = number_of(spec["max"], written_, "PE-9");
    if (domain.lo && domain.hi && *domain.lo > *domain.hi) {
      refuse("PE-8", written_, "has min " + std::to_string(*domain.lo) + " above max " + std::to_string(*domain.hi));
    }
    return domain;
  }

 private:
  FactValue value(const json& from) const {
    if (from.is_null()) refuse("PE-9", written_, "holds null; leave the field out to accept everything");
    if (kind_ == FieldKind::numeric) return number_of(from, written_, "PE-9");
    if (kind_ == FieldKind::context) return token_of(from, written_, field_);
    return scalar_of(from, written_, type_);
  }
  FieldDomain one_of(const json& list) const {
    if (!list.is_array()) refuse("PE-9", written_, "takes a list under one_of");
    if (list.empty()) refuse("PE-6", written_, "has an empty list and would accept nothing");
    if (list.size() > one_of_limit) {
      refuse("PE-16", written_, "lists " + std::to_string(list.size()) + " values, over the limit of 64");
    }
    std::vector<FactValue> values;
    for (const json& item : list) values.push_back(value(item));
    return listed(std::move(values));
  }
  static FieldDomain listed(std::vector<FactValue> values) {
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
    FieldDomain domain;
    domain.allowed = std::move(values);
    return domain;
  }

  std::string written_, field_;
  FieldKind kind_;
  ScalarType type_ = ScalarType::i64;
};

void add_capabilities(Domain& domain, const json& capabilities, const DomainContext& context) {
  std::map<std::string, std::string> written_as;
  for (const auto& item : capabilities.items()) {
    const std::string field = fold_field(item.key());
    const auto kind = kind_of_field(field);
    if (!kind) refuse("PE-2", item.key(), "is not in the vocabulary of call facts (spelling?)");
    if (*kind == FieldKind::scalar && (context.form != RowForm::sealed || !context.supply.scalars.contains(field))) {
      refuse("PE-2", item.key(),
             context.form == RowForm::sealed
                 ? "is not a scalar of " + context.supply.slot + " that has a capability field"
                 : "is for sealed artifacts only; a library reads the scalar at the call");
    }
    const auto [at, fresh] = written_as.emplace(field, item.key());
    if (!fresh) refuse("PE-3", item.key(), "and " + shown(at->second) + " are the same field");
    domain.restrict_to(field, SpecReader(item.key(), field, *kind, context.supply).read(item.value()));
  }
}

FieldDomain tokens(const std::vector<std::string>& list, const std::string& field) {
  FieldDomain domain;
  domain.allowed.emplace();
  for (const std::string& text : list) domain.allowed->push_back(token_of(text, field, field));
  std::sort(domain.allowed->begin(), domain.allowed->end());
  domain.allowed->erase(std::unique(domain.allowed->begin(), domain.allowed->end()), domain.allowed->end());
  return domain;
}

std::vector<std::string> older_list(const json& metadata, const char* key) {
  if (!metadata.contains(key)) return {};
  const json& value = metadata[key];
  const auto non_empty = [](const json& item) {
    return item.is_string() && item.get_ref<const std::string&>().find_first_not_of(" \t\n\v\f\r") != std::string::npos;
  };
  // quant has one value in most manifests and is written without brackets there.
  if (std::string_view(key) == "quant" && non_empty(value)) return {value.get<std::string>()};
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), non_empty)) {
    refuse("PE-12", key, "takes a list of non-empty texts");
  }
  return value.get<std::vector<std::string>>();
}

std::optional<std::int64_t> older_bound(const json& metadata, const char* key) {
  if (!metadata.contains(key)) return std::nullopt;
  return number_of(metadata[key], key, "PE-12");
}

// A manifest names dtypes and architectures at two levels; both hold.
void add_lists(Domain& domain, const std::string& field, const std::string& key, const std::vector<std::string>& outer,
               const std::vector<std::string>& inner) {
  std::optional<FieldDomain> both;
  for (const auto* list : {&outer, &inner}) {
    if (list->empty()) continue;
    const FieldDomain one = tokens(*list, field);
    both = both ? intersect(*both, one) : one;
  }
  if (!both) return;
  if (both->allowed->empty()) refuse("PE-13", key, "of the manifest and of the metadata have nothing in common");
  domain.restrict_to(field, *both);
}

void lower_flags(Domain& domain, const DomainContext& context, GraphSafe graph_safe) {
  if (graph_safe == GraphSafe::no) domain.restrict_to("graph_mode", tokens({"eager"}, "graph_mode"));
  // A dense kernel must never see packed bytes, and the other way round.
  if (context.supply.prepares && !domain.fields.contains("quant")) {
    domain.restrict_to("quant", tokens({"dense"}, "quant"));
  }
}

void require_observable(const Domain& domain, const DomainContext& context) {
  for (const auto& entry : domain.fields) {
    const std::string& field = entry.first;
    const bool scalar = context.form == RowForm::sealed && context.supply.scalars.contains(field);
    if (!scalar && !context.supply.supplies(field)) {
      refuse("PE-15", field,
             "is never supplied by " + context.supply.slot + ": the variant could not be selected; drop the predicate");
    }
  }
}

// One predicate of a field is never empty by itself; several of one field may contradict each other.
void require_some_call(const Domain& domain) {
  const std::string* field = domain.empty_field();
  if (!field) return;
  refuse("PE-14", *field,
         *field == "graph_mode" ? "admits nothing: the variant is not graph-safe, which leaves eager calls only"
                                : "admits nothing: its predicates contradict each other");
}

Domain lower(const json& capabilities, const ManifestLists& outer, const ManifestLists& inner,
             const std::vector<std::string>& quant, const FieldDomain& last_dim, const FieldDomain& num_tokens,
             const DomainContext& context, GraphSafe graph_safe) {
  Domain domain;
  if (capabilities.is_object()) add_capabilities(domain, capabilities, context);
  add_lists(domain, "dtype", "dtypes", outer.dtypes, inner.dtypes);
  add_lists(domain, "architecture", "architectures", outer.architectures, inner.architectures);
  if (!quant.empty()) domain.restrict_to("quant", tokens(quant, "quant"));
  if (last_dim != FieldDomain{}) domain.restrict_to("last_dim", last_dim);
  if (num_tokens != FieldDomain{}) domain.restrict_to("num_tokens", num_tokens);
  lower_flags(domain, context, graph_safe);
  require_observable(domain, context);
  require_some_call(domain);
  return domain;
}

}  // namespace

Domain domain_of(const json& capabilities, const ManifestLists& lists, const DomainContext& context,
                 GraphSafe graph_safe) {
  require_object(capabilities, "capabilities");
  refuse_floats(capabilities, "capabilities");
  return lower(capabilities, lists, {}, {}, {}, {}, context, graph_safe);
}

Domain parse_domain(std::optional<std::string_view> capabilities, const DomainContext& context, GraphSafe graph_safe) {
  return domain_of(capabilities ? read_text(*capabilities, "capabilities") : json(), {}, context, graph_safe);
}

Domain parse_metadata(std::optional<std::string_view> text, const ManifestLists& outer, const DomainContext& context) {
  const json given = text ? read_text(*text, "metadata") : json();
  require_object(given, "metadata");
  const json metadata = given.is_null() ? json::object() : given;
  const json capabilities = metadata.value("capabilities", json());
  require_object(capabilities, "capabilities");
  refuse_floats(metadata, "metadata");

  bool graph_safe = false;
  if (metadata.contains("graph_safe")) {
    if (!metadata["graph_safe"].is_boolean()) refuse("PE-12", "graph_safe", "takes true or false");
    graph_safe = metadata["graph_safe"].get<bool>();
  }
  const ManifestLists inner{older_list(metadata, "dtypes"), older_list(metadata, "architectures")};
  FieldDomain last_dim;
  last_dim.hi = older_bound(metadata, "max_last_dim");
  FieldDomain num_tokens;
  num_tokens.lo = older_bound(metadata, "min_num_tokens");
  num_tokens.hi = older_bound(metadata, "max_num_tokens");
  if (num_tokens.lo && num_tokens.hi && *num_tokens.lo > *num_tokens.hi) {
    refuse("PE-12", "min_num_tokens", "is above max_num_tokens");
  }
  return lower(capabilities, outer, inner, older_list(metadata, "quant"), last_dim, num_tokens, context,
               graph_safe ? GraphSafe::yes : GraphSafe::no);
}

}  // namespace assay
