// contract.call_site on the one arena that every machine has: an inert probe, the right host kernels, is called once
// through the worker on every rank, and the row has to say what the receipts of the worker's trusted half say.
#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "conformance/candidate.hpp"
#include "conformance/targets/contract_rules.hpp"
#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

constexpr char kArena[] = "cpu-model";

WorkerConfig host_kernels() {
  WorkerConfig config;
  config.worker = ASSAY_WORKER;
  config.library = ASSAY_HOST_KERNELS;
  return config;
}

// What the probe of a target did. A target that is no slot has nothing that the worker could call.
ProbeRecord probe(const std::string& target) {
  static const Candidate candidate = load_candidate(host_kernels());
  ProbeRecord record{.arena = kArena, .target = target, .ranks = 2};
  const SlotSpec* slot = find_slot(target);
  if (!slot) return record;
  const auto memory = make_host_memory();
  ReferenceModule references(ASSAY_REFERENCES);
  BenchConfig config;
  config.worker = host_kernels();
  Bench bench(config, *memory, references);
  for (const CandidateVariant& v : candidate.variants) {
    if (v.slot != slot) continue;
    record.ranks = slot->kind == Kind::collective ? 2 : 1;
    Case c = pinned_case(*slot, slot->pins.front(), DType::f32, 0);
    c.world = record.ranks;
    if (!applicable(v, descriptor_of(*slot, c, "cpu", false)).accepted()) continue;
    bench.use(*slot, v.info);
    Trial t;
    t.variant = v.info.id;
    t.part = {Drive::eager, {c}};
    const Observation seen = observe(bench, t, Tier::quick);
    if (!seen.receipts) return record;
    std::set<std::int64_t> ranks;
    for (const Receipt& r : seen.receipts->receipts) {
      if (r.kind == ReceiptKind::fallback) ++record.fallbacks;
      if (r.kind == ReceiptKind::completed && r.call.slot == target && r.call.variant == v.info.id)
        ranks.insert(r.rank);
    }
    record.completed = static_cast<std::int64_t>(ranks.size());
    return record;
  }
  return record;
}

class ContractCallSite : public ::testing::TestWithParam<std::string> {};

TEST_P(ContractCallSite, TheRowSaysWhatTheProbeDid) {
  for (const std::string& sentence : call_site(availability(), kArena, GetParam(), probe(GetParam())))
    ADD_FAILURE() << "contract.call_site: " << sentence;
}

std::vector<std::string> targets() {
  std::vector<std::string> ids;
  for (const TargetSpec& t : registered_targets()) ids.push_back(t.id);
  return ids;
}
std::string name_of_target(const ::testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
}
INSTANTIATE_TEST_SUITE_P(Registered, ContractCallSite, ::testing::ValuesIn(targets()), name_of_target);

TEST(ContractCallSite, FindsARowThatIsMissingUnprobedOrWrong) {
  const std::string target = "norm.rmsnorm";
  const ProbeRecord good{.arena = kArena, .target = target, .ranks = 1, .completed = 1};
  const auto found = [&](const std::function<void(AvailabilityRow&)>& edit, const ProbeRecord& seen) {
    AvailabilityTable table = {*find_row(availability(), kArena, target)};
    edit(table.front());
    const Findings wrong = call_site(table, kArena, target, seen);
    return wrong.empty() ? std::string() : wrong.front();
  };
  EXPECT_EQ(found([](AvailabilityRow&) {}, good), "");
  EXPECT_NE(found([](AvailabilityRow& r) { r.probe.clear(); }, good).find("no evidence"), std::string::npos);
  EXPECT_NE(found([](AvailabilityRow& r) { r.probe = std::string(64, '1'); }, good).find("another probe"),
            std::string::npos);
  EXPECT_NE(found([](AvailabilityRow& r) { r.arena = "elsewhere"; }, good).find("no row"), std::string::npos);
  ProbeRecord silent = good;
  silent.completed = 0;
  EXPECT_NE(found([&](AvailabilityRow& r) { r.probe = probe_digest(silent); }, silent).find("completed on 0 of 1"),
            std::string::npos);
  ProbeRecord stock = good;
  stock.fallbacks = 1;
  EXPECT_NE(found([&](AvailabilityRow& r) { r.probe = probe_digest(stock); }, stock).find("fell back"),
            std::string::npos);
  // Verifier-only by its row, and yet it completes; and a row that gives no reason.
  EXPECT_NE(found([](AvailabilityRow& r) { r.state = Availability::no_adapter, r.reason = "none"; }, good)
                .find("the probe completed"),
            std::string::npos);
  EXPECT_NE(
      found([&](AvailabilityRow& r) { r.state = Availability::no_adapter, r.probe = probe_digest(silent); }, silent)
          .find("does not say why"),
      std::string::npos);
}

}  // namespace
}  // namespace assay
