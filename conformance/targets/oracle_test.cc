// contract.oracle (R3): every reference is independent, has a second form, and tells a mutant from itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <regex>
#include <set>

#include "assay/rule.hpp"
#include "conformance/targets/reference_kit_test.hpp"
#include "harness/case/generate.hpp"

namespace assay {
namespace {

using parts::includes_of;
using parts::oracle;
using parts::Sources;
using parts::sources_of;

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
      const auto answer =
          oracle().run(slot, c, [&](const Case& of, ReferenceCall& call) { return m.change(of, call, storage); });
      if (!answer && !applies && i > 60) break;  // this slot has nothing to get wrong in this way
      if (!answer) continue;
      applies = true;
      dead = killed(slot, c, oracle().run(slot, c), *answer);
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

TEST(ContractOracle, EveryMutantIsOfSomeSlotAndTheNamedOnesOfTheirs) {
  std::map<std::string, std::set<std::string>> slots;
  for (const SlotSpec* slot : slot_catalogue())
    for (const Mutant& m : mutants())
      for (std::uint64_t i = 0; i < 60 && slots[m.name].count(slot->id) == 0; ++i) {
        Case c = drawn_case(*slot, DType::f32, Tier::quick, 10, mix64(i + 31));
        if (slot->kind == Kind::collective) c.world = 2;
        std::vector<Tensor> storage;
        if (slot->output_cells(c) > 0 &&
            oracle().run(*slot, c, [&](const Case& of, ReferenceCall& call) { return m.change(of, call, storage); }))
          slots[m.name].insert(slot->id);
      }
  EXPECT_EQ(slots["dropped residual"].size(), 2u);
  EXPECT_EQ(slots["wrong eps"].size(), 3u);
  EXPECT_EQ(slots["transposed scale"].size(), 1u);
  EXPECT_EQ(slots["transposed block scale"].size(), 2u);
  EXPECT_EQ(slots["off-by-one mask: a key fewer"].size(), 3u);
  for (const Mutant& m : mutants()) EXPECT_FALSE(slots[m.name].empty()) << m.name;
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
