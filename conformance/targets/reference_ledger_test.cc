// What a reference's id stands for: its sources without their layout, and its outputs on the fixed probes of
// fixtures/reference_probes.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/targets/reference_kit_test.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/generate.hpp"
#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

using nlohmann::json;

using parts::contents;
using parts::oracle;
using parts::Sources;
using parts::sources_of;

// C++ without comments and with one space for white space, outside of literals.
std::string without_layout(std::string_view text) {
  std::string out;
  const auto space = [&] {
    if (!out.empty() && out.back() != ' ') out += ' ';
  };
  for (std::size_t i = 0; i < text.size();) {
    const std::string_view rest = text.substr(i);
    if (rest.starts_with("//")) {
      i += std::min(rest.find('\n'), rest.size());
      space();
    } else if (rest.starts_with("/*")) {
      i += std::min(rest.find("*/"), rest.size() - 2) + 2;
      space();
    } else if (text[i] == '"' ||
               (text[i] == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(text[i - 1]))))) {
      const char quote = text[i];
      out += text[i++];
      while (i < text.size() && text[i] != quote) {
        if (text[i] == '\\' && i + 1 < text.size()) out += text[i++];
        out += text[i++];
      }
      if (i < text.size()) out += text[i++];
    } else if (std::isspace(static_cast<unsigned char>(text[i]))) {
      space();
      ++i;
    } else {
      out += text[i++];
    }
  }
  while (out.ends_with(' ')) out.pop_back();
  return out;
}

TEST(ReferenceSource, LayoutAndCommentsAreNoContentAndLiteralsAre) {
  EXPECT_EQ(without_layout("int  a; // one\n/* two */ int b;\n"), "int a; int b;");
  EXPECT_EQ(without_layout("f(\"a  // b\", '\"');"), "f(\"a  // b\", '\"');");
  EXPECT_EQ(without_layout("n = 1'000;  m = 2'000;"), "n = 1'000; m = 2'000;");
  EXPECT_EQ(without_layout("\"a\\\"  b\"  c"), "\"a\\\"  b\" c");
  EXPECT_NE(without_layout("x + 1"), without_layout("x + 2"));
  EXPECT_EQ(without_layout("/* unfinished"), "");
}

// Cells of an output that the probes keep: all, or so many at even distances.
constexpr std::int64_t kProbeCells = 64;
std::vector<std::int64_t> probed_cells(std::int64_t size) {
  std::vector<std::int64_t> cells;
  const std::int64_t count = std::min(size, kProbeCells);
  for (std::int64_t i = 0; i < count; ++i) cells.push_back(i * size / count);
  return cells;
}

std::string ten_digits(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9e", value);
  return text;
}

json probes() {
  const std::string text = contents(ASSAY_FIXTURES "/reference_probes.json");
  return text.empty() ? json::object() : parse_strict(text, "fixtures/reference_probes.json");
}

// What has to agree with the probe within 1e-9 of the magnitude: another machine's float64 is not this one's to the
// bit.
void expect_probe(const json& probe, const SlotSpec& slot) {
  const Case c = case_from_json(probe.at("case"));
  Case legal = c;
  repair(slot, legal);
  ASSERT_EQ(legal, c) << "a probe is no longer legal: renew fixtures/reference_probes.json";
  const ReferenceResult result = oracle().run(slot, c);
  ASSERT_EQ(result.outputs.size(), probe.at("outputs").size());
  for (std::size_t o = 0; o < result.outputs.size(); ++o) {
    const auto expected = result.outputs[o].expected.values<double>(),
               magnitude = result.outputs[o].magnitude.values<double>();
    const auto cells = probed_cells(static_cast<std::int64_t>(expected.size()));
    ASSERT_EQ(cells.size(), probe.at("outputs")[o].size()) << describe(c);
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const auto cell = static_cast<std::size_t>(cells[i]);
      const double stored = std::strtod(probe.at("outputs")[o][i].get_ref<const std::string&>().c_str(), nullptr);
      if (stored == expected[cell]) continue;  // -inf too
      EXPECT_LE(std::abs(stored - expected[cell]), 1e-9 * std::max(std::abs(stored), magnitude[cell]))
          << slot.id << " " << describe(c) << " cell " << cell;
    }
  }
}

std::string reference_content_digest(const SlotSpec& slot, const Sources& sources, const json& probe_rows) {
  json files = json::object();
  for (const auto& [path, text] : sources) files[path] = sha256_hex(without_layout(text));
  return envelope_digest("assay.reference",
                         {{"slot", slot.id}, {"sources", files}, {"probes", sha256_hex(canonical(probe_rows))}}, 1);
}

