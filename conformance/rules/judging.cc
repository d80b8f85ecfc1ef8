#include "conformance/rules/judging.hpp"

#include <cmath>
#include <cstring>
#include <sstream>

#include "harness/compare/output.hpp"
#include "harness/tensor/cells.hpp"

namespace assay::judging {
namespace {

std::string number(double value) {
  std::ostringstream text;
  text.precision(6);
  text << value;
  return text.str();
}

Judgement describe(const Comparison& comparison, const OutputSeen& out, const std::string& label, Reason reason) {
  Judgement j = fail(reason, out.spec->name + ": " + comparison.reason, label);
  j.pattern = comparison.pattern;
  for (const WrongCell& cell : comparison.worst)
    j.worst.push_back({out.spec->name + describe_index(out.actual.view().shape, cell.cell), cell.actual, cell.expected,
                       cell.bound});
  return j;
}

// Slots keep expected values under 0.9 of the output's largest finite one; a case that does not is the slot's defect.
std::optional<Judgement> out_of_range(const Tensor& expected, const OutputSeen& out) {
  const DType dtype = out.actual.view().dtype;
  if (!is_float(dtype)) return std::nullopt;
  const double largest = dtype == DType::f16 ? 65504.0 : dtype == DType::bf16 ? 3.3895313892515355e38 : 3.4028234663852886e38;
  for (const double e : expected.values<double>())
    if (std::isfinite(e) && std::abs(e) > 0.9 * largest) {
      Judgement j;
      j.verdict = Verdict::no_decision;
      j.reason = Reason::harness;
      j.text = "the case expects " + number(e) + ", beyond what " + std::string(name_of(dtype)) +
               " outputs hold safely: the slot's recipe is too large";
      return j;
    }
  return std::nullopt;
}

}  // namespace

std::optional<Judgement> mismatch(const Observation& seen, const CallSeen& call, Reason reason) {
  if (!call.reference || call.outputs.empty()) return std::nullopt;
  const DType run = call.c.dtype;
  const Tolerance tolerance = tolerance_for(run);
  if (!call.compared) {
    auto compared = std::make_shared<std::vector<Comparison>>();
    for (std::size_t i = 0; i < std::min(call.outputs.size(), call.reference->outputs.size()); ++i)
      compared->push_back(
          compare_output(seen.slot->comparing(call.c), run, call.outputs[i].actual.view(), call.reference->outputs[i]));
    call.compared = std::move(compared);
  }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    const OutputSeen& out = call.outputs[i];
    if (i >= call.reference->outputs.size()) break;
    const Comparison& c = (*call.compared)[i];
    if (c.fault == CaseFault::expected_not_finite) {
      Judgement j;
      j.verdict = Verdict::no_decision;
      j.reason = Reason::harness;
      j.text = "the reference is not finite: " + c.reason;
      return j;
    }
    if (c.passed || c.fault != CaseFault::none) continue;
    if (auto defect = out_of_range(call.reference->outputs[i].expected, out)) return defect;
    Judgement j = describe(c, out, call.label, reason);
    const Comparator mode = seen.slot->comparing(call.c);
    if (!grades_selections(mode.mode) && mode.mode != Mode::cosine)
      j.bound = "|actual - expected| <= " + number(tolerance.atol) + " + " + number(tolerance.rtol) +
                " * |expected|, the tolerance of " + std::string(name_of(run)) + " runs; ";
    j.bound += std::string(name_of(mode.mode)) + ", floor " + number(mode.floor);
    if (mode.max_norm_error > 0) j.bound += ", norms within " + number(mode.max_norm_error);
    return j;
  }
  return std::nullopt;
}

std::optional<Judgement> any_mismatch(const Observation& seen, Reason reason) {
  for (const CallSeen& call : seen.calls)
    if (auto found = mismatch(seen, call, reason)) return found;
  return std::nullopt;
}

