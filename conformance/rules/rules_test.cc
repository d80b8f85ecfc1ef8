// Every rule on forged observations: a right one passes with evidence, each misdeed fails with its reason, and an
// observation that proves nothing says so. A rule without all three fails EveryRuleIsForged.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <set>

#include "conformance/rules/forged_test.hpp"

namespace assay {
namespace {

using namespace forged;

struct Misdeed {
  const char* rule;
  Drive drive;
  Reason reason;
  Change change;
};

const std::vector<Misdeed>& misdeeds() {
  static const std::vector<Misdeed> list = {
      {"write.every_cell", Drive::eager, Reason::unwritten, unwritten(0)},
      {"write.every_cell", Drive::two_poisons, Reason::unwritten, unwritten(1)},
      {"write.every_cell", Drive::two_poisons, Reason::unwritten, nudged(1)},
      {"write.only_cells", Drive::eager, Reason::stray_write, stray(0)},
      {"write.only_cells", Drive::guard_pages, Reason::stray_write, stray(1)},
      {"write.only_cells", Drive::relocated, Reason::stray_write,
       [](Observation& seen) { seen.bystanders[0].outputs[0].canary.changed = 1; }},
      {"write.binding", Drive::eager, Reason::binding, [](Observation& seen) { seen.calls[0].binding = kStrides; }},
      {"write.binding", Drive::eager, Reason::binding,
       [](Observation& seen) { seen.calls[0].binding = kInputDescriptor; }},
      {"write.binding", Drive::capture_replay, Reason::binding,
       [](Observation& seen) { seen.calls[2].binding = kData | kShape; }},
      {"write.strides", Drive::eager, Reason::stray_write, stray(0)},
      {"write.strides", Drive::guard_pages, Reason::mismatch, wrong(1)},
      {"write.no_alias", Drive::relocated, Reason::aliasing, wrong(2)},
      {"write.no_alias", Drive::relocated, Reason::aliasing, unwritten(1)},
      {"write.no_return", Drive::eager, Reason::entry_failed, failed(Op::call, StepCode::entry_failed)},
      {"input.unchanged", Drive::eager, Reason::input_changed, input_written(0)},
      {"input.unchanged", Drive::capture_replay, Reason::input_changed, input_written(2)},
      {"input.unchanged", Drive::relocated, Reason::input_changed, input_written(1)},
      {"input.bounds", Drive::garbage, Reason::out_of_bounds, nudged(1)},
      {"input.bounds", Drive::garbage, Reason::out_of_bounds,
       [](Observation& seen) { wrong(0)(seen), wrong(1)(seen); }},
      {"input.bounds", Drive::guard_pages, Reason::out_of_bounds, wrong(0)},
      {"input.bounds", Drive::garbage, Reason::out_of_bounds, nudged(2)},  // NaN in what is excluded
      {"input.bounds", Drive::garbage, Reason::out_of_bounds, wrong(3)},
      {"input.strides", Drive::eager, Reason::mismatch, wrong(0)},
      {"input.scalars", Drive::variation, Reason::scalar_ignored, another_answer(4, 0)},
      {"input.not_retained", Drive::relocated, Reason::retained, wrong(2)},
      {"input.not_retained", Drive::relocated, Reason::retained, unwritten(2)},
      {"input.not_retained", Drive::relocated, Reason::retained,
       [](Observation& seen) { --seen.bystanders[0].outputs[0].poison.count; }},
      {"input.not_retained", Drive::relocated, Reason::retained,
       [](Observation& seen) { seen.bystanders[0].inputs[0].changed = 1; }},
      {"number.reference", Drive::eager, Reason::mismatch, wrong(0)},
      {"number.no_structured_error", Drive::eager, Reason::structured,
       [](Observation& seen) {
         for (int k = 0; k < 8; ++k) cell(seen, 0, 3, k) = 0;
       }},
      {"number.bound", Drive::eager, Reason::bound, [](Observation& seen) { cell(seen, 0) *= 1.0F + 6e-6F; }},
      {"number.finite", Drive::eager, Reason::not_finite,
       [](Observation& seen) { cell(seen, 0) = std::numeric_limits<float>::quiet_NaN(); }},
      {"number.finite", Drive::eager, Reason::not_finite,
       [](Observation& seen) { cell(seen, 0) = -std::numeric_limits<float>::infinity(); }},
      {"number.hard_values", Drive::eager, Reason::mismatch, wrong(0)},
      {"number.extremes", Drive::eager, Reason::mismatch, wrong(0)},
      {"relation.repeatable", Drive::repeat_under_load, Reason::not_repeatable, nudged(7)},
      {"relation.row_independence", Drive::variation, Reason::row_dependence, nudged(1, 1)},
      {"relation.row_independence", Drive::variation, Reason::row_dependence,
       [](Observation& seen) { cell(seen, 1, 2) += 1; }},  // a stranger's own row
      {"relation.split", Drive::variation, Reason::split_differs, nudged(2, 0)},
      {"relation.split", Drive::variation, Reason::split_differs, nudged(3, 3)},
      {"relation.page_permutation", Drive::variation, Reason::page_dependence, nudged(kFirstChangedCall)},
      {"relation.page_permutation", Drive::variation, Reason::page_dependence,
       [](Observation& seen) { wrong(0)(seen), wrong(kFirstChangedCall)(seen); }},  // wrong alike
      {"relation.index_order", Drive::variation, Reason::index_order, wrong(kFirstChangedCall + 1)},
      {"relation.rank_permutation", Drive::variation, Reason::rank_order, wrong(kFirstChangedCall + 3)},
      {"collective.reference", Drive::eager, Reason::mismatch,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::eager));
         wrong(0)(seen);
       }},
      {"collective.reference", Drive::eager, Reason::mismatch,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::eager));
         wrong(0)(seen.others[0]);
       }},
      {"collective.world_sizes", Drive::eager, Reason::world_size,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::eager));
         wrong(0)(seen.others[0]);
       }},
      {"collective.modes", Drive::burst, Reason::mode_switch, wrong(0)},
      {"collective.modes", Drive::burst, Reason::mode_switch, wrong(1)},
      {"collective.skew", Drive::burst, Reason::skewed, wrong(3)},
      {"collective.skew", Drive::burst, Reason::unwritten, unwritten(2)},
      {"collective.skew", Drive::burst, Reason::skewed, another_answer(3, 2)},  // an earlier call's
      {"collective.graph_skew", Drive::burst, Reason::graph_skewed, wrong(4)},
      {"collective.group_only", Drive::groups, Reason::wrong_group, wrong(3)},
      {"collective.group_only", Drive::groups, Reason::wrong_group, wrong(4)},
      {"collective.group_only", Drive::groups, Reason::wrong_group, wrong(5)},
      {"collective.replicated", Drive::groups, Reason::mixed_inputs, another_answer(1, 0)},
      {"collective.replicated", Drive::groups, Reason::mixed_inputs, another_answer(2, 1)},
      {"collective.abort_together", Drive::one_rank, Reason::fell_back,
       [](Observation& seen) { seen.loss.completed = {0}; }},
      {"collective.abort_together", Drive::one_rank, Reason::not_aborted,
       [](Observation& seen) { seen.loss.found = 0; }},
      {"collective.abort_together", Drive::one_rank, Reason::not_aborted, wrong(1)},
      {"collective.all_rank_selection", Drive::one_rank, Reason::rank_ineligible,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::one_rank));
         failed(Op::call, StepCode::entry_failed)(seen);
         seen.refusing = 1;
       }},
      {"collective.all_rank_selection", Drive::one_rank, Reason::entry_failed,  // all alike
       [](Observation& seen) {
         seen.others.push_back(right(Drive::one_rank));
         failed(Op::call, StepCode::entry_failed)(seen);
         seen.refusing = 2;
       }},
      {"collective.all_rank_selection", Drive::one_rank, Reason::rank_ineligible,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::one_rank));
         seen.others[0].calls.pop_back();
       }},
      {"relation.linearity", Drive::variation, Reason::not_linear, nudged(kFirstChangedCall + 2)},
      {"relation.linearity", Drive::variation, Reason::not_linear, another_answer(kFirstChangedCall + 2, 0)},
      {"relation.endurance", Drive::endurance, Reason::not_repeatable, wrong(1)},
      {"relation.endurance", Drive::endurance, Reason::unwritten, unwritten(2)},
      {"write.surroundings", Drive::eager, Reason::left_behind, surroundings(kEnvironment)},
      {"write.surroundings", Drive::eager, Reason::left_behind, surroundings(kSignalHandlers)},
      {"write.surroundings", Drive::guard_pages, Reason::left_behind, surroundings(kDirectory)},
      {"write.surroundings", Drive::capture_replay, Reason::left_behind, surroundings(kRounding)},
      {"write.surroundings", Drive::eager, Reason::left_behind, surroundings(kCache)},
      {"write.no_growth", Drive::endurance, Reason::growth,
       [](Observation& seen) {
         for (std::size_t i = 0; i < seen.held.size(); ++i) seen.held[i] += static_cast<std::int64_t>(i) * (2 << 20);
       }},
      {"prepare.once", Drive::prepared, Reason::prepared, wrong(0)},
      {"prepare.once", Drive::prepared, Reason::prepared, another_answer(1, 0)},
      {"prepare.isolated", Drive::prepared, Reason::not_isolated, another_answer(3, 2)},  // B's weights serve A
      {"prepare.isolated", Drive::prepared, Reason::not_isolated, wrong(4)},              // released with B
      {"prepare.raw_unchanged", Drive::eager, Reason::input_changed,
       [](Observation& seen) { seen.weights[1].changed = 4; }},
      {"prepare.raw_unchanged", Drive::prepared, Reason::input_changed,
       [](Observation& seen) { seen.weights[0].changed = 1; }},
      {"prepare.raw_unchanged", Drive::capture_replay, Reason::input_changed,
       [](Observation& seen) { seen.weights[0].changed = 1; }},
      {"prepare.bounded", Drive::prepared, Reason::left_behind, left(kEnvironment)},
      {"prepare.bounded", Drive::prepared, Reason::left_behind, left(kSignalHandlers)},
      {"prepare.bounded", Drive::prepared, Reason::left_behind, left(kDirectory)},
      {"prepare.bounded", Drive::prepared, Reason::left_behind, left(kThreads)},
      {"prepare.bounded", Drive::prepared, Reason::left_behind,
       [](Observation& seen) {
         for (PrepareSeen& p : seen.prepares) p.device_bytes = (4 << 20) + (64 << 20) + 1;
       }},
      {"prepare.bounded", Drive::prepared, Reason::left_behind,
       [](Observation& seen) {
         for (PrepareSeen& p : seen.prepares) p.host_bytes = 70 << 20;
       }},
      {"prepare.tagged_view", Drive::prepared, Reason::prepared, wrong(0)},
      {"graph.captures", Drive::capture_replay, Reason::capture_failed,
       failed(Op::end_capture, StepCode::capture_unjoined)},
      {"graph.captures", Drive::capture_replay, Reason::capture_failed, failed(Op::call, StepCode::capture_illegal)},
      {"graph.nothing_runs_at_capture", Drive::capture_replay, Reason::ran_at_capture,
       [](Observation& seen) { seen.ran_at_capture = "8 bytes of out changed"; }},
      {"graph.replay_rewrites", Drive::capture_replay, Reason::unwritten, unwritten(2)},
      {"graph.replay_rewrites", Drive::capture_replay, Reason::stray_write, stray(1)},
      {"graph.follows_inputs", Drive::capture_replay, Reason::baked, another_answer(1, 0)},
      {"graph.host_gone", Drive::capture_replay, Reason::host_memory, wrong(0)},
      {"graph.cold_first", Drive::capture_replay, Reason::cold, wrong(0)},
      {"graph.call_count", Drive::capture_replay, Reason::call_count, wrong(2)},
      {"graph.declared", Drive::capture_replay, Reason::ran_at_capture,
       [](Observation& seen) { seen.ran_at_capture = "8 bytes of out changed"; }},
      {"graph.declared", Drive::capture_replay, Reason::unwritten, unwritten(1)},
      {"graph.declared", Drive::capture_replay, Reason::baked, wrong(1)},
      {"graph.declared", Drive::capture_replay, Reason::capture_failed,
       failed(Op::end_capture, StepCode::capture_empty)},
      {"graph.order_free", Drive::interleaved_graphs, Reason::order_dependent, wrong(5)},
      {"graph.eager_after", Drive::interleaved_graphs, Reason::stale_eager, wrong(3)},
      {"graph.eager_after", Drive::interleaved_graphs, Reason::stale_eager, wrong(1)},
      {"graph.workspace_moves", Drive::regrow, Reason::workspace_moved, wrong(1)},
      {"graph.workspace_moves", Drive::regrow, Reason::workspace_moved,
       [](Observation& seen) { seen.bystanders[0].outputs[0].canary.changed = 1; }},
      {"graph.workspace_moves", Drive::regrow, Reason::workspace_moved,
       [](Observation& seen) { seen.bystanders[0].inputs[1].changed = 1; }},
      {"graph.no_growth", Drive::many_replays, Reason::growth,
       [](Observation& seen) {
         for (std::size_t i = 0; i < seen.usage.size(); ++i) seen.usage[i].bytes_used += i * (2u << 20);
       }},
      {"graph.no_growth", Drive::many_replays, Reason::growth, [](Observation& seen) { ++seen.usage.back().handles; }},
      {"receipt.fired", Drive::eager, Reason::never_executed,
       [](Observation& seen) { seen.receipts = receipts({ReceiptKind::active}); }},
      {"receipt.fired", Drive::eager, Reason::never_executed,  // called, and nothing came of it
       [](Observation& seen) { seen.receipts = receipts({ReceiptKind::active, ReceiptKind::fired}); }},
      {"receipt.fired", Drive::eager, Reason::fallback,
       [](Observation& seen) {
         seen.receipts = receipts(
             {ReceiptKind::active, ReceiptKind::fired, ReceiptKind::completed, ReceiptKind::fallback});
       }},
      {"receipt.bound", Drive::eager, Reason::unbound,
       [](Observation& seen) {
         auto book = *seen.receipts;
         book.refused.emplace_back("a receipt of rank 0 was refused: its seal is not this launch's");
         seen.receipts = std::make_shared<ReceiptBook>(book);
       }},
      {"stream.ordered", Drive::late_producer, Reason::late_write,
       [](Observation& seen) { seen.late_write = "8 bytes of out"; }},
      {"stream.ordered", Drive::late_producer, Reason::unordered, wrong(0)},
      {"route.domain", Drive::routed, Reason::mismatch, wrong(1)},
      {"route.domain", Drive::routed, Reason::unwritten, unwritten(5)},
      {"route.domain", Drive::routed, Reason::stock_disturbed, wrong(3)},
      {"route.domain", Drive::routed, Reason::misrouted, [](Observation& seen) { seen.routed[3].entries = {1}; }},
      {"route.closed", Drive::routed, Reason::stock_disturbed, wrong(2)},
      {"route.closed", Drive::routed, Reason::misrouted, [](Observation& seen) { seen.routed[2].entries = {2}; }},
      {"route.tuning_excluded", Drive::routed, Reason::stock_disturbed, wrong(0)},
      {"route.tuning_excluded", Drive::routed, Reason::mismatch, wrong(1)},
      {"route.tuning_excluded", Drive::routed, Reason::misrouted,
       [](Observation& seen) { seen.routed[0].entries = {1}; }},
      {"route.disjoint", Drive::routed, Reason::overlap,
       [](Observation& seen) { seen.variant.routing = routing({"forged", "another"}); }},
      {"collective.all_rank_selection", Drive::routed, Reason::stock_disturbed, wrong(4)},
      {"collective.all_rank_selection", Drive::routed, Reason::misrouted,
       [](Observation& seen) { seen.routed[4].entries = {1}; }},
      {"route.no_silent_retry", Drive::routed, Reason::entry_failed, failed(Op::call, StepCode::entry_failed)},
      {"stream.ordered", Drive::late_producer, Reason::unordered, unwritten(0)},
      {"stream.no_host_sync", Drive::held_stream, Reason::host_sync, failed(Op::call, StepCode::synchronised_held)},
      {"stream.no_host_sync", Drive::held_stream, Reason::unordered,
       [](Observation& seen) { seen.early_write = "8 bytes of out changed"; }},
      {"stream.concurrent", Drive::two_streams, Reason::concurrent, wrong(1)},
      {"stream.concurrent", Drive::two_streams, Reason::concurrent, unwritten(0)},
  };
  return list;
}

