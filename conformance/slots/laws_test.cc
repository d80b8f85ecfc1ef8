// The laws of every registered slot: what is drawn is legal and within the tier, what shrinks ends, what is written is
// read back, and at least one dynamic input moves. A new slot is held to them with no further code.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <set>

#include "assay/property.hpp"
#include "harness/case/json.hpp"
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
      ++total;
      at_edge += std::find(d.edges.begin(), d.edges.end(), c[d.name]) != d.edges.end();
    }
  }
  EXPECT_GT(at_edge, total / 4);
  EXPECT_LT(at_edge, total * 2 / 3);
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

// The judge's side of a bench needs no worker: bindings and references only.
class SlotValues : public SlotLaws {
 protected:
  Binding& bound(const Case& c) {
    header_.trial.part.cases = {c};
    bench_.begin_trial(header_);
    return bench_.bind(c);
  }

  Observation header_;
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{ASSAY_REFERENCES};
  Bench bench_{BenchConfig{}, *memory_, references_};
};

TEST_P(SlotValues, ADynamicInputMovesAndTheReferenceWithIt) {
  bench_.use(slot(), VariantInfo{});
  int cases = 0, moved_reference = 0;
  for (int i = 0; i < 150; ++i) {
    const Case c = drawn_case(slot(), kRunTypes[i % 3], Tier::quick, i % 60, mix64(static_cast<std::uint64_t>(i)));
    if (slot().output_cells(c) == 0) continue;
    Binding& b = bound(c);
    bool informative = false, moved = false;
    const auto before = bench_.reference(b, &informative);
    for (std::size_t k = 0; k < b.tensors.size(); ++k) {
      const Placed& p = b.tensors[k];
      if (p.spec->kind != 'i' || !p.spec->dynamic) continue;
      const std::size_t bytes = static_cast<std::size_t>(p.values.size()) * size_of(p.dtype);
      const auto* first = static_cast<const std::byte*>(p.values.view().data);
      const std::vector<std::byte> base(first, first + bytes);
      bench_.set_version(b, k, 1);
      moved = moved || std::memcmp(base.data(), p.values.view().data, bytes) != 0;
    }
    EXPECT_TRUE(moved) << describe(c);
    const auto after = bench_.reference(b, nullptr);
    bool differs = false;
    for (std::size_t o = 0; o < before->outputs.size(); ++o) {
      const auto x = before->outputs[o].expected.values<double>(), y = after->outputs[o].expected.values<double>();
      differs = differs || !std::equal(x.begin(), x.end(), y.begin(), y.end());
    }
    ++cases;
    moved_reference += differs;
  }
  EXPECT_GT(cases, 100);
  EXPECT_GT(moved_reference, cases * 9 / 10) << "a replay that ignores its inputs would look right";
}

TEST_P(SlotValues, ReferencesAreFiniteAndHaveTheOutputsShapesAndMostCasesAreInformative) {
  bench_.use(slot(), VariantInfo{});
  int cases = 0, informative_cases = 0;
  for (int i = 0; i < 200; ++i) {
    const Case c =
        drawn_case(slot(), kRunTypes[i % 3], Tier::quick, i % 60, mix64(static_cast<std::uint64_t>(i) + 5000));
    Binding& b = bound(c);
    bool informative = false;
    const auto result = bench_.reference(b, &informative);
    std::size_t output = 0;
    for (const ArgumentSpec& a : slot().arguments) {
      if (a.kind != 'o') continue;
      ASSERT_LT(output, result->outputs.size());
      const Expected& e = result->outputs[output++];
      EXPECT_EQ(e.expected.view().shape, slot().shape(a, c)) << describe(c);
      EXPECT_EQ(e.magnitude.view().shape, slot().shape(a, c)) << describe(c);
      for (std::int64_t k = 0; k < e.expected.size(); ++k) {
        const double value = e.expected.values<double>()[static_cast<std::size_t>(k)];
        const double magnitude = e.magnitude.values<double>()[static_cast<std::size_t>(k)];
        ASSERT_TRUE(std::isfinite(value)) << describe(c);
        ASSERT_GE(magnitude, std::abs(value) * (1 - 1e-12)) << describe(c);
      }
    }
    EXPECT_EQ(output, result->outputs.size());
    ++cases;
    informative_cases += informative;
  }
  EXPECT_GT(informative_cases, cases / 2);
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
