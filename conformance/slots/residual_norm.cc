#include "conformance/slots/residual_norm.hpp"

#include "conformance/slots/partials.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr double kScale = 0.1, kDominance = 100.0;

}  // namespace

std::vector<RecipeSpec> residual_norm_recipes() {
  std::vector<RecipeSpec> list = partial_recipes();
  list.push_back({"residual_dominant", Recipe::normal, kScale});
  return list;
}

bool fill_residual(const Case& c, std::uint64_t key, const TensorView& view) {
  if (c.recipe != "residual_dominant") return false;
  fill_tensor(view, {.dtype = view.dtype, .key = key, .scale = kScale});
  const std::int64_t width = view.shape.back(), rows = width == 0 ? 0 : view.size() / width;
  const std::uint64_t draw = derive_key(key, "dominant rows");
  for (std::int64_t row = 0; row < rows; ++row) {
    if ((static_cast<std::uint64_t>(row) + draw) % 4 != 0) continue;
    for (std::int64_t i = row * width; i < (row + 1) * width; ++i)
      store_value(view.data, view.dtype, i, kDominance * value_at(view.data, view.dtype, i));
  }
  return true;
}

bool fill_norm_weight(const Case& c, std::uint64_t key, const TensorView& view) {
  if (c.recipe == "tag") return false;
  for (std::int64_t i = 0; i < view.size(); ++i) {
    const double unit = static_cast<double>(mix64(key + static_cast<std::uint64_t>(i)) >> 11) * 0x1p-53;
    store_value(view.data, view.dtype, i, 0.75 + 0.5 * unit);
  }
  return true;
}

RelationSpec signs_changed(std::vector<std::string> inputs) {
  RelationSpec relation;
  relation.form = RelationSpec::Form::change;
  relation.rule = "relation.linearity";
  relation.name = "signs changed";
  relation.factor = -1.0;  // not bitwise: what cancels is +0 either way
  relation.change = [inputs = std::move(inputs)](const Case&, std::uint64_t,
                                                 std::map<std::string, TensorView>& values) {
    for (const std::string& name : inputs) {
      const TensorView& v = values.at(name);
      for (std::int64_t i = 0; i < v.size(); ++i) store_value(v.data, v.dtype, i, -value_at(v.data, v.dtype, i));
    }
    return true;
  };
  return relation;
}

}  // namespace assay