// ---- observations that prove nothing ----

void uninformative(Observation& seen) {
  for (CallSeen& call : seen.calls) call.informative = false;
}
void nothing(Observation& seen) { seen.calls.clear(); }
void not_captured(Observation& seen) { seen.captured = false, seen.calls.clear(); }
void without_cells(Observation& seen) {
  Case c = base_case();
  c.dims["rows"] = 0;
  seen = right(seen.trial.part.drive, c);
}
Change in_case(std::function<void(Case&)> change) {
  return [change = std::move(change)](Observation& seen) { change(seen.trial.part.cases[0]); };
}
void dense(Observation& seen) { seen.trial.part.cases[0].layouts.clear(); }
void without_changes(Observation& seen) { seen.calls.resize(kFirstChangedCall); }
const SlotSpec& dense_slot() {
  static const SlotSpec spec = [] {
    SlotSpec s = made_up_slot();
    s.weight_facts = [](const Case&) { return WeightFacts{}; };
    return s;
  }();
  return spec;
}

struct Empty {
  const char* rule;
  Drive drive;
  Verdict verdict;  // PASS without evidence, or NOT_APPLICABLE
  Change change;
};

const std::vector<Empty>& empties() {
  constexpr Verdict pass = Verdict::pass, no = Verdict::not_applicable;
  static const std::vector<Empty> list = {
      {"write.every_cell", Drive::two_poisons, pass, without_cells},
      {"write.only_cells", Drive::guard_pages, pass, without_cells},
      {"write.binding", Drive::eager, pass, nothing},
      {"write.binding", Drive::eager, no, failed(Op::call, StepCode::entry_failed)},
      {"write.strides", Drive::eager, pass, without_cells},
      {"write.strides", Drive::eager, no, dense},
      {"write.strides", Drive::eager, no, in_case([](Case& c) {
         c.layouts = {{"x", {4, 0}}};
       })},
      {"write.no_alias", Drive::relocated, pass, uninformative},
      {"write.no_return", Drive::eager, pass, nothing},
      {"input.unchanged", Drive::eager, pass, nothing},
      {"input.bounds", Drive::garbage, pass, uninformative},
      {"input.strides", Drive::eager, pass, uninformative},
      {"input.strides", Drive::eager, no, dense},
      {"input.strides", Drive::eager, no, in_case([](Case& c) {
         c.layouts = {{"out", {4, 0}}};
       })},
      {"input.scalars", Drive::variation, no, [](Observation& seen) { seen.calls[4].changed_scalar.clear(); }},
      {"input.scalars", Drive::variation, pass,  // the right answer did not move
       [](Observation& seen) {
         seen.calls[4] = right_call("eps changed");
         seen.calls[4].changed_scalar = "eps";
       }},
      {"input.not_retained", Drive::relocated, pass, uninformative},
      {"number.reference", Drive::eager, pass, uninformative},
      {"number.no_structured_error", Drive::eager, pass, uninformative},
      {"number.bound", Drive::eager, pass, uninformative},
      {"number.finite", Drive::eager, pass, without_cells},
      {"number.hard_values", Drive::eager, no, in_case([](Case& c) { c.recipe = "normal"; })},
      {"number.hard_values", Drive::eager, no, in_case([](Case& c) { c.recipe = "tag"; })},
      {"number.extremes", Drive::eager, no, in_case([](Case& c) {
         c.dims = {{"rows", 6}, {"width", 9}};
       })},
      {"relation.repeatable", Drive::repeat_under_load, no, [](Observation& seen) { seen.calls.resize(1); }},
      {"relation.repeatable", Drive::repeat_under_load, pass, without_cells},
      {"relation.row_independence", Drive::variation, no, [](Observation& seen) { seen.calls.resize(1); }},
      {"relation.row_independence", Drive::variation, pass, uninformative},
      {"relation.split", Drive::variation, no, [](Observation& seen) { seen.calls.resize(2); }},
      {"relation.split", Drive::variation, pass, uninformative},
      {"relation.page_permutation", Drive::variation, no, without_changes},
      {"relation.page_permutation", Drive::variation, pass, uninformative},
      {"relation.index_order", Drive::variation, no, without_changes},
      {"relation.rank_permutation", Drive::variation, no, without_changes},
      {"relation.rank_permutation", Drive::variation, pass, uninformative},
      {"collective.reference", Drive::eager, no, nothing},  // a group of one
      {"collective.reference", Drive::eager, pass,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::eager));
         uninformative(seen);
       }},
      {"collective.world_sizes", Drive::eager, no, nothing},
      {"collective.world_sizes", Drive::eager, pass,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::eager));
         uninformative(seen);
       }},
      {"collective.skew", Drive::burst, pass, uninformative},
      {"collective.modes", Drive::burst, pass, [](Observation& seen) { seen.calls.erase(seen.calls.begin() + 1); }},
      {"collective.graph_skew", Drive::burst, no, [](Observation& seen) { seen.calls.pop_back(); }},
      {"collective.group_only", Drive::groups, no, [](Observation& seen) { seen.calls.resize(3); }},
      {"collective.replicated", Drive::groups, no, [](Observation& seen) { seen.calls.resize(1); }},
      {"collective.abort_together", Drive::one_rank, no, [](Observation& seen) { seen.loss = {}; }},
      {"collective.all_rank_selection", Drive::one_rank, no, nothing},
      {"collective.all_rank_selection", Drive::one_rank, pass,
       [](Observation& seen) {
         seen.others.push_back(right(Drive::one_rank));
         uninformative(seen);
       }},
      {"relation.index_order", Drive::variation, pass, uninformative},
      {"relation.linearity", Drive::variation, no, without_changes},
      {"relation.linearity", Drive::variation, pass, uninformative},
      {"prepare.once", Drive::prepared, pass, uninformative},
      {"prepare.once", Drive::prepared, no, [](Observation& seen) { seen.prepares.clear(); }},
      {"prepare.isolated", Drive::prepared, pass, uninformative},
      {"relation.endurance", Drive::endurance, pass, [](Observation& seen) { seen.endured = 0; }},
      {"write.surroundings", Drive::eager, pass, nothing},
      {"write.no_growth", Drive::endurance, no, [](Observation& seen) { seen.held.clear(); }},
      {"prepare.isolated", Drive::prepared, no, nothing},
      {"prepare.raw_unchanged", Drive::prepared, no, [](Observation& seen) { seen.weights.clear(); }},
      {"prepare.bounded", Drive::prepared, no, [](Observation& seen) { seen.prepares.clear(); }},
      {"prepare.tagged_view", Drive::prepared, pass, uninformative},
      {"prepare.tagged_view", Drive::prepared, no, [](Observation& seen) { seen.slot = &dense_slot(); }},
      {"graph.captures", Drive::capture_replay, no, not_captured},
      {"graph.nothing_runs_at_capture", Drive::capture_replay, no, not_captured},
      {"graph.replay_rewrites", Drive::capture_replay, pass, nothing},
      {"graph.follows_inputs", Drive::capture_replay, pass, uninformative},
      {"graph.host_gone", Drive::capture_replay, no, nothing},
      {"graph.host_gone", Drive::capture_replay, pass, uninformative},
      {"graph.cold_first", Drive::capture_replay, no, nothing},
      {"graph.cold_first", Drive::capture_replay, pass, [](Observation& seen) { seen.calls[0].informative = false; }},
      {"graph.call_count", Drive::capture_replay, no, nothing},
      {"graph.declared", Drive::capture_replay, no, not_captured},
      {"graph.declared", Drive::capture_replay, pass, uninformative},
      {"graph.order_free", Drive::interleaved_graphs, no, nothing},
      {"graph.eager_after", Drive::interleaved_graphs, no, nothing},
      {"graph.workspace_moves", Drive::regrow, pass, uninformative},
      {"graph.no_growth", Drive::many_replays, no, [](Observation& seen) { seen.usage.clear(); }},
      {"receipt.fired", Drive::eager, no,
       [](Observation& seen) { without_cells(seen), seen.receipts = receipts({ReceiptKind::active}); }},
      {"receipt.bound", Drive::eager, pass,
       [](Observation& seen) { seen.receipts = receipts({ReceiptKind::active}); }},
      {"route.domain", Drive::routed, pass, uninformative},
      {"route.domain", Drive::routed, no, [](Observation& seen) { seen.routed.clear(); }},
      {"route.domain", Drive::routed, no,  // two variants accept the calls: route.disjoint's
       [](Observation& seen) { seen.variant.routing = routing({"forged", "another"}); }},
      {"route.closed", Drive::routed, no, [](Observation& seen) { seen.routed.resize(2); }},
      {"route.tuning_excluded", Drive::routed, pass, [](Observation& seen) { seen.routed.resize(1); }},
      {"route.tuning_excluded", Drive::routed, no, [](Observation& seen) { seen.routed.clear(); }},
      {"route.disjoint", Drive::routed, no, [](Observation& seen) { seen.routed.resize(1); }},
      {"collective.all_rank_selection", Drive::routed, no, [](Observation& seen) { seen.routed.resize(4); }},
      {"route.no_silent_retry", Drive::routed, no, [](Observation& seen) { seen.routed.resize(1); }},
      {"stream.ordered", Drive::late_producer, pass, uninformative},
      {"stream.no_host_sync", Drive::held_stream, pass, nothing},
      {"stream.concurrent", Drive::two_streams, pass, uninformative},
  };
  return list;
}

