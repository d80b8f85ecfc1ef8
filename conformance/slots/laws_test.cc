// The laws of every registered slot: what is drawn is legal and within the tier, what shrinks ends, what is written is
// read back, at least one dynamic input moves, what is excluded does not matter and known changes do what they say. A
// new slot is held to them with no further code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "assay/property.hpp"
#include "assay/rule.hpp"
#include "harness/case/json.hpp"
#include "harness/compare/output.hpp"
#include "harness/drive/bench.hpp"

namespace assay {
namespace {

const DType kRunTypes[] = {DType::f32, DType::f16, DType::bf16};

class SlotLaws : public ::testing::TestWithParam<const SlotSpec*> {
 protected:
  const SlotSpec& slot() const { return *GetParam(); }

  // Drawn by the same property that `assay check` runs; the law throws or returns false.
  void for_cases(const std::function<bool(const Case&)>& holds) {
    for (const Tier tier : {Tier::quick, Tier::full})
      for (const DType dtype : kRunTypes) {
        const PropertyResult r = for_all_cases(slot(), dtype, tier, 7, holds);
        EXPECT_EQ(r.error, "");
        EXPECT_EQ(r.held, limits_of(tier).cases) << (r.falsified ? describe(*r.falsified) : "");
      }
  }
};

TEST_P(SlotLaws, EveryCaseIsLegalAndReadBackAsItWasWritten) {
  for_cases([&](const Case& c) {
    Case again = c;
    repair(slot(), again);
    for (const DimSpec& d : slot().dims)
      if (c[d.name] < d.min || c[d.name] > d.max) return false;
    return again == c && case_from_json(parse_strict(canonical(to_json(c)), "case")) == c;
  });
}

TEST_P(SlotLaws, DrawnCasesStayWithinTheirTier) {
  for (const Tier tier : {Tier::quick, Tier::full})
    for (int i = 0; i < 2000; ++i) {
      const Case c = drawn_case(slot(), kRunTypes[i % 3], tier, i % 101, mix64(static_cast<std::uint64_t>(i)));
      EXPECT_LE(slot().output_cells(c), limits_of(tier).output_cells) << describe(c);
      EXPECT_LE(slot().input_bytes(c), limits_of(tier).input_bytes) << describe(c);
      if (slot().work) {
        EXPECT_LE(slot().work(c), limits_of(tier).reference_work) << describe(c);
      }
    }
}

TEST_P(SlotLaws, PinsComeFirstInTheirOrderAndSayWhatTheSlotFileSays) {
  for (const DType dtype : kRunTypes) {
    std::vector<Case> tried;
    (void)for_all_cases(slot(), dtype, Tier::full, 3, [&](const Case& c) {
      tried.push_back(c);
      return true;
    });
    std::size_t at = 0;
    for (const PinSpec& pin : slot().pins) {
      if (pin.tier > Tier::full) continue;
      ASSERT_LT(at, tried.size());
      const Case& c = tried[at++];
      for (const auto& [name, value] : pin.dims)
        EXPECT_EQ(c[name], value) << "a pin that is not legal: " << describe(c);
      for (const auto& [name, value] : pin.knobs) EXPECT_EQ(c.knobs.at(name), value) << describe(c);
      for (const auto& [name, value] : pin.scalars) EXPECT_EQ(c.scalars.at(name), value) << describe(c);
      EXPECT_EQ(c.recipe, pin.recipe);
      EXPECT_EQ(c.far, pin.far) << describe(c);
    }
    EXPECT_FALSE(slot().pins.empty());
  }
}

TEST_P(SlotLaws, ASeedDrawsTheSameCasesAndAnotherSeedOthers) {
  const auto drawn = [&](std::uint64_t seed, DType dtype) {
    std::vector<std::string> digests;
    (void)for_all_cases(slot(), dtype, Tier::quick, seed, [&](const Case& c) {
      digests.push_back(digest(c));
      return true;
    });
    return digests;
  };
  EXPECT_EQ(drawn(1, DType::f16), drawn(1, DType::f16));
  EXPECT_NE(drawn(1, DType::f16), drawn(2, DType::f16));
  const std::vector<std::string> list = drawn(1, DType::f16);
  EXPECT_GT(std::set<std::string>(list.begin(), list.end()).size(), list.size() * 9 / 10) << "cases repeat";
}

TEST_P(SlotLaws, AboutAThirdOfTheDimsLieAtEdges) {
  int at_edge = 0, total = 0;
  for (int i = 0; i < 3000; ++i) {
    const Case c = drawn_case(slot(), DType::f32, Tier::full, i % 101, mix64(static_cast<std::uint64_t>(i)));
    for (const DimSpec& d : slot().dims) {
      if (2 * static_cast<std::int64_t>(d.edges.size()) > d.max - d.min) continue;  // nearly every value is an edge
      ++total;
      at_edge += std::find(d.edges.begin(), d.edges.end(), c[d.name]) != d.edges.end();
    }
  }
  EXPECT_GT(at_edge, total / 4);
  EXPECT_LT(at_edge, total * 3 / 4);
}

TEST_P(SlotLaws, EveryMoveIsLegalAndSmallerAndEveryDescentEnds) {
  for (int i = 0; i < 40; ++i) {
    Case c = drawn_case(slot(), kRunTypes[i % 3], Tier::quick, 100 * i / 40, mix64(static_cast<std::uint64_t>(i)));
    std::uint64_t pick = mix64(static_cast<std::uint64_t>(i) + 99);
    for (int depth = 0;; ++depth) {
      ASSERT_LT(depth, 5000) << describe(c);
      const std::vector<Case> next = moves(slot(), c);
      for (const Case& m : next) {
        ASSERT_LT(measure(slot(), m), measure(slot(), c)) << describe(c) << " to " << describe(m);
        Case again = m;
        repair(slot(), again);
        ASSERT_EQ(again, m);
      }
      if (next.empty()) break;
      c = next[(pick = mix64(pick)) % next.size()];
    }
    for (const DimSpec& d : slot().dims) EXPECT_EQ(c[d.name], d.min) << "a descent that is stuck at " << describe(c);
    EXPECT_EQ(c.recipe, slot().recipes.front().name);
    EXPECT_TRUE(c.layouts.empty());
  }
}

TEST_P(SlotLaws, KnownChangesNameTheirRulesAndWeightsComeLast) {
  std::set<std::string> names;
  for (const RelationSpec& r : slot().relations) {
    if (r.form != RelationSpec::Form::change) continue;
    EXPECT_TRUE(names.insert(r.name).second) << r.name << " is there twice";
    EXPECT_TRUE(r.change) << r.name;
    const RuleSpec* rule = find_rule(r.rule);
    ASSERT_NE(rule, nullptr) << r.rule;
    EXPECT_TRUE(applies(*rule, slot(), DeviceType::host)) << r.rule << " is not asked of this kind of slot";
  }
  const Case c = drawn_case(slot(), DType::bf16, Tier::quick, 50, 1);
  std::size_t calls = 0;
  for (const ArgumentSpec& a : slot().arguments) calls += a.kind == 'i' || a.kind == 'o';
  const auto tensors = slot().tensors(c);
  for (std::size_t i = calls; i < tensors.size(); ++i) EXPECT_GE(weight_place(tensors[i]->name), 0) << tensors[i]->name;
  EXPECT_EQ(tensors.size() > calls, !slot().weights.empty());
}

// Row-major bytes of a contiguous tensor.
std::vector<std::byte> bytes_of(const TensorView& v) {
  const auto* first = static_cast<const std::byte*>(v.data);
  return {first, first + static_cast<std::size_t>(v.size()) * size_of(v.dtype)};
}

bool same_bytes(const Tensor& x, const Tensor& y) { return bytes_of(x.view()) == bytes_of(y.view()); }

bool same_selection(const Selection& x, const Selection& y) {
  if (x.width != y.width || x.visible != y.visible || x.forced != y.forced) return false;
  for (std::size_t r = 0; r < x.visible.size(); ++r) {
    const auto first = static_cast<std::ptrdiff_t>(r) * x.width;
    if (!std::equal(x.scores.begin() + first, x.scores.begin() + first + x.visible[r], y.scores.begin() + first))
      return false;
  }
  return true;
}

// The judge's side of a bench needs no worker: bindings and references only.
class SlotValues : public SlotLaws {
 protected:
  Binding& bound(const Case& c) {
    header_.trial.part.cases = {c};
    bench_.begin_trial(header_);
    return bench_.bind(c);
  }
  static Case case_of(int i, std::uint64_t stream) {
    Case c = drawn_case(*GetParam(), kRunTypes[i % 3], Tier::quick, i % 60,
                        mix64(static_cast<std::uint64_t>(i) + stream));
    if (GetParam()->kind == Kind::collective) c.world = 1 + i % 5;
    return c;
  }
  // Of the values as they are now: the bench keeps references by version.
  ReferenceResult fresh_reference(const ReferenceCall& call) {
    ReferenceResult result;
    references_.find(slot().reference)(call, result);
    return result;
  }
  bool has_excluded() const {
    const auto excludes = [](const ArgumentSpec& a) { return static_cast<bool>(a.excluded); };
    return std::any_of(slot().arguments.begin(), slot().arguments.end(), excludes) ||
           std::any_of(slot().weights.begin(), slot().weights.end(), excludes);
  }

