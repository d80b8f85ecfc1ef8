// The slot's reference: plain loops in float64. A slot with more arithmetic would take libtorch here.
#include <assay/reference.hpp>
#include <cmath>
#include <numbers>

void gelu_reference(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  const assay::Tensor x = assay::to_f64(call.inputs.at("x"));  // exact, and contiguous whatever the strides are
  assay::Extents shape = x.view().shape;
  const std::int64_t d = shape.back() /= 2;
  const assay::Tensor expected(shape, assay::DType::f64), magnitude(shape, assay::DType::f64);
  for (std::int64_t i = 0; i < expected.size(); ++i) {
    const double *row = x.values<double>().data() + i / d * 2 * d, g = row[i % d], up = row[d + i % d];
    // 0.5 (1 + tanh(u)) is 1 / (1 + exp(-2u)), which keeps its digits where u is far below 0.
    const double u = std::sqrt(2 / std::numbers::pi) * (g + 0.044715 * g * g * g);
    expected.values<double>()[i] = g / (1 + std::exp(-2 * u)) * up;
    magnitude.values<double>()[i] = std::fabs(expected.values<double>()[i]);
  }
  result.outputs = {{expected, magnitude}};
}
