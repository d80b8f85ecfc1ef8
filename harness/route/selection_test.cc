// The order of the checks before the selection point, and what follows it, under random failures.
#include "harness/route/selection.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <set>

#include "harness/case/digest.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/route/serving.hpp"
#include "harness/route/two_point.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

Descriptor call(std::int64_t tokens) {
  return DescriptorBuilder().dtype("bf16").architecture("sm90").graph_mode("eager").num_tokens(tokens).build();
}

const VariantSet& small() {
  static const VariantSet set = [] {
    VariantSet s("norm.rmsnorm");
    s.add("small", parse_domain(R"({"num_tokens": {"max": 8}})", {*supply_of("norm.rmsnorm")}, GraphSafe::yes));
    return s;
  }();
  return set;
}

// Which steps are in the way is drawn; the first of them decides, and none behind it is asked.
TEST(Selection, TheFirstStepInTheWayDecidesAndNoneBehindItIsAsked) {
  holds("steps 1 to 6 in order", 500, [](std::uint64_t key) {
    auto drawn = [&, n = std::uint64_t{0}](std::uint64_t of) mutable { return mix64(key + ++n) % of; };
    const VariantSet empty("norm.rmsnorm");
    const bool active = drawn(6), armed = drawn(6), registered = drawn(6), structural = drawn(6), inside = drawn(3),
               ready = drawn(6);
    const auto phase = static_cast<ExcludedPhase>(drawn(2) ? 0 : drawn(6));
    std::string asked;
    CallSite site;
    site.armed = armed;
    site.phase = phase;
    site.structural = [&]() -> Objection {
      asked += 's';
      if (structural) return std::nullopt;
      return "shape";
    };
    site.describe = [&] {
      asked += 'd';
      return call(inside ? 8 : 9);
    };
    site.prerequisite = [&](const std::string& variant, const Descriptor&) -> Objection {
      asked += 'p';
      if (ready && variant == "small") return std::nullopt;
      return "not prepared";
    };
    const RouteDecision d = decide({active, registered ? &small() : &empty}, site);
    std::pair<RouteOutcome, std::string> expected{RouteOutcome::selected, "sdp"};
    if (!active || !armed)
      expected = {RouteOutcome::registry_inactive, ""};
    else if (phase != ExcludedPhase::none)
      expected = {RouteOutcome::excluded_phase, ""};
    else if (!registered)
      expected = {RouteOutcome::slot_unregistered, ""};
    else if (!structural)
      expected = {RouteOutcome::structural_mismatch, "s"};
    else if (!inside)
      expected = {RouteOutcome::out_of_domain, "sd"};
    else if (!ready)
      expected = {RouteOutcome::prerequisite_missing, "sdp"};
    RC_ASSERT(d.outcome == expected.first);
    RC_ASSERT(asked == expected.second);
    RC_ASSERT(d.selected() == d.why.empty());
    RC_ASSERT(d.descriptor.has_value() == (asked.find('d') != std::string::npos));
    RC_ASSERT((d.variant == "small") == d.selected());
  });
}

TEST(Selection, EveryMismatchOfEveryVariantIsTold) {
  const RouteDecision d = decide(
      {true, &small()},
      {.describe = [] { return DescriptorBuilder().dtype("bf16").architecture("sm90").graph_mode("eager").build(); }});
  ASSERT_EQ(d.refused.size(), 1u);
  ASSERT_EQ(d.refused[0].mismatches.size(), 1u);
  EXPECT_EQ(d.refused[0].mismatches[0].kind, MismatchKind::missing);
  EXPECT_EQ(d.why, "small: num_tokens: missing, expected at most 8");
}

// A defect of the binding is no reason to route elsewhere quietly.
TEST(Selection, ADescriptorThatCannotBeBuiltIsTheBindingsDefect) {
  EXPECT_THROW((void)decide({true, &small()}, {.describe = [] { return DescriptorBuilder().dtype("bf16").build(); }}),
               DescriptorError);
}

// ---- after the selection point ----

