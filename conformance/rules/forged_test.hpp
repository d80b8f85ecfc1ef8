// conformance/rules/forged_test.hpp: observations made by hand: what a right candidate makes each drive see, and
// changes that make a misdeed of it.
//
// Promises: right(drive) passes every rule that reads the drive. The slot has all that rules ask of one: rows, a
// scalar, weights, known changes of its inputs. Labels are those that the drives give. Who calls it: tests of this
// folder only.
//
//   Observation seen = forged::right(Drive::eager);
//   forged::wrong(0)(seen);
//   EXPECT_EQ(name_of(judge(*find_rule("number.reference"), seen).verdict), "FAIL");
#pragma once

#include <cmath>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "assay/rule.hpp"
#include "harness/receipt/forged_test.hpp"
#include "harness/route/routing_table.hpp"

namespace assay::forged {

// The known changes, in the slot's order of relations and of right(Drive::variation)'s last calls.
enum : std::size_t { kPagesMoved = 1, kOrderChanged = 2, kDoubled = 3 };
inline constexpr std::size_t kFirstChangedCall = 5;

inline SlotSpec made_up_slot() {
  SlotSpec s;
  s.id = "test.slot";
  s.dims = {{"rows", 0, 4096, {7}}, {"width", 1, 8192, {8}}};
  s.groups = {{"row", std::nullopt}};
  s.accumulation = [](const Case&) { return 8.0; };
  s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}, {"ties", Recipe::ties}};
  s.relations = {{RelationSpec::Form::rows, "rows", {"x"}, {"out"}}};
  const auto change = [&s](const char* rule, const char* name, double factor, bool exact) {
    RelationSpec r;
    r.form = RelationSpec::Form::change;
    r.rule = rule;
    r.name = name;
    r.factor = factor;
    r.exact = exact;
    s.relations.push_back(std::move(r));
  };
  change("relation.page_permutation", "pages moved", 1.0, true);
  change("relation.index_order", "experts in another order", 1.0, false);
  change("relation.linearity", "weights doubled", 2.0, true);
  s.arguments = args(in("x", {"rows", "width"}).strided(16), in("w", {"width"}).fixed(),
                     out("out", {"rows", "width"}).strided(16), f64("eps", {1e-6, 0.25}))
                    .specs;
  s.weights = {in("w13", {"2", "width"}).fixed().spec, in("w2", {"width", "2"}).fixed().spec};
  s.weight_facts = [](const Case& c) {
    return WeightFacts{.form = "nvfp4_layer", .num_experts = 2, .hidden_size = c["width"]};
  };
  return s;
}

inline const SlotSpec& slot() {
  static const SlotSpec spec = made_up_slot();
  return spec;
}

inline Case base_case() {
  Case c;
  c.slot = slot().id;
  c.dims = {{"rows", 7}, {"width", 8}};
  c.layouts = {{"x", {4, 0}}, {"out", {4, 0}}};
  c.scalars = {{"eps", 1e-6}};
  c.recipe = "ties";
  return c;
}

inline float answer(std::int64_t row, std::int64_t column, double version) {
  return static_cast<float>(1.0 + static_cast<double>(row) + 0.125 * static_cast<double>(column) + 16.0 * version);
}

