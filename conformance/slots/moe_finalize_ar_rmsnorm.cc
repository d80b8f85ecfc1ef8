// collective.moe_finalize_ar_rmsnorm: each rank's share of the routed rows, summed over places and ranks, + residual,
// and its RMS norm (spec/slots.md 5.11). Tokens past the residual's exist in gemm_out, row_map and scales only.
#include "reference/moe_finalize_ar_rmsnorm.hpp"

#include <algorithm>
#include <numeric>
#include <span>

#include "assay/slot.hpp"
#include "conformance/slots/partials.hpp"
#include "conformance/slots/residual_norm.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

using Ranges = std::vector<std::pair<std::int64_t, std::int64_t>>;

template <class Cell>
std::span<Cell> cells(const TensorView& view) {
  return {static_cast<Cell*>(view.data), static_cast<std::size_t>(view.size())};
}

// One place of 256 among places of 0.75, of rows that are all about 1: a sum that is rounded to 16 bits term by term
// loses the small ones (FAULT-028).
bool fill_rows(const Case& c, int rank, std::uint64_t key, const TensorView& view) {
  if (c.recipe != "absorption") return fill_partials(c, rank, key, view);
  fill_tensor(view, {.dtype = view.dtype, .key = rank_key(key, rank), .scale = 1.0 / 64});
  for (std::int64_t i = 0; i < view.size(); ++i)
    store_value(view.data, view.dtype, i, 1.0 + value_at(view.data, view.dtype, i));
  return true;
}

bool fill_row_map(const Case&, std::uint64_t key, const TensorView& view) {
  const auto map = cells<std::int32_t>(view);
  std::iota(map.begin(), map.end(), 0);
  for (std::size_t i = map.size(); i > 1; --i) std::swap(map[i - 1], map[mix64(key + i) % i]);
  return true;
}

bool fill_scales(const Case& c, std::uint64_t key, const TensorView& view) {
  const auto scales = cells<float>(view);
  const auto places = static_cast<std::size_t>(c["top_k"]);
  for (std::size_t i = 0; i < scales.size(); ++i) {
    const std::uint64_t word = mix64(key + i);
    const double unit = static_cast<double>(word >> 11) * 0x1p-53;
    scales[i] = static_cast<float>((unit + 0.1) / static_cast<double>(places));
    if (c.recipe == "absorption") scales[i] = i % places == mix64(key + i / places) % places ? 256.0F : 0.75F;
  }
  return true;
}

// Rows of the trimmed tokens, wherever the map has put them.
Ranges trimmed_rows(const Case& c, const ReferenceCall& call) {
  const auto map = cells<std::int32_t>(call.inputs.at("row_map"));
  Ranges ranges;
  for (std::int64_t k = 0; k < c["top_k"]; ++k)
    for (std::int64_t t = c["tokens"]; t < c["exp_tokens"]; ++t) {
      const std::int64_t row = map[static_cast<std::size_t>(t + k * c["exp_tokens"])];
      ranges.emplace_back(row * c["hidden"], (row + 1) * c["hidden"]);
    }
  return ranges;
}
Ranges trimmed_scales(const Case& c, const ReferenceCall&) {
  if (c["tokens"] == c["exp_tokens"]) return {};
  return {{c["tokens"] * c["top_k"], c["exp_tokens"] * c["top_k"]}};
}

void legal(Case& c) {
  c.dims["exp_tokens"] = std::max(c["exp_tokens"], c["tokens"]);
  // With one place there is nothing to absorb.
  if (c["top_k"] < 2 && c.recipe == "absorption") c.recipe = "normal";
}

// A token's places in another order, map and scales alike.
bool turn_places(const Case& c, std::uint64_t key, std::map<std::string, TensorView>& inputs) {
  const auto places = static_cast<std::size_t>(c["top_k"]), tokens = static_cast<std::size_t>(c["exp_tokens"]);
  if (places < 2) return false;
  const auto map = cells<std::int32_t>(inputs.at("row_map"));
  const auto scales = cells<float>(inputs.at("scales"));
  std::vector<std::int32_t> rows(places);
  for (std::size_t t = 0; t < tokens; ++t) {
    const std::size_t by = 1 + mix64(key + t) % (places - 1);
    for (std::size_t k = 0; k < places; ++k) rows[k] = map[t + (k + by) % places * tokens];
    for (std::size_t k = 0; k < places; ++k) map[t + k * tokens] = rows[k];
    const auto own = scales.subspan(t * places, places);
    std::rotate(own.begin(), own.begin() + static_cast<std::ptrdiff_t>(by), own.end());
  }
  return true;
}

