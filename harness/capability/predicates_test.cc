// Runs fixtures/predicates.json: the specification's vectors for descriptors, predicates and matching.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/capability/domain.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

const json& vectors() {
  static const json all = [] {
    std::ifstream file(ASSAY_FIXTURES "/predicates.json");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_strict(text.str(), "fixtures/predicates.json");
  }();
  return all;
}

void add(DescriptorBuilder& builder, const std::string& field, const json& value) {
  if (value.is_string()) {
    builder.set(field, value.get<std::string>());
  } else if (value.is_boolean()) {
    builder.set(field, value.get<bool>());
  } else if (value.is_number_unsigned()) {
    builder.set(field, value.get<std::uint64_t>());
  } else if (value.is_number_integer()) {
    builder.set(field, value.get<std::int64_t>());
  } else if (value.is_number_float()) {
    builder.set(field, value.get<double>());
  }
}

json with_mandatory(const json& vector) {
  json fields = vector["fields"];
  std::map<std::string, std::string> missing = {
      {"dtype", "bfloat16"}, {"architecture", "sm90"}, {"graph_mode", "eager"}};
  for (const auto& item : fields.items()) missing.erase(fold_field(item.key()));
  for (const auto& name : vector.value("omit", json::array())) missing.erase(name.get<std::string>());
  for (const auto& [field, value] : missing) fields[field] = value;
  return fields;
}

Descriptor build(const json& fields) {
  DescriptorBuilder builder;
  for (const auto& item : fields.items()) add(builder, item.key(), item.value());
  return builder.build();
}

TEST(PredicateVectors, DescriptorsAreBuiltOrRefusedAsSpecified) {
  int checked = 0;
  for (const json& vector : vectors()["descriptors"]) {
    SCOPED_TRACE("descriptor vector " + vector["id"].get<std::string>());
    const json fields = with_mandatory(vector);
    // Both ways in: the builder that bindings use (which has no null) and the decoder of stored text.
    for (const bool decode : {false, true}) {
      const bool has_null = std::any_of(fields.begin(), fields.end(), [](const json& v) { return v.is_null(); });
      if (has_null && !decode) continue;
      try {
        const Descriptor made = decode ? decode_descriptor(fields.dump()) : build(fields);
        ASSERT_TRUE(vector.contains("is")) << "accepted: " << made.encode();
        EXPECT_EQ(made.encode(), canonical(vector["is"]));
      } catch (const DescriptorError& error) {
        EXPECT_EQ(error.rule(), vector.value("error", "accepted")) << error.what();
        EXPECT_NE(std::string(error.what()).find(shown(error.field())), std::string::npos) << error.what();
      }
      ++checked;
    }
  }
  EXPECT_GT(checked, 40);
}

Domain declare(const json& vector) {
  const SlotSupply* supply = supply_of(vector["slot"].get<std::string>());
  const DomainContext context{*supply,
                              vector.value("form", "library") == "sealed" ? RowForm::sealed : RowForm::library};
  const GraphSafe graph_safe = vector.value("graph_safe", true) ? GraphSafe::yes : GraphSafe::no;
  if (vector.contains("metadata")) {
    const json manifest = vector.value("manifest", json::object());
    const ManifestLists lists{manifest.value("dtypes", std::vector<std::string>()),
                              manifest.value("architectures", std::vector<std::string>())};
    return parse_metadata(vector["metadata"].dump(), lists, context);
  }
  if (vector.contains("text")) return parse_domain(vector["text"].get<std::string>(), context, graph_safe);
  if (!vector.contains("capabilities")) return parse_domain(std::nullopt, context, graph_safe);
  return parse_domain(vector["capabilities"].dump(), context, graph_safe);
}

TEST(PredicateVectors, DeclarationsAreReadOrRefusedAsSpecified) {
  std::map<std::string, int> refused;
  for (const json& vector : vectors()["domains"]) {
    SCOPED_TRACE("domain vector " + vector["id"].get<std::string>());
    Domain domain;
    try {
      domain = declare(vector);
    } catch (const PredicateError& error) {
      EXPECT_EQ(error.id(), vector.value("error", "accepted")) << error.what();
      EXPECT_EQ(std::string(error.what()).find(error.id() + ": "), 0u);
      if (!error.field().empty()) {
        EXPECT_NE(std::string(error.what()).find(shown(error.field())), std::string::npos) << error.what();
      }
      ++refused[error.id()];
      continue;
    }
    ASSERT_FALSE(vector.contains("error")) << "accepted: " << domain.encode();
    if (vector.contains("domain")) {
      EXPECT_EQ(domain.encode(), canonical(vector["domain"]));
    }
    for (const json& call : vector.value("calls", json::array())) {
      json found = json::array();
      for (const Mismatch& m : match(domain, build(with_mandatory(call))).mismatches) {
        json row = {m.field, m.kind == MismatchKind::missing ? "missing" : "outside_domain", m.expected};
        if (m.actual) std::visit([&row](const auto& v) { row.push_back(v); }, *m.actual);
        found.push_back(row);
      }
      EXPECT_EQ(canonical(found), canonical(call["mismatches"])) << call;
    }
  }
  for (const char* id : {"PE-1", "PE-2", "PE-3", "PE-4", "PE-5", "PE-6", "PE-7", "PE-8", "PE-9", "PE-10", "PE-11",
                         "PE-12", "PE-13", "PE-14", "PE-15", "PE-16"}) {
    EXPECT_GT(refused[id], 0) << id << " has no vector";
  }
}

// The TOML reader of sealed manifests hands over values, not text.
TEST(PredicateVectors, AnotherReadersValuesGetTheSameAnswer) {
  for (const json& vector : vectors()["domains"]) {
    if (!vector.contains("capabilities")) continue;
    SCOPED_TRACE("domain vector " + vector["id"].get<std::string>());
    const DomainContext context{*supply_of(vector["slot"].get<std::string>()),
                                vector.value("form", "library") == "sealed" ? RowForm::sealed : RowForm::library};
    try {
      const GraphSafe safe = vector.value("graph_safe", true) ? GraphSafe::yes : GraphSafe::no;
      const Domain domain = domain_of(vector["capabilities"], {}, context, safe);
      EXPECT_EQ(domain, declare(vector));
    } catch (const PredicateError& error) {
      EXPECT_EQ(error.id(), vector.value("error", "accepted")) << error.what();
    }
  }
}

}  // namespace
}  // namespace assay