TEST(ReferenceProbes, AgreeWithTheReferenceOfEverySlot) {
  const json all = probes();
  for (const ContractNames& n : registered_names()) {
    ASSERT_TRUE(all.contains(n.slot)) << n.slot;
    EXPECT_GE(all[n.slot].size(), 3u);
    for (const json& probe : all[n.slot]) expect_probe(probe, *find_slot(n.slot));
  }
}

TEST(ContentLedger, AReferenceThatChangedHasANewVersionOfItsId) {
  const json all = probes();
  for (const ContractNames& n : registered_names()) {
    const SlotSpec& slot = *find_slot(n.slot);
    const std::string id = n.slot + ".reference.v" + std::to_string(n.reference);
    const std::string digest = reference_content_digest(slot, sources_of(slot), all.value(n.slot, json::array()));
    const auto known = content_digests().find(id);
    EXPECT_TRUE(known != content_digests().end() && known->second == digest)
        << id << " stands for something else now: raise its version in targets/registered.cc and add a line to "
        << "content_digests.inc:\n    {\"" << id << "\",\n     \"" << digest << "\"},";
  }
}

TEST(ContentLedger, AReferencesDigestFollowsItsCodeAndItsOutputsAndNotItsLayout) {
  const SlotSpec& slot = *find_slot("norm.rmsnorm");
  const Sources sources = sources_of(slot);
  const json rows = probes().at(slot.id);
  const std::string digest = reference_content_digest(slot, sources, rows);
  Sources edited = sources;
  std::string& text = edited.at("reference/rmsnorm.cc");
  text = "// A comment.\n" + std::regex_replace(text, std::regex("\n"), "  \n\n");
  EXPECT_EQ(reference_content_digest(slot, edited, rows), digest);
  text = std::regex_replace(text, std::regex("eps"), "epsilon");
  EXPECT_NE(reference_content_digest(slot, edited, rows), digest);
  json moved = rows;
  json& first = moved[0]["outputs"][0][0];
  const double value = std::strtod(first.get_ref<const std::string&>().c_str(), nullptr);
  ASSERT_NE(value, 0);
  first = ten_digits(value * (1 + 1e-8));
  EXPECT_NE(reference_content_digest(slot, sources, moved), digest);
}

// Writes fixtures/reference_probes.json anew: small cases of every run dtype and every value of every knob.
TEST(ReferenceProbes, DISABLED_Renew) {
  std::string text = "{";
  for (const ContractNames& n : registered_names()) {
    const SlotSpec& slot = *find_slot(n.slot);
    std::set<std::string> missing;
    for (const KnobSpec& k : slot.knobs)
      for (const std::string& v : k.values) missing.insert(k.name + "=" + v);
    std::string rows;
    const DType types[] = {DType::f32, DType::f16, DType::bf16};
    for (std::uint64_t i = 0, taken = 0; taken < 3 || (!missing.empty() && i < 400); ++i) {
      Case c = drawn_case(slot, types[taken % 3], Tier::quick, 12, mix64(i + 77));
      if (slot.kind == Kind::collective) c.world = 2 + static_cast<std::int64_t>(i % 2);
      if (taken < 3) c.recipe = slot.recipes.front().name;  // first the plain values, in each dtype
      repair(slot, c);
      if (slot.output_cells(c) == 0 || slot.output_cells(c) > 4096) continue;
      const std::size_t before = missing.size();
      for (const auto& [knob, value] : c.knobs) missing.erase(knob + "=" + value);
      if (taken >= 3 && missing.size() == before) continue;
      ++taken;
      json outputs = json::array();
      for (const Expected& e : oracle().run(slot, c).outputs) {
        json cells = json::array();
        for (const std::int64_t cell : probed_cells(e.expected.size()))
          cells.push_back(ten_digits(e.expected.values<double>()[static_cast<std::size_t>(cell)]));
        outputs.push_back(std::move(cells));
      }
      rows += (rows.empty() ? "\n  " : ",\n  ") + canonical({{"case", to_json(c)}, {"outputs", outputs}});
    }
    EXPECT_TRUE(missing.empty()) << n.slot << ": no probe has " << (missing.empty() ? "" : *missing.begin());
    text += (text.size() > 1 ? ",\n" : "\n") + json(n.slot).dump() + ": [" + rows + "]";
  }
  std::ofstream(ASSAY_FIXTURES "/reference_probes.json") << text << "\n}\n";
}

}  // namespace
}  // namespace assay