TEST(Rules, ARightObservationPassesEveryRuleThatReadsItWithEvidence) {
  for (const RuleSpec* rule : rule_catalogue())
    for (const Drive drive : rule->drives) {
      Observation seen = right(drive);
      if (rule->across_ranks) seen.others.push_back(right(drive));
      const Judgement j = judge(*rule, seen);
      EXPECT_EQ(name_of(j.verdict), "PASS") << rule->id << " on " << name_of(drive) << ": " << said(j);
      EXPECT_TRUE(j.evidence) << rule->id << " on " << name_of(drive);
      EXPECT_TRUE(j.warning.empty()) << j.warning;
    }
}

TEST(Rules, EachMisdeedFailsItsRuleWithItsReason) {
  for (const Misdeed& m : misdeeds()) {
    const RuleSpec* rule = find_rule(m.rule);
    ASSERT_NE(rule, nullptr) << m.rule;
    Observation seen = right(m.drive);
    m.change(seen);
    const Judgement j = judge(*rule, seen);
    EXPECT_EQ(name_of(j.verdict), "FAIL") << m.rule << " on " << name_of(m.drive) << ": " << said(j);
    EXPECT_EQ(name_of(j.reason), name_of(m.reason)) << m.rule << " on " << name_of(m.drive) << ": " << said(j);
    EXPECT_FALSE(j.text.empty()) << m.rule;
    EXPECT_FALSE(j.label.empty()) << m.rule << " does not say in which call";
  }
}

