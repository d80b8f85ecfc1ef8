// Every rule on forged observations: a right one passes with evidence, each misdeed fails with its reason, and an
// observation that proves nothing says so. A rule without all three fails EveryRuleIsForged.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <set>

#include "assay/rule.hpp"

namespace assay {
namespace {

const SlotSpec& slot() {
  static const SlotSpec spec = [] {
    SlotSpec s;
    s.id = "test.slot";
    s.dims = {{"rows", 0, 4096, {7}}, {"width", 1, 8192, {8}}};
    s.groups = {{"row", std::nullopt}};
    s.accumulation = [](const Case&) { return 8.0; };
    s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}, {"ties", Recipe::ties}};
    s.relations = {{RelationSpec::Form::rows, "rows", {"x"}, {"out"}}};
    s.arguments = args(in("x", {"rows", "width"}).strided(16), in("w", {"width"}).fixed(),
                       out("out", {"rows", "width"}).strided(16), f64("eps", {1e-6, 0.25}))
                      .specs;
    return s;
  }();
  return spec;
}

Case base_case() {
  Case c;
  c.slot = slot().id;
  c.dims = {{"rows", 7}, {"width", 8}};
  c.layouts = {{"x", {4, 0}}, {"out", {4, 0}}};
  c.scalars = {{"eps", 1e-6}};
  c.recipe = "ties";
  return c;
}

float answer(std::int64_t row, std::int64_t column, double version) {
  return static_cast<float>(1.0 + static_cast<double>(row) + 0.125 * static_cast<double>(column) + 16.0 * version);
}

// A call that did everything right. Row i of the output is row rows[i] of the slot's mathematics.
CallSeen right_call(const std::string& label, double version = 0, std::vector<std::int64_t> rows = {},
                    Case c = base_case()) {
  CallSeen call;
  call.label = label;
  if (!rows.empty()) c.dims["rows"] = static_cast<std::int64_t>(rows.size());
  call.c = c;
  call.rows = rows;
  const std::int64_t count = c["rows"], width = c["width"];
  OutputSeen out;
  out.spec = &slot().argument("out");
  out.actual = Tensor({count, width}, DType::f32);
  auto reference = std::make_shared<ReferenceResult>();
  reference->outputs.push_back({Tensor({count, width}, DType::f64), Tensor({count, width}, DType::f64)});
  for (std::int64_t r = 0; r < count; ++r)
    for (std::int64_t k = 0; k < width; ++k) {
      const float value = answer(rows.empty() ? r : rows[static_cast<std::size_t>(r)], k, version);
      out.actual.view().at<float>({r, k}) = value;
      reference->outputs[0].expected.view().at<double>({r, k}) = value;
      reference->outputs[0].magnitude.view().at<double>({r, k}) = std::abs(static_cast<double>(value));
    }
  call.outputs.push_back(std::move(out));
  call.reference = std::move(reference);
  for (const char* name : {"x", "w"}) call.inputs.push_back({&slot().argument(name), 0, ""});
  return call;
}

// The buffers of an earlier call, refilled and untouched since.
CallSeen right_bystander(const std::string& label) {
  CallSeen call = right_call(label);
  call.reference = nullptr;
  call.outputs[0].poison.count = call.outputs[0].actual.size();
  return call;
}

