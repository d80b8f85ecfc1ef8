// attended.hpp: what a query has gathered from the keys it attended, for the faults of the attention slots.
//
// Promises: softmax online, in float64 or in float, whatever the logits; a query without a key gathers zeros. Up to 256
// columns.
// Who uses it: sdpa.hpp, decode.hpp, and faults that split or merge what they attend.
#pragma once

#include "kernels/faulty/faulty.hpp"

namespace faulty {

constexpr int64_t max_columns = 256;

// <x[x_row], y[y_row]>
inline double dot(const Grid& x, int64_t x_row, const Grid& y, int64_t y_row, int64_t columns) {
  const int64_t from = x.at(x_row, 0), to = y.at(y_row, 0);
  double sum = 0;
  for (int64_t d = 0; d < columns; ++d) sum += x.load(from + d * x.rows.step) * y.load(to + d * y.rows.step);
  return sum;
}

template <class Real>
struct Gathered {
  Real maximum = -__builtin_inf(), sum = 0, values[max_columns] = {};

  void scale(Real factor, int64_t columns) {
    sum *= factor;
    for (int64_t d = 0; d < columns; ++d) values[d] *= factor;
  }
  void add(Real logit, const Grid& v, int64_t row, int64_t columns) {
    if (logit > maximum) {
      scale(exp(maximum - logit), columns);
      maximum = logit;
    }
    const Real weight = exp(logit - maximum);
    sum += weight;
    const int64_t from = v.at(row, 0);
    for (int64_t d = 0; d < columns; ++d) values[d] += weight * static_cast<Real>(v.load(from + d * v.rows.step));
  }
  void merge(const Gathered& other, int64_t columns) {
    if (!(other.sum > 0)) return;
    const Real highest = other.maximum > maximum ? other.maximum : maximum;
    scale(exp(maximum - highest), columns);
    const Real weight = exp(other.maximum - highest);
    maximum = highest;
    sum += weight * other.sum;
    for (int64_t d = 0; d < columns; ++d) values[d] += weight * other.values[d];
  }
  [[nodiscard]] double result(int64_t column) const { return sum > 0 ? values[column] / sum : 0; }

 private:
  static Real exp(Real x) { return sizeof(Real) == 4 ? __builtin_expf(x) : __builtin_exp(x); }
};
using Attended = Gathered<double>;

}  // namespace faulty