TEST(Rules, AnObservationThatProvesNothingIsNoEvidence) {
  for (const Empty& e : empties()) {
    const RuleSpec* rule = find_rule(e.rule);
    ASSERT_NE(rule, nullptr) << e.rule;
    Observation seen = right(e.drive);
    e.change(seen);
    const Judgement j = judge(*rule, seen);
    EXPECT_EQ(name_of(j.verdict), name_of(e.verdict)) << e.rule << " on " << name_of(e.drive) << ": " << said(j);
    EXPECT_FALSE(j.evidence) << e.rule << " on " << name_of(e.drive);
  }
}

TEST(Rules, EveryRuleIsForged) {
  std::set<std::string> known, failing, empty;
  for (const RuleSpec* rule : rule_catalogue()) known.insert(rule->id);
  for (const Misdeed& m : misdeeds()) failing.insert(m.rule);
  for (const Empty& e : empties()) empty.insert(e.rule);
  EXPECT_GE(known.size(), 30u) << "the catalogue was pruned by the linker";
  EXPECT_EQ(failing, known);
  EXPECT_EQ(empty, known);
  for (const RuleSpec* rule : rule_catalogue()) {
    EXPECT_FALSE(rule->sentence.empty() || rule->how.empty()) << rule->id;
    for (const Misdeed& m : misdeeds())
      if (rule->id == m.rule) {
        EXPECT_NE(std::find(rule->drives.begin(), rule->drives.end(), m.drive), rule->drives.end())
            << m.rule << " does not read " << name_of(m.drive);
      }
  }
}

