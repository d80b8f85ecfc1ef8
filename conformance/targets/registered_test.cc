// The registered catalogue: what the specification says of it, what its identities depend on, and the ledger of
// contents.
#include "conformance/targets/registered.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <tuple>

#include "assay/slot.hpp"
#include "harness/capability/supply.hpp"
#include "harness/case/generate.hpp"
#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/catalogue/contract_content.hpp"

namespace assay {
namespace {

const TargetContractRef& contract(std::string_view slot) { return *registered_catalogue().find(slot)->spec().contract; }

// routing-and-targets.md 11.6.
TEST(RegisteredCatalogue, HoldsElevenSlotsAndTheMoeEpilogue) {
  const Catalogue& c = registered_catalogue();
  ASSERT_EQ(c.targets().size(), 12u);
  const TargetSpec& epilogue = c.find("collective.moe_epilogue.v1")->spec();
  EXPECT_EQ(epilogue.kind, TargetKind::atomic);
  EXPECT_EQ(epilogue.members,
            (std::set<std::string>{"collective.ar_residual_rmsnorm", "collective.moe_finalize_ar_rmsnorm"}));
  EXPECT_EQ(epilogue.displaces, epilogue.members);
  ASSERT_EQ(c.rules().size(), 1u);
  EXPECT_EQ(c.rules()[0].id, "sglang.moe.reduce-first.v1");
  EXPECT_EQ(c.rules()[0].precedence, (std::vector<std::string>{"moe.fused_experts_reduce", "moe.fused_experts"}));
  EXPECT_EQ(registered_names().size(), supply_matrix().size());
  for (std::size_t i = 0; i < registered_names().size(); ++i)
    EXPECT_EQ(registered_names()[i].slot, supply_matrix()[i].slot);
}

TEST(RegisteredCatalogue, ContractsSayWhatTheSpecificationSays) {
  struct Row {
    const char *slot, *mode, *floor, *kl;
    std::int64_t top_k;
    std::vector<std::string> dynamic;
  };
  const std::vector<Row> rows = {
      {"activation.silu_and_mul", "allclose", "1", "", 0, {"x"}},
      {"norm.rmsnorm", "allclose", "1", "", 0, {"x"}},
      {"attention.sdpa", "matched_ratio", "0.99", "0.03", 0, {"q", "k", "v"}},
      {"attention.decode",
       "matched_ratio",
       "0.99",
       "0.03",
       0,
       {"q", "k_cache", "v_cache", "req_to_token", "seq_lens", "req_pool_indices", "topk_idx"}},
      {"attention.msa_block_score", "topk_overlap", "0.875", "0.03", 8, {"q", "index_k", "seq_lens"}},
      {"attention.msa_prefill_block_score", "topk_overlap", "0.9", "0.03", 8, {"q", "index_k_cache"}},
      {"moe.fused_experts", "matched_ratio", "0.97", "", 0, {"x", "topk_ids", "topk_weights"}},
      {"moe.fused_experts_reduce", "matched_ratio", "0.97", "", 0, {"x", "topk_ids", "topk_weights"}},
      {"collective.all_reduce", "matched_ratio", "0.99", "", 0, {"x"}},
      {"collective.ar_residual_rmsnorm", "matched_ratio", "0.99", "", 0, {"x", "residual"}},
      {"collective.moe_finalize_ar_rmsnorm",
       "matched_ratio",
       "0.99",
       "",
       0,
       {"gemm_out", "row_map", "scales", "residual"}}};
  for (const Row& r : rows) {
    const TargetContractRef& c = contract(r.slot);
    EXPECT_EQ(c.correctness.mode, r.mode) << r.slot;
    EXPECT_EQ(c.correctness.mode == "topk_overlap" ? c.correctness.min_overlap : c.correctness.min_ratio, r.floor)
        << r.slot;
    EXPECT_EQ(c.correctness.top_k, r.top_k) << r.slot;
    EXPECT_EQ(c.kl_threshold.value_or(""), r.kl) << r.slot;
    EXPECT_EQ(c.graph_dynamic_inputs, r.dynamic) << r.slot;
    EXPECT_EQ(c.prepare.has_value(), std::string(r.slot).starts_with("moe.")) << r.slot;
    EXPECT_EQ(c.tolerances,
              (std::vector<ContractTolerance>{
                  {"bfloat16", "0.02", "0.02"}, {"float16", "0.01", "0.01"}, {"float32", "0.00001", "0.00001"}}));
  }
}

// The public implementation's own digest of norm.rmsnorm, by way of our slot file.
TEST(RegisteredCatalogue, SchemaOneOfRmsnormIsThePublicOne) {
  const nlohmann::json schema_1 = to_json(contract("norm.rmsnorm"), 1);
  EXPECT_EQ(envelope_digest("gks.target-contract", schema_1, 1),
            "78cc6993326bf43b79537419a684dabe0741824b776e66603e87bac66b6f8c1e");
  EXPECT_EQ(envelope_digest("cacheon.target-contract", schema_1, 1),
            "05c7846ae5bb062cf62b58fe93986353fee31c794c2a449c80dc4ae88afce2ba");
}

TEST(ContentLedger, ContentThatChangedHasANewVersionOfItsId) {
  for (const ContractNames& n : registered_names()) {
    const SlotSpec& slot = *find_slot(n.slot);
    const std::vector<std::tuple<const char*, int, std::string>> parts = {{"input", n.input, input_abi_digest(slot)},
                                                                          {"output", n.output, output_abi_digest(slot)},
                                                                          {"verify", n.profile, profile_digest(slot)}};
    for (const auto& [part, version, digest] : parts) {
      const std::string id = n.slot + "." + part + ".v" + std::to_string(version);
      const auto known = content_digests().find(id);
      EXPECT_TRUE(known != content_digests().end() && known->second == digest)
          << (known == content_digests().end()
                  ? id + " has no line in conformance/targets/content_digests.inc; it is:"
                  : "what " + id +
                        " stands for has changed: raise its version in targets/registered.cc and add a line "
                        "to content_digests.inc:")
          << "\n    {\"" << id << "\",\n     \"" << digest << "\"},";
    }
  }
}

// target.digest on the slots themselves: each edit is one that a caller, a candidate or a verdict would notice.
using Edit = std::function<void(SlotSpec&, int)>;

ArgumentSpec& output(SlotSpec& s) {
  return *std::find_if(s.arguments.begin(), s.arguments.end(), [](const ArgumentSpec& a) { return a.kind == 'o'; });
}

const std::vector<std::pair<const char*, Edit>>& edits() {
  static const std::vector<std::pair<const char*, Edit>> list = {
      {"an input's name", [](SlotSpec& s, int) { s.arguments.front().name += "_new"; }},
      {"an extent", [](SlotSpec& s, int v) { s.arguments.front().extents.back() = std::to_string(v + 2); }},
      {"a rank",
       [](SlotSpec& s, int) { s.arguments.front().extents.insert(s.arguments.front().extents.begin(), "1"); }},
      {"a dtype", [](SlotSpec& s, int) { s.arguments.front().dtype = DType::f64; }},
      {"a stride rule",
       [](SlotSpec& s, int v) { s.arguments.front().strided = true, s.arguments.front().stride_bytes = 32 * (v + 1); }},
      {"an alignment", [](SlotSpec& s, int v) { s.arguments.front().alignment = 512L << v; }},
      {"a static input", [](SlotSpec& s, int) { s.arguments.front().dynamic = false; }},
      {"an output's alignment", [](SlotSpec& s, int v) { output(s).alignment = 512L << v; }},
      {"an output's dtype", [](SlotSpec& s, int) { output(s).dtype = DType::f64; }},
      {"the comparator",
       [](SlotSpec& s, int) { s.comparator_by_case = {}, s.comparator = {.mode = Mode::cosine, .floor = 0.5}; }},
      {"the floor",
       [](SlotSpec& s, int v) {
         s.comparator = s.comparing(pinned_case(s, s.pins.front(), DType::f32, 0));
         s.comparator.explained = 0;
         s.comparator_by_case = {};
         s.comparator.floor -= 0.01 * (v + 1);
       }},
      {"accumulation", [](SlotSpec& s, int v) { s.accumulation = [v](const Case&) { return 1e6 + v; }; }},
      {"a dim's range", [](SlotSpec& s, int v) { s.dims.front().max += v + 1; }},
      {"an edge", [](SlotSpec& s, int v) { s.dims.front().edges.push_back(s.dims.front().max - v); }},
      {"jitter", [](SlotSpec& s, int) { s.dims.front().count = !s.dims.front().count; }},
      {"a knob",
       [](SlotSpec& s, int v) {
         s.knobs.push_back({"extra" + std::to_string(v), {"a", "b"}});
       }},
      {"a recipe's scale", [](SlotSpec& s, int v) { s.recipes.back().scale *= v + 2; }},
      {"a recipe", [](SlotSpec& s, int) { s.recipes.pop_back(); }},
      {"a pin", [](SlotSpec& s, int) { s.pins.pop_back(); }},
      {"a pin's tier", [](SlotSpec& s, int) { s.pins.front().tier = Tier::gate; }},
      {"a pin's rows", [](SlotSpec& s, int v) { s.pins.front().dims.begin()->second += v + 1; }},
      {"a relation", [](SlotSpec& s, int) { s.relations.pop_back(); }},
      {"a group",
       [](SlotSpec& s, int v) {
         s.groups.push_back({"extra" + std::to_string(v), 0});
       }},
      {"a scalar's values", [](SlotSpec& s, int v) {
         for (ArgumentSpec& a : s.arguments)
           if (!a.choices.empty()) return a.choices.push_back(100 + v);
         s.arguments.push_back(f64("extra", {1.0}).spec);
       }}};
  return list;
}

std::string digest_of(const SlotSpec& s, const ContractNames& names) {
  const std::string reference = std::string(60, 'a') + "000" + std::to_string(names.reference % 10);
  return contract_digest(contract_of(s, names, reference));
}

TEST(TargetDigest, AnythingOneWouldNoticeChangesTheContractsDigest) {
  int changed = 0, refused = 0;
  for (const ContractNames& names : registered_names()) {
    const SlotSpec& slot = *find_slot(names.slot);
    std::map<std::string, std::string> seen = {{digest_of(slot, names), "nothing"}};
    const auto note = [&](const std::string& what, const std::string& digest) {
      const auto [twin, fresh] = seen.emplace(digest, what);
      EXPECT_TRUE(fresh) << slot.id << ": " << what << " has the digest of " << twin->second;
      ++changed;
    };
    for (const auto& [what, edit] : edits())
      for (int v = 0; v < 3; ++v) {
        SlotSpec edited = slot;
        edit(edited, v);
        try {
          const std::string digest = digest_of(edited, names);
          const std::string name = what + std::string(" ") + std::to_string(v);
          if (v > 0 && seen.count(digest) != 0 && seen[digest] == what + std::string(" 0"))
            break;  // has no second value
          note(name, digest);
        } catch (const ContractError&) {
          ++refused;  // its one dynamic input is static
        }
      }
    for (int ContractNames::*version :
         {&ContractNames::input, &ContractNames::output, &ContractNames::reference, &ContractNames::profile}) {
      ContractNames later = names;
      ++(later.*version);
      note("a version", digest_of(slot, later));
    }
    for (const auto& edit : std::vector<std::function<void(ContractNames&)>>{
             [](ContractNames& n) { n.entry += "_new"; }, [](ContractNames& n) { n.kl_threshold = "0.04"; },
             [](ContractNames& n) { n.binding_family += "b"; }, [](ContractNames& n) { n.prepare = "prepare_new"; }}) {
      ContractNames other = names;
      edit(other);
      note("a name", digest_of(slot, other));
    }
  }
  EXPECT_GT(changed, 500);
  EXPECT_LT(refused, 15);
}

TEST(TargetDigest, NothingCosmeticDoes) {
  for (const ContractNames& names : registered_names()) {
    const SlotSpec& slot = *find_slot(names.slot);
    SlotSpec same = slot;
    same.summary = "other words for the same";
    std::reverse(same.groups.begin(), same.groups.end());
    same.reference.symbol = "moved";
    EXPECT_EQ(digest_of(same, names), digest_of(slot, names)) << slot.id;
  }
}

// Random edits in a random order: equal content, equal identity.
TEST(TargetDigest, RandomEditsOfASlotAgreeWithItsContent) {
  holds("contract digests follow the tables", 300, [] {
    const ContractNames& names = registered_names()[*rc::gen::inRange<std::size_t>(0, registered_names().size())];
    SlotSpec a = *find_slot(names.slot), b = a;
    for (SlotSpec* s : {&a, &b}) {
      const int count = *rc::gen::inRange(0, 3);
      for (int i = 0; i < count; ++i)
        edits()[*rc::gen::inRange<std::size_t>(0, edits().size())].second(*s, *rc::gen::inRange(0, 3));
    }
    std::string x, y;
    try {
      x = digest_of(a, names);
      y = digest_of(b, names);
    } catch (const ContractError&) {
      return;
    }
    const auto content = [](const SlotSpec& s) {
      nlohmann::json dynamic = nlohmann::json::array();
      for (const ArgumentSpec& i : s.arguments)
        if (i.kind == 'i' && i.dynamic) dynamic.push_back(i.name);
      const Comparator c = registered_comparator(s);
      return canonical({input_abi(s), output_abi(s), verification_profile(s), dynamic, name_of(c.mode), c.floor});
    };
    RC_ASSERT((x == y) == (content(a) == content(b)));
  });
}

}  // namespace
}  // namespace assay
