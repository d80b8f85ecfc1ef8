// relation.*: metamorphic properties, without a tolerance to hide in where the variant is deterministic.
#include "conformance/rules/judging.hpp"
#include "harness/tensor/cells.hpp"

namespace assay {
namespace {

const RelationSpec* row_relation(const Observation& seen) {
  for (const RelationSpec& r : seen.slot->relations)
    if (r.form == RelationSpec::Form::rows) return &r;
  return nullptr;
}

bool row_output(const RelationSpec& relation, const OutputSeen& out) {
  for (const std::string& name : relation.outputs)
    if (name == out.spec->name) return true;
  return false;
}

// How often an output repeats all its rows: the extents before the rows' own.
std::int64_t outer_of(const RelationSpec& relation, const OutputSeen& out) {
  const auto& extents = out.spec->extents;
  const Extents& shape = out.actual.view().shape;
  std::int64_t outer = 1;
  for (std::size_t d = 0; d < extents.size() && shape.size() == extents.size() && extents[d] != relation.dim; ++d)
    outer *= shape[d];
  return outer;
}

// Compares the rows that a call shares with the base call.
std::optional<Judgement> shared_rows_differ(const Observation& seen, const CallSeen& call, Reason reason) {
  const RelationSpec& relation = *row_relation(seen);
  const CallSeen& base = seen.calls.front();
  const auto base_rows = base.c[relation.dim];
  std::vector<std::int64_t> here, there;
  for (std::size_t i = 0; i < call.rows.size(); ++i)
    if (call.rows[i] >= 0) {
      here.push_back(static_cast<std::int64_t>(i));
      there.push_back(call.rows[i]);
    }
  for (std::size_t i = 0; i < call.outputs.size(); ++i) {
    if (!row_output(relation, call.outputs[i])) continue;
    OutputSeen part = call.outputs[i];
    const std::int64_t outer = outer_of(relation, part);
    part.actual = judging::rows_of(part.actual, outer, static_cast<std::int64_t>(call.rows.size()), here);
    const Tensor same = judging::rows_of(base.outputs[i].actual, outer, base_rows, there);
    if (auto found = judging::differ(seen, part, same, reason, call.label)) return found;
  }
  return std::nullopt;
}

Judgement over_calls(const Observation& seen, const char* prefix, Reason reason) {
  if (!row_relation(seen)) return not_applicable();
  bool any = false;
  for (const CallSeen& call : seen.calls) {
    if (call.rows.empty() || call.label.rfind(prefix, 0) != 0) continue;
    any = true;
    if (auto found = shared_rows_differ(seen, call, reason)) return *found;
    if (auto found = judging::mismatch(seen, call, reason)) return *found;
  }
  return any ? pass(judging::informative(seen)) : not_applicable();
}

// The output as it should be after a known change: multiplied where the maths is homogeneous.
Tensor multiplied(const Tensor& tensor, double factor) {
  Tensor product(tensor.view().shape, tensor.view().dtype);
  const TensorView& v = tensor.view();
  for (std::int64_t i = 0; i < v.size(); ++i)
    store_value(product.view().data, v.dtype, i, factor * value_at(v.data, v.dtype, i));
  return product;
}

Judgement changed(const Observation& seen, std::string_view rule, Reason reason) {
  bool any = false;
  const CallSeen& base = seen.calls.front();
  for (const CallSeen& call : seen.calls) {
    if (!call.relation || call.relation->rule != rule) continue;
    any = true;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const Tensor due = call.relation->factor == 1.0 ? base.outputs[i].actual
                                                      : multiplied(base.outputs[i].actual, call.relation->factor);
      if (auto found = judging::differ(seen, call.outputs[i], due, reason, call.label, call.relation->exact)) {
        found->text = call.relation->name + ": " + found->text;
        return *found;
      }
    }
    if (auto found = judging::mismatch(seen, call, reason)) return *found;
  }
  return any ? pass(judging::informative(seen)) : not_applicable();
}

Judgement repeatable(const Observation& seen) {
  if (seen.calls.size() < 2) return not_applicable();
  for (std::size_t k = 1; k < seen.calls.size(); ++k)
    for (std::size_t i = 0; i < seen.calls[k].outputs.size(); ++i)
      if (auto text = judging::bitwise_difference(seen.calls[0].outputs[i].actual, seen.calls[k].outputs[i].actual);
          !text.empty())
        return fail(Reason::not_repeatable, "the same call gave other bytes: " + text, seen.calls[k].label);
  return pass(seen.calls[0].outputs.front().actual.size() > 0);
}

// Another order of the sum: rounding may differ, so that not even a deterministic variant owes the same bytes.
Judgement ranks_exchanged(const Observation& seen) {
  bool any = false;
  for (const CallSeen& call : seen.calls) {
    if (call.label != "ranks exchanged") continue;
    any = true;
    for (std::size_t i = 0; i < call.outputs.size(); ++i)
      if (auto found = judging::differ(seen, call.outputs[i], seen.calls.front().outputs[i].actual, Reason::rank_order,
                                       call.label, false)) {
        found->text = "ranks that exchange their inputs change the result: " + found->text;
        return *found;
      }
    if (auto found = judging::mismatch(seen, call, Reason::rank_order)) return *found;
  }
  return any ? pass(judging::informative(seen)) : not_applicable();
}

Judgement endurance(const Observation& seen) {
  for (const CallSeen& call : seen.calls) {
    if (auto found = judging::unwritten(call)) return *found;
    if (auto found = judging::mismatch(seen, call, Reason::not_repeatable)) return *found;
  }
  Judgement j = pass(seen.endured > 0);  // as right as the first: that the first is right, others show
  if (seen.cut_short) j.warning = "calls are slow: only " + std::to_string(seen.endured) + " were made";
  return j;
}

const RuleRow rows[] = {
    RuleRow{{.id = "relation.rank_permutation",
             .sentence = "Exchanging the ranks' inputs exchanges nothing but rounding.",
             .how = "every rank with the next one's inputs, against the base call's outputs, within the comparator",
             .drives = {Drive::variation},
             .kinds = {Kind::collective},
             .judge = ranks_exchanged}},
    RuleRow{{.id = "relation.endurance",
             .sentence = "After very many calls and replays in one process the next is as right as the first.",
             .how = "stretches of calls of drawn lengths, 4,096 in all in the quick tier and 32,768 in a gate where they "
                    "are cheap, in 10 s; after each, a call and a replay with fresh inputs and poison are judged",
             .drives = {Drive::endurance},
             .judge = endurance}},
    RuleRow{{.id = "relation.repeatable",
             .sentence = "A variant that says DETERMINISTIC gives the same bytes 8 times, under other load.",
             .how = "the same call beside other work on the device; on the host under other orders of blocks",
             .drives = {Drive::repeat_under_load},
             .needs_flags = ASSAY_DETERMINISTIC,
             .judge = repeatable}},
    RuleRow{{.id = "relation.row_independence",
             .sentence = "Permuting, dropping or changing other rows leaves a row's result the same.",
             .how = "a shorter batch in another order with strangers between; bitwise where deterministic",
             .drives = {Drive::variation},
             .judge = [](const Observation& seen) { return over_calls(seen, "other rows", Reason::row_dependence); }}},
    RuleRow{{.id = "relation.split",
             .sentence = "A batch split in two calls equals the one call.",
             .how = "the base call's rows in two calls; bitwise where deterministic",
             .drives = {Drive::variation},
             .judge = [](const Observation& seen) { return over_calls(seen, "split", Reason::split_differs); }}},
    RuleRow{{.id = "relation.page_permutation",
             .sentence = "Moving physical cache pages, with the table remapped, changes nothing.",
             .how = "the same logical values at other places of the pool; bitwise where deterministic",
             .drives = {Drive::variation},
             .kinds = {Kind::block},
             .judge =
                 [](const Observation& seen) {
                   return changed(seen, "relation.page_permutation", Reason::page_dependence);
                 }}},
    RuleRow{{.id = "relation.index_order",
             .sentence = "The order of selected blocks, of a token's experts, of heads that are summed does not matter.",
             .how = "indices and what belongs to them in another order, within the comparator",
             .drives = {Drive::variation},
             .kinds = {Kind::block, Kind::collective},
             .judge =
                 [](const Observation& seen) { return changed(seen, "relation.index_order", Reason::index_order); }}},
    RuleRow{{.id = "relation.linearity",
             .sentence = "Outputs scale with what they are linear in: values, routing weights, queries of a score.",
             .how = "one input doubled, the output against twice the base call's",
             .drives = {Drive::variation},
             .kinds = {Kind::block, Kind::collective},
             .judge = [](const Observation& seen) { return changed(seen, "relation.linearity", Reason::not_linear); }}},
};

}  // namespace
}  // namespace assay
