// What verification believes of a call and what a router observes of it are the same, byte for byte, over random shapes
// (DR-10, DR-12), and our own libraries' domains are disjoint.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/boundaries.hpp"
#include "conformance/candidate.hpp"
#include "harness/case/generate.hpp"
#include "harness/drive/routing.hpp"
#include "harness/route/output_spec.hpp"
#include "harness/route/routing_table.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr int kCases = 120;

class RouteParity : public ::testing::TestWithParam<const SlotSpec*> {
 protected:
  const SlotSpec& slot() const { return *GetParam(); }
  std::int64_t world() const { return slot().kind == Kind::collective ? 2 : 1; }
  Case drawn(int i) const {
    const DType dtype = std::array{DType::f32, DType::f16, DType::bf16}[static_cast<std::size_t>(i) % 3];
    Case c = drawn_case(slot(), dtype, Tier::quick, i * 100 / kCases, mix64(static_cast<std::uint64_t>(i) + 5));
    c.world = world();
    return c;
  }
  // Places the case as a trial would; no worker is started for it.
  const Binding& bound(const Case& c) {
    if (!bench_) bench_.emplace(BenchConfig{}, *memory_, references_);
    seen_ = Observation{};
    seen_.trial.part = {Drive::eager, {c}};
    bench_->use(slot(), VariantInfo{});
    bench_->begin_trial(seen_);
    return bench_->bind(c);
  }

  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{ASSAY_REFERENCES};
  Observation seen_;
  std::optional<Bench> bench_;
};

TEST_P(RouteParity, TheObservedDescriptorIsTheOfflineOne) {
  for (int i = 0; i < kCases; ++i) {
    const Case c = drawn(i);
    for (const bool capturing : {false, true}) {
      PassedCall passed = passed_call(slot(), bound(c));
      passed.group_size = c.world;
      passed.architecture = "sm_90";
      const Facts facts = live_facts(*supply_of(slot().id), passed, offline_facts(slot(), c));
      const Descriptor live = describe(facts, name_of(passed.tensors.front().dtype), passed.architecture, capturing);
      ASSERT_EQ(live.encode(), descriptor_of(slot(), c, "sm_90", capturing).encode()) << describe(c);
      ASSERT_EQ(live.digest(), descriptor_of(slot(), c, "sm90", capturing).digest());
    }
  }
}

// Facts that no argument shows are the only ones that the binding may bring along.
TEST_P(RouteParity, CountsComeFromWhatIsPassed) {
  const Case c = drawn(3);
  PassedCall passed = passed_call(slot(), bound(c));
  passed.group_size = c.world + 1;  // the group that is really given
  Facts lies = offline_facts(slot(), c);
  for (auto& [field, value] : lies)
    if (auto* count = std::get_if<std::int64_t>(&value); count && field != "page_size") *count += 1000;
  Facts expected = offline_facts(slot(), c);
  expected["tp_size"] = expected["world_size"] = FactValue(c.world + 1);
  EXPECT_EQ(live_facts(*supply_of(slot().id), passed, lies), expected);
}

TEST_P(RouteParity, TheDescriptorHoldsWhatTheSupplyMatrixLists) {
  for (int i = 0; i < kCases; ++i) {
    const Case c = drawn(i);
    // Tables that permute single tokens have pages of one, which the matrix's block_size = page_size leaves out.
    if (c.knobs.count("table") && c.knobs.at("table") == "token") continue;
    const Descriptor d = descriptor_of(slot(), c, "cpu", false);
    SlotSupply supply = *supply_of(slot().id);
    for (SuppliedField& field : supply.fields) field.optional = field.optional || field.name == "model";
    ASSERT_NO_THROW(require_supply(d, supply, RowForm::library)) << d.encode();
  }
}

TEST_P(RouteParity, OneResolverSaysWhatTheOutputsAre) {
  for (int i = 0; i < kCases; ++i) {
    const Case c = drawn(i);
    const OutputSpec verifier = resolve_outputs(slot(), c);
    OutputSpec router = verifier;  // as the tensors that were really placed have it
    const Binding& b = bound(c);
    std::size_t output = 0;
    for (const Placed& p : b.tensors) {
      if (p.spec->kind != 'o') continue;
      TensorSpec& t = router.outputs.at(output++);
      t.shape = p.shape;
      t.dtype = p.dtype;
      t.padding = 0;
      const bool packed = TensorView{nullptr, p.dtype, p.shape, p.strides}.contiguous();
      EXPECT_TRUE(packed || t.strided) << t.name << " of " << describe(c);
      EXPECT_EQ(p.cell0 % static_cast<std::uint64_t>(t.alignment), 0u) << t.name << " of " << describe(c);
    }
    EXPECT_EQ(output, router.outputs.size());
    EXPECT_EQ(difference(verifier, router), "") << describe(c);
    Case plain = c;
    plain.layouts.clear();
    EXPECT_EQ(difference(verifier, resolve_outputs(slot(), plain)), "") << "padding is the verification's alone";
  }
}

