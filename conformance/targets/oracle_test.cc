// contract.oracle (R3), and what a reference's id stands for: its sources without their layout, and its outputs on the
// fixed probes of fixtures/reference_probes.json.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <sstream>

#include "assay/rule.hpp"
#include "assay/slot.hpp"
#include "conformance/targets/registered_parts_test.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/generate.hpp"
#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/drive/bench.hpp"

namespace assay {
namespace {

using nlohmann::json;

using parts::contents;

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

using Sources = std::map<std::string, std::string>;  // by path from the root

std::vector<std::string> includes_of(const std::string& text) {
  static const std::regex include(R"(^[ \t]*#[ \t]*include[ \t]*["<]([^">]*)[">])", std::regex::multiline);
  std::vector<std::string> list;
  for (auto it = std::sregex_iterator(text.begin(), text.end(), include); it != std::sregex_iterator(); ++it)
    list.push_back((*it)[1]);
  return list;
}

// A reference's own file, and ours that it includes, each with the .cc beside it.
Sources sources_of(const SlotSpec& slot) {
  const std::string symbol = slot.reference.symbol ? slot.reference.symbol : "";
  const std::string prefix = "assay_reference_";
  if (symbol.rfind(prefix, 0) != 0) return {};
  Sources all;
  std::vector<std::string> todo = {"reference/" + symbol.substr(prefix.size()) + ".cc"};
  while (!todo.empty()) {
    const std::string path = todo.back();
    todo.pop_back();
    const std::string text = contents(ASSAY_ROOT "/" + path);
    if (text.empty() || !all.emplace(path, text).second) continue;
    for (const std::string& included : includes_of(text)) {
      if (included.rfind("reference/", 0) != 0 && included.rfind("harness/", 0) != 0) continue;
      todo.push_back(included);
      if (included.ends_with(".hpp")) todo.push_back(included.substr(0, included.size() - 3) + "cc");
    }
  }
  return all;
}

// R3, first half: what a reference may be made of.
std::vector<std::string> dependent(const Sources& sources) {
  static const std::regex own("^(assay/(tensor|reference)\\.hpp|reference/.*\\.hpp|harness/tensor/.*\\.hpp)$");
  static const std::regex ours("^(kernels|conformance|harness|reports|assay|reference)/");
  std::vector<std::string> wrong;
  if (sources.empty()) wrong.push_back("the reference's sources were not found");
  for (const auto& [path, text] : sources)
    for (const std::string& included : includes_of(text))
      if (std::regex_search(included, ours) && !std::regex_match(included, own))
        wrong.push_back(path + " includes " + included + ", which is no part of a reference");
  return wrong;
}

// References on the judge's side of a bench.
class Oracle {
 public:
  ReferenceResult run(const SlotSpec& slot, const Case& c,
                      const std::function<void(const Case&, ReferenceCall&)>& change = {}) {
    bench_.use(slot, VariantInfo{});
    header_.trial.part.cases = {c};
    bench_.begin_trial(header_);
    ReferenceCall call = bench_.reference_call(bench_.bind(c));
    if (change) change(c, call);
    ReferenceResult result;
    references_.find(slot.reference)(call, result);
    return result;
  }

