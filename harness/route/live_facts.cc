#include "harness/route/live_facts.hpp"

#include <algorithm>
#include <optional>

namespace assay {
namespace {

// Where a count comes from.
struct Source {
  enum class From : std::uint8_t { extent, rows, scalar } from;
  const char* argument;
  int dim = 0;            // extent; negative from the last on
  std::int64_t less = 0;  // taken off
  std::int64_t over = 1;  // divided by
};
struct Row {
  const char *slot, *field;
  Source source;
};

constexpr Source extent(const char* tensor, int dim, std::int64_t less = 0, std::int64_t over = 1) {
  return {Source::From::extent, tensor, dim, less, over};
}
constexpr Source rows(const char* tensor) { return {Source::From::rows, tensor}; }
constexpr Source scalar(const char* name) { return {Source::From::scalar, name}; }

// Of weights, the form that the layer has is the one that is there.
constexpr Row kRows[] = {
    {"activation.silu_and_mul", "num_tokens", rows("x")},
    {"activation.silu_and_mul", "last_dim", extent("x", -1)},
    {"norm.rmsnorm", "num_tokens", rows("x")},
    {"norm.rmsnorm", "last_dim", extent("x", -1)},
    {"attention.sdpa", "num_tokens", extent("q", 0)},
    {"attention.sdpa", "q_len", extent("q", 0)},
    {"attention.sdpa", "kv_len", extent("k", 0)},
    {"attention.sdpa", "num_q_heads", extent("q", 1)},
    {"attention.sdpa", "num_kv_heads", extent("k", 1)},
    {"attention.sdpa", "head_dim", extent("q", 2)},
    {"attention.sdpa", "last_dim", extent("q", -1)},
    {"attention.decode", "batch_size", extent("seq_lens", 0)},
    {"attention.decode", "num_tokens", extent("q", 0)},
    {"attention.decode", "kv_len", extent("req_to_token", 1)},
    {"attention.decode", "top_k", extent("topk_idx", 2)},
    {"attention.decode", "block_size", scalar("block_size")},
    {"attention.decode", "num_q_heads", extent("q", 1)},
    {"attention.decode", "num_kv_heads", extent("k_cache", 1)},
    {"attention.decode", "head_dim", extent("q", 2)},
    {"attention.decode", "last_dim", extent("q", -1)},
    {"attention.msa_block_score", "batch_size", extent("seq_lens", 0)},
    {"attention.msa_block_score", "num_tokens", extent("q", 0)},
    {"attention.msa_block_score", "kv_len", extent("index_k", 1)},
    {"attention.msa_block_score", "block_size", scalar("block_size")},
    {"attention.msa_block_score", "num_q_heads", extent("q", 1)},
    {"attention.msa_block_score", "num_kv_heads", extent("index_k", 2)},
    {"attention.msa_block_score", "head_dim", extent("q", 2)},
    {"attention.msa_block_score", "last_dim", extent("q", -1)},
    {"attention.msa_prefill_block_score", "batch_size", extent("cu_seqlens", 0, 1)},
    {"attention.msa_prefill_block_score", "num_tokens", extent("q", 0)},
    {"attention.msa_prefill_block_score", "q_len", scalar("max_seqlen_q")},
    {"attention.msa_prefill_block_score", "kv_len", scalar("max_seqlen_k")},
    {"attention.msa_prefill_block_score", "num_q_heads", extent("q", 1)},
    {"attention.msa_prefill_block_score", "num_kv_heads", extent("index_k_cache", 1)},
    {"attention.msa_prefill_block_score", "head_dim", extent("q", 2)},
    {"attention.msa_prefill_block_score", "last_dim", extent("q", -1)},
    {"attention.msa_prefill_block_score", "block_size", scalar("block_size_k")},
    {"attention.msa_prefill_block_score", "q_block_size", scalar("block_size_q")},
    {"attention.msa_prefill_block_score", "top_k", scalar("topk")},
    {"attention.msa_prefill_block_score", "init_blocks", scalar("init_blocks")},
    {"attention.msa_prefill_block_score", "local_blocks", scalar("local_blocks")},
    {"moe.fused_experts", "num_tokens", extent("x", 0)},
    {"moe.fused_experts", "hidden_dim", extent("x", 1)},
    {"moe.fused_experts", "last_dim", extent("x", -1)},
    {"moe.fused_experts", "top_k", extent("topk_ids", 1)},
    {"moe.fused_experts", "num_experts", extent("w13", 0)},
    {"moe.fused_experts", "num_experts", extent("w13_weight", 0)},
    {"moe.fused_experts", "intermediate_dim", extent("w13", 1, 0, 2)},
    {"moe.fused_experts", "intermediate_dim", extent("w13_weight", 1, 0, 2)},
    {"moe.fused_experts_reduce", "num_tokens", extent("x", 0)},
    {"moe.fused_experts_reduce", "hidden_dim", extent("x", 1)},
    {"moe.fused_experts_reduce", "last_dim", extent("x", -1)},
    {"moe.fused_experts_reduce", "top_k", extent("topk_ids", 1)},
    {"moe.fused_experts_reduce", "num_experts", extent("w13", 0)},
    {"moe.fused_experts_reduce", "num_experts", extent("w13_weight", 0)},
    {"moe.fused_experts_reduce", "intermediate_dim", extent("w13", 1, 0, 2)},
    {"moe.fused_experts_reduce", "intermediate_dim", extent("w13_weight", 1, 0, 2)},
    {"collective.all_reduce", "num_tokens", extent("x", 0)},
    {"collective.all_reduce", "hidden_dim", extent("x", 1)},
    {"collective.all_reduce", "last_dim", extent("x", -1)},
    {"collective.ar_residual_rmsnorm", "num_tokens", extent("x", 0)},
    {"collective.ar_residual_rmsnorm", "hidden_dim", extent("x", 1)},
    {"collective.ar_residual_rmsnorm", "last_dim", extent("x", -1)},
    {"collective.moe_finalize_ar_rmsnorm", "num_tokens", extent("residual", 0)},
    {"collective.moe_finalize_ar_rmsnorm", "exp_tokens", extent("scales", 0)},
    {"collective.moe_finalize_ar_rmsnorm", "top_k", extent("scales", 1)},
    {"collective.moe_finalize_ar_rmsnorm", "hidden_dim", extent("residual", 1)},
    {"collective.moe_finalize_ar_rmsnorm", "last_dim", extent("gemm_out", -1)},
};

std::optional<std::int64_t> read(const Source& s, const PassedCall& call) {
  if (s.from == Source::From::scalar) {
    const auto found = call.integers.find(s.argument);
    if (found == call.integers.end()) return std::nullopt;
    return found->second;
  }
  const auto found = std::find_if(call.tensors.begin(), call.tensors.end(),
                                  [&](const PassedTensor& t) { return t.name == s.argument; });
  if (found == call.tensors.end() || found->shape.empty()) return std::nullopt;
  const Extents& shape = found->shape;
  if (s.from == Source::From::rows) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d + 1 < shape.size(); ++d) count *= shape[d];
    return count;
  }
  const auto dim = static_cast<std::size_t>(s.dim < 0 ? s.dim + static_cast<int>(shape.size()) : s.dim);
  if (dim >= shape.size()) return std::nullopt;
  return (shape[dim] - s.less) / s.over;
}