// A call that did everything right. Row i of the output is row rows[i] of the slot's mathematics, times the factor.
inline CallSeen right_call(const std::string& label, double version = 0, std::vector<std::int64_t> rows = {},
                           Case c = base_case(), float factor = 1) {
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
      const float value = factor * answer(rows.empty() ? r : rows[static_cast<std::size_t>(r)], k, version);
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
inline CallSeen right_bystander(const std::string& label) {
  CallSeen call = right_call(label);
  call.reference = nullptr;
  call.outputs[0].poison.count = call.outputs[0].actual.size();
  return call;
}

// What one rank's mint said.
inline std::shared_ptr<const ReceiptBook> receipts(std::initializer_list<ReceiptKind> kinds) {
  auto book = std::make_shared<ReceiptBook>();
  for (const ReceiptKind kind : kinds) {
    Receipt r = forged_receipt(kind);
    if (is_of_a_call(kind)) r.call = {slot().id, "forged", forged_digest('c'), forged_digest('d')};
    book->receipts.push_back(std::move(r));
  }
  return book;
}

// A router's view of a slot whose variants all take up to 7 rows.
inline std::shared_ptr<const RoutingTable> routing(const std::vector<std::string>& ids) {
  auto table = std::make_shared<RoutingTable>(RoutingTable{VariantSet(slot().id), make_supply(slot().id, {"num_tokens"}), {}});
  Domain domain;
  FieldDomain rows;
  rows.hi = 7;
  domain.restrict_to("num_tokens", rows);
  for (const std::string& id : ids) table->variants.add(id, domain, Proof::not_provable);
  return table;
}

// Asked while the runtime tunes itself, inside the domain, with the row count unknown, outside, with a rank that is not
// eligible, and inside again.
inline std::vector<RoutedSeen> right_routes() {
  std::vector<RoutedSeen> routes;
  const auto ask = [&](RoutedSeen::Ask how, const std::string& label, int rows, RouteOutcome outcome) {
    RoutedSeen& r = routes.emplace_back();
    r.ask = how;
    r.label = label;
    r.called = true;
    DescriptorBuilder call;
    call.dtype("fp32").architecture("cpu").graph_mode("eager");
    if (rows > 0) call.num_tokens(rows);
    r.offline = call.build().encode();
    r.decision.outcome = outcome;
    if (outcome != RouteOutcome::excluded_phase) r.live = {r.offline};
    if (outcome == RouteOutcome::selected) r.decision.variant = "forged";
    r.agreement.by = outcome == RouteOutcome::selected ? Served::candidate : Served::stock;
    r.entries = {outcome == RouteOutcome::selected ? 1 : 0};
  };
  ask(RoutedSeen::Ask::excluded, "while the runtime tunes itself", 7, RouteOutcome::excluded_phase);
  ask(RoutedSeen::Ask::inside, "inside the domain", 7, RouteOutcome::selected);
  ask(RoutedSeen::Ask::withheld, "with num_tokens unknown", 0, RouteOutcome::out_of_domain);
  ask(RoutedSeen::Ask::other, "the other call", 8, RouteOutcome::out_of_domain);
  ask(RoutedSeen::Ask::ineligible, "rank 0 is ineligible", 7, RouteOutcome::structural_mismatch);
  routes.back().agreement.outcome = RouteOutcome::rank_divergence;
  ask(RoutedSeen::Ask::inside, "inside the domain again", 7, RouteOutcome::selected);
  return routes;
}

// What a right, deterministic, graph-safe candidate makes a drive see.
inline Observation right(Drive drive, const Case& c = base_case()) {
  Observation seen;
  seen.slot = &slot();
  seen.variant = {0, "forged", ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC};
  seen.trial.variant = "forged";
  seen.receipts =
      receipts({ReceiptKind::active, ReceiptKind::fired, ReceiptKind::completed, ReceiptKind::replayed});
  seen.trial.part.drive = drive;
  seen.trial.part.cases.assign(cases_of(drive), c);
  for (const ArgumentSpec& w : slot().weights) seen.weights.push_back({&w, 0, ""});
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
      call("NaN in what is excluded"), call("large values in what is excluded");
      break;
    case Drive::variation:
      call("base");
      if (c["rows"] > 3) {
        call("other rows beside", 0, {5, 2, -1, 0, 6});
        call("split, first part", 0, {0, 1, 2});
        call("split, second part", 0, {3, 4, 5, 6});
      }
      call("eps changed", 3).changed_scalar = "eps";
      for (const std::size_t i : {kPagesMoved, kOrderChanged, kDoubled}) {
        const RelationSpec& relation = slot().relations[i];
        seen.calls.push_back(right_call(relation.name, 0, {}, c, static_cast<float>(relation.factor)));
        seen.calls.back().relation = &relation;
      }
      call("ranks exchanged");
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
    case Drive::prepared:
      call("layer A"), call("layer A again", 1), call("layer B", 2), call("layer A beside B", 3);
      call("layer A after B was released", 4);
      seen.prepares.assign(2, {0, 1 << 20, 1 << 20, 1 << 10});
      break;
    case Drive::burst:
      seen.captured = true;
      call("size over a switch: rows=7"), call("size under a switch: rows=6", 1);
      call("burst 0.0: rows=7", 2), call("burst 0.1: rows=6", 3), call("replay 0 of graph 0", 4);
      break;
    case Drive::groups:
      call("world"), call("other values in what the ranks share", 1), call("other values on the last rank", 2);
      call("world beside other groups, 0", 3), call("reordered group, 0", 4), call("subgroup 0, 0", 5);
      break;
    case Drive::one_rank:
      seen.loss = {1, Loss::exits, 1, "", 20, 5000, {}};
      call("before a rank is lost"), call("after a rank was lost", 1);
      break;
    case Drive::endurance:
      seen.endured = 4096;
      seen.held.assign(9, 64 << 20);
      call("the first call"), call("after 900 calls", 1), call("replay after 1900 calls", 2);
      break;
    case Drive::routed:
      seen.variant.routing = routing({"forged"});
      for (const RoutedSeen& r : right_routes()) {
        seen.routed.push_back(r);
        if (r.called) call(r.label, static_cast<double>(seen.calls.size()));
      }
      break;
  }
  return seen;
}

