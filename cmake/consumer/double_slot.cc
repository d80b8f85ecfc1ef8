// What is demanded of consumer.double: its shapes, values and float64 reference. Every generic rule applies to it.
#include <assay/slot.hpp>
#include <cmath>

#include "double.hpp"

namespace {

void twice(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  const assay::TensorView& x = call.inputs.at("x");
  const assay::Tensor expected(x.shape, assay::DType::f64), magnitude(x.shape, assay::DType::f64);
  for (std::int64_t row = 0; row < x.shape[0]; ++row)
    for (std::int64_t i = 0; i < x.shape[1]; ++i) {
      const double value = 2 * assay::value_at(x.data, x.dtype, x.offset({row, i}));
      expected.view().at<double>({row, i}) = value;
      magnitude.view().at<double>({row, i}) = std::fabs(value);
    }
  result.outputs = {{expected, magnitude}};
}

const assay::SlotRow double_slot = assay::slot<double_fn>(
    args(assay::in("x", {"rows", "n"}).strided(16), assay::out("out", {"rows", "n"}).strided(16).aligned(16)),
    {.id = "consumer.double",
     .summary = "out = 2 x",
     .dims = {{"rows", 0, 64, {0, 1, 2, 7}}, {"n", 1, 512, {1, 3, 8, 65}}},
     .groups = {{"row", std::nullopt}},
     .reference = twice,
     .accumulation = [](const assay::Case&) { return 2.0; },
     .recipes = {{"normal", assay::Recipe::normal}, {"tag", assay::Recipe::tag}, {"zeros", assay::Recipe::zeros}},
     .relations = {{assay::RelationSpec::Form::rows, "rows", {"x"}, {"out"}}},
     .descriptor =
         [](const assay::Case& c, assay::DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["rows"]}};
         }});

}  // namespace
