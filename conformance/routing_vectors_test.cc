// Runs fixtures/routing.json: the specification's vectors for variants, selection, agreement and what follows a
// decision.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/case/json.hpp"
#include "harness/route/agreement.hpp"
#include "harness/route/output_spec.hpp"
#include "harness/route/serving.hpp"
#include "harness/route/structure.hpp"
#include "harness/route/two_point.hpp"

namespace assay {
namespace {

using nlohmann::json;

const json& vectors(const char* section) {
  static const json all = [] {
    std::ifstream file(ASSAY_FIXTURES "/routing.json");
    std::ostringstream text;
    text << file.rdbuf();
    return parse_strict(text.str(), "fixtures/routing.json");
  }();
  return all.at(section);
}

#define FOR_EACH_VECTOR(section)              \
  for (const json& vector : vectors(section)) \
    if (SCOPED_TRACE("vector " + vector["id"].get<std::string>()); true)

Descriptor describe(const json& fields) {
  json call = {{"dtype", "bfloat16"}, {"architecture", "sm90"}, {"graph_mode", "eager"}};
  call.update(fields);
  return decode_descriptor(call.dump());
}

void add(VariantSet& set, const json& variant) {
  const GraphSafe graph_safe = variant.value("graph_safe", true) ? GraphSafe::yes : GraphSafe::no;
  const json capabilities = variant.value("capabilities", json());
  set.add(variant["id"], domain_of(capabilities, {}, {*supply_of(set.slot())}, graph_safe),
          variant.value("proof", "exact") == "exact" ? Proof::exact : Proof::not_provable);
}

RouteDecision ask(const VariantSet& set, const json& fields) {
  return decide({.active = true, .variants = &set}, {.describe = [&] { return describe(fields); }});
}

std::string served(const RouteDecision& d) { return d.selected() ? d.variant : "stock"; }

void expect_calls(const VariantSet& set, const json& calls) {
  for (const json& call : calls) {
    const RouteDecision d = ask(set, call["fields"]);
    EXPECT_EQ(served(d), call["is"].get<std::string>()) << call;
    if (call.contains("outcome")) {
      EXPECT_EQ(name_of(d.outcome), call["outcome"].get<std::string>()) << call;
    }
    EXPECT_EQ(name_of(effect_of(d.outcome)), call.value("effect", "none")) << call;
  }
}

TEST(RoutingVectors, VariantsAreRegisteredOrRefusedWithAWitness) {
  FOR_EACH_VECTOR("resolution") {
    json variants = vector["variants"];
    // Vector 35: the order of registration changes no decision, not even which pair is refused.
    for (const bool reversed : {false, true}) {
      if (reversed) std::reverse(variants.begin(), variants.end());
      VariantSet set(vector["slot"]);
      std::vector<NamedDomain> rows;
      std::string refused;
      for (const json& v : variants) {
        const GraphSafe safe = v.value("graph_safe", true) ? GraphSafe::yes : GraphSafe::no;
        rows.push_back({v["id"], domain_of(v.value("capabilities", json()), {}, {*supply_of(set.slot())}, safe)});
        try {
          add(set, v);
        } catch (const RegistrationError& error) {
          refused = error.rule();
          EXPECT_NE(std::string(error.what()).find(v["id"].get<std::string>()), std::string::npos) << error.what();
        }
      }
      EXPECT_EQ(refused, vector.value("refused", ""));
      if (vector.contains("witness")) {
        const auto found = overlaps(rows);
        ASSERT_EQ(found.size(), 1u);
        const Descriptor expected = describe(vector["witness"]);
        EXPECT_EQ(found[0].call.size(), vector["witness"].size()) << found[0].text();
        for (const auto& [field, value] : found[0].call) {
          ASSERT_TRUE(expected.find(field)) << field;
          EXPECT_EQ(*expected.find(field), value) << field;
        }
        for (const NamedDomain& row : rows)
          if (row.id == found[0].first || row.id == found[0].second) {
            EXPECT_TRUE(match(row.domain, call_with(found[0].call)).accepted()) << row.id;
          }
      }
      expect_calls(set, vector.value("calls", json::array()));
    }
  }
}

TEST(RoutingVectors, AnArchitectureThatNoDomainNamesIsStocks) {
  const json vector = vectors("architectures");
  VariantSet set(vector["slot"]);
  for (const json& v : vector["variants"]) add(set, v);
  // The wrong router of FAULT-033: a newer part counts as the newest that is known.
  const auto by_number = [](const std::string& architecture) -> std::string {
    const int number = architecture.rfind("sm", 0) == 0 ? std::stoi(architecture.substr(2)) : 0;
    return number >= 100 ? "blackwell" : number >= 90 ? "hopper" : "stock";
  };
  int told_apart = 0;
  for (const auto& call : vector["calls"].items()) {
    EXPECT_EQ(served(ask(set, {{"architecture", call.key()}})), call.value().get<std::string>()) << call.key();
    told_apart += by_number(call.key()) != call.value().get<std::string>();
  }
  EXPECT_EQ(told_apart, 3) << "the table catches a router that compares numbers";
  EXPECT_THROW(
      (void)domain_of(json{{"architecture", {{"min", "sm_90"}}}}, {}, {*supply_of(set.slot())}, GraphSafe::yes),
      PredicateError)
      << "no declaration can be open-ended";
}

GroupFacts group_of(const json& g) {
  GroupFacts facts;
  facts.size = g.value("size", 4);
  facts.available = g.value("available", true);
  if (g.contains("claimed_size")) facts.claimed_size = g["claimed_size"].get<int>();
  if (g.value("role", "") == "pipeline") facts.role = GroupFacts::Role::pipeline;
  facts.ep_size = g.value("ep_size", 1);
  facts.defers_reduction = g.value("defers_reduction", false);
  facts.may_be_alone = g.value("may_be_alone", false);
  return facts;
}

Objection structural(const json& vector) {
  if (vector.contains("group"))
    if (auto why = check_group(group_of(vector["group"]))) return why;
  if (vector.contains("bucket")) {
    const json b = vector["bucket"];
    if (auto why = check_bucket({b["buckets"], b["most_padded"]}, b["requests"])) return why;
  }
  std::vector<PassedTensor> tensors;
  for (const json& t : vector.value("tensors", json::array()))
    tensors.push_back({t["name"], dtype_from(t.value("dtype", "bf16")), t["shape"], t["strides"]});
  return check_tensors(*find_slot(vector["slot"].get<std::string>()), DType::bf16, tensors,
                       vector.value("form", "library") == "sealed" ? RowForm::sealed : RowForm::library);
}

ExcludedPhase phase_from(const std::string& name) {
  for (const ExcludedPhase p : {ExcludedPhase::tuning, ExcludedPhase::tracing, ExcludedPhase::memory_profiling,
                                ExcludedPhase::graph_memory_profiling, ExcludedPhase::model_load})
    if (name_of(p) == name) return p;
  return ExcludedPhase::none;
}

TEST(RoutingVectors, ACallIsDecidedByTheFirstStepThatObjects) {
  FOR_EACH_VECTOR("selection") {
    VariantSet set(vector["slot"]);
    for (const json& v : vector["variants"]) add(set, v);
    bool described = false;
    std::vector<CallSite> requests;
    for (const json& call : vector["calls"]) {
      CallSite site;
      site.phase = phase_from(vector.value("phase", "none"));
      site.structural = [&] { return structural(vector); };
      site.describe = [&] {
        described = true;
        return describe(call);
      };
      site.prerequisite = [&](const std::string&, const Descriptor&) -> Objection {
        if (!vector.contains("missing")) return std::nullopt;
        return vector["missing"].get<std::string>();
      };
      requests.push_back(site);
    }
    const RouteDecision d = decide_batch({vector.value("active", true), &set}, requests);
    EXPECT_EQ(name_of(d.outcome), vector["outcome"].get<std::string>()) << d.why;
    EXPECT_EQ(d.why.empty(), d.selected());
    if (vector.contains("described")) {
      EXPECT_EQ(described, vector["described"].get<bool>());
    }
  }
}

TEST(RoutingVectors, AFailureAfterSelectionIsNeverSilent) {
  FOR_EACH_VECTOR("serving") {
    RouteDecision decision;
    decision.outcome = RouteOutcome::selected;
    decision.variant = "a";
    if (vector.value("outcome", "selected") == "out_of_domain") decision.outcome = RouteOutcome::out_of_domain;
    if (vector.value("outcome", "selected") == "ambiguous") decision.outcome = RouteOutcome::ambiguous;
    const std::string fails = vector.value("fails", "");
    bool stock_called = false;
    const auto failing = [&](const std::string& step, AttemptEffect effect) {
      return [&fails, step, effect]() -> StepResult {
        if (fails != step) return std::nullopt;
        return StepFailure{step, effect};
      };
    };
    ServingSteps steps;
    steps.allocate = failing("allocate", AttemptEffect::infrastructure);
    steps.commit = [&] { return fails == "commit" ? std::string("b") : std::string("a"); };
    steps.call = failing("call", AttemptEffect::candidate);
    steps.revalidate = failing("revalidate", AttemptEffect::candidate);
    steps.stock = [&]() -> StepResult {
      stock_called = true;
      if (!vector.value("stock_fails", false)) return std::nullopt;
      return StepFailure{"stock", AttemptEffect::infrastructure};
    };
    const RetryMode mode = vector.value("mode", "strict") == "strict" ? RetryMode::strict : RetryMode::permissive;
    const ServedCall call = serve(decision, mode, vector.value("collective", false), steps);
    const char* const names[] = {"candidate", "stock", "nobody"};
    EXPECT_EQ(names[static_cast<int>(call.by)], vector["by"].get<std::string>());
    json receipts = json::array();
    for (const ReceiptKind m : call.receipts) receipts.push_back(std::string(name_of(m)));
    EXPECT_EQ(receipts, vector["receipts"]);
    EXPECT_EQ(call.abort_all_ranks, vector.value("abort", false));
    if (vector.contains("effect")) {
      EXPECT_EQ(name_of(call.effect), vector["effect"].get<std::string>());
    }
    if (vector.contains("disqualified")) {
      EXPECT_EQ(call.disqualified, vector["disqualified"].get<bool>());
    }
    if (vector.contains("stock_called")) {
      EXPECT_EQ(stock_called, vector["stock_called"].get<bool>());
    }
    if (vector.contains("failure")) {
      EXPECT_EQ(call.failure, vector["failure"].get<std::string>());
    }
    EXPECT_EQ(call.failure.empty(), call.by != ServedCall::By::nobody);
  }
}

TEST(RoutingVectors, AGroupIsBlamedOnlyWhereAllOfItWasSeen) {
  FOR_EACH_VECTOR("attribution") {
    std::vector<RankState> ranks;
    for (const json& r : vector["ranks"]) ranks.push_back({r.value("observed", true), r.value("failed", false)});
    EXPECT_EQ(name_of(attribute_group(ranks)), vector["effect"].get<std::string>());
  }
}

TEST(RoutingVectors, RanksSelectTogetherOrNotAtAll) {
  FOR_EACH_VECTOR("agreement") {
    std::vector<std::optional<DecisionRecord>> ranks;
    for (const json& r : vector["ranks"]) {
      if (r.is_null()) {
        ranks.emplace_back();
        continue;
      }
      DecisionRecord record;
      record.slot = "collective.all_reduce";
      record.variant = r.value("variant", "");
      record.outcome = RouteOutcome::selected;
      for (const RouteOutcome o : {RouteOutcome::out_of_domain, RouteOutcome::structural_mismatch})
        if (r.value("outcome", "selected") == name_of(o)) record.outcome = o;
      record.descriptor_digest = r.value("descriptor", "0");
      record.group = r.value("group", std::vector<int>{0, 1});
      record.ordinal = r.value("ordinal", 0u);
      ranks.push_back(std::move(record));
    }
    const Agreement a = agree(ranks);
    EXPECT_EQ(name_of(a.by), vector["by"].get<std::string>());
    EXPECT_EQ(name_of(a.effect), vector["effect"].get<std::string>());
    if (vector.contains("outcome")) {
      EXPECT_EQ(name_of(a.outcome), vector["outcome"].get<std::string>());
    }
  }
}

TEST(RoutingVectors, ATwoPointBoundaryNeverServesUnfinalisedData) {
  FOR_EACH_VECTOR("two_point") {
    const json producer = vector.value("producer", json::object()), consumer = vector.value("consumer", json::object());
    VariantSet set("collective.moe_finalize_ar_rmsnorm");
    for (const json& v : vector.value("variants", json::array({{{"id", "all"}}}))) add(set, v);
    TwoPoint boundary;
    boundary.begin_forward(phase_from(vector.value("forward", "none")));
    const std::int64_t rows = producer.value("num_tokens", 8), top_k = producer.value("top_k", 4);
    RouteDecision selection = ask(set, json{{"num_tokens", rows}, {"top_k", top_k}});
    if (!producer.value("selected", true)) selection.outcome = RouteOutcome::out_of_domain;
    const TwoPoint::Export exported{4096, producer.value("exp_tokens", rows), top_k, producer.value("hidden", 64)};
    const std::string layer = producer.value("layer", "middle");
    const auto kind = layer == "last"              ? TwoPoint::Layer::last
                      : layer == "reduces_at_once" ? TwoPoint::Layer::reduces_at_once
                                                   : TwoPoint::Layer::middle;
    const char* const armed[] = {"armed", "stock", "error"};
    const std::vector<int> group = producer.value("group", std::vector<int>{0, 1, 2, 3});
    EXPECT_EQ(armed[static_cast<int>(boundary.arm(selection, group, exported, kind))], vector.value("armed", "armed"));
    if (vector.value("arm_twice", false)) {
      EXPECT_EQ(armed[static_cast<int>(boundary.arm(selection, group, exported, kind))], vector["second"].get<std::string>());
    }
    if (vector.contains("sequence")) boundary.launched(4096, vector["sequence"][0], vector["sequence"][1]);
    if (vector.value("forward_between", false)) boundary.begin_forward(ExcludedPhase::none);

    TwoPoint::Consumer now;
    now.address = 4096;
    now.rows = consumer.value("rows", exported.exp_tokens);
    now.hidden = consumer.value("hidden", exported.hidden);
    now.group = consumer.value("group", group);
    now.phase = phase_from(consumer.value("phase", "none"));
    now.decision =
        ask(set, {{"num_tokens", consumer.value("num_tokens", rows)}, {"top_k", consumer.value("top_k_field", top_k)}});
    const char* const finishes[] = {"plain", "fused", "orphan", "abort"};
    const auto answer = boundary.consume(now);
    EXPECT_EQ(finishes[static_cast<int>(answer.finish)], vector["finish"].get<std::string>()) << answer.why;
    EXPECT_EQ(boundary.counters().orphans, vector.value("orphans", 0u));
    EXPECT_EQ(boundary.blocks_pass(), vector.value("orphans", 0) != 0);
    EXPECT_EQ(boundary.counters().stale_dropped, vector.value("stale", 0u));
    if (vector.contains("again")) {
      EXPECT_EQ(finishes[static_cast<int>(boundary.consume(now).finish)], vector["again"].get<std::string>());
    }
  }
}

TEST(RoutingVectors, AGateAdmitsWithoutGraphProofWhatTheSlotAllows) {
  FOR_EACH_VECTOR("admission") {
    const char* const names[] = {"admitted", "numerical_pass_at_best", "not_admitted"};
    const GraphSafe safe = vector["graph_safe"].get<bool>() ? GraphSafe::yes : GraphSafe::no;
    EXPECT_EQ(names[static_cast<int>(admission(*find_slot(vector["slot"].get<std::string>()), safe))],
              vector["is"].get<std::string>());
  }
}

OutputSpec spec_of(const json& j) {
  OutputSpec spec;
  const auto read = [](const json& list) {
    std::vector<TensorSpec> tensors;
    for (const json& t : list)
      tensors.push_back({t["name"], dtype_from(t.value("dtype", "bf16")), t["shape"], t.value("strided", false),
                         t.value("padding", 0), t.value("alignment", 256), true});
    return tensors;
  };
  spec.outputs = read(j["outputs"]);
  spec.workspaces = read(j.value("workspaces", json::array()));
  validate(spec);
  return spec;
}

TEST(RoutingVectors, VerifierAndRouterMayDifferInPaddingOnly) {
  FOR_EACH_VECTOR("outputs") {
    const std::string text = difference(spec_of(vector["verifier"]), spec_of(vector["router"]));
    EXPECT_EQ(text.empty(), vector["allowed"].get<bool>()) << text;
  }
}

}  // namespace
}  // namespace assay