TEST(Serving, NoFailureIsSilentAndNoReceiptSaysMoreThanHappened) {
  holds("every failure of a selected call", 800, [](std::uint64_t key) {
    auto drawn = [&, n = std::uint64_t{0}](std::uint64_t of) mutable { return mix64(key + ++n) % of; };
    const auto failing = static_cast<int>(drawn(6));  // 0 none, 1 allocate, 2 commit, 3 call, 4 revalidate, 5 none
    const bool stock_fails = drawn(2), collective = drawn(2), selected = drawn(4);
    const RetryMode mode = drawn(2) ? RetryMode::strict : RetryMode::permissive;
    std::string order;
    const auto step = [&](char name, int number) {
      return [&, name, number]() -> StepResult {
        order += name;
        if (failing != number) return std::nullopt;
        return StepFailure{std::string(1, name),
                           number == 1 ? AttemptEffect::infrastructure : AttemptEffect::candidate};
      };
    };
    ServingSteps steps;
    steps.allocate = step('a', 1);
    steps.commit = [&] { return order += 'c', std::string(failing == 2 ? "other" : "v"); };
    steps.call = step('e', 3);
    steps.revalidate = step('r', 4);
    steps.stock = [&]() -> StepResult {
      order += 's';
      if (!stock_fails) return std::nullopt;
      return StepFailure{"stock", AttemptEffect::infrastructure};
    };
    RouteDecision d;
    d.outcome = selected ? RouteOutcome::selected : RouteOutcome::out_of_domain;
    d.variant = selected ? "v" : "";
    const ServedCall served = serve(d, mode, collective, steps);
    const auto minted = [&](ReceiptKind k) { return std::count(served.receipts.begin(), served.receipts.end(), k); };
    const bool fails = selected && failing >= 1 && failing <= 4;
    const bool retries = fails && mode == RetryMode::permissive && !collective;
    // Stock runs where the call was never the candidate's, or is allowed to retry.
    RC_ASSERT((order.find('s') != std::string::npos) == (!selected || retries));
    if (!selected) {
      RC_ASSERT(order == "s");
      RC_ASSERT(served.receipts.empty());
      return;
    }
    RC_ASSERT(minted(ReceiptKind::completed) == (fails ? 0 : 1));
    RC_ASSERT(minted(ReceiptKind::fired) == (fails && failing <= 2 ? 0 : 1));
    RC_ASSERT(minted(ReceiptKind::fallback) == (retries && !stock_fails ? 1 : 0));
    RC_ASSERT(served.abort_all_ranks == (fails && collective));
    RC_ASSERT(served.disqualified == fails);
    RC_ASSERT(served.failure.empty() == (served.by != ServedCall::By::nobody));
    RC_ASSERT((served.by == ServedCall::By::candidate) == !fails);
    RC_ASSERT((served.effect == AttemptEffect::none) == !fails);
  });
}

// ---- agreement ----

DecisionRecord record() {
  DecisionRecord r;
  r.slot = "collective.all_reduce";
  r.outcome = RouteOutcome::selected;
  r.variant = "a";
  r.descriptor_digest = sha256_hex("call");
  r.graph_mode = "eager";
  r.group = {0, 1, 2, 3};
  r.ordinal = 7;
  return r;
}

TEST(AgreementOfRanks, EveryFactOfTheRecordTellsRanksApart) {
  const std::vector<std::function<void(DecisionRecord&)>> edits = {
      [](DecisionRecord& r) { r.slot += "x"; },
      [](DecisionRecord& r) { r.contract_digest = sha256_hex("contract"); },
      [](DecisionRecord& r) { r.outcome = RouteOutcome::out_of_domain; },
      [](DecisionRecord& r) { r.variant = "b"; },
      [](DecisionRecord& r) { r.artifact_digest = sha256_hex("artifact"); },
      [](DecisionRecord& r) { r.descriptor_digest = sha256_hex("another call"); },
      [](DecisionRecord& r) { r.graph_mode = "cuda_graph"; },
      [](DecisionRecord& r) {
        r.group = {0, 1, 3, 2};
      },
      [](DecisionRecord& r) {
        r.group = {4, 5, 6, 7};
      },
      [](DecisionRecord& r) { r.ordinal = 8; }};
  for (std::size_t which = 0; which < 4; ++which)
    for (std::size_t e = 0; e < edits.size(); ++e) {
      std::vector<std::optional<DecisionRecord>> ranks = {record(), record(), record(), record()};
      EXPECT_EQ(agree(ranks).by, Served::candidate);
      edits[e](*ranks[which]);
      const Agreement a = agree(ranks);
      EXPECT_EQ(a.by, Served::stock) << "edit " << e << " on rank " << which;
      EXPECT_EQ(a.outcome, RouteOutcome::rank_divergence);
      ranks[which].reset();
      EXPECT_EQ(agree(ranks).by, Served::aborted);
    }
}