// Rows of gemm_out elsewhere, and the map follows: the same sums in the same order.
bool move_rows(const Case& c, std::uint64_t, std::map<std::string, TensorView>& inputs) {
  const auto map = cells<std::int32_t>(inputs.at("row_map"));
  const TensorView& rows = inputs.at("gemm_out");
  if (map.size() < 2) return false;
  const std::size_t bytes = static_cast<std::size_t>(c["hidden"]) * size_of(rows.dtype);
  const std::span<std::byte> all(static_cast<std::byte*>(rows.data), bytes * map.size());
  std::rotate(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(bytes), all.end());
  const auto count = static_cast<std::int32_t>(map.size());
  for (std::int32_t& row : map) row = (row + count - 1) % count;
  return true;
}

std::vector<RecipeSpec> recipes() {
  std::vector<RecipeSpec> list = residual_norm_recipes();
  list.push_back({"absorption", Recipe::normal});
  return list;
}

std::map<std::string, std::int64_t> sizes(std::int64_t t, std::int64_t t_exp, std::int64_t k, std::int64_t h) {
  return {{"tokens", t}, {"exp_tokens", t_exp}, {"top_k", k}, {"hidden", h}};
}

}  // namespace

static const SlotRow moe_finalize_ar_rmsnorm = slot<&assay_entry::moe_finalize_ar_rmsnorm>(
    args(in("gemm_out", {"rows", "hidden"}).by_rank(fill_rows).excludes(trimmed_rows),
         in("row_map", {"rows"}).typed(DType::i32).filled(fill_row_map),
         in("scales", {"exp_tokens", "top_k"}).typed(DType::f32).filled(fill_scales).excludes(trimmed_scales),
         in("residual", {"tokens", "hidden"}).filled(fill_residual),
         in("weight", {"hidden"}).fixed().filled(fill_norm_weight), f64("eps", {1e-6, 1e-5, 0.25}),
         out("out_norm", {"tokens", "hidden"}), out("out_residual", {"tokens", "hidden"})),
    {.id = "collective.moe_finalize_ar_rmsnorm",
     .kind = Kind::collective,
     .summary =
         "routed rows (T_exp*K,H) by a K-major map, summed over places and ranks, + residual (T,H), and RMS norm",
     .dims = {{"tokens", 1, 256, {1, 2, 5, 6, 8, 47, 48, 64}, true},
              {"exp_tokens", 1, 256, {1, 2, 5, 8, 9, 16, 64}},
              {"top_k", 1, 64, {1, 2, 5, 8, 16}},
              {"hidden", 1, 8192, {1, 2, 3, 7, 8, 64, 136, 257, 512, 768, 4096, 6144}}},
     .legal = legal,
     .sizes = {{"rows", [](const Case& c) { return c["exp_tokens"] * c["top_k"]; }}},
     .comparator = {.mode = Mode::matched_ratio, .floor = 0.99},
     .groups = {{"row", std::nullopt}},
     .reference = reference::moe_finalize_ar_rmsnorm,
     .accumulation = [](const Case& c) { return static_cast<double>(c.world + c["top_k"] + c["hidden"]) + 8.0; },
     .sums_in_fp32 = true,
     .work =
         [](const Case& c) {
           return static_cast<double>((2 * c.world * c["top_k"] + 4) * c["tokens"] * c["hidden"]) +
                  static_cast<double>(c.world * c["exp_tokens"] * c["top_k"] * c["hidden"]);
         },
     .recipes = recipes(),
     .relations = {signs_changed({"gemm_out", "residual"}),
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.index_order",
                    .name = "a token's places in another order",
                    .change = turn_places},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.index_order",
                    .name = "rows elsewhere",
                    .change = move_rows,
                    .exact = true}},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["tokens"]}, {"exp_tokens", c["exp_tokens"]}, {"top_k", c["top_k"]},
                        {"hidden_dim", c["hidden"]}, {"last_dim", c["hidden"]},       {"ep_size", 1}};
           d.words = {{"layout", "row_major"}, {"quant", "dense"}};
         },
     .pins = {{sizes(6, 9, 1, 512)},
              {sizes(5, 5, 8, 768)},
              {sizes(8, 16, 5, 1024)},
              {sizes(1, 8, 5, 512)},
              {sizes(47, 64, 5, 64)},
              {sizes(48, 64, 5, 64)},
              {sizes(8, 9, 32, 64), Tier::quick, {}, "absorption"},
              {sizes(9, 12, 2, 64), Tier::quick, {}, "rank_digits"},
              {sizes(3, 7, 4, 136), Tier::quick, {}, "negative_zero"},
              {sizes(2, 3, 64, 64)},
              {sizes(8, 16, 5, 4096), Tier::full},
              {sizes(1, 8, 5, 6144), Tier::full},
              {sizes(47, 64, 5, 6144), Tier::full},
              {sizes(48, 64, 5, 6144), Tier::full},
              {sizes(64, 64, 5, 6144), Tier::full},
              {sizes(224, 256, 5, 6144), Tier::gate}}});

}  // namespace assay
