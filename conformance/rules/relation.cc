// relation.*: metamorphic properties, without a tolerance to hide in where the variant is deterministic.
#include "conformance/rules/judging.hpp"

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
    part.actual = judging::rows_of(part.actual, static_cast<std::int64_t>(call.rows.size()), here);
    const Tensor same = judging::rows_of(base.outputs[i].actual, base_rows, there);
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

Judgement repeatable(const Observation& seen) {
  if (seen.calls.size() < 2) return not_applicable();
  for (std::size_t k = 1; k < seen.calls.size(); ++k)
    for (std::size_t i = 0; i < seen.calls[k].outputs.size(); ++i)
      if (auto text = judging::bitwise_difference(seen.calls[0].outputs[i].actual, seen.calls[k].outputs[i].actual);
          !text.empty())
        return fail(Reason::not_repeatable, "the same call gave other bytes: " + text, seen.calls[k].label);
  return pass(seen.calls[0].outputs.front().actual.size() > 0);
}

const RuleRow rows[] = {
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
};

}  // namespace
}  // namespace assay
