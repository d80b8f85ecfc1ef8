#include "conformance/slots/expert_slot.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "conformance/slots/moe_values.hpp"
#include "harness/tensor/nvfp4.hpp"
#include "harness/tensor/philox.hpp"

namespace assay::moe {
namespace {

bool dense(const Case& c) { return !is_nvfp4(c); }

// A rank's own weights are those of a case of its own; what does not depend on weights stays the same.
RankFill of_rank(Fill fill) {
  return [fill = std::move(fill)](const Case& c, int rank, std::uint64_t key, const TensorView& view) {
    Case own = c;
    own.seed = derive_key(c.seed, "weights of rank", static_cast<std::uint64_t>(rank));
    return fill(own, key, view);
  };
}

std::vector<ArgumentSpec> weights(Holder holder) {
  std::vector<ArgumentSpec> list;
  const auto add = [&](std::string name, std::vector<std::string> extents, std::optional<DType> dtype, Fill fill,
                       bool by_expert) {
    ArgumentSpec w = in(name, std::move(extents)).fixed().when(dtype ? is_nvfp4 : dense).spec;
    w.dtype = dtype;
    if (by_expert) w.excluded = unchosen_experts(name);
    w.per_rank = holder == Holder::every_rank;
    if (w.per_rank)
      w.rank_fill = of_rank(std::move(fill));
    else
      w.fill = std::move(fill);
    list.push_back(std::move(w));
  };
  add("w13", {"experts", "2*inter", "hidden"}, std::nullopt, dense_weights(Matrix::w13), true);
  add("w2", {"experts", "hidden", "inter"}, std::nullopt, dense_weights(Matrix::w2), true);
  add("w13_weight", {"experts", "2*inter", "hidden_bytes"}, DType::u8, packed_weights(Matrix::w13), true);
  add("w2_weight", {"experts", "hidden", "inter_bytes"}, DType::u8, packed_weights(Matrix::w2), true);
  add("w13_weight_scale", {"experts", "w13_scale_rows", "w13_scale_cols"}, DType::u8, block_scales(Matrix::w13), true);
  add("w2_weight_scale", {"experts", "w2_scale_rows", "w2_scale_cols"}, DType::u8, block_scales(Matrix::w2), true);
  // One activation scale for all experts is a candidate's right: the scales of all experts must be sound.
  add("g1_alphas", {"experts"}, DType::f32, alphas(Matrix::w13), false);
  add("g2_alphas", {"experts"}, DType::f32, alphas(Matrix::w2), false);
  add("w13_input_scale_quant", {"experts"}, DType::f32, inverse_scales(Matrix::w13), false);
  add("w2_input_scale_quant", {"experts"}, DType::f32, inverse_scales(Matrix::w2), false);
  return list;
}

nvfp4::ScaleGrid w13_scales(const Case& c) { return {2 * c["inter"], c["hidden"] / nvfp4::group_size}; }
nvfp4::ScaleGrid w2_scales(const Case& c) { return {c["hidden"], c["inter"] / nvfp4::group_size}; }

void legal(Case& c) {
  // Under 64 channels, chance alone takes right four-bit activations below the cosine's floor.
  const auto whole_groups = [&](const char* dim) {
    c.dims[dim] = std::max<std::int64_t>(64, c[dim] / nvfp4::group_size * nvfp4::group_size);
  };
  if (is_nvfp4(c)) {
    whole_groups("hidden");
    whole_groups("inter");
    c.dims["top_k"] = std::min(c["top_k"], c["experts"]);  // its ids are distinct
    // The cosine of an output that is zero as a whole says nothing.
    if (c["tokens"] < 2 && c.recipe == "zero_row") c.recipe = "normal";
    if (c.recipe == "expert_tags") c.recipe = "expert_scales";
  }
  if (!is_nvfp4(c) || c["top_k"] < 2) c.knobs["shared"] = "no";
}

// Multiply-adds of the reference, with its magnitudes and its conversions, and the making of the weights.
double work(const Case& c) {
  const auto each = 3.0 * static_cast<double>(c["hidden"] * c["inter"]);
  return static_cast<double>(c.world) * each * static_cast<double>(3 * c["tokens"] * c["top_k"] + 12 * c["experts"]);
}

WeightFacts facts(const Case& c) {
  WeightFacts f;
  f.form = is_nvfp4(c) ? "nvfp4_layer" : "dense";
  f.num_experts = c["experts"];
  f.hidden_size = c["hidden"];
  f.intermediate = c["inter"];
  f.group_size = is_nvfp4(c) ? nvfp4::group_size : 0;
  f.top_k = c["top_k"];
  f.fused_shared_experts = has_shared(c) ? 1 : 0;
  f.tp_size = c.world;
  f.activation = is_m3(c) ? "swigluoai" : "silu";
  return f;
}

}  // namespace

Arguments<'i', 'i', 'i', 'p', 'o'> arguments() {
  return args(in("x", {"tokens", "hidden"}).filled(fill_x),
              in("topk_ids", {"tokens", "top_k"}).typed(DType::i32).filled(fill_ids),
              in("topk_weights", {"tokens", "top_k"}).typed(DType::f32).filled(fill_routing_weights),
              prepared("prepared"), out("out", {"tokens", "hidden"}));
}

SlotParts expert_slot(Holder holder) {
  return {.dims = {{"tokens", 0, 4096, {0, 1, 2, 3, 7, 8, 33, 255, 256, 257, 513}, true},
                   {"experts", 1, 256, {1, 2, 3, 8, 32, 129, 160}},
                   {"hidden", 1, 8192, {1, 2, 7, 16, 17, 32, 65, 160, 176, 320, 384, 6144}},
                   {"inter", 1, 4096, {1, 2, 7, 16, 17, 32, 65, 80, 160, 192, 768}},
                   {"top_k", 1, 16, {1, 2, 5, 8}}},
          .knobs = {{"profile", {"generic", "m3_dense", "m3_nvfp4"}},
                    {"routing", {"random", "skew_one", "spread", "holes"}},
                    {"shared", {"no", "yes"}}},
          .legal = legal,
          .sizes = {{"hidden_bytes", [](const Case& c) { return c["hidden"] / 2; }},
                    {"inter_bytes", [](const Case& c) { return c["inter"] / 2; }},
                    {"w13_scale_rows", [](const Case& c) { return w13_scales(c).padded_rows(); }},
                    {"w13_scale_cols", [](const Case& c) { return w13_scales(c).padded_cols(); }},
                    {"w2_scale_rows", [](const Case& c) { return w2_scales(c).padded_rows(); }},
                    {"w2_scale_cols", [](const Case& c) { return w2_scales(c).padded_cols(); }}},
          // Four-bit activations measure a cosine of 0.988 to 0.996; a wrong global scale shows in the norm alone.
          .comparator_by_case = [](const Case& c) -> Comparator {
            if (is_nvfp4(c)) return {.mode = Mode::cosine, .floor = 0.985, .max_norm_error = 0.10};
            return {.mode = Mode::matched_ratio, .floor = 0.97};
          },
          .groups = {{"row", std::nullopt}},
          .accumulation = [](const Case& c) { return static_cast<double>(c["hidden"] + c["inter"]) + 8.0; },
          .work = work,
          .recipes = recipes(),
          .relations = {{.dim = "tokens", .inputs = {"x", "topk_ids", "topk_weights"}, .outputs = {"out"}},
                        {.form = RelationSpec::Form::change,
                         .rule = "relation.index_order",
                         .name = "a token's experts in another order",
                         .change = reorder_places},
                        {.form = RelationSpec::Form::change,
                         .rule = "relation.linearity",
                         .name = "routing weights doubled",
                         .change = double_routing_weights,
                         .factor = 2.0}},
          .paired = {{"quant", "dense"}, {"model", ""}},
          .weights = weights(holder),
          .weight_facts = facts};
}

void describe_experts(const Case& c, DescriptorFacts& d) {
  d.numbers = {{"num_tokens", c["tokens"]},      {"hidden_dim", c["hidden"]},   {"last_dim", c["hidden"]},
               {"intermediate_dim", c["inter"]}, {"num_experts", c["experts"]}, {"top_k", c["top_k"]}};
  d.words = {{"quant", is_nvfp4(c) ? "nvfp4" : "dense"}};
  if (is_m3(c)) d.words["model"] = "MiniMax-M3";
}

std::map<std::string, std::int64_t> sizes(std::int64_t m, std::int64_t e, std::int64_t h, std::int64_t i,
                                          std::int64_t k) {
  return {{"tokens", m}, {"experts", e}, {"hidden", h}, {"inter", i}, {"top_k", k}};
}
std::map<std::string, std::string> under(const char* profile, const char* routing, const char* shared) {
  return {{"profile", profile}, {"routing", routing}, {"shared", shared}};
}

}  // namespace assay::moe