std::optional<FactValue> live(const SlotSupply& supply, const std::string& field, const PassedCall& call) {
  if (field == "tp_size" || field == "world_size") return FactValue(call.group_size);
  for (const Row& row : kRows) {
    if (supply.slot != row.slot || field != row.field) continue;
    if (const auto count = read(row.source, call)) return FactValue(*count);
  }
  return std::nullopt;
}

}  // namespace

Facts offline_facts(const SlotSpec& slot, const Case& c) {
  DescriptorFacts said;
  slot.descriptor(c, said);
  // The group's size; one device, one rank is what it amounts to outside collectives.
  Facts facts = {{"tp_size", FactValue(c.world)}, {"world_size", FactValue(c.world)}};
  for (const auto& [name, value] : said.numbers) facts.insert_or_assign(name, FactValue(value));
  for (const auto& [name, value] : said.words) facts.insert_or_assign(name, FactValue(value));
  return facts;
}

Facts live_facts(const SlotSupply& supply, const PassedCall& call, const Facts& owned) {
  const bool known =
      std::any_of(std::begin(kRows), std::end(kRows), [&](const Row& r) { return supply.slot == r.slot; });
  Facts facts;
  if (!known) {
    facts = owned;
    for (const char* size : {"tp_size", "world_size"}) facts.insert_or_assign(size, FactValue(call.group_size));
    return facts;
  }
  for (const SuppliedField& field : supply.fields) {
    std::optional<FactValue> value = live(supply, field.name, call);
    if (!value) value = field.always;
    if (const auto own = owned.find(field.name); !value && own != owned.end()) value = own->second;
    if (value) {
      facts.emplace(field.name, std::move(*value));
    } else if (kind_of_field(field.name) == FieldKind::numeric) {
      throw DescriptorError(
          "DR-10", field.name,
          "descriptor field " + field.name + " of " + supply.slot + " comes from nothing in the call");
    }
  }
  return facts;
}

Descriptor describe(const Facts& facts, std::string_view dtype, std::string_view architecture, bool capturing) {
  DescriptorBuilder b;
  b.dtype(dtype).architecture(architecture).graph_mode(capturing ? "cuda_graph" : "eager");
  for (const auto& [name, value] : facts) {
    std::visit([&, &field = name](const auto& v) { b.set(field, v); }, value);
  }
  return b.build();
}

}  // namespace assay