// What a right, deterministic, graph-safe candidate makes a drive see.
Observation right(Drive drive, const Case& c = base_case()) {
  Observation seen;
  seen.slot = &slot();
  seen.variant = {0, "forged", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC};
  seen.trial.variant = "forged";
  seen.trial.part.drive = drive;
  seen.trial.part.cases.assign(cases_of(drive), c);
  const auto call = [&](const std::string& label, double version = 0,
                        std::vector<std::int64_t> rows = {}) -> CallSeen& {
    return seen.calls.emplace_back(right_call(label, version, std::move(rows), c));
  };
  switch (drive) {
    case Drive::eager:
      call("call");
      break;
    case Drive::two_poisons:
      call("first poison"), call("second poison");
      break;
    case Drive::relocated:
      call("call A"), call("call B", 1), call("call A again, elsewhere", 2);
      seen.bystanders.push_back(right_bystander("buffers of the first call"));
      break;
    case Drive::guard_pages:
      call("flush with the end"), call("flush with the start");
      break;
    case Drive::garbage:
      call("NaN around the inputs"), call("other bytes around the inputs");
      break;
    case Drive::variation:
      call("base");
      if (c["rows"] > 3) {
        call("other rows beside", 0, {5, 2, -1, 0, 6});
        call("split, first part", 0, {0, 1, 2});
        call("split, second part", 0, {3, 4, 5, 6});
      }
      call("eps changed", 3).changed_scalar = "eps";
      break;
    case Drive::repeat_under_load:
      for (int i = 0; i < 8; ++i) call("repeat " + std::to_string(i)).reference = nullptr;
      break;
    case Drive::late_producer:
      call("call behind its producer");
      break;
    case Drive::held_stream:
      call("call on a held stream");
      break;
    case Drive::two_streams:
      call("on the first stream"), call("on the second stream", 1);
      break;
    case Drive::capture_replay:
      seen.captured = true;
      for (int i = 0; i < 3; ++i) call("replay " + std::to_string(i), i + 1).mutated = "x";
      break;
    case Drive::interleaved_graphs:
      seen.captured = true;
      call("A, replay 0", 1), call("B, replay 1", 2), call("A, replay 2", 3), call("eager call between replays", 4);
      call("B, replay 4", 5), call("A, replay 5", 6);
      break;
    case Drive::regrow:
      seen.captured = true;
      call("large eager call"), call("small replay after it", 1);
      seen.bystanders.push_back(right_bystander("buffers of the large call"));
      break;
    case Drive::many_replays:
      seen.captured = true;
      seen.replays = 48;
      seen.usage.assign(5, {1 << 20, 12});
      call("after many replays");
      break;
  }
  return seen;
}

using Change = std::function<void(Observation&)>;

float& cell(Observation& seen, std::size_t call, std::int64_t row = 3, std::int64_t column = 2) {
  return seen.calls.at(call).outputs.at(0).actual.view().at<float>({row, column});
}
Change wrong(std::size_t call) {
  return [=](Observation& seen) { cell(seen, call) += 0.5F; };
}
// One unit in the last place: invisible to every tolerance.
Change nudged(std::size_t call, std::int64_t row = 3) {
  return [=](Observation& seen) {
    float& value = cell(seen, call, row);
    value = std::nextafter(value, 1e30F);
  };
}
Change unwritten(std::size_t call) {
  return [=](Observation& seen) { seen.calls.at(call).outputs.at(0).poison = {1, {26}}; };
}
Change stray(std::size_t call) {
  return [=](Observation& seen) {
    seen.calls.at(call).outputs.at(0).canary.changed = 2;
    seen.calls.at(call).outputs.at(0).canary.text = "2 bytes changed";
  };
}
Change input_written(std::size_t call) {
  return [=](Observation& seen) { seen.calls.at(call).inputs.at(1).changed = 4; };
}
Change another_answer(std::size_t call, std::size_t of) {  // the output of another call
  return [=](Observation& seen) { seen.calls.at(call).outputs = seen.calls.at(of).outputs; };
}
Change failed(Op op, StepCode code) {
  return [=](Observation& seen) {
    seen.failed_op = op;
    seen.failed_code = code;
    seen.failed_text = "said so";
    seen.failed_label = "where";
  };
}

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
      {"stream.ordered", Drive::late_producer, Reason::late_write,
       [](Observation& seen) { seen.late_write = "8 bytes of out"; }},
      {"stream.ordered", Drive::late_producer, Reason::unordered, wrong(0)},
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
      {"stream.ordered", Drive::late_producer, pass, uninformative},
      {"stream.no_host_sync", Drive::held_stream, pass, nothing},
      {"stream.concurrent", Drive::two_streams, pass, uninformative},
  };
  return list;
}

