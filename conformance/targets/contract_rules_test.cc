// contract.upstream and contract.complete on every registered slot, and on contracts that are wrong on purpose.
#include "conformance/targets/contract_rules.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "conformance/targets/registered_parts_test.hpp"

namespace assay {
namespace {

std::string all(const Findings& found) {
  std::string text;
  for (const std::string& sentence : found) text += sentence + "\n";
  return text;
}

class RegisteredContract : public ::testing::TestWithParam<const SlotSpec*> {};

TEST_P(RegisteredContract, IsUpstreamOfSampling) {
  EXPECT_EQ(all(upstream(*GetParam(), engine_loop())), "") << "contract.upstream";
}

TEST_P(RegisteredContract, IsComplete) { EXPECT_EQ(all(complete(parts::of(*GetParam()))), "") << "contract.complete"; }

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Registered, RegisteredContract, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

TEST(ContractUpstream, TheLoopNamesOutputsThatExist) {
  for (const auto& [node, consumers] : engine_loop().feeds) {
    const std::size_t point = node.rfind('.');
    if (point == std::string::npos) continue;
    const SlotSpec* slot = find_slot(node.substr(0, point));
    ASSERT_NE(slot, nullptr) << node;
    EXPECT_EQ(slot->argument(node.substr(point + 1)).kind, 'o') << node;
    for (const std::string& c : consumers) EXPECT_EQ(engine_loop().feeds.count(c), 1u) << node << " feeds " << c;
  }
}

TEST(ContractUpstream, FindsAContractThatReachesTheSampler) {
  const SlotSpec& norm = *find_slot("norm.rmsnorm");
  const auto found = [&](const std::function<void(SlotSpec&, EngineLoop&)>& edit) {
    SlotSpec slot = norm;
    EngineLoop loop = engine_loop();
    edit(slot, loop);
    return all(upstream(slot, loop));
  };
  EXPECT_EQ(found([](SlotSpec&, EngineLoop&) {}), "");
  const std::vector<std::pair<const char*, std::function<void(SlotSpec&, EngineLoop&)>>> mutants = {
      {"has no consumer", [](SlotSpec&, EngineLoop& l) { l.feeds.erase("norm.rmsnorm.out"); }},
      {"has no consumer", [](SlotSpec&, EngineLoop& l) { l.feeds["norm.rmsnorm.out"].clear(); }},
      {"has no consumer", [](SlotSpec& s, EngineLoop&) { s.arguments.push_back(out("extra", {"rows"}).spec); }},
      {"nothing trusted stands between", [](SlotSpec&, EngineLoop& l) { l.feeds["norm.rmsnorm.out"] = {"logits"}; }},
      {"nothing trusted stands between",
       [](SlotSpec&, EngineLoop& l) { l.feeds["norm.rmsnorm.out"].insert("token_ids"); }},
      {"does not lead to the logits", [](SlotSpec&, EngineLoop& l) { l.feeds["norm.rmsnorm.out"] = {"a log file"}; }},
      {"which comes after sampling", [](SlotSpec&, EngineLoop& l) { l.feeds["norm.rmsnorm.out"].insert("sampler"); }},
      {"comes from what is sampled", [](SlotSpec&, EngineLoop& l) { l.feeds["token_ids"] = {"norm.rmsnorm.out"}; }},
      {"logits is what is sampled from",
       [](SlotSpec& s, EngineLoop&) { s.arguments.push_back(in("logits", {"rows"}).spec); }},
      {"next_token_ids is",
       [](SlotSpec& s, EngineLoop&) { s.arguments.push_back(in("next_token_ids", {"rows"}).spec); }},
      {"logprobs is", [](SlotSpec& s, EngineLoop&) { s.weights.push_back(in("logprobs", {"rows"}).spec); }},
      {"sampler_state is",
       [](SlotSpec& s, EngineLoop&) { s.arguments.push_back(in("sampler_state", {"rows"}).spec); }}};
  for (std::size_t i = 0; i < mutants.size(); ++i)
    EXPECT_NE(found(mutants[i].second).find(mutants[i].first), std::string::npos)
        << i << " " << found(mutants[i].second);
}

TEST(ContractComplete, FindsEveryPartThatIsMissing) {
  const RegisteredParts good = parts::of(*find_slot("moe.fused_experts_reduce"));
  ASSERT_EQ(all(complete(good)), "");
  SlotSpec edited = *good.spec;
  ContractNames names = *good.names;
  const std::vector<std::pair<const char*, std::function<void(RegisteredParts&)>>> mutants = {
      {"no slot", [](RegisteredParts& p) { p.spec = nullptr; }},
      {"lacks a reference", [&](RegisteredParts&) { edited.reference = {}; }},
      {"second, naive form", [](RegisteredParts& p) { p.second_form = false; }},
      {"pinned shapes", [&](RegisteredParts&) { edited.pins.clear(); }},
      {"a dynamic input",
       [&](RegisteredParts&) {
         for (ArgumentSpec& a : edited.arguments) a.dynamic = false;
       }},
      {"a summary", [&](RegisteredParts&) { edited.summary.clear(); }},
      {"a row of the target catalogue", [](RegisteredParts& p) { p.names = nullptr; }},
      {"its names in the catalogue", [&](RegisteredParts&) { names.entry.clear(); }},
      {"its names in the catalogue", [](RegisteredParts& p) { p.names = names_of("norm.rmsnorm"); }},
      {"the prepare callable", [&](RegisteredParts&) { names.prepare.reset(); }},
      {"the content digest of its reference id", [&](RegisteredParts&) { names.reference = 99; }},
      {"the content digest of its verify id", [&](RegisteredParts&) { names.profile = 99; }},
      {"a row of availability", [](RegisteredParts& p) { p.availability.clear(); }},
      {"a probe of its call site",
       [](RegisteredParts& p) {
         for (AvailabilityRow& r : p.availability) r.probe.clear();
       }},
      {"a row of the supply matrix", [](RegisteredParts& p) { p.supply = nullptr; }},
      {"a row of the supply matrix", [](RegisteredParts& p) { p.supply = supply_of("norm.rmsnorm"); }},
      {"its descriptor's builder", [&](RegisteredParts&) { edited.descriptor = {}; }},
      {"rules of the group graph.*",
       [](RegisteredParts& p) {
         std::erase_if(p.rules, [](const std::string& r) { return r.starts_with("graph."); });
       }},
      {"distributed verification", [](RegisteredParts& p) { p.rules.erase("collective.reference"); }},
      {"rules of the group prepare.*",
       [](RegisteredParts& p) {
         std::erase_if(p.rules, [](const std::string& r) { return r.starts_with("prepare."); });
       }},
      {"a planted fault in its values",
       [](RegisteredParts& p) {
         std::erase_if(p.must_reject, [](const auto& f) {
           return f.second.starts_with("number.") || f.second == "collective.reference";
         });
       }},
      {"a planted fault that only a graph shows",
       [](RegisteredParts& p) {
         std::erase_if(p.must_reject, [](const auto& f) { return f.second.starts_with("graph."); });
       }},
      {"a planted fault on its failure path",
       [](RegisteredParts& p) {
         std::erase_if(p.must_reject, [](const auto& f) {
           return f.second == "verdict.attribution" || f.second == "write.no_return";
         });
       }},
      {"a line in the documents", [](RegisteredParts& p) { p.documents.clear(); }}};
  for (const auto& [part, edit] : mutants) {
    edited = *good.spec;
    names = *good.names;
    RegisteredParts p = good;
    p.spec = &edited;
    p.names = &names;
    edit(p);
    EXPECT_NE(all(complete(p)).find(part), std::string::npos) << part << " is missed; found: " << all(complete(p));
  }
}

}  // namespace
}  // namespace assay
