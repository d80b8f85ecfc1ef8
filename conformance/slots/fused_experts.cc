// moe.fused_experts: out[m] = sum over k of topk_weights[m,k] * w2[e] . act(w13[e] . x[m]), e = topk_ids[m,k]
// (spec/slots.md 5.7, 6, 7).
#include "reference/fused_experts.hpp"

#include "assay/slot.hpp"
#include "conformance/slots/moe_values.hpp"
#include "harness/tensor/nvfp4.hpp"

namespace assay {
namespace {

using moe::Matrix;

bool dense(const Case& c) { return !moe::is_nvfp4(c); }

std::vector<ArgumentSpec> weights() {
  return {
      in("w13", {"experts", "2*inter", "hidden"})
          .fixed()
          .when(dense)
          .filled(moe::dense_weights(Matrix::w13))
          .excludes(moe::unchosen_experts("w13"))
          .spec,
      in("w2", {"experts", "hidden", "inter"})
          .fixed()
          .when(dense)
          .filled(moe::dense_weights(Matrix::w2))
          .excludes(moe::unchosen_experts("w2"))
          .spec,
      in("w13_weight", {"experts", "2*inter", "hidden_bytes"})
          .typed(DType::u8)
          .fixed()
          .when(moe::is_nvfp4)
          .filled(moe::packed_weights(Matrix::w13))
          .excludes(moe::unchosen_experts("w13_weight"))
          .spec,
      in("w2_weight", {"experts", "hidden", "inter_bytes"})
          .typed(DType::u8)
          .fixed()
          .when(moe::is_nvfp4)
          .filled(moe::packed_weights(Matrix::w2))
          .excludes(moe::unchosen_experts("w2_weight"))
          .spec,
      in("w13_weight_scale", {"experts", "w13_scale_rows", "w13_scale_cols"})
          .typed(DType::u8)
          .fixed()
          .when(moe::is_nvfp4)
          .filled(moe::block_scales(Matrix::w13))
          .excludes(moe::unchosen_experts("w13_weight_scale"))
          .spec,
      in("w2_weight_scale", {"experts", "w2_scale_rows", "w2_scale_cols"})
          .typed(DType::u8)
          .fixed()
          .when(moe::is_nvfp4)
          .filled(moe::block_scales(Matrix::w2))
          .excludes(moe::unchosen_experts("w2_weight_scale"))
          .spec,
      // One activation scale for all experts is a candidate's right: the scales of all experts must be sound.
      in("g1_alphas", {"experts"}).typed(DType::f32).fixed().when(moe::is_nvfp4).filled(moe::alphas(Matrix::w13)).spec,
      in("g2_alphas", {"experts"}).typed(DType::f32).fixed().when(moe::is_nvfp4).filled(moe::alphas(Matrix::w2)).spec,
      in("w13_input_scale_quant", {"experts"})
          .typed(DType::f32)
          .fixed()
          .when(moe::is_nvfp4)
          .filled(moe::inverse_scales(Matrix::w13))
          .spec,
      in("w2_input_scale_quant", {"experts"})
          .typed(DType::f32)
          .fixed()
          .when(moe::is_nvfp4)
          .filled(moe::inverse_scales(Matrix::w2))
          .spec};
}

nvfp4::ScaleGrid w13_scales(const Case& c) { return {2 * c["inter"], c["hidden"] / nvfp4::group_size}; }
nvfp4::ScaleGrid w2_scales(const Case& c) { return {c["hidden"], c["inter"] / nvfp4::group_size}; }

void legal(Case& c) {
  // Under 64 channels, chance alone takes right four-bit activations below the cosine's floor.
  const auto whole_groups = [&](const char* dim) {
    c.dims[dim] = std::max<std::int64_t>(64, c[dim] / nvfp4::group_size * nvfp4::group_size);
  };
  if (moe::is_nvfp4(c)) {
    whole_groups("hidden");
    whole_groups("inter");
    c.dims["top_k"] = std::min(c["top_k"], c["experts"]);  // its ids are distinct
    // The cosine of an output that is zero as a whole says nothing.
    if (c["tokens"] < 2 && c.recipe == "zero_row") c.recipe = "normal";
    if (c.recipe == "expert_tags") c.recipe = "expert_scales";
  }
  if (!moe::is_nvfp4(c) || c["top_k"] < 2) c.knobs["shared"] = "no";
}

// Multiply-adds of the reference, with its magnitudes and its conversions, and the making of the weights.
double work(const Case& c) {
  const auto each = 3.0 * static_cast<double>(c["hidden"] * c["inter"]);
  return each * static_cast<double>(3 * c["tokens"] * c["top_k"] + 12 * c["experts"]);
}

void describe_call(const Case& c, DescriptorFacts& d) {
  d.numbers = {{"num_tokens", c["tokens"]},      {"hidden_dim", c["hidden"]},   {"last_dim", c["hidden"]},
               {"intermediate_dim", c["inter"]}, {"num_experts", c["experts"]}, {"top_k", c["top_k"]}};
  d.words = {{"quant", moe::is_nvfp4(c) ? "nvfp4" : "dense"}, {"layout", "routed_moe"}};
  if (moe::is_m3(c)) d.words["model"] = "MiniMax-M3";
}

WeightFacts facts(const Case& c) {
  WeightFacts f;
  f.form = moe::is_nvfp4(c) ? "nvfp4_layer" : "dense";
  f.num_experts = c["experts"];
  f.hidden_size = c["hidden"];
  f.intermediate = c["inter"];
  f.group_size = moe::is_nvfp4(c) ? nvfp4::group_size : 0;
  f.top_k = c["top_k"];
  f.fused_shared_experts = moe::has_shared(c) ? 1 : 0;
  f.activation = moe::is_m3(c) ? "swigluoai" : "silu";
  return f;
}

std::map<std::string, std::int64_t> sizes(std::int64_t m, std::int64_t e, std::int64_t h, std::int64_t i,
                                          std::int64_t k) {
  return {{"tokens", m}, {"experts", e}, {"hidden", h}, {"inter", i}, {"top_k", k}};
}
std::map<std::string, std::string> under(const char* profile, const char* routing = "random",
                                         const char* shared = "no") {
  return {{"profile", profile}, {"routing", routing}, {"shared", shared}};
}

std::vector<PinSpec> pins() {
  std::vector<PinSpec> list = {
      {sizes(4, 8, 256, 128, 2)},
      {sizes(1, 8, 256, 128, 2), Tier::full},
      {sizes(8, 4, 384, 192, 1), Tier::full},
      // Counts at the blocks of 256 that a routing kernel works by, few experts and more than 128 (FAULT-016).
      {sizes(255, 8, 16, 8, 2), Tier::quick, under("generic", "skew_one")},
      {sizes(257, 8, 8, 8, 1), Tier::quick, {}, "expert_tags"},
      {sizes(513, 160, 16, 8, 2)},
      // Experts without tokens first, last and side by side; all tokens on one (FAULT-017).
      {sizes(24, 8, 32, 16, 1), Tier::quick, under("generic", "holes")},
      {sizes(22, 8, 32, 16, 1), Tier::quick, under("generic", "skew_one"), "expert_scales"},
      {sizes(4, 8, 256, 128, 2), Tier::quick, under("m3_dense"), "activation"},
      {sizes(4, 8, 256, 128, 2), Tier::full, under("m3_nvfp4")},
      {sizes(4, 8, 256, 128, 2), Tier::quick, under("m3_nvfp4"), "activation"},
      {sizes(8, 4, 384, 192, 1), Tier::full, under("m3_nvfp4"), "activation"},
      {sizes(6, 9, 128, 64, 5), Tier::quick, under("m3_nvfp4", "random", "yes"), "activation"},
      {sizes(65, 2, 64, 64, 1), Tier::quick, under("m3_nvfp4")},  // one row is less than the cosine sees
      // 160 rows of scales where 256 are stored, one token an expert (FAULT-018).
      {sizes(3, 3, 176, 80, 1), Tier::quick, under("m3_nvfp4", "spread"), "expert_scales"},
      {sizes(256, 8, 16, 8, 2), Tier::full, {}, "tag"},
      {sizes(512, 160, 16, 8, 1), Tier::full, under("generic", "skew_one")},
      {sizes(256, 8, 256, 128, 2), Tier::full},
      {sizes(256, 8, 256, 128, 2), Tier::full, under("generic", "skew_one")},
  };
  for (const auto& compact : {sizes(16, 32, 512, 256, 4), sizes(33, 16, 320, 160, 4)}) {
    list.push_back({compact, Tier::full});
    for (const char* profile : {"m3_dense", "m3_nvfp4"})
      for (const char* recipe : {"normal", "activation"}) list.push_back({compact, Tier::full, under(profile), recipe});
  }
  // One layer of the model on one of four ranks; 1 GB of weights.
  for (const std::int64_t tokens : {1, 8, 32})
    list.push_back({sizes(tokens, 129, 6144, 768, 5), Tier::gate, under("m3_nvfp4", "random", "yes"), "activation"});
  list.push_back({sizes(32, 129, 6144, 768, 5), Tier::gate, under("m3_nvfp4", "random", "yes")});
  return list;
}

}  // namespace

static const SlotRow fused_experts = slot<&assay_entry::fused_experts>(
    args(in("x", {"tokens", "hidden"}).filled(moe::fill_x),
         in("topk_ids", {"tokens", "top_k"}).typed(DType::i32).filled(moe::fill_ids),
         in("topk_weights", {"tokens", "top_k"}).typed(DType::f32).filled(moe::fill_routing_weights),
         prepared("prepared"), out("out", {"tokens", "hidden"})),
    {.id = "moe.fused_experts",
     .kind = Kind::block,
     .summary = "routed experts: out (M,H) = sum over k of weight * w2[e] . act(w13[e] . x), dense or NVFP4",
     .dims = {{"tokens", 0, 4096, {0, 1, 2, 3, 7, 8, 33, 255, 256, 257, 513}, true},
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
       if (moe::is_nvfp4(c)) return {.mode = Mode::cosine, .floor = 0.985, .max_norm_error = 0.10};
       return {.mode = Mode::matched_ratio, .floor = 0.97};
     },
     .groups = {{"row", std::nullopt}},
     .reference = reference::fused_experts,
     .accumulation = [](const Case& c) { return static_cast<double>(c["hidden"] + c["inter"]) + 8.0; },
     .work = work,
     .recipes = moe::recipes(),
     .relations = {{.dim = "tokens", .inputs = {"x", "topk_ids", "topk_weights"}, .outputs = {"out"}},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.index_order",
                    .name = "a token's experts in another order",
                    .change = moe::reorder_places},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.linearity",
                    .name = "routing weights doubled",
                    .change = moe::double_routing_weights,
                    .factor = 2.0}},
     .descriptor = describe_call,
     .pins = pins(),
     .paired = {{"quant", "dense"}, {"model", ""}},
     .weights = weights(),
     .weight_facts = facts});

}  // namespace assay