// ---- what rules must not do ----

TEST(Rules, WithoutThePromiseOfDeterminismALastPlaceIsForgiven) {
  const auto judged = [](const char* rule, Drive drive, const Change& change) {
    Observation seen = right(drive);
    seen.variant.flags = ASSAY_GRAPH_SAFE;
    change(seen);
    return std::string(name_of(judge(*find_rule(rule), seen).verdict));
  };
  EXPECT_EQ(judged("relation.row_independence", Drive::variation, nudged(1, 1)), "PASS");
  EXPECT_EQ(judged("relation.split", Drive::variation, nudged(2, 0)), "PASS");
  EXPECT_EQ(judged("input.bounds", Drive::garbage, nudged(1)), "PASS");
  EXPECT_EQ(judged("write.every_cell", Drive::two_poisons, nudged(1)), "PASS");
  EXPECT_EQ(judged("input.bounds", Drive::garbage, wrong(1)), "FAIL");
}

TEST(Rules, ABlockThatMissesTheBoundIsWarnedOfOnly) {
  SlotSpec block = slot();
  block.kind = Kind::block;
  Observation seen = right(Drive::eager);
  seen.slot = &block;
  cell(seen, 0) *= 1.0F + 6e-6F;
  const Judgement j = judge(*find_rule("number.bound"), seen);
  EXPECT_EQ(name_of(j.verdict), "PASS") << said(j);
  EXPECT_NE(j.warning.find("explain"), std::string::npos);
}

