// number.*: agreement with the float64 reference.
#include <algorithm>
#include <cmath>
#include <limits>

#include "conformance/rules/judging.hpp"
#include "harness/compare/bound.hpp"
#include "harness/compare/output.hpp"
#include "harness/compare/selection_groups.hpp"
#include "harness/compare/structure.hpp"
#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

Judgement reference(const Observation& seen) {
  if (auto found = judging::any_mismatch(seen)) return *found;
  return pass(judging::informative(seen));
}

// Of a selection: blocks that the best choices hold and this one left out, by head and by block.
std::optional<Judgement> structured_selection(const Observation& seen, const CallSeen& call, const OutputSeen& out,
                                              const Expected& expected) {
  const SelectionReport report = test_selection(seen.slot->comparing(call.c), out.actual.view(), expected);
  if (report.passed) return std::nullopt;
  Judgement j = fail(Reason::structured, out.spec->name + ": " + report.reason, call.label);
  j.bound = "a head or block may be left out as often as chance explains at the slot's floor (1-1e-9 quantile)";
  return j;
}

std::vector<Grouping> groupings_of(const SlotSpec& slot, const Extents& shape, const Expected& expected) {
  std::vector<Grouping> list;
  for (const GroupSpec& group : slot.groups)
    if (!group.dim || *group.dim < shape.size())
      list.push_back(group.dim ? group_dim(group.name, shape, *group.dim) : group_rows(shape));
  for (const RowGroups& rows : expected.groups) {
    Grouping g;
    g.name = rows.name;
    g.count = rows.count;
    const std::int64_t columns = shape.empty() ? 1 : shape.back();
    for (const std::uint32_t of : rows.of_row) g.of_cell.insert(g.of_cell.end(), static_cast<std::size_t>(columns), of);
    list.push_back(std::move(g));
  }
  return list;
}

Judgement structured(const Observation& seen) {
  const Tolerance tolerance = tolerance_for(seen.trial.part.cases[0].dtype);
  for (const CallSeen& call : seen.calls) {
    if (!call.reference) continue;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const OutputSeen& out = call.outputs[i];
      if (out.actual.size() == 0) continue;
      const Expected& expected = call.reference->outputs[i];
      const Comparator mode = seen.slot->comparing(call.c);
      if (grades_selections(mode.mode)) {
        if (auto found = structured_selection(seen, call, out, expected)) return *found;
        continue;
      }
      for (const Grouping& grouping : groupings_of(*seen.slot, out.actual.view().shape, expected)) {
        StructureInput input;
        input.actual = out.actual.view();
        input.expected = expected.expected.view();
        input.magnitude = expected.magnitude.view();
        input.output = out.actual.view().dtype;
        // Four-bit arithmetic errs by a tenth of a group's norm whatever the run dtype: half of it is a group lost.
        input.tolerance = mode.mode == Mode::cosine ? Tolerance{0.0, 0.125} : tolerance;
        input.explained = mode.explained;
        input.floor = mode.mode == Mode::cosine ? 0.0 : mode.floor;
        const StructureReport report = test_groups(grouping, input);
        if (report.passed) continue;
        Judgement j = fail(Reason::structured, out.spec->name + ": " + report.reason, call.label);
        j.bound = "a group may miss as often as chance explains at the slot's floor (1-1e-9 quantile), and its relative "
                  "L2 error stays under 4 x rtol or 6 x the median group";
        return j;
      }
    }
  }
  return pass(judging::informative(seen));
}