std::string bitwise_difference(const Tensor& a, const Tensor& b) {
  const TensorView &x = a.view(), &y = b.view();
  if (x.shape != y.shape || x.dtype != y.dtype) return "another shape";
  const std::size_t size = size_of(x.dtype);
  const auto* p = static_cast<const std::byte*>(x.data);
  const auto* q = static_cast<const std::byte*>(y.data);
  if (std::memcmp(p, q, static_cast<std::size_t>(x.size()) * size) == 0) return {};
  std::vector<std::int64_t> cells;
  std::int64_t total = 0;
  for (std::int64_t i = 0; i < x.size(); ++i)
    if (std::memcmp(p + static_cast<std::size_t>(i) * size, q + static_cast<std::size_t>(i) * size, size) != 0) {
      ++total;
      if (cells.size() < most_described_cells) cells.push_back(i);
    }
  return std::to_string(total) + " cells differ, " + describe_cells(x.shape, cells, total) + "; first " +
         describe_index(x.shape, cells.front()) + ": " + number(value_at(p, x.dtype, cells.front())) + " and " +
         number(value_at(q, x.dtype, cells.front()));
}

std::optional<Judgement> differ(const Observation& seen, const OutputSeen& a, const Tensor& b, Reason reason,
                                const std::string& label, bool exact) {
  if (exact && seen.variant.deterministic()) {
    if (auto text = bitwise_difference(a.actual, b); !text.empty())
      return fail(reason, a.spec->name + ": " + text + " (the variant says DETERMINISTIC: bitwise)", label);
    return std::nullopt;
  }
  const Comparator mode = seen.slot->comparing(seen.trial.part.cases[0]);
  if (grades_selections(mode.mode)) return std::nullopt;  // near ties may fall either way: the reference decides
  const Tensor other = to_f64(b.view());
  // Two right results may lie on opposite sides of the expected value.
  Tolerance twice = tolerance_for(seen.trial.part.cases[0].dtype);
  twice.atol *= 2;
  twice.rtol *= 2;
  const Comparison c = compare(mode, twice, a.actual.view(), other.view());
  if (c.passed || c.fault == CaseFault::vacuous) return std::nullopt;
  if (c.fault == CaseFault::expected_not_finite) return fail(reason, a.spec->name + ": not finite", label);
  return describe(c, a, label, reason);
}

bool beyond_tolerance(const Tensor& actual, const Tensor& expected, DType run) {
  const Tolerance tolerance = tolerance_for(run);
  const TensorView& a = actual.view();
  const auto e = expected.values<double>();
  for (std::int64_t i = 0; i < a.size(); ++i) {
    const double want = e[static_cast<std::size_t>(i)];
    if (!(std::abs(value_at(a.data, a.dtype, i) - want) <= tolerance.atol + tolerance.rtol * std::abs(want))) return true;
  }
  return false;
}

std::optional<Judgement> written(const InputSeen& in, const std::string& what, const std::string& label) {
  if (!in.changed) return std::nullopt;
  return fail(Reason::input_changed,
              std::to_string(in.changed) + " bytes of the " + what + " " + in.spec->name + " changed, the first at " + in.text,
              label);
}

std::optional<Judgement> unwritten(const CallSeen& call) {
  for (const OutputSeen& out : call.outputs) {
    if (!out.poison.count) continue;
    Judgement j = fail(Reason::unwritten,
                       std::to_string(out.poison.count) + " of " + std::to_string(out.actual.size()) + " cells of " +
                           out.spec->name + " still hold what the output was poisoned with",
                       call.label);
    j.pattern = describe_cells(out.actual.view().shape, out.poison.cells, out.poison.count);
    return j;
  }
  return std::nullopt;
}

Tensor rows_of(const Tensor& tensor, std::int64_t outer, std::int64_t rows, const std::vector<std::int64_t>& which) {
  const std::int64_t each = rows && outer ? tensor.size() / rows / outer : 0;
  const auto count = static_cast<std::int64_t>(which.size());
  Tensor taken({outer, count, each}, tensor.view().dtype);
  const std::size_t bytes = static_cast<std::size_t>(each) * size_of(tensor.view().dtype);
  for (std::int64_t o = 0; o < outer; ++o)
    for (std::int64_t i = 0; i < count; ++i)
      std::memcpy(static_cast<std::byte*>(taken.view().data) + static_cast<std::size_t>(o * count + i) * bytes,
                  static_cast<const std::byte*>(tensor.view().data) +
                      static_cast<std::size_t>(o * rows + which[static_cast<std::size_t>(i)]) * bytes,
                  bytes);
  return taken;
}

bool informative(const Observation& seen) {
  for (const CallSeen& call : seen.calls)
    if (call.informative && call.reference) return true;
  return false;
}

}  // namespace assay::judging