TEST(Rules, ALaterReplaysErrorIsNotAColdOne) {
  Observation seen = right(Drive::capture_replay);
  wrong(1)(seen);
  EXPECT_EQ(name_of(judge(*find_rule("graph.cold_first"), seen).verdict), "PASS");
}

// A unit loses few ranks, and three calls of zeros are no reason to call the rule vacuous.
TEST(Rules, ALostRankIsEvidenceWhateverTheValues) {
  Observation seen = right(Drive::one_rank);
  for (CallSeen& call : seen.calls) call.informative = false;
  const Judgement j = judge(*find_rule("collective.abort_together"), seen);
  EXPECT_EQ(name_of(j.verdict), "PASS");
  EXPECT_TRUE(j.evidence);
}

TEST(Rules, MemoryThatOthersTakeOnASharedDeviceIsNoGrowth) {
  Observation seen = right(Drive::many_replays);
  for (std::size_t i = 3; i < seen.usage.size(); ++i) seen.usage[i].bytes_used += 1u << 30;
  EXPECT_EQ(name_of(judge(*find_rule("graph.no_growth"), seen).verdict), "PASS");
}

TEST(Rules, MemoryThatIsTakenOnceIsNoGrowthOfTheProcess) {
  for (const std::size_t from : {std::size_t{1}, std::size_t{6}}) {
    Observation seen = right(Drive::endurance);
    for (std::size_t i = from; i < seen.held.size(); ++i) seen.held[i] += 256 << 20;
    EXPECT_EQ(name_of(judge(*find_rule("write.no_growth"), seen).verdict), "PASS") << "after stretch " << from;
  }
}