Judgement bound(const Observation& seen) {
  for (const CallSeen& call : seen.calls) {
    const Mode mode = seen.slot->comparing(call.c).mode;
    if (!call.reference || grades_selections(mode) || mode == Mode::cosine) continue;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const OutputSeen& out = call.outputs[i];
      if (out.actual.size() == 0) continue;
      const BoundRule rule{out.actual.view().dtype, seen.slot->accumulation(call.c)};
      const Comparison c = compare_bound(rule, out.actual.view(), call.reference->outputs[i].expected.view(),
                                         call.reference->outputs[i].magnitude.view());
      if (c.passed || c.fault != CaseFault::none) continue;
      Judgement j = fail(Reason::bound, out.spec->name + ": " + c.reason, call.label);
      j.pattern = c.pattern;
      j.bound = "1.05 * (u*|expected| + eta + K*2^-23*magnitude): rounding the output once and accumulating in fp32 "
                "explain no more; K = " + std::to_string(static_cast<long long>(rule.k));
      for (const WrongCell& cell : c.worst)
        j.worst.push_back({out.spec->name + describe_index(out.actual.view().shape, cell.cell), cell.actual,
                           cell.expected, cell.bound});
      if (seen.slot->kind != Kind::op && !seen.slot->sums_in_fp32) {
        Judgement w = pass();
        w.warning = j.text;
        return w;
      }
      return j;
    }
  }
  return pass(judging::informative(seen));
}

Judgement finite(const Observation& seen) {
  bool any = false, floats = false;
  for (const CallSeen& call : seen.calls) {
    for (const OutputSeen& out : call.outputs) {
      const TensorView& v = out.actual.view();
      if (!is_float(v.dtype)) continue;
      floats = true;
      any = any || v.size() > 0;
      // A score sheet says "invisible" with -inf.
      const bool sheet = seen.slot->comparing(call.c).mode == Mode::topk_scores;
      for (std::int64_t i = 0; i < v.size(); ++i)
        if (const double value = value_at(v.data, v.dtype, i);
            !std::isfinite(value) && !(sheet && value == -std::numeric_limits<double>::infinity())) {
          Judgement j = fail(Reason::not_finite,
                             out.spec->name + describe_index(v.shape, i) + " is " + (std::isnan(value) ? "NaN" : "infinite") +
                                 " although every input is finite",
                             call.label);
          return j;
        }
    }
  }
  return floats || seen.calls.empty() ? pass(any) : not_applicable();
}

Judgement hard_values(const Observation& seen) {
  const std::string& recipe = seen.trial.part.cases[0].recipe;
  if (recipe == "normal" || recipe == "tag") return not_applicable();
  if (auto found = judging::any_mismatch(seen)) {
    found->text = "on " + recipe + " values: " + found->text;
    return *found;
  }
  return pass();
}

Judgement extremes(const Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  bool edge = c.far;
  for (const DimSpec& d : seen.slot->dims)
    edge = edge || c[d.name] == d.min || c[d.name] == d.max ||
           std::find(d.edges.begin(), d.edges.end(), c[d.name]) != d.edges.end();
  if (!edge) return not_applicable();
  if (auto found = judging::any_mismatch(seen)) return *found;
  return pass();
}

const RuleRow rows[] = {
    RuleRow{{.id = "number.reference",
             .sentence = "Every output agrees with the float64 reference under the slot's own comparator.",
             .how = "references in float64 from the inputs that the judge generated",
             .drives = {Drive::eager},
             .judge = reference}},
    RuleRow{{.id = "number.no_structured_error",
             .sentence = "No row, head, expert or page is wrong as a whole, even where a share of cells is forgiven.",
             .how = "misses and relative error of each structural group against chance and against the other groups",
             .drives = {Drive::eager},
             .judge = structured}},
    RuleRow{{.id = "number.bound",
             .sentence = "The error stays within what rounding the output and fp32 accumulation explain.",
             .how = "the reference's magnitude bounds what cancellation allows",
             .drives = {Drive::eager},
             .judge = bound}},
    RuleRow{{.id = "number.finite",
             .sentence = "Finite inputs in range give finite outputs.",
             .how = "every output cell of every call",
             .drives = {Drive::eager},
             .judge = finite}},
    RuleRow{{.id = "number.hard_values",
             .sentence = "Right on zeros, constants, one-hot, denormals, large magnitudes, cancellation, sorted, ties.",
             .how = "value recipes of the cases",
             .drives = {Drive::eager},
             .judge = hard_values}},
    RuleRow{{.id = "number.extremes",
             .sentence = "Right at dimension edges: 0, 1, primes, one beside each vector width and mode switch, far rows.",
             .how = "pinned and drawn edges of every dim; rows at a pitch over 2^31 elements",
             .drives = {Drive::eager},
             .judge = extremes}},
};

}  // namespace
}  // namespace assay
