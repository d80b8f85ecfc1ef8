// The right host kernels under every drive and rule: nothing fails, and each rule that applies finds evidence. Forged
// observations cannot show that drives and rules agree on labels; this does.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "assay/rule.hpp"
#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

WorkerConfig host_kernels() {
  WorkerConfig config;
  config.worker = ASSAY_WORKER;
  config.library = ASSAY_HOST_KERNELS;
  return config;
}

std::optional<VariantInfo> variant_for(const SlotSpec& slot) {
  WorkerSession session(host_kernels());
  if (session.open_device() || session.load()) return std::nullopt;
  const auto table = nlohmann::json::parse(session.description()).at("variants");
  for (std::size_t i = 0; i < table.size(); ++i)
    if (table[i].at("slot").dump().find(slot.id) != std::string::npos)
      return VariantInfo{static_cast<std::uint32_t>(i), "right", table[i].at("flags").get<std::uint32_t>()};
  return std::nullopt;
}

class RightKernels : public ::testing::TestWithParam<const SlotSpec*> {};

TEST_P(RightKernels, PassEveryRuleWithEvidence) {
  const SlotSpec& slot = *GetParam();
  const auto variant = variant_for(slot);
  if (!variant) GTEST_SKIP() << "the host library has no kernel for " << slot.id;
  const auto memory = make_host_memory();
  ReferenceModule references(ASSAY_REFERENCES);
  BenchConfig config;
  config.worker = host_kernels();
  Bench bench(config, *memory, references);
  bench.use(slot, *variant);

  std::map<std::string, int> evidence;
  const auto try_case = [&](const Case& c) {
    for (std::size_t d = 0; d < kDrives; ++d) {
      Trial t;
      t.variant = variant->id;
      t.part = {static_cast<Drive>(d), {c}};
      if (cases_of(t.part.drive) == 2) t.part.cases.push_back(companion(slot, c, t.part.drive, Tier::quick));
      if (!fits(slot, t.part)) continue;
      const Observation seen = observe(bench, t, Tier::quick);
      for (const RuleSpec* rule : rule_catalogue()) {
        if (!applies(*rule, slot, DeviceType::host) || (variant->flags & rule->needs_flags) != rule->needs_flags ||
            (variant->flags & rule->excused_by_flags))
          continue;
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
    for (const Case& pin : pins_of(slot, dtype, Tier::quick, 0)) try_case(pin);
    for (int i = 0; i < 10; ++i)
      try_case(drawn_case(slot, dtype, Tier::quick, 7 * i, mix64(static_cast<std::uint64_t>(i) + 77)));
  }
  EXPECT_FALSE(evidence.empty());
  if (std::none_of(slot.arguments.begin(), slot.arguments.end(), [](auto& a) { return a.choices.size() > 1; }))
    evidence.erase("input.scalars");
  for (const auto& [rule, count] : evidence)
    EXPECT_GT(count, 0) << rule << " found nothing to say about a right kernel";
  EXPECT_EQ(bench.workers_started(), 1u);
}

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Registered, RightKernels, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

}  // namespace
}  // namespace assay