TEST(Rules, AReferenceThatIsNotFiniteDecidesNothing) {
  Observation seen = right(Drive::eager);
  auto broken = std::make_shared<ReferenceResult>(*seen.calls[0].reference);
  broken->outputs[0].expected.view().at<double>({0, 0}) = std::numeric_limits<double>::quiet_NaN();
  seen.calls[0].reference = broken;
  const Judgement j = judge(*find_rule("number.reference"), seen);
  EXPECT_EQ(name_of(j.verdict), "NO_DECISION") << said(j);
  EXPECT_EQ(name_of(j.reason), "harness");
}

TEST(Rules, AWorstCellIsNamedWithItsBound) {
  Observation seen = right(Drive::eager);
  cell(seen, 0, 5, 6) = 100;
  const Judgement j = judge(*find_rule("number.reference"), seen);
  ASSERT_FALSE(j.worst.empty());
  EXPECT_EQ(j.worst[0].where, "out(5, 6)");
  EXPECT_EQ(j.worst[0].actual, 100);
  EXPECT_EQ(j.worst[0].expected, static_cast<double>(answer(5, 6, 0)));
  EXPECT_GT(j.worst[0].bound, 0);
  EXPECT_FALSE(j.bound.empty());
}

TEST(Rules, AChangeThatReordersSumsIsHeldToTheTolerance) {
  const auto judged = [](const char* rule, std::uint32_t flags, const Change& change) {
    Observation seen = right(Drive::variation);
    seen.variant.flags = flags;
    change(seen);
    return said(judge(*find_rule(rule), seen));
  };
  constexpr std::uint32_t deterministic = ASSAY_DETERMINISTIC;
  EXPECT_EQ(judged("relation.index_order", deterministic, nudged(kFirstChangedCall + 1)), "PASS none: ");
  EXPECT_EQ(judged("relation.page_permutation", 0, nudged(kFirstChangedCall)), "PASS none: ");
  EXPECT_EQ(judged("relation.linearity", 0, nudged(kFirstChangedCall + 2)), "PASS none: ");
  EXPECT_NE(judged("relation.index_order", deterministic, wrong(kFirstChangedCall + 1)).find("another order: out: "),
            std::string::npos);
  // Each change is read by the rule that it names and by no other.
  EXPECT_EQ(judged("relation.linearity", deterministic, wrong(kFirstChangedCall)), "PASS none: ");
}

