#include "harness/compare/structure.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>

#include "harness/compare/bound.hpp"
#include "harness/compare/values.hpp"

namespace assay {
namespace {

constexpr std::size_t most_faults = 16;
constexpr double tail_probability = 1e-9;

struct Sums {
  std::int64_t cells = 0, misses = 0;
  double error2 = 0, expected2 = 0;

  [[nodiscard]] double relative() const {
    if (error2 == 0.0) return 0.0;
    return expected2 == 0.0 ? std::numeric_limits<double>::infinity() : std::sqrt(error2 / expected2);
  }
};

std::vector<Sums> sum_groups(const Grouping& grouping, const StructureInput& in) {
  const Values actual(in.actual), expected(in.expected), magnitude(in.magnitude);
  const std::span<const double> a = actual.span(), e = expected.span(), m = magnitude.span();
  const double u = unit_roundoff(in.output), eta = underflow_bound(in.output);
  std::vector<Sums> groups(static_cast<std::size_t>(grouping.count));
  for (std::size_t i = 0; i < e.size(); ++i) {
    const std::size_t g = grouping.of_cell.empty()
                              ? static_cast<std::size_t>(static_cast<std::int64_t>(i) / grouping.inner % grouping.count)
                              : grouping.of_cell[i];
    Sums& sums = groups.at(g);
    const double error = std::fabs(a[i] - e[i]);
    ++sums.cells;
    if (!(error <= std::max(in.tolerance.atol + in.tolerance.rtol * std::fabs(e[i]), in.explained * m[i]))) ++sums.misses;
    const double excess =
        std::isnan(error) ? std::numeric_limits<double>::infinity() : std::max(0.0, error - eta - 2 * u * m[i]);
    sums.error2 += excess * excess;
    sums.expected2 += e[i] * e[i];
  }
  return groups;
}

// The lower median, so that of two groups the worse one is measured against the better.
double median_error(const std::vector<Sums>& groups) {
  std::vector<double> errors;
  for (const Sums& g : groups)
    if (g.cells > 0) errors.push_back(g.relative());
  if (errors.empty()) return 0.0;
  const auto middle = errors.begin() + static_cast<std::ptrdiff_t>((errors.size() - 1) / 2);
  std::nth_element(errors.begin(), middle, errors.end());
  return *middle;
}

std::string describe(const Grouping& grouping, const GroupFault& fault) {
  char line[200];
  const auto group = static_cast<std::size_t>(fault.group);
  std::string text =
      group < grouping.labels.size() ? grouping.labels[group] : grouping.name + " " + std::to_string(fault.group);
  text += ": ";
  if (fault.misses > fault.allowed) {
    std::snprintf(line, sizeof line, "%lld of %lld cells miss, %lld allowed", static_cast<long long>(fault.misses),
                  static_cast<long long>(fault.cells), static_cast<long long>(fault.allowed));
    text += line;
  }
  if (fault.error > fault.limit) {
    std::snprintf(line, sizeof line, "%srelative L2 error %.3g over %.3g", fault.misses > fault.allowed ? "; " : "",
                  fault.error, fault.limit);
    text += line;
  }
  return text;
}

double log_probability(std::int64_t n, std::int64_t k, double p) {
  const auto N = static_cast<double>(n), K = static_cast<double>(k);
  return std::lgamma(N + 1) - std::lgamma(K + 1) - std::lgamma(N - K + 1) + K * std::log(p) + (N - K) * std::log1p(-p);
}

}  // namespace

Grouping group_rows(const Extents& shape) {
  Grouping result;
  result.name = "row";
  result.inner = shape.empty() ? 1 : std::max<std::int64_t>(1, shape.back());
  result.count = shape.empty() ? 1 : element_count(Extents(shape.begin(), shape.end() - 1));
  return result;
}

Grouping group_dim(std::string name, const Extents& shape, std::size_t dim) {
  if (dim >= shape.size()) throw std::invalid_argument("a grouping's dim is one of the output's");
  Grouping result;
  result.name = std::move(name);
  result.count = shape[dim];
  for (std::size_t d = dim + 1; d < shape.size(); ++d) result.inner *= std::max<std::int64_t>(1, shape[d]);
  return result;
}

Grouping group_column_tail(const Extents& shape, std::int64_t width) {
  Grouping result;
  result.labels = {"columns before the tail", "column tail"};
  const std::int64_t cols = shape.empty() ? 1 : shape.back();
  const bool tail = width > 0 && cols % width != 0 && cols > width;
  result.count = tail ? 2 : 1;
  if (!tail) return result;
  result.of_cell.resize(static_cast<std::size_t>(element_count(shape)));
  for (std::size_t i = 0; i < result.of_cell.size(); ++i)
    result.of_cell[i] = static_cast<std::int64_t>(i) % cols >= cols - cols % width ? 1 : 0;
  return result;
}

std::int64_t allowed_misses(std::int64_t n, double floor) {
  const double p = 1.0 - floor;
  if (n <= 0 || p <= 0.0) return 0;
  if (p >= 1.0) return n;
  // Up from the mean until the terms no longer count, then down while the tail stays under the limit.
  auto k = static_cast<std::int64_t>(static_cast<double>(n) * p);
  while (k < n && log_probability(n, k, p) > std::log(tail_probability) - 30.0) ++k;
  double tail = 0.0;
  for (; k > 0; --k) {
    tail += std::exp(log_probability(n, k, p));
    if (tail > tail_probability) return k;
  }
  return 0;
}

StructureReport test_groups(const Grouping& grouping, const StructureInput& in) {
  if (in.actual.shape != in.expected.shape || in.magnitude.shape != in.expected.shape)
    throw std::invalid_argument("group test of tensors of different shapes");
  const std::int64_t cells = in.expected.size();
  StructureReport report;
  report.passed = true;
  if (cells == 0) return report;
  if (grouping.count <= 0 || grouping.inner <= 0 ||
      (!grouping.of_cell.empty() && static_cast<std::int64_t>(grouping.of_cell.size()) != cells))
    throw std::invalid_argument("a grouping names a group for every cell");
  const std::vector<Sums> groups = sum_groups(grouping, in);
  const double limit = std::max(4 * in.tolerance.rtol, 6 * median_error(groups));
  std::map<std::int64_t, std::int64_t> allowed;  // most groups are of one size
  for (std::size_t g = 0; g < groups.size(); ++g) {
    const Sums& sums = groups[g];
    auto [entry, fresh] = allowed.try_emplace(sums.cells, 0);
    if (fresh) entry->second = allowed_misses(sums.cells, in.floor);
    const double error = sums.relative();
    if (sums.misses <= entry->second && !(error > limit)) continue;
    ++report.failed;
    report.worst.push_back({static_cast<std::int64_t>(g), sums.cells, sums.misses, entry->second, error, limit});
  }
  if (report.failed == 0) return report;
  report.passed = false;
  std::stable_sort(report.worst.begin(), report.worst.end(), [](const GroupFault& x, const GroupFault& y) {
    const std::int64_t dx = x.misses - x.allowed, dy = y.misses - y.allowed;
    return dx != dy ? dx > dy : x.error > y.error;
  });
  if (report.worst.size() > most_faults) report.worst.resize(most_faults);
  report.reason = describe(grouping, report.worst.front());
  if (report.failed > 1) report.reason += "; " + std::to_string(report.failed) + " groups fail in all";
  return report;
}

}  // namespace assay
