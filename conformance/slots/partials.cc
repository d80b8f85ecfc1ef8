#include "conformance/slots/partials.hpp"

#include <cmath>

#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr double kScale = 0.1;                    // of base values
constexpr double kLarge = 1e4, kLargeFp16 = 500;  // sums of 16 ranks stay finite

void base_values(std::uint64_t key, int rank, const TensorView& view, Recipe recipe = Recipe::normal) {
  fill_tensor(view, {.recipe = recipe, .dtype = view.dtype, .key = rank_key(key, rank), .scale = kScale});
}

void negative_zeros(const TensorView& view) {
  for (std::int64_t i = 0; i < view.size(); ++i) store_value(view.data, view.dtype, i, -0.0);
}

}  // namespace

bool fill_partials(const Case& c, int rank, std::uint64_t key, const TensorView& view) {
  if (c.recipe == "negative_zero") {
    const auto silent = static_cast<int>(derive_key(key, "silent rank") % static_cast<std::uint64_t>(c.world));
    if (rank == silent && c.world > 1)
      negative_zeros(view);
    else
      base_values(key, rank, view, Recipe::negative_zero);
    return true;
  }
  if (c.recipe == "cancellation") {
    base_values(key, rank, view);
    if (rank != 1) return true;
    Tensor first(view.shape, view.dtype);
    base_values(key, 0, first.view());
    for (std::int64_t i = 0; i < view.size(); ++i)
      store_value(view.data, view.dtype, i,
                  value_at(view.data, view.dtype, i) - value_at(first.view().data, view.dtype, i));
    return true;
  }
  if (c.recipe == "large" || c.recipe == "spike" || c.recipe == "tag") {
    const bool large = c.recipe == "large";
    const Recipe recipe = large ? Recipe::large : c.recipe == "spike" ? Recipe::spike : Recipe::tag;
    const double scale = !large ? 1 : view.dtype == DType::f16 ? kLargeFp16 : kLarge;
    FillPlan plan{.recipe = recipe, .dtype = view.dtype, .key = rank_key(key, rank), .scale = scale};
    if (recipe == Recipe::tag) plan.parameter = rank;
    fill_tensor(view, plan);
    // A cell's sign is every rank's: where large partials cancel, a sum of the run's dtype, which is a right one, has
    // no digit left.
    for (std::int64_t i = 0; i < view.size(); ++i)
      store_value(view.data, view.dtype, i,
                  std::copysign(value_at(view.data, view.dtype, i),
                                mix64(key + static_cast<std::uint64_t>(i)) % 2 ? 1.0 : -1.0));
    return true;
  }
  if (c.recipe == "rank_digits") {
    for (std::int64_t i = 0; i < view.size(); ++i)
      store_value(view.data, view.dtype, i,
                  static_cast<double>((1 << (rank % 8)) * (1 + mix64(key + static_cast<std::uint64_t>(i)) % 3)));
    return true;
  }
  return false;
}

std::vector<RecipeSpec> partial_recipes() {
  return {{"normal", Recipe::normal, kScale},
          {"tag", Recipe::tag},
          {"negative_zero", Recipe::negative_zero, kScale},
          {"cancellation", Recipe::normal, kScale},
          {"rank_digits", Recipe::normal},
          {"zeros", Recipe::zeros},
          {"constant", Recipe::constant},
          {"one_hot", Recipe::one_hot},
          {"denormal", Recipe::denormal},
          {"spike", Recipe::spike},
          {"sorted", Recipe::sorted},
          {"ties", Recipe::ties},
          {"large", Recipe::large, kLarge, kLargeFp16},
          {"small", Recipe::large, 1e-3}};
}

RelationSpec partials_doubled(std::vector<std::string> inputs) {
  RelationSpec relation;
  relation.form = RelationSpec::Form::change;
  // Twice a subnormal may be rounded otherwise, and twice the largest values leave the dtype.
  relation.holds = [](const Case& c) { return c.recipe != "denormal" && c.recipe != "large"; };
  relation.rule = "relation.linearity";
  relation.name = "partials doubled";
  relation.factor = 2.0;
  relation.exact = true;
  relation.change = [inputs = std::move(inputs)](const Case&, std::uint64_t,
                                                 std::map<std::string, TensorView>& values) {
    for (const std::string& name : inputs) {
      const TensorView& v = values.at(name);
      for (std::int64_t i = 0; i < v.size(); ++i) store_value(v.data, v.dtype, i, 2.0 * value_at(v.data, v.dtype, i));
    }
    return true;
  };
  return relation;
}

}  // namespace assay