TEST(Rules, OnAGpuWhatTheFirstPrepareDoesOnceIsForgiven) {
  const auto judged = [](DeviceType device, const Change& change) {
    Observation seen = right(Drive::prepared);
    seen.device = device;
    change(seen);
    return std::string(name_of(judge(*find_rule("prepare.bounded"), seen).verdict));
  };
  const Change both = [](Observation& seen) {
    for (PrepareSeen& p : seen.prepares) p.surroundings = kThreads;
  };
  EXPECT_EQ(judged(DeviceType::cuda, left(kThreads)), "PASS");
  EXPECT_EQ(judged(DeviceType::cuda, both), "FAIL");
  EXPECT_EQ(judged(DeviceType::cuda, left(kEnvironment)), "FAIL");
  // A context's memory comes with the first; 4 times the raw bytes and 64 MiB may stay.
  for (const DeviceType device : {DeviceType::host, DeviceType::cuda}) {
    EXPECT_EQ(judged(device, [](Observation& seen) { seen.prepares[0].device_bytes = 1 << 30; }), "PASS");
    EXPECT_EQ(judged(device, [](Observation& seen) { seen.prepares[0].host_bytes = 1 << 30; }), "PASS");
    EXPECT_EQ(judged(device,
                     [](Observation& seen) {
                       for (PrepareSeen& p : seen.prepares) p.device_bytes = (4 << 20) + (64 << 20);
                     }),
              "PASS");
  }
}

TEST(Rules, OfPaddedOutputsThatAreContiguousByContractTheReaderIsOnlyWarned) {
  const RuleSpec& strides = *find_rule("write.strides");
  const Change fault = [](Observation& seen) {
    seen.fault = Fault{Verdict::fail, Reason::crash, Phase::entry, 3, "it crashed", -1, 0};
  };
  for (const Change& change : {stray(0), wrong(0), failed(Op::call, StepCode::entry_failed), fault}) {
    Observation seen = right(Drive::eager);
    change(seen);
    EXPECT_EQ(name_of(judge(strides, seen).verdict), "FAIL");
    seen.trial.part.cases[0].padded = true;
    const Judgement j = judge(strides, seen);
    EXPECT_EQ(name_of(j.verdict), "PASS") << said(j);
    EXPECT_EQ(j.warning.rfind("contiguous_only: ", 0), 0u) << j.warning;
    EXPECT_FALSE(j.ended_trial);
  }
  Observation seen = right(Drive::eager);
  seen.trial.part.cases[0].padded = true;
  EXPECT_EQ(judge(strides, seen).warning, "") << "right on padding, too";
  seen.fault = Fault{Verdict::no_decision, Reason::killed, Phase::entry, 3, "killed", -1, 0};
  EXPECT_EQ(name_of(judge(strides, seen).verdict), "NO_DECISION");
  for (const RuleSpec* rule : rule_catalogue())
    EXPECT_EQ(rule->on_padded_outputs, rule == &strides) << rule->id << " would fail where only a warning is due";
}

}  // namespace
}  // namespace assay
