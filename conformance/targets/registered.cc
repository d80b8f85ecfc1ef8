#include "conformance/targets/registered.hpp"

#include <algorithm>

#include "assay/abi.h"
#include "assay/slot.hpp"

namespace assay {
namespace {

const char kMoe[] = "sglang.moe.fused_experts.v1";  // one call site: the composition rule chooses between its two slots
const char kEpilogue[] = "collective.moe_epilogue.v1";
const char kReduceFirst[] = "sglang.moe.reduce-first.v1";

std::string reference_digest(const ContractNames& names) {
  const auto known = content_digests().find(names.slot + ".reference.v" + std::to_string(names.reference));
  return known == content_digests().end() ? std::string() : known->second;
}

std::set<std::string> features(const ContractNames& names) {
  std::set<std::string> allowed = {"entry", "sources", "variants"};
  if (names.prepare) allowed.insert("prepare");
  // What a collective would project of its group, nothing resolves (spec/direct-artifacts.md 8.6).
  if (find_slot(names.slot)->kind != Kind::collective) allowed.insert("artifact");
  return allowed;
}

}  // namespace

const std::vector<ContractNames>& registered_names() {
  static const std::vector<ContractNames> names = {{.slot = "activation.silu_and_mul",
                                                    .entry = "silu_and_mul",
                                                    .prepare = {},
                                                    .binding_family = "sglang.activation.silu_and_mul.v1",
                                                    .kl_threshold = {}},
                                                   {.slot = "norm.rmsnorm",
                                                    .entry = "rmsnorm",
                                                    .prepare = {},
                                                    .binding_family = "sglang.norm.rmsnorm.v1",
                                                    .kl_threshold = {}},
                                                   {.slot = "attention.sdpa",
                                                    .entry = "attention",
                                                    .prepare = {},
                                                    .binding_family = "sglang.attention.sdpa.v1",
                                                    .kl_threshold = "0.03"},
                                                   {.slot = "attention.decode",
                                                    .entry = "attention_decode",
                                                    .prepare = {},
                                                    .binding_family = "sglang.attention.decode.v1",
                                                    .kl_threshold = "0.03"},
                                                   {.slot = "attention.msa_block_score",
                                                    .entry = "msa_block_score",
                                                    .prepare = {},
                                                    .binding_family = "sglang.attention.msa_block_score.v1",
                                                    .kl_threshold = "0.03"},
                                                   {.slot = "attention.msa_prefill_block_score",
                                                    .entry = "msa_prefill_block_score",
                                                    .prepare = {},
                                                    .binding_family = "sglang.attention.msa_prefill_block_score.v1",
                                                    .kl_threshold = "0.03"},
                                                   {.slot = "moe.fused_experts",
                                                    .entry = "fused_experts",
                                                    .prepare = "prepare",
                                                    .binding_family = kMoe,
                                                    .kl_threshold = {}},
                                                   {.slot = "moe.fused_experts_reduce",
                                                    .entry = "fused_experts_reduce",
                                                    .prepare = "prepare",
                                                    .binding_family = kMoe,
                                                    .kl_threshold = {}},
                                                   {.slot = "collective.all_reduce",
                                                    .entry = "all_reduce",
                                                    .prepare = {},
                                                    .binding_family = "sglang.collective.all_reduce.v1",
                                                    .kl_threshold = {}},
                                                   {.slot = "collective.ar_residual_rmsnorm",
                                                    .entry = "ar_residual_rmsnorm",
                                                    .prepare = {},
                                                    .binding_family = "sglang.collective.ar_residual_rmsnorm.v1",
                                                    .kl_threshold = {}},
                                                   {.slot = "collective.moe_finalize_ar_rmsnorm",
                                                    .entry = "moe_finalize_ar_rmsnorm",
                                                    .prepare = {},
                                                    .binding_family = "sglang.collective.moe_finalize_ar_rmsnorm.v1",
                                                    .kl_threshold = {}}};
  return names;
}

const ContractNames* names_of(std::string_view slot) {
  for (const ContractNames& n : registered_names())
    if (n.slot == slot) return &n;
  return nullptr;
}

const std::map<std::string, std::string>& content_digests() {
  static const std::map<std::string, std::string> ledger = {
#include "conformance/targets/content_digests.inc"
  };
  return ledger;
}

std::vector<TargetSpec> registered_targets() {
  std::vector<TargetSpec> targets;
  for (const ContractNames& names : registered_names()) {
    const SlotSpec* slot = find_slot(names.slot);
    if (!slot)
      throw CatalogueError("CI-14", "this program does not judge " + names.slot + ", which is a registered target");
    TargetSpec t;
    t.id = names.slot;
    t.members = {names.slot};
    t.allowed_features = features(names);
    t.contract = contract_of(*slot, names, reference_digest(names));
    if (names.binding_family == kMoe)
      t.compatible_with = {names.slot == "moe.fused_experts" ? "moe.fused_experts_reduce" : "moe.fused_experts"};
    targets.push_back(std::move(t));
  }
  TargetSpec epilogue;
  epilogue.id = kEpilogue;
  epilogue.kind = TargetKind::atomic;
  epilogue.members = {"collective.ar_residual_rmsnorm", "collective.moe_finalize_ar_rmsnorm"};
  epilogue.displaces = epilogue.members;
  epilogue.allowed_features = {"entry", "sources", "variants"};
  epilogue.atomic_semantics_id = "collective.moe_epilogue.semantics.v1";
  targets.push_back(std::move(epilogue));
  return targets;
}

std::vector<CompositionRule> registered_rules() {
  return {
      {.id = kReduceFirst, .precedence = {"moe.fused_experts_reduce", "moe.fused_experts"}, .binding_family = kMoe}};
}

CataloguePolicy registered_policy() {
  return {.version = 1,
          .toolchain = {{"abi", std::to_string(ASSAY_ABI_VERSION)},
                        {"cuda_least", "12.4"},
                        {"artifact_providers", "library"},
                        {"builders", "external"}}};
}

const Catalogue& registered_catalogue() {
  static const Catalogue catalogue(registered_policy(), registered_targets(), registered_rules(), [] {
    std::set<std::string> slots;
    for (const SlotSpec* s : slot_catalogue()) slots.insert(s->id);
    return slots;
  }());
  return catalogue;
}

}  // namespace assay