// ---- boundaries ----

Domain domain_on(const SlotSpec& slot, const char* text) {
  return parse_domain(text, {*supply_of(slot.id)}, GraphSafe::yes);
}

TEST(Boundaries, LieOnBothSidesOfEveryEnd) {
  const SlotSpec& slot = *find_slot("activation.silu_and_mul");
  const Domain domain = domain_on(slot, R"({"num_tokens": {"min": 9, "max": 41}, "last_dim": [64, 256]})");
  const Boundaries found = boundaries_of({slot, domain, "cpu", DType::f32, 1, Tier::quick, 7});
  std::set<std::string> inside, outside;
  for (const auto& [in, out] : found.pairs) {
    EXPECT_TRUE(match(domain, descriptor_of(slot, in, "cpu", false)).accepted()) << describe(in);
    EXPECT_EQ(match(domain, descriptor_of(slot, out, "cpu", false)).mismatches.size(), 1u) << describe(out);
    inside.insert(std::to_string(in["rows"]) + "x" + std::to_string(in["d"]));
    outside.insert(std::to_string(out["rows"]) + "x" + std::to_string(out["d"]));
  }
  for (const char* corner : {"9x32", "41x32", "9x128", "41x128"}) EXPECT_TRUE(inside.count(corner)) << corner;
  std::set<std::int64_t> rows, widths;
  for (const auto& [in, out] : found.pairs) rows.insert(out["rows"]), widths.insert(out["d"]);
  for (const std::int64_t r : {8, 42}) EXPECT_TRUE(rows.count(r)) << r;
  for (const std::int64_t d : {31, 33, 127, 129}) EXPECT_TRUE(widths.count(d)) << d;
  EXPECT_TRUE(found.beyond.empty());
}

TEST(Boundaries, WordsHaveAnotherSideToo) {
  const SlotSpec& slot = *find_slot("moe.fused_experts");
  const Domain domain = lowered(slot, domain_on(slot, R"({"dtype": "fp32", "num_tokens": {"max": 5}})"));
  const Boundaries found = boundaries_of({slot, domain, "cpu", DType::f32, 1, Tier::quick, 7});
  std::set<std::string> fields;
  for (const auto& [in, out] : found.pairs)
    for (const Mismatch& m : match(domain, descriptor_of(slot, out, "cpu", false)).mismatches) fields.insert(m.field);
  for (const char* field : {"dtype", "model", "num_tokens"}) EXPECT_TRUE(fields.count(field)) << field;
}

TEST(Boundaries, AnEndThatTheTierDoesNotReachIsTold) {
  const SlotSpec& slot = *find_slot("norm.rmsnorm");
  const Domain domain = domain_on(slot, R"({"last_dim": {"min": 16000}, "num_tokens": {"min": 64}})");
  const Boundaries found = boundaries_of({slot, domain, "cpu", DType::f32, 1, Tier::quick, 7});
  EXPECT_TRUE(found.pairs.empty());
}

TEST(Boundaries, ADrawnCaseIsMovedInsideWhereDimsSuffice) {
  const SlotSpec& slot = *find_slot("attention.sdpa");
  const Domain domain =
      domain_on(slot, R"({"head_dim": [64, 128], "num_q_heads": 8, "kv_len": {"min": 16, "max": 64}})");
  const BoundaryQuestion q{slot, domain, "cpu", DType::f32, 1, Tier::quick, 7};
  int moved = 0;
  for (int i = 0; i < 60; ++i) {
    Case c = drawn_case(slot, DType::f32, Tier::quick, i, mix64(static_cast<std::uint64_t>(i)));
    const Case before = c;
    if (move_inside(q, c)) {
      ++moved;
      EXPECT_TRUE(match(domain, descriptor_of(slot, c, "cpu", false)).accepted()) << describe(c);
    } else {
      EXPECT_EQ(c, before);
    }
  }
  EXPECT_GT(moved, 40);
}

// ---- our own libraries ----

TEST(OwnLibraries, NoTwoVariantsOfASlotAcceptOneCall) {
  WorkerConfig config;
  config.worker = ASSAY_WORKER;
  config.library = ASSAY_HOST_KERNELS;
  const Candidate candidate = load_candidate(config);
  ASSERT_TRUE(candidate.errors.empty() && !candidate.fault);
  std::vector<const CandidateVariant*> all;
  for (const CandidateVariant& v : candidate.variants) all.push_back(&v);
  for (const SlotOverlap& o : overlaps_among(all)) ADD_FAILURE() << o.slot->id << ": " << o.overlap.text();
  std::map<std::string, int> variants;
  for (const CandidateVariant& v : candidate.variants) {
    ++variants[v.slot->id];
    EXPECT_TRUE(v.info.routing && v.info.routing->index.at(v.info.id) == v.info.index);
  }
  EXPECT_EQ(variants["activation.silu_and_mul"], 3);
  EXPECT_EQ(variants["collective.all_reduce"], 3);
}

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registered, RouteParity, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

}  // namespace
}  // namespace assay
