#include "harness/tensor/fill.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>
#include <string>

#include "harness/tensor/traverse.hpp"

namespace assay {
namespace {

struct RecipeRow {
  Recipe recipe;
  std::string_view name;
};

constexpr std::array<RecipeRow, 16> recipes = {{{Recipe::normal, "normal"},
                                                {Recipe::tag, "tag"},
                                                {Recipe::spike, "spike"},
                                                {Recipe::zero_row, "zero_row"},
                                                {Recipe::zeros, "zeros"},
                                                {Recipe::constant, "constant"},
                                                {Recipe::one_hot, "one_hot"},
                                                {Recipe::denormal, "denormal"},
                                                {Recipe::large, "large"},
                                                {Recipe::cancellation, "cancellation"},
                                                {Recipe::sorted, "sorted"},
                                                {Recipe::clustered, "clustered"},
                                                {Recipe::ties, "ties"},
                                                {Recipe::negative_zero, "negative_zero"},
                                                {Recipe::gate_extreme, "gate_extreme"},
                                                {Recipe::row_scale, "row_scale"}}};

bool draws_words(Recipe recipe) {
  return recipe != Recipe::tag && recipe != Recipe::zeros && recipe != Recipe::constant && recipe != Recipe::one_hot &&
         recipe != Recipe::sorted;
}

// A few kilobytes, so that values go from the generator to the rounding through the first cache level.
constexpr std::int64_t chunk_cells = 1024;
using Chunk = std::array<float, chunk_cells>;

// Columns [first, first + count) of a row; first is a multiple of four, as is the chunk's capacity.
template <Recipe R>
void generate(Chunk& chunk, FillPlan plan, const fill::Row& row, std::int64_t r, std::int64_t first, std::int64_t count,
              std::int64_t cols) {
  plan.recipe = R;  // a constant here: the switch over recipes folds away
  for (std::int64_t c = 0; c < count; c += 4) {
    PhiloxBlock block{};
    if (draws_words(R)) block = fill::draw(plan.key, fill::Stream::cell, r, (first + c) >> 2);
    for (std::int64_t lane = 0; lane < 4; ++lane)
      chunk[static_cast<std::size_t>(c + lane)] = fill::cell_of(plan, row, block.word[lane], r, first + c + lane, cols);
  }
}

using Generate = void (*)(Chunk&, FillPlan, const fill::Row&, std::int64_t, std::int64_t, std::int64_t, std::int64_t);

template <std::size_t... I>
constexpr std::array<Generate, sizeof...(I)> generators(std::index_sequence<I...>) {
  return {generate<static_cast<Recipe>(I)>...};
}

template <class T, class Round>
void store(void* data, std::int64_t offset, std::int64_t step, std::int64_t count, const Chunk& chunk, Round round) {
  T* to = static_cast<T*>(data) + offset;
  for (std::int64_t c = 0; c < count; ++c) to[c * step] = round(chunk[static_cast<std::size_t>(c)]);
}

void store_chunk(const TensorView& host, std::int64_t offset, std::int64_t step, std::int64_t count,
                 const Chunk& chunk) {
  switch (host.dtype) {
    case DType::f32:
      return store<float>(host.data, offset, step, count, chunk, [](float v) { return v; });
    case DType::f16:
      return store<std::uint16_t>(host.data, offset, step, count, chunk, half::to_f16);
    case DType::bf16:
      return store<std::uint16_t>(host.data, offset, step, count, chunk, half::to_bf16);
    default:
      for (std::int64_t c = 0; c < count; ++c)
        store_value(host.data, host.dtype, offset + c * step, static_cast<double>(chunk[static_cast<std::size_t>(c)]));
  }
}

}  // namespace

std::span<const Recipe> all_recipes() noexcept {
  static constexpr auto list = [] {
    std::array<Recipe, recipes.size()> all{};
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = recipes[i].recipe;
    return all;
  }();
  return list;
}

std::string_view name_of(Recipe recipe) noexcept { return recipes[static_cast<std::size_t>(recipe)].name; }

Recipe recipe_from(std::string_view name) {
  for (const RecipeRow& row : recipes)
    if (row.name == name) return row.recipe;
  throw std::invalid_argument("unknown recipe '" + std::string(name) + "'");
}

void fill_tensor(const TensorView& host, const FillPlan& plan) {
  if (host.device != DeviceType::host) throw std::invalid_argument("fill_tensor writes host tensors only");
  if (!(plan.scale > 0.0) || !std::isfinite(plan.scale)) throw std::invalid_argument("a fill's scale is positive");
  static constexpr auto table = generators(std::make_index_sequence<recipes.size()>{});
  const Generate generate_chunk = table[static_cast<std::size_t>(plan.recipe)];
  const std::int64_t cols = host.shape.empty() ? 1 : host.shape.back();
  const std::int64_t step = host.shape.empty() ? 1 : host.strides.back();
  const std::int64_t rows = cols == 0 ? 0 : host.size() / cols;
  Chunk chunk;
  for_each_row(host.shape, host.strides, [&](std::int64_t row, std::int64_t offset) {
    const fill::Row shared = fill::row_of(plan, row, rows, cols);
    for (std::int64_t first = 0; first < cols; first += chunk_cells) {
      const std::int64_t count = std::min(chunk_cells, cols - first);
      generate_chunk(chunk, plan, shared, row, first, count, cols);
      store_chunk(host, offset + first * step, step, count, chunk);
    }
  });
}

}  // namespace assay