std::string said(const Judgement& j) {
  return std::string(name_of(j.verdict)) + " " + std::string(name_of(j.reason)) + ": " + j.text;
}

TEST(Rules, ARightObservationPassesEveryRuleThatReadsItWithEvidence) {
  for (const RuleSpec* rule : rule_catalogue())
    for (const Drive drive : rule->drives) {
      const Judgement j = judge(*rule, right(drive));
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
  EXPECT_NE(j.warning.find("number.bound"), std::string::npos);
}

TEST(Rules, ALaterReplaysErrorIsNotAColdOne) {
  Observation seen = right(Drive::capture_replay);
  wrong(1)(seen);
  EXPECT_EQ(name_of(judge(*find_rule("graph.cold_first"), seen).verdict), "PASS");
}

TEST(Rules, MemoryThatOthersTakeOnASharedDeviceIsNoGrowth) {
  Observation seen = right(Drive::many_replays);
  for (std::size_t i = 3; i < seen.usage.size(); ++i) seen.usage[i].bytes_used += 1u << 30;
  EXPECT_EQ(name_of(judge(*find_rule("graph.no_growth"), seen).verdict), "PASS");
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

// ---- judge() itself ----

TEST(Judge, ACandidatesFaultFailsWhateverTheRuleAsks) {
  for (const RuleSpec* rule : rule_catalogue()) {
    Observation seen = right(rule->drives.front());
    seen.fault = Fault{Verdict::fail, Reason::timeout, Phase::entry, 3, "it hung", -1, 0};
    seen.failed_label = "call";
    const Judgement j = judge(*rule, seen);
    EXPECT_EQ(name_of(j.verdict), "FAIL") << rule->id;
    EXPECT_EQ(name_of(j.reason), "timeout") << rule->id;
    EXPECT_EQ(j.text, "it hung");
    EXPECT_EQ(j.label, "call");
    seen.fault = Fault{Verdict::no_decision, Reason::killed, Phase::entry, 3, "killed", -1, 0};
    EXPECT_EQ(name_of(judge(*rule, seen).verdict), "NO_DECISION") << rule->id;
  }
}

TEST(Judge, AFailedStepIsTheCandidatesOnlyWhereItsCodeSaysSo) {
  const std::pair<StepCode, Reason> codes[] = {
      {StepCode::entry_failed, Reason::entry_failed},      {StepCode::synchronised_held, Reason::host_sync},
      {StepCode::capture_illegal, Reason::capture_failed}, {StepCode::capture_unjoined, Reason::capture_failed},
      {StepCode::capture_empty, Reason::capture_failed},   {StepCode::capture_host_node, Reason::capture_failed},
      {StepCode::device_fault, Reason::device_fault},      {StepCode::launch_invalid, Reason::entry_failed},
      {StepCode::out_of_memory, Reason::harness},          {StepCode::unsupported, Reason::harness},
      {StepCode::infrastructure, Reason::harness},         {StepCode::not_run, Reason::harness}};
  for (const auto& [code, reason] : codes) {
    Observation seen = right(Drive::eager);
    failed(Op::call, code)(seen);
    const Judgement j = judge(*find_rule("number.reference"), seen);
    EXPECT_EQ(name_of(j.reason), name_of(reason)) << name_of(code);
    EXPECT_EQ(name_of(j.verdict), name_of(verdict_of(reason))) << name_of(code);
    EXPECT_NE(j.text.find("said so"), std::string::npos);
    EXPECT_EQ(j.label, "where");
  }
}

TEST(Judge, RulesApplyByKindAndDevice) {
  RuleSpec rule;
  rule.kinds = {Kind::block};
  rule.devices = {DeviceType::cuda};
  SlotSpec block = slot();
  block.kind = Kind::block;
  EXPECT_TRUE(applies(rule, block, DeviceType::cuda));
  EXPECT_FALSE(applies(rule, block, DeviceType::host));
  EXPECT_FALSE(applies(rule, slot(), DeviceType::cuda));
}

}  // namespace
}  // namespace assay
