#include "harness/capability/descriptor.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/catalogue/canonical.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

nlohmann::json to_json(const Facts& facts) {
  nlohmann::json object = nlohmann::json::object();
  for (const auto& [field, value] : facts) {
    std::visit([&object, &name = field](const auto& v) { object[name] = v; }, value);
  }
  return object;
}

[[noreturn]] void refuse(const char* rule, const std::string& field, const std::string& why) {
  throw DescriptorError(rule, field, "descriptor field " + shown(field) + " " + why);
}

FieldKind known_kind(const std::string& field) {
  const auto kind = kind_of_field(field);
  if (!kind) refuse("DR-1", field, "is not in the vocabulary");
  return *kind;
}

}  // namespace

const FactValue* Descriptor::find(std::string_view canonical) const {
  const auto found = fields_.find(canonical);
  return found == fields_.end() ? nullptr : &found->second;
}

std::string Descriptor::encode() const { return canonical(to_json(fields_)); }

std::string Descriptor::digest() const { return envelope_digest("assay.call-descriptor", to_json(fields_), 1); }

DescriptorBuilder& DescriptorBuilder::set(std::string_view field, std::string_view text) {
  return put(field, FactValue(std::string(text)));
}

DescriptorBuilder& DescriptorBuilder::put(std::string_view raw, FactValue value) {
  const std::string field = fold_field(raw);
  switch (known_kind(field)) {
    case FieldKind::numeric:
      if (!std::holds_alternative<std::int64_t>(value)) refuse("DR-2", field, "takes an integer");
      if (std::get<std::int64_t>(value) < 0) refuse("DR-2", field, "takes no negative number");
      break;
    case FieldKind::context: {
      const auto* text = std::get_if<std::string>(&value);
      if (!text) refuse("DR-3", field, "takes text");
      if (!is_utf8(*text)) refuse("DR-3", field, "takes UTF-8 text");
      FoldedText folded = fold_text(field, *text);
      if (folded.blank) refuse("DR-3", field, "is blank");
      if (!folded.token) refuse("DR-3", field, "cannot be " + shown(*text) + ": the vocabulary is closed");
      if (*folded.token == "unknown") refuse("DR-4", field, "is unknown: leave the field out");
      value = std::move(*folded.token);
      break;
    }
    case FieldKind::scalar:
      if (const auto* text = std::get_if<std::string>(&value); text && !is_f64_hex(*text)) {
        refuse("DR-2", field, "holds " + shown(*text) + ", which is not the f64_hex text of a float");
      }
      break;
  }
  const auto [at, fresh] = fields_.emplace(field, value);
  if (!fresh && at->second != value) {
    refuse("DR-5", field, "is given twice, as " + shown(text_of(at->second)) + " and as " + shown(text_of(value)));
  }
  return *this;
}

DescriptorBuilder& DescriptorBuilder::put_real(std::string_view raw, double value) {
  const std::string field = fold_field(raw);
  const FieldKind kind = known_kind(field);
  if (kind == FieldKind::context) refuse("DR-3", field, "takes text");
  if (kind == FieldKind::numeric) refuse("DR-2", field, "takes an integer, not a float");
  if (!std::isfinite(value)) refuse("DR-2", field, "takes a finite number");
  return put(field, FactValue(f64_hex(value)));
}

DescriptorBuilder& DescriptorBuilder::out_of_range(std::string_view raw) {
  const std::string field = fold_field(raw);
  if (known_kind(field) == FieldKind::context) refuse("DR-3", field, "takes text");
  refuse("DR-2", field, "takes integers up to 2^63-1");
}

Descriptor DescriptorBuilder::build() const {
  for (const std::string_view field : mandatory_fields()) {
    if (!fields_.contains(field)) refuse("DR-9", std::string(field), "is mandatory and missing");
  }
  return Descriptor(fields_);
}

Descriptor decode_descriptor(std::string_view text) {
  const nlohmann::json object = parse_strict(text, "descriptor");
  if (!object.is_object()) throw JsonError(JsonFault::type, "descriptor: is not an object");
  DescriptorBuilder builder;
  for (const auto& [field, value] : object.items()) {
    if (value.is_string()) {
      builder.set(field, value.get_ref<const std::string&>());
    } else if (value.is_boolean()) {
      builder.set(field, value.get<bool>());
    } else if (value.is_number_unsigned()) {
      builder.set(field, value.get<std::uint64_t>());
    } else if (value.is_number_integer()) {
      builder.set(field, value.get<std::int64_t>());
    } else if (value.is_number_float()) {
      // Also for scalar.<argument>: a float travels as its f64_hex text.
      refuse("DR-2", fold_field(field), "holds a float");
    } else {
      refuse("DR-4", fold_field(field), "holds null or a container: an unknown fact is left out");
    }
  }
  return builder.build();
}

void require_supply(const Descriptor& descriptor, const SlotSupply& supply, RowForm form) {
  const auto need = [&](const std::string& field) -> const FactValue& {
    const FactValue* value = descriptor.find(field);
    if (!value) refuse("DR-10", field, "is supplied by " + supply.slot + " and missing");
    return *value;
  };
  for (const SuppliedField& field : supply.fields) {
    if (field.optional && !descriptor.find(field.name)) continue;
    const FactValue& value = need(field.name);
    if (field.always && value != *field.always) {
      refuse("DR-10", field.name,
             "of " + supply.slot + " is " + shown(text_of(*field.always)) + ", not " + shown(text_of(value)));
    }
  }
  for (const auto& [one, other] : supply.equal) {
    if (need(one) != need(other)) refuse("DR-10", one, "of " + supply.slot + " has to equal " + other);
  }
  if (form == RowForm::sealed) {
    for (const auto& [scalar, type] : supply.scalars) {
      if (need(scalar).index() != (type == ScalarType::i64 ? 0u : type == ScalarType::boolean ? 1u : 2u)) {
        refuse("DR-10", scalar, "of " + supply.slot + " has another type");
      }
    }
  }
  for (const auto& entry : descriptor.fields()) {
    const bool scalar = form == RowForm::sealed && supply.scalars.contains(entry.first);
    if (!scalar && !supply.supplies(entry.first)) {
      refuse("DR-10", entry.first, "is not supplied by " + supply.slot);
    }
  }
}

}  // namespace assay