TEST(AgreementOfRanks, ACaptureSelectsOnlyWhatWasAgreedBefore) {
  AgreementTable table;
  DecisionRecord r = record();
  r.graph_mode = "cuda_graph";
  EXPECT_FALSE(table.may_select_in_capture(r));
  const std::optional<DecisionRecord> one[] = {r};
  table.completed(r, agree(one));
  EXPECT_TRUE(table.may_select_in_capture(r));
  DecisionRecord later = r;
  later.ordinal = 99;  // the same call, later
  EXPECT_TRUE(table.may_select_in_capture(later));
  for (const auto& edit : std::vector<std::function<void(DecisionRecord&)>>{
           [](DecisionRecord& x) { x.descriptor_digest = sha256_hex("another call"); },
           [](DecisionRecord& x) { x.variant = "b"; },
           [](DecisionRecord& x) {
             x.group = {4, 5, 6, 7};
           },
           [](DecisionRecord& x) { x.outcome = RouteOutcome::out_of_domain; }}) {
    DecisionRecord other = r;
    edit(other);
    EXPECT_FALSE(table.may_select_in_capture(other));
    Agreement stock;
    stock.by = Served::stock;
    table.completed(other, stock);
    EXPECT_FALSE(table.may_select_in_capture(other)) << "a round that ended in stock agrees on nothing";
  }
}

// ---- two points ----

TEST(TwoPointBoundary, WhateverHappensNoExportIsLostOrFinishedTwice) {
  holds("exports and their ends balance", 300, [](std::uint64_t key) {
    auto drawn = [&, n = std::uint64_t{0}](std::uint64_t of) mutable { return mix64(key + ++n) % of; };
    TwoPoint boundary;
    boundary.begin_forward(ExcludedPhase::none);
    std::set<std::uint64_t> pending;
    std::uint64_t aborted = 0, self_finished = 0;
    bool excluded = false;
    for (int step = 0; step < 60; ++step) {
      const std::uint64_t address = 1 + drawn(4);
      RouteDecision d;
      d.outcome = drawn(5) ? RouteOutcome::selected : RouteOutcome::out_of_domain;
      d.variant = "v";
      d.descriptor = call(8);
      switch (drawn(5)) {
        case 0:
          excluded = drawn(4) == 0;
          boundary.begin_forward(excluded ? ExcludedPhase::tuning : ExcludedPhase::none);
          pending.clear();
          break;
        case 1: {
          const auto armed = boundary.arm(d, {0, 1}, {address, 8, 4, 64}, TwoPoint::Layer::middle);
          const bool may = !excluded && d.selected();
          RC_ASSERT((armed == TwoPoint::Armed::error) == (may && pending.count(address) != 0));
          RC_ASSERT((armed == TwoPoint::Armed::stock) == !may);
          if (armed == TwoPoint::Armed::armed) pending.insert(address);
          break;
        }
        case 2:
          self_finished += pending.erase(address);
          boundary.launched(address, 3, 3);
          break;
        default: {
          const auto rows = static_cast<std::int64_t>(6 + drawn(4));  // up to 9, one more than was exported
          const bool flips = drawn(6) == 0;
          const std::vector<int> group = drawn(4) ? std::vector<int>{0, 1} : std::vector<int>{2, 3};
          const bool was = pending.erase(address) != 0;
          const auto answer =
              boundary.consume({address, rows, 64, d, group, flips ? ExcludedPhase::tuning : ExcludedPhase::none});
          RC_ASSERT((answer.finish == TwoPoint::Finish::plain) == !was);
          if (!was) break;
          aborted += answer.finish == TwoPoint::Finish::abort;
          RC_ASSERT((answer.finish == TwoPoint::Finish::abort) == (flips || rows > 8));
          RC_ASSERT(answer.finish != TwoPoint::Finish::fused || (d.selected() && group == std::vector<int>{0, 1}));
        }
      }
    }
    const auto& n = boundary.counters();
    RC_ASSERT(n.exports == n.consumed + n.orphans + n.stale_dropped + aborted + self_finished + pending.size());
    RC_ASSERT(boundary.blocks_pass() == (n.orphans != 0));
  });
}

}  // namespace
}  // namespace assay