  Observation header_;
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{ASSAY_REFERENCES};
  Bench bench_{BenchConfig{}, *memory_, references_};
};

TEST_P(SlotValues, ValuesArePureInCaseAndVersion) {
  bench_.use(slot(), VariantInfo{});
  for (int i = 0; i < 60; ++i) {
    const Case c = case_of(i, 900);
    Binding& b = bound(c);
    Binding& again = bench_.bind(c, Placement::ordinary, 1);
    for (std::size_t k = 0; k < b.tensors.size(); ++k) {
      if (b.tensors[k].spec->kind != 'i') continue;
      EXPECT_EQ(b.tensors[k].weight, weight_place(b.tensors[k].spec->name) >= 0 && !slot().weights.empty());
      for (const std::uint64_t version : {0, 3}) {
        bench_.set_version(b, k, version);
        bench_.set_version(again, k, version);
        EXPECT_TRUE(same_bytes(b.tensors[k].values, again.tensors[k].values))
            << b.tensors[k].spec->name << " " << describe(c);
      }
    }
  }
}

TEST_P(SlotValues, RanksContributeValuesOfTheirOwnAndShareTheRest) {
  if (slot().kind != Kind::collective) GTEST_SKIP() << "one rank";
  bench_.use(slot(), VariantInfo{});
  for (int i = 0; i < 60; ++i) {
    Case c = case_of(i, 700);
    c.recipe = slot().recipes.front().name;
    Binding& b = bound(c);
    EXPECT_EQ(bench_.reference_call(b).ranks.size(), static_cast<std::size_t>(c.world));
    for (const Placed& p : b.tensors) {
      const std::size_t others = p.spec->per_rank ? static_cast<std::size_t>(c.world) - 1 : 0;
      ASSERT_EQ(p.others.size(), others) << p.spec->name << " " << describe(c);
      for (std::size_t k = 0; k < others && p.values.size() > 8; ++k)
        EXPECT_FALSE(same_bytes(p.values, p.others[k])) << p.spec->name << " of rank " << k + 1 << " " << describe(c);
    }
  }
}

TEST_P(SlotValues, ADynamicInputMovesAndTheReferenceWithIt) {
  bench_.use(slot(), VariantInfo{});
  int cases = 0, moved_reference = 0, choices = 0;
  for (int i = 0; i < 150; ++i) {
    const Case c = case_of(i, 0);
    if (slot().output_cells(c) == 0) continue;
    Binding& b = bound(c);
    bool informative = false, moved = false;
    const auto before = bench_.reference(b, &informative);
    for (std::size_t k = 0; k < b.tensors.size(); ++k) {
      const Placed& p = b.tensors[k];
      if (p.spec->kind != 'i' || !p.spec->dynamic || p.weight) continue;
      const std::vector<std::byte> base = bytes_of(p.values.view());
      bench_.set_version(b, k, 1);
      moved = moved || base != bytes_of(p.values.view());
    }
    EXPECT_TRUE(moved) << describe(c);
    // A choice moves only where there is one.
    const bool choice = slot().comparing(c).mode == Mode::topk_indices;
    choices += choice;
    if (choice && !informative) continue;
    const auto after = bench_.reference(b, nullptr);
    bool differs = false;
    for (std::size_t o = 0; o < before->outputs.size(); ++o)
      differs = differs || !same_bytes(before->outputs[o].expected, after->outputs[o].expected);
    ++cases;
    moved_reference += differs;
  }
  EXPECT_GT(cases, choices ? 30 : 100);
  EXPECT_GT(moved_reference, cases * 9 / 10) << "a replay that ignores its inputs would look right";
}

TEST_P(SlotValues, ReferencesAreFiniteAndHaveTheOutputsShapesAndMostCasesAreInformative) {
  bench_.use(slot(), VariantInfo{});
  int cases = 0, informative_cases = 0;
  for (int i = 0; i < 200; ++i) {
    const Case c = case_of(i, 5000);
    Binding& b = bound(c);
    bool informative = false;
    const auto result = bench_.reference(b, &informative);
    const Comparator mode = slot().comparing(c);
    std::size_t output = 0;
    for (const ArgumentSpec& a : slot().arguments) {
      if (a.kind != 'o') continue;
      ASSERT_LT(output, result->outputs.size());
      const Expected& e = result->outputs[output++];
      const Extents shape = slot().shape(a, c);
      EXPECT_EQ(e.expected.view().shape, shape) << describe(c);
      EXPECT_EQ(e.magnitude.view().shape, shape) << describe(c);
      for (std::int64_t k = 0; k < e.expected.size(); ++k) {
        const double value = e.expected.values<double>()[static_cast<std::size_t>(k)];
        const double magnitude = e.magnitude.values<double>()[static_cast<std::size_t>(k)];
        if (mode.mode == Mode::topk_scores && value == -std::numeric_limits<double>::infinity()) {
          ASSERT_EQ(magnitude, 0) << "of what is invisible: " << describe(c);
          continue;
        }
        ASSERT_TRUE(std::isfinite(value)) << describe(c);
        if (mode.mode != Mode::topk_indices) {
          ASSERT_GE(magnitude, std::abs(value) * (1 - 1e-12)) << describe(c);
        }
      }
      for (const RowGroups& groups : e.groups) {
        ASSERT_EQ(static_cast<std::int64_t>(groups.of_row.size()),
                  element_count(Extents(shape.begin(), shape.end() - 1)))
            << groups.name << " " << describe(c);
        for (const std::uint32_t of : groups.of_row) ASSERT_LT(of, groups.count) << groups.name << " " << describe(c);
      }
      // What the reference expects, rounded to the output's dtype, is right by the slot's own comparator.
      Tensor rounded(shape, slot().dtype(a, c));
      for (std::int64_t k = 0; k < rounded.size(); ++k)
        store_value(rounded.view().data, rounded.view().dtype, k,
                    e.expected.values<double>()[static_cast<std::size_t>(k)]);
      const Comparison self = compare_output(mode, c.dtype, rounded.view(), e);
      EXPECT_TRUE(self.passed || self.fault == CaseFault::vacuous) << describe(c) << ": " << self.reason;
    }
    EXPECT_EQ(output, result->outputs.size());
    ++cases;
    informative_cases += informative;
  }
  EXPECT_GT(informative_cases, cases / 2);
}

TEST_P(SlotValues, WhatIsExcludedDoesNotReachTheReference) {
  if (!has_excluded()) GTEST_SKIP() << "nothing is excluded by " << slot().id;
  bench_.use(slot(), VariantInfo{});
  int cases = 0, spoiled = 0;
  for (int i = 0; i < 150; ++i) {
    const Case c = case_of(i, 11000);
    Binding& b = bound(c);
    ++cases;
    const ReferenceResult before = fresh_reference(bench_.reference_call(b));
    bool any = false;
    for (const bool nan : {true, false}) {
      if (!bench_.spoil_excluded(b, nan)) continue;
      any = true;
      const ReferenceResult after = fresh_reference(bench_.reference_call(b));
      for (std::size_t o = 0; o < before.outputs.size(); ++o) {
        const Expected &x = before.outputs[o], &y = after.outputs[o];
        EXPECT_TRUE(same_bytes(x.expected, y.expected) && same_bytes(x.magnitude, y.magnitude))
            << (nan ? "NaN in " : "large values in ") << describe(c);
        if (x.selection) {
          ASSERT_TRUE(y.selection) << describe(c);
          EXPECT_TRUE(same_selection(*x.selection, *y.selection)) << describe(c);
        }
      }
    }
    spoiled += any;
  }
  EXPECT_GE(spoiled, cases / 10) << "cases with something to exclude are too rare";
}

// Of a changed call against the base call, cell by cell; selections by the comparator, which lets near ties pass.
void expect_relation(const RelationSpec& relation, const Comparator& mode, DType run, const Expected& base,
                     const Expected& changed, const std::string& what) {
  if (mode.mode == Mode::topk_indices) {
    Tensor ids(changed.expected.view().shape, DType::i32);
    for (std::int64_t k = 0; k < ids.size(); ++k)
      ids.values<std::int32_t>()[static_cast<std::size_t>(k)] =
          static_cast<std::int32_t>(changed.expected.values<double>()[static_cast<std::size_t>(k)]);
    const Comparison c = compare_output(mode, run, ids.view(), base);
    EXPECT_EQ(c.score, 1.0) << what << ": " << c.reason;
    return;
  }
  ASSERT_EQ(base.expected.view().shape, changed.expected.view().shape) << what;
  for (std::size_t k = 0; k < static_cast<std::size_t>(base.expected.size()); ++k) {
    const double due = relation.factor * base.expected.values<double>()[k];
    const double got = changed.expected.values<double>()[k];
    const double magnitude = std::abs(relation.factor) * base.magnitude.values<double>()[k];
    if (got == due) continue;  // -inf too
    ASSERT_LE(std::abs(got - due), 1e-9 * magnitude) << what << " cell " << k << ": " << got << " for " << due;
  }
}

TEST_P(SlotValues, AKnownChangeDoesToTheReferenceWhatItSays) {
  bench_.use(slot(), VariantInfo{});
  std::map<std::string, int> changed;
  constexpr int cases = 150;
  for (int i = 0; i < cases; ++i) {
    const Case c = case_of(i, 23000);
    Binding& b = bound(c);
    ReferenceCall call = bench_.reference_call(b);
    std::optional<ReferenceResult> before;
    for (const RelationSpec& relation : slot().relations) {
      if (relation.form != RelationSpec::Form::change || (relation.holds && !relation.holds(c))) continue;
      changed[relation.name];
      std::vector<Tensor> copies;
      ReferenceCall with = call;
      const auto change = [&](std::map<std::string, TensorView>& inputs) {
        for (auto& [name, view] : inputs) {
          Tensor& copy = copies.emplace_back(view.shape, view.dtype);
          std::memcpy(copy.view().data, view.data, static_cast<std::size_t>(copy.size()) * size_of(view.dtype));
          view = copy.view();
        }
        return relation.change(c, derive_key(c.seed, relation.name), inputs);
      };
      if (!change(with.inputs)) continue;
      for (auto& own : with.ranks) {
        std::map<std::string, TensorView> inputs = call.inputs;
        for (const auto& [name, view] : own) inputs[name] = view;
        ASSERT_TRUE(change(inputs)) << describe(c);
        for (auto& [name, view] : own) view = inputs.at(name);
      }
      bool moved = false;
      for (const auto& [name, view] : with.inputs) moved = moved || bytes_of(view) != bytes_of(call.inputs.at(name));
      changed[relation.name] += moved;
      if (!before) before = fresh_reference(call);
      const ReferenceResult after = fresh_reference(with);
      ASSERT_EQ(before->outputs.size(), after.outputs.size());
      for (std::size_t o = 0; o < after.outputs.size(); ++o)
        expect_relation(relation, slot().comparing(c), c.dtype, before->outputs[o], after.outputs[o],
                        relation.name + " " + describe(c));
    }
  }
  for (const auto& [name, count] : changed) EXPECT_GE(count, cases / 10) << name << " changes something too rarely";
}

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registered, SlotLaws, ::testing::ValuesIn(slot_catalogue()), name_of_slot);
INSTANTIATE_TEST_SUITE_P(Registered, SlotValues, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

TEST(SlotCatalogue, IsSortedAndHoldsTheSlotsOfThisFolder) {
  const auto& slots = slot_catalogue();
  EXPECT_GE(slots.size(), 2u);
  EXPECT_TRUE(std::is_sorted(slots.begin(), slots.end(), [](auto* a, auto* b) { return a->id < b->id; }));
  EXPECT_NE(find_slot("norm.rmsnorm"), nullptr);
  EXPECT_EQ(find_slot("norm.rmsnor"), nullptr);
}

}  // namespace
}  // namespace assay
