// engine_loop.cc: who reads what in the engine's step, from every slot's output to the sampler.
//
// A slot's outputs feed trusted code only: a projection, an addition, the engine's own selection or attention, or
// another slot's call site, which is trusted code too and named by what it does there.
#include "conformance/targets/contract_rules.hpp"

namespace assay {

const EngineLoop& engine_loop() {
  static const EngineLoop loop = {{
      // Inside a layer.
      {"norm.rmsnorm.out", {"qkv_projection", "router", "gate_up_projection", "lm_head"}},
      {"qkv_projection", {"attention", "index_scores", "cache_write"}},
      {"cache_write", {"attention", "index_scores"}},
      {"index_scores", {"block_selection"}},
      {"attention.msa_block_score.out", {"block_selection"}},
      {"attention.msa_prefill_block_score.out_topk", {"selection_audit"}},
      {"selection_audit", {"attention"}},
      {"block_selection", {"attention"}},
      {"attention", {"output_projection"}},
      {"attention.sdpa.out", {"output_projection"}},
      {"attention.decode.out", {"output_projection"}},
      {"output_projection", {"rank_sum"}},
      {"gate_up_projection", {"gated_product"}},
      {"gated_product", {"down_projection"}},
      {"activation.silu_and_mul.out", {"down_projection"}},
      {"down_projection", {"rank_sum"}},
      {"router", {"experts"}},
      {"experts", {"rank_sum"}},
      {"moe.fused_experts.out", {"rank_sum"}},
      {"moe.fused_experts_reduce.out", {"residual_add"}},
      {"rank_sum", {"residual_add"}},
      {"collective.all_reduce.out", {"residual_add"}},
      {"residual_add", {"layer_norm"}},
      {"collective.ar_residual_rmsnorm.out_residual", {"residual_add"}},
      {"collective.ar_residual_rmsnorm.out_norm", {"qkv_projection", "router", "gate_up_projection", "lm_head"}},
      {"collective.moe_finalize_ar_rmsnorm.out_residual", {"residual_add"}},
      {"collective.moe_finalize_ar_rmsnorm.out_norm", {"qkv_projection", "lm_head"}},
      // Layers repeat; what follows the last is the engine's alone.
      {"layer_norm", {"qkv_projection", "router", "gate_up_projection", "lm_head"}},
      {"lm_head", {"logits"}},
      {"logits", {"log_probabilities", "sampler"}},
      {"log_probabilities", {"sampler"}},
      {"sampler_state", {"sampler"}},
      {"sampler", {"token_ids", "sampler_state"}},
  }};
  return loop;
}

const std::set<std::string>& sampled_results() {
  static const std::set<std::string> results = {"log_probabilities", "logits", "sampler_state", "token_ids"};
  return results;
}

}  // namespace assay
