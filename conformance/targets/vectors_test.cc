// Runs fixtures/target_vectors.json: vectors 69 to 88, 90 and 95 of routing-and-targets.md 14, and more of their kind.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "conformance/targets/registered_parts_test.hpp"
#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/catalogue/resolve.hpp"
#include "harness/catalogue/sample_test.hpp"
#include "harness/catalogue/transition.hpp"

namespace assay {
namespace {

using nlohmann::json;
using Strings = std::vector<std::string>;

json vectors() { return parse_strict(parts::contents(ASSAY_FIXTURES "/target_vectors.json"), "target_vectors.json"); }

ActiveTargets set_of(const json& list) { return list.get<std::set<std::string>>(); }

std::set<std::string> slot_ids() {
  std::set<std::string> ids;
  for (const SlotSpec* s : slot_catalogue()) ids.insert(s->id);
  return ids;
}

// The error's id, or "" where there was none.
std::string refusal(const std::function<void()>& act) {
  try {
    act();
  } catch (const PackageRefused& e) {
    return e.rule();
  } catch (const TransitionRefused& e) {
    return e.rule();
  } catch (const CatalogueError& e) {
    return e.rule();
  } catch (const ContractError& e) {
    return e.field();
  } catch (const JsonError& e) {
    return std::string(e.what()).substr(0, std::string("identity").size());
  }
  return {};
}

void run_resolve(const json& v) {
  Resolution r;
  EXPECT_EQ(refusal([&] { r = resolve(registered_catalogue(), package_from_json(v.at("package"))); }),
            v.value("error", ""));
  if (!v.contains("target")) return;
  ASSERT_NE(r.target, nullptr);
  EXPECT_EQ(r.target->spec().id, v.at("target").get<std::string>());
  EXPECT_EQ(r.members, v.at("members").get<Strings>());
}

void run_active(const json& v) {
  EXPECT_EQ(refusal([&] { check_active(registered_catalogue(), set_of(v.at("active"))); }), v.value("error", ""));
}

void run_plan(const json& v) {
  const Catalogue& c = registered_catalogue();
  Delta d;
  EXPECT_EQ(refusal([&] { d = plan(c, c.digest(), set_of(v.at("active")), v.at("install")); }), v.value("error", ""));
  if (v.contains("displaced")) {
    EXPECT_EQ(d.displaced, set_of(v.at("displaced")));
  }
}

void run_order(const json& v) {
  const std::string site = v.at("call_site");
  const ActiveTargets active = set_of(v.at("active")), selects = set_of(v.at("selects"));
  EXPECT_EQ(attempt_order(registered_catalogue(), active, site), v.at("order").get<Strings>());
  const CallTaken taken =
      take_call(registered_catalogue(), active, site, [&](const std::string& id) { return selects.count(id) != 0; });
  EXPECT_EQ(taken.target, v.at("takes").get<std::string>());
  EXPECT_EQ(taken.stock_reduces, v.at("stock_reduces").get<bool>());
}

void run_catalogue(const json& v) {
  std::vector<TargetSpec> targets;
  std::set<std::string> slots;
  for (const json& t : v.at("targets")) {
    const std::string id = t.at("id");
    targets.push_back(t.contains("members") ? sample::atomic(id, set_of(t["members"])) : sample::slot(id));
    if (!t.contains("members")) slots.insert(id);
    targets.back().contract = t.contains("members") ? std::nullopt : std::optional(sample::contract("s"));
    if (targets.back().contract) targets.back().contract->slot_id = id;
    targets.back().compatible_with = set_of(t.value("compatible_with", json::array()));
    targets.back().needs = set_of(t.value("requires", json::array()));
  }
  std::vector<CompositionRule> rules;
  for (const json& pair : v.value("rules", json::array())) rules.push_back(sample::rule(pair[0], pair[1]));
  EXPECT_EQ(refusal([&] {
              const Catalogue c({}, targets, rules, slots);
              if (v.contains("active")) check_active(c, set_of(v["active"]));
            }),
            v.value("error", ""));
}

void run_registration(const json& v) {
  std::vector<TargetSpec> targets = registered_targets();
  std::sort(targets.begin(), targets.end(), [](const auto& a, const auto& b) { return a.id < b.id; });
  const auto before = [](const TargetSpec& a, const TargetSpec& b) { return a.id < b.id; };
  for (int i = 0; i < v.at("orders") && std::next_permutation(targets.begin(), targets.end(), before); ++i) {
    std::rotate(targets.begin(), targets.begin() + i % 12, targets.end());
    EXPECT_EQ(Catalogue(registered_policy(), targets, registered_rules(), slot_ids()).digest(),
              registered_catalogue().digest());
    std::rotate(targets.begin(), targets.end() - i % 12, targets.end());
  }
}

void run_contract(const json& v) {
  const json edited = to_json(*registered_catalogue().find("norm.rmsnorm")->spec().contract, 1).patch(v.at("edits"));
  std::string digest;
  EXPECT_EQ(
      refusal([&] { digest = envelope_digest("gks.target-contract", to_json(contract_from_json(edited), 1), 1); }),
      v.value("error", ""));
  EXPECT_EQ(digest, v.value("sha256", ""));
}

void run_payload(const json& v) {
  EXPECT_EQ(refusal([&] { (void)canonical_envelope("gks.test", v.at("payload"), 1); }), v.value("error", ""));
}

// Evidence quotes the contract's digest of its time; then a version rises.
void run_stale(const json& v) {
  const std::string slot = v.at("slot"), bump = v.at("bump");
  std::vector<TargetSpec> targets = registered_targets();
  for (TargetSpec& t : targets) {
    if (t.id != slot || bump.empty()) continue;
    std::string& id = bump == "reference" ? t.contract->reference_id : t.contract->input_abi_id;
    id.back() = '2';
  }
  const Catalogue now(registered_policy(), targets, registered_rules(), slot_ids());
  const json package = {{"target", slot},
                        {"mode", "slot"},
                        {"rows", {{{"slot", slot}, {"variant", "a"}}}},
                        {"contract_digest", registered_catalogue().find(slot)->contract_digest()}};
  EXPECT_EQ(refusal([&] { (void)resolve(now, package_from_json(package)); }), v.value("error", ""));
}

void run_feature(const json& v) {
  const std::string id = v.at("target");
  std::vector<TargetSpec> targets = registered_targets();
  for (TargetSpec& t : targets)
    if (t.id == id) t.allowed_features.insert(v.at("feature"));
  const Catalogue now(registered_policy(), targets, registered_rules(), slot_ids());
  EXPECT_EQ(now.find(id)->contract_digest(), registered_catalogue().find(id)->contract_digest());
  EXPECT_NE(now.find(id)->digest(), registered_catalogue().find(id)->digest());
  EXPECT_NE(now.digest(), registered_catalogue().digest());
}

void run_admit(const json& v) {
  CandidateForm form;
  for (const ArtifactForm f : {ArtifactForm::library, ArtifactForm::source, ArtifactForm::sealed})
    if (v.at("form") == name_of(f)) form.form = f;
  form.group_projection = v.value("group_projection", false);
  const ArenaAdmission a =
      admit(availability(), v.at("arena").get<std::string>(), v.at("target").get<std::string>(), form);
  EXPECT_EQ(a.admitted, !v.contains("error")) << a.why;
  EXPECT_NE(a.why.find(v.value("error", "")), std::string::npos) << a.why;
}

void run_complete(const json& v) {
  RegisteredParts p = parts::of(*find_slot(v.at("slot").get<std::string>()));
  if (v.at("without") == "probe")
    for (AvailabilityRow& r : p.availability) r.probe.clear();
  if (v.at("without") == "faults") p.must_reject.clear();
  const Findings found = complete(p);
  if (!v.contains("error")) {
    EXPECT_TRUE(found.empty()) << found.front();
    return;
  }
  EXPECT_TRUE(std::any_of(found.begin(), found.end(), [&](const std::string& s) {
    return s.find(v["error"].get<std::string>()) != std::string::npos;
  }));
}

TEST(TargetVectors, AreDecidedAsSpecified) {
  const std::map<std::string, void (*)(const json&)> kinds = {
      {"resolve", run_resolve},   {"active", run_active},       {"plan", run_plan},
      {"order", run_order},       {"catalogue", run_catalogue}, {"registration", run_registration},
      {"contract", run_contract}, {"payload", run_payload},     {"stale", run_stale},
      {"feature", run_feature},   {"admit", run_admit},         {"complete", run_complete}};
  std::set<std::string> numbers;
  for (const json& v : vectors()) {
    const std::string id = v.at("id");
    SCOPED_TRACE("vector " + id);
    kinds.at(v.at("kind"))(v);
    numbers.insert(id.substr(0, id.find(' ')));
  }
  for (int n = 69; n <= 95; ++n) {
    const bool due = n <= 88 || n == 90 || n == 95;
    EXPECT_EQ(numbers.count(std::to_string(n)), due ? 1u : 0u) << "vector " << n;
  }
}

// TR-5 and R9: every order of a package's rows gives one resolution, or the one refusal.
TEST(TargetComposition, TheOrderOfAPackagesRowsSaysNothing) {
  for (const json& v : vectors()) {
    if (v.at("kind") != "resolve") continue;
    SCOPED_TRACE(v.at("id").get<std::string>());
    json package = v.at("package");
    std::vector<std::size_t> order(package["rows"].size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::set<std::string> answers;
    int tried = 0;
    do {
      json rows = json::array();
      for (const std::size_t i : order) rows.push_back(v["package"]["rows"][i]);
      package["rows"] = rows;
      std::string target;
      const std::string rule =
          refusal([&] { target = resolve(registered_catalogue(), package_from_json(package)).target->spec().id; });
      answers.insert(rule + target);
    } while (++tried < 120 && std::next_permutation(order.begin(), order.end()));
    EXPECT_EQ(answers.size(), 1u);
  }
}

}  // namespace
}  // namespace assay