 private:
  Observation header_;
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{ASSAY_REFERENCES};
  Bench bench_{BenchConfig{}, *memory_, references_};
};

Oracle& oracle() {
  static Oracle one;
  return one;
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

// R3, second half: a reference that is wrong in one known way, made of the right one by a change of what it is given.
struct Mutant {
  const char* name;
  // False: the call has nothing to get wrong in this way.
  std::function<bool(const Case&, ReferenceCall&, std::vector<Tensor>& storage)> change;
};

bool rewrite(std::map<std::string, TensorView>& inputs, const std::string& name, std::vector<Tensor>& storage,
             const std::function<void(const TensorView& from, const TensorView& to)>& write) {
  const auto found = inputs.find(name);
  if (found == inputs.end() || found->second.size() == 0) return false;
  Tensor& copy = storage.emplace_back(found->second.shape, found->second.dtype);
  write(found->second, copy.view());
  found->second = copy.view();
  return true;
}

double cell(const TensorView& v, std::int64_t i) { return value_at(v.data, v.dtype, i); }
void put(const TensorView& v, std::int64_t i, double x) { store_value(v.data, v.dtype, i, x); }

void zeroed(const TensorView&, const TensorView&) {}
// The last two extents read as if they were the other way round.
void transposed(const TensorView& from, const TensorView& to) {
  const std::int64_t columns = from.shape.back(), rows = from.shape[from.shape.size() - 2];
  for (std::int64_t i = 0; i < to.size(); ++i) {
    const std::int64_t matrix = i / (rows * columns), r = i / columns % rows, c = i % columns;
    put(to, i, cell(from, matrix * rows * columns + c * rows + r));
  }
}
void halves_swapped(const TensorView& from, const TensorView& to) {
  const std::int64_t width = from.shape.back();
  for (std::int64_t i = 0; i < to.size(); ++i) put(to, i, cell(from, i - i % width + (i % width + width / 2) % width));
}

void copied(const TensorView& from, const TensorView& to) {
  for (std::int64_t i = 0; i < to.size(); ++i) put(to, i, cell(from, i));
}

bool one_key_fewer(const Case&, ReferenceCall& call, std::vector<Tensor>& storage) {
  if (!rewrite(call.inputs, "seq_lens", storage, copied)) return false;
  const TensorView lengths = call.inputs.at("seq_lens");
  // A prefill request's keys are its prefix and its rows: the one that goes is of the prefix.
  const bool prefix = rewrite(call.inputs, "prefix_lens", storage, copied);
  bool any = false;
  for (std::int64_t i = 0; i < lengths.size(); ++i) {
    const TensorView& least = prefix ? call.inputs.at("prefix_lens") : lengths;
    if (cell(least, i) < 1) continue;
    any = true;
    put(lengths, i, cell(lengths, i) - 1);
    if (prefix) put(least, i, cell(least, i) - 1);
  }
  return any;
}

// What lies behind the length is then read, and it is not what the call's other keys are like.
bool one_key_more(const Case&, ReferenceCall& call, std::vector<Tensor>& storage) {
  const auto keys = call.inputs.find("index_k");
  if (keys == call.inputs.end() || !rewrite(call.inputs, "index_k", storage, copied) ||
      !rewrite(call.inputs, "seq_lens", storage, copied))
    return false;
  const TensorView& k = call.inputs.at("index_k");
  const TensorView& lengths = call.inputs.at("seq_lens");
  const std::int64_t width = k.size() / (k.shape[0] * k.shape[1]);
  bool any = false;
  for (std::int64_t b = 0; b < lengths.size(); ++b) {
    const auto length = static_cast<std::int64_t>(cell(lengths, b));
    if (length >= k.shape[1]) continue;
    any = true;
    for (std::int64_t d = 0; d < width; ++d) put(k, (b * k.shape[1] + length) * width + d, d % 2 == 0 ? 64.0 : -64.0);
    put(lengths, b, static_cast<double>(length + 1));
  }
  return any;
}

// What is exchanged between ranks lies with them; the rest is everybody's.
std::vector<Mutant> mutants() {
  const auto everywhere = [](const char* name, void (*write)(const TensorView&, const TensorView&)) {
    return [=](const Case&, ReferenceCall& call, std::vector<Tensor>& storage) {
      bool any = rewrite(call.inputs, name, storage, write);
      for (auto& own : call.ranks) any = rewrite(own, name, storage, write) || any;
      return any;
    };
  };
  return {{"dropped residual", everywhere("residual", zeroed)},
          {"wrong eps",
           [](const Case&, ReferenceCall& call, std::vector<Tensor>&) {
             const auto eps = call.scalars.find("eps");
             if (eps == call.scalars.end()) return false;
             eps->second *= 4;
             return true;
           }},
          {"transposed scale", everywhere("scales", transposed)},
          {"transposed block scale", everywhere("w13_weight_scale", transposed)},
          {"off-by-one mask: a key fewer", one_key_fewer},
          {"off-by-one mask: a key more", one_key_more},
          {"off-by-one mask: diagonal",
           [](const Case& c, ReferenceCall& call, std::vector<Tensor>&) {
             if (c.slot != "attention.sdpa" || c["kv_len"] < 2) return false;
             for (const char* name : {"k", "v"}) --call.inputs.at(name).shape[0];
             --call.dims.at("kv_len");
             return true;
           }},
          {"halves swapped",
           [](const Case& c, ReferenceCall& call, std::vector<Tensor>& storage) {
             return c.slot == "activation.silu_and_mul" && rewrite(call.inputs, "x", storage, halves_swapped);
           }},
          {"routing weights ignored", everywhere("topk_weights",
                                                 [](const TensorView&, const TensorView& to) {
                                                   for (std::int64_t i = 0; i < to.size(); ++i) put(to, i, 1.0);
                                                 })},
          {"last rank left out", [](const Case&, ReferenceCall& call, std::vector<Tensor>& storage) {
             if (call.ranks.size() < 2) return false;
             for (const char* name : {"x", "gemm_out", "w2", "w2_weight"})
               if (rewrite(call.ranks.back(), name, storage, zeroed)) return true;
             return false;
           }}};
}

Tensor rounded(const SlotSpec& slot, std::size_t output, const Case& c, const Expected& e) {
  std::size_t at = 0;
  for (const ArgumentSpec& a : slot.arguments) {
    if (a.kind != 'o' || at++ != output) continue;
    Tensor t(e.expected.view().shape, slot.dtype(a, c));
    for (std::int64_t i = 0; i < t.size(); ++i)
      put(t.view(), i, e.expected.values<double>()[static_cast<std::size_t>(i)]);
    return t;
  }
  throw std::logic_error("more outputs than the slot has");
}

// Whether a kernel that answers as the mutant does fails a number.* rule.
bool killed(const SlotSpec& slot, const Case& c, const ReferenceResult& right, const ReferenceResult& wrong) {
  Observation seen;
  seen.slot = &slot;
  seen.trial.part = {Drive::eager, {c}};
  CallSeen& call = seen.calls.emplace_back();
  call.label = "call";
  call.c = c;
  call.reference = std::make_shared<ReferenceResult>(right);
  std::size_t output = 0;
  for (const ArgumentSpec& a : slot.arguments) {
    if (a.kind != 'o') continue;
    OutputSeen& out = call.outputs.emplace_back();
    out.spec = &a;
    out.actual = rounded(slot, output, c, wrong.outputs[output]);
    ++output;
  }
  return std::any_of(rule_catalogue().begin(), rule_catalogue().end(), [&](const RuleSpec* rule) {
    return rule->id.starts_with("number.") && judge(*rule, seen).verdict == Verdict::fail;
  });
}

// contract.oracle of one slot. `second_form`: a naive reference was found that the first is compared with.
std::vector<std::string> oracle_findings(const SlotSpec& slot, const Sources& sources, bool second_form) {
  std::vector<std::string> wrong = dependent(sources);
  if (!second_form) wrong.push_back(slot.id + " has no second, naive form of its reference");
  const DType types[] = {DType::f32, DType::bf16, DType::f16};
  std::size_t applied = 0;
  for (const Mutant& m : mutants()) {
    bool applies = false, dead = false;
    for (std::uint64_t i = 0; i < 300 && !dead; ++i) {
      Case c = drawn_case(slot, types[i % 3], Tier::quick, 10 + static_cast<int>(i % 60), mix64(i + 31));
      if (slot.kind == Kind::collective) c.world = 2 + static_cast<std::int64_t>(i % 3);
      if (slot.output_cells(c) == 0) continue;
      std::vector<Tensor> storage;
      bool changed = false;
      const ReferenceResult answer =
          oracle().run(slot, c, [&](const Case& of, ReferenceCall& call) { changed = m.change(of, call, storage); });
      if (!changed) continue;
      applies = true;
      dead = killed(slot, c, oracle().run(slot, c), answer);
    }
    applied += applies;
    if (applies && !dead) wrong.push_back(slot.id + ": the mutant '" + m.name + "' of its reference passes every case");
  }
  if (applied == 0) wrong.push_back(slot.id + ": no mutant of its reference is known");
  return wrong;
}

class ContractOracle : public ::testing::TestWithParam<const SlotSpec*> {};

TEST_P(ContractOracle, IsIndependentHasASecondFormAndKillsEveryMutant) {
  const SlotSpec& slot = *GetParam();
  for (const std::string& sentence : oracle_findings(slot, sources_of(slot), parts::has_second_form(slot)))
    ADD_FAILURE() << "contract.oracle: " << sentence;
}

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Registered, ContractOracle, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

// The rule on contracts that are wrong: each has to be found.
TEST(ContractOracle, FindsAReferenceThatIncludesAKernelOrHasNoSource) {
  Sources with_kernel = sources_of(*find_slot("norm.rmsnorm"));
  with_kernel["reference/rmsnorm.cc"] = "#include \"kernels/host/rmsnorm.hpp\"\n" + with_kernel["reference/rmsnorm.cc"];
  ASSERT_EQ(dependent(with_kernel).size(), 1u);
  EXPECT_NE(dependent(with_kernel)[0].find("kernels/host/rmsnorm.hpp"), std::string::npos);
  with_kernel["reference/rmsnorm.cc"] = "#include <assay/abi.h>\n";
  EXPECT_EQ(dependent(with_kernel).size(), 1u);
  EXPECT_EQ(dependent({}).size(), 1u);
}

TEST(ContractOracle, FindsAComparatorOrValuesThatLetAMutantPass) {
  const SlotSpec& slot = *find_slot("collective.ar_residual_rmsnorm");
  const Sources sources = sources_of(slot);
  SlotSpec lax = slot;
  lax.comparator.floor = 0.0;
  lax.groups = {};
  lax.accumulation = [](const Case&) { return 1e30; };
  EXPECT_GE(oracle_findings(lax, sources, true).size(), 3u);
  SlotSpec blind = slot;  // no eps that shows
  blind.arguments[3].choices = {1e-12};
  blind.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}};
  const auto found = oracle_findings(blind, sources, true);
  ASSERT_EQ(found.size(), 1u);
  EXPECT_NE(found[0].find("wrong eps"), std::string::npos);
  EXPECT_EQ(oracle_findings(slot, sources, false).size(), 1u);
}

}  // namespace
}  // namespace assay
