// contract.signature on every registered slot, as the judge's bench allocates its calls, and on contracts that are
// wrong.
#include <gtest/gtest.h>

#include <algorithm>

#include "conformance/targets/contract_rules.hpp"
#include "harness/drive/bench.hpp"

namespace assay {
namespace {

// The bench needs no worker to place tensors.
std::vector<HandedTensor> on_the_bench(const SlotSpec& slot, const Case& c) {
  static const std::unique_ptr<MemoryDomain> memory = make_host_memory();
  static ReferenceModule references{ASSAY_REFERENCES};
  Bench bench{BenchConfig{}, *memory, references};
  Observation seen;
  seen.trial.part.cases = {c};
  bench.use(slot, VariantInfo{});
  bench.begin_trial(seen);
  std::vector<HandedTensor> tensors;
  for (const Placed& p : bench.bind(c).tensors)
    tensors.push_back({p.spec->name, p.arena, p.cell0, p.dtype, p.shape, p.strides, DeviceType::host});
  return tensors;
}

class ContractSignature : public ::testing::TestWithParam<const SlotSpec*> {};

TEST_P(ContractSignature, IsStatedAndHeldToOnePropertyAtATime) {
  for (const std::string& sentence : signature(*GetParam(), on_the_bench))
    ADD_FAILURE() << "contract.signature: " << sentence;
}

std::string name_of_slot(const ::testing::TestParamInfo<const SlotSpec*>& info) {
  std::string name = info.param->id;
  std::replace(name.begin(), name.end(), '.', '_');
  return name;
}
INSTANTIATE_TEST_SUITE_P(Registered, ContractSignature, ::testing::ValuesIn(slot_catalogue()), name_of_slot);

TEST(ContractSignature, FindsAContractThatStatesTooLittle) {
  const auto found = [](const std::function<void(SlotSpec&, ArgumentSpec&)>& edit) {
    SlotSpec slot = *find_slot("norm.rmsnorm");
    edit(slot, slot.arguments[2]);
    const Findings wrong = signature(slot, on_the_bench);
    return wrong.empty() ? std::string("nothing") : wrong.front();
  };
  EXPECT_EQ(found([](SlotSpec&, ArgumentSpec&) {}), "nothing");
  const std::vector<std::pair<const char*, std::function<void(SlotSpec&, ArgumentSpec&)>>> mutants = {
      {"has no output", [](SlotSpec& s, ArgumentSpec&) { s.arguments.erase(s.arguments.begin() + 2); }},
      {"states no shape", [](SlotSpec&, ArgumentSpec& out) { out.extents.clear(); }},
      {"alignment that its own cells", [](SlotSpec&, ArgumentSpec& out) { out.alignment = 2; }},
      {"alignment that its own cells", [](SlotSpec&, ArgumentSpec& out) { out.alignment = 24; }},
      {"no pitch is stated", [](SlotSpec&, ArgumentSpec& out) { out.stride_bytes = 0; }},
      {"cannot be allocated",
       [](SlotSpec&, ArgumentSpec& out) {
         out.extents = {"rows", "nobody"};
       }},
      {"cannot be allocated", [](SlotSpec& s, ArgumentSpec& out) {
         s.sizes["less"] = [](const Case&) { return std::int64_t{-1}; };
         out.extents = {"rows", "less"};
       }}};
  for (const auto& [sentence, edit] : mutants)
    EXPECT_NE(found(edit).find(sentence), std::string::npos) << sentence << ": " << found(edit);
}

// An allocator that breaks its own contract is found as well.
TEST(ContractSignature, FindsAnAllocationThatIsNotTheContracts) {
  const SlotSpec& slot = *find_slot("collective.ar_residual_rmsnorm");
  const auto found = [&](const std::function<void(std::vector<HandedTensor>&)>& edit) {
    const Findings wrong = signature(slot, [&](const SlotSpec& s, const Case& c) {
      std::vector<HandedTensor> tensors = on_the_bench(s, c);
      edit(tensors);
      return tensors;
    });
    return wrong.empty() ? std::string("nothing") : wrong.front();
  };
  EXPECT_EQ(found([](auto&) {}), "nothing");
  EXPECT_NE(found([](auto& t) { t.back().cell0_bytes += 2; }).find("alignment"), std::string::npos);
  EXPECT_NE(found([](auto& t) { t.back().dtype = DType::i32; }).find("dtype"), std::string::npos);
  EXPECT_NE(found([](auto& t) {
              t.back().arena = t.front().arena, t.back().cell0_bytes = t.front().cell0_bytes;
            }).find("aliasing"),
            std::string::npos);
  EXPECT_NE(found([](auto& t) { t.back().shape.back() += 1; }).find("shape"), std::string::npos);
}

}  // namespace
}  // namespace assay
