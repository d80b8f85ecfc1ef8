// The right host kernels under every drive and rule: nothing fails, and each rule that applies finds evidence. Forged
// observations cannot show that drives and rules agree on labels; this does.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "assay/rule.hpp"
#include "conformance/boundaries.hpp"
#include "conformance/candidate.hpp"
#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr int kDraws = 40, kTried = 6;

WorkerConfig host_kernels() {
  WorkerConfig config;
  config.worker = ASSAY_WORKER;
  config.library = ASSAY_HOST_KERNELS;
  return config;
}

const Candidate& candidate() {
  static const Candidate loaded = load_candidate(host_kernels());
  return loaded;
}

// Whether the variant has anything that the rule asks about, in the quick tier.
bool concerns(const RuleSpec& rule, const CandidateVariant& variant) {
  const SlotSpec& slot = *variant.slot;
  if (rule.id == "route.closed")
    return std::any_of(variant.domain.fields.begin(), variant.domain.fields.end(), [](const auto& field) {
      const auto always = mandatory_fields();
      return !field.second.or_absent && std::find(always.begin(), always.end(), field.first) == always.end();
    });
  const auto any = [&](auto&& holds) { return std::any_of(slot.arguments.begin(), slot.arguments.end(), holds); };
  if (rule.id == "input.scalars") return any([](const ArgumentSpec& a) { return a.choices.size() > 1; });
  if (rule.id == "input.strides") return any([](const ArgumentSpec& a) { return a.kind == 'i' && a.strided; });
  if (rule.id == "write.strides") return any([](const ArgumentSpec& a) { return a.kind == 'o' && a.strided; });
  if (rule.id == "number.finite")
    return any([](const ArgumentSpec& a) { return a.kind == 'o' && is_float(a.dtype.value_or(DType::f32)); });
  if (rule.id == "relation.rank_permutation" || rule.id == "relation.repeatable" || rule.id.rfind("relation.", 0) != 0) return true;
  const bool of_rows = rule.id == "relation.row_independence" || rule.id == "relation.split";
  return std::any_of(slot.relations.begin(), slot.relations.end(), [&](const RelationSpec& r) {
    return of_rows ? r.form == RelationSpec::Form::rows : r.rule == rule.id;
  });
}

class RightKernels : public ::testing::TestWithParam<const SlotSpec*> {};

void expect_right(const CandidateVariant& variant) {
  const SlotSpec& slot = *variant.slot;
  const auto memory = make_host_memory();
  ReferenceModule references(ASSAY_REFERENCES);
  BenchConfig config;
  config.worker = host_kernels();
  Bench bench(config, *memory, references);
  bench.use(slot, variant.info);
  std::map<std::string, int> evidence;
  bool tagged = false;
  std::uint64_t sets = 1;  // of workers: one, and one after each loss
  const auto inside = [&](const Case& c, bool captured) {
    return applicable(variant, descriptor_of(slot, c, "cpu", captured)).accepted();
  };
  const std::int64_t ranks = slot.kind == Kind::collective ? 2 : 1;
  const auto try_case = [&](Case c) {
    c.world = ranks;
    tagged = tagged || (slot.weight_facts && std::string_view(slot.weight_facts(c).form) != "dense");
    for (std::size_t d = 0; d < kDrives; ++d) {
      Trial t;
      t.variant = variant.info.id;
      t.part = {static_cast<Drive>(d), {c}};
      if (captures(t.part.drive) && !variant.info.graph_safe()) continue;
      if (cases_of(t.part.drive) == 2) {
        t.part.cases.push_back(companion(slot, c, t.part.drive, Tier::quick));
        if (!inside(t.part.cases.back(), captures(t.part.drive))) {  // as the examiner does
          t.part.cases.back() = c;
          t.part.cases.back().seed = mix64(c.seed) >> 16;
        }
      }
      if (!fits(slot, t.part)) continue;
      const Observation seen = observe(bench, t, Tier::quick);
      sets += t.part.drive == Drive::one_rank;
      for (const RuleSpec* rule : rule_catalogue()) {
        if (!applies(*rule, slot, DeviceType::host) || !declared_for(*rule, variant.info.flags)) continue;
        auto& count = evidence[rule->id];
        if (std::find(rule->drives.begin(), rule->drives.end(), t.part.drive) == rule->drives.end()) continue;
        const Judgement j = judge(*rule, seen);
        EXPECT_TRUE(j.verdict == Verdict::pass || j.verdict == Verdict::not_applicable)
            << rule->id << " on " << name_of(t.part.drive) << " " << describe(c) << ": " << name_of(j.verdict) << " "
            << name_of(j.reason) << " " << j.text;
        count += j.verdict == Verdict::pass && j.evidence;
      }
    }
  };
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    for (const Case& pin : pins_of(slot, dtype, Tier::quick, 0))
      if (inside(pin, false)) try_case(pin);
    int tried = 0;
    for (int i = 0; i < kDraws && tried < kTried; ++i) {
      Case c = drawn_case(slot, dtype, Tier::quick, 7 * (i % kTried), mix64(static_cast<std::uint64_t>(i) + 77));
      c.world = ranks;
      if (!inside(c, false) && !move_inside({slot, variant.domain, "cpu", dtype, ranks}, c)) continue;
      ++tried;
      try_case(c);
    }
  }
  EXPECT_FALSE(evidence.empty()) << "no case lies inside the variant's domain";
  for (const auto& [rule, count] : evidence) {
    if (!concerns(*find_rule(rule), variant) || (rule == "prepare.tagged_view" && !tagged)) continue;
    EXPECT_GT(count, 0) << rule << " found nothing to say about a right kernel";
  }
  EXPECT_EQ(bench.workers_started(), sets * static_cast<std::uint64_t>(ranks));
}

TEST_P(RightKernels, PassEveryRuleWithEvidence) {
  ASSERT_FALSE(candidate().fault);
  ASSERT_TRUE(candidate().errors.empty()) << candidate().errors.front();
  bool any = false;
  for (const CandidateVariant& variant : candidate().variants) {
    if (variant.slot != GetParam()) continue;
    SCOPED_TRACE(variant.info.id);
    expect_right(variant);
    any = true;
  }
  if (!any) GTEST_SKIP() << "the host library has no kernel for " << GetParam()->id;
}

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registered, RightKernels, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

}  // namespace
}  // namespace assay