using Change = std::function<void(Observation&)>;

inline float& cell(Observation& seen, std::size_t call, std::int64_t row = 3, std::int64_t column = 2) {
  return seen.calls.at(call).outputs.at(0).actual.view().at<float>({row, column});
}
inline Change wrong(std::size_t call) {
  return [=](Observation& seen) { cell(seen, call) += 0.5F; };
}
// One unit in the last place: invisible to every tolerance.
inline Change nudged(std::size_t call, std::int64_t row = 3) {
  return [=](Observation& seen) {
    float& value = cell(seen, call, row);
    value = std::nextafter(value, 1e30F);
  };
}
inline Change unwritten(std::size_t call) {
  return [=](Observation& seen) { seen.calls.at(call).outputs.at(0).poison = {1, {26}}; };
}
inline Change stray(std::size_t call) {
  return [=](Observation& seen) {
    seen.calls.at(call).outputs.at(0).canary.changed = 2;
    seen.calls.at(call).outputs.at(0).canary.text = "2 bytes changed";
  };
}
inline Change input_written(std::size_t call) {
  return [=](Observation& seen) { seen.calls.at(call).inputs.at(1).changed = 4; };
}
inline Change another_answer(std::size_t call, std::size_t of) {  // the output of another call
  return [=](Observation& seen) { seen.calls.at(call).outputs = seen.calls.at(of).outputs; };
}
inline Change failed(Op op, StepCode code) {
  return [=](Observation& seen) {
    seen.failed_op = op;
    seen.failed_code = code;
    seen.failed_text = "said so";
    seen.failed_label = "where";
  };
}
// Of one prepare; the fewest bits and bytes of all prepares are what counts.
inline Change left(std::uint32_t surroundings) {
  return [=](Observation& seen) { seen.prepares.at(1).surroundings = surroundings; };
}

inline Change surroundings(std::uint32_t bits) {
  return [=](Observation& seen) { seen.surroundings = bits; };
}

inline std::string said(const Judgement& j) {
  return std::string(name_of(j.verdict)) + " " + std::string(name_of(j.reason)) + ": " + j.text;
}

}  // namespace assay::forged
