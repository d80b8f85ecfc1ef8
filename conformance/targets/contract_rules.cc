#include "conformance/targets/contract_rules.hpp"

#include <algorithm>
#include <utility>

#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

// Whether a name says that the tensor is one of what is sampled: "logits", "next_token_ids", "logprobs", ...
bool names_a_sampled_result(const std::string& name) {
  std::set<std::string> words;
  std::string word;
  for (const char c : name + "_") {
    if (c != '_' && c != '.') {
      word += c;
    } else if (!word.empty()) {
      words.insert(std::exchange(word, {}));
    }
  }
  const auto has = [&](const char* w) { return words.count(w) != 0; };
  return has("logit") || has("logits") || has("logprob") || has("logprobs") || has("sampler") || has("sampling") ||
         (has("log") && (has("probs") || has("probabilities"))) || ((has("token") || has("tokens")) && has("ids"));
}

std::set<std::string> reached_from(const EngineLoop& loop, const std::set<std::string>& starts) {
  std::set<std::string> seen;
  std::vector<std::string> todo(starts.begin(), starts.end());
  while (!todo.empty()) {
    const auto edges = loop.feeds.find(todo.back());
    todo.pop_back();
    if (edges == loop.feeds.end()) continue;
    for (const std::string& next : edges->second)
      if (seen.insert(next).second) todo.push_back(next);
  }
  return seen;
}

}  // namespace

const std::vector<CatalogueRule>& catalogue_rules() {
  static const std::vector<CatalogueRule> rules = {
      {"target.digest",
       "Any change to interface, reference, tolerance, dynamic inputs, comparator or quality threshold changes the "
       "contract's digest; order and spelling do not.",
       "random edits of slots and of contracts against their digests; a ledger of what every id stands for"},
      {"target.composition",
       "Atomic targets displace their members; precedence never depends on the order of packages or of registration.",
       "mutants of a catalogue for each invariant; all orders of a package's rows; every active set and proposal"},
      {"contract.upstream",
       "Every output has a trusted consumer before the logits, and nothing of a call is sampled from.",
       "reachability in the engine's loop; names of arguments"},
      {"contract.signature",
       "Every output states shape, dtype, device, strides, alignment and aliasing, and is held to each.",
       "64 drawn calls allocated and poisoned; one corrupted property at a time has to be refused"},
      {"contract.oracle",
       "The reference is independent, agrees with a second form, and tells every seeded mutant from itself.",
       "its includes and its link; answers of mutants judged by the number.* rules"},
      {"contract.call_site", "The availability row says what a probe of the call site did.",
       "a right library called once on every rank; its record's digest is the row's evidence"},
      {"contract.complete", "A registered slot lacks no part.",
       "slot, names, content digests, availability, supply row, rules, planted faults in values, in graphs and on the "
       "failure path, documents"}};
  return rules;
}

Findings upstream(const SlotSpec& slot, const EngineLoop& loop) {
  Findings wrong;
  for (const std::vector<ArgumentSpec>* list : {&slot.arguments, &slot.weights})
    for (const ArgumentSpec& a : *list)
      if (names_a_sampled_result(a.name)) wrong.push_back(slot.id + ": " + a.name + " is what is sampled from, or how");
  const std::set<std::string> sampled = reached_from(loop, sampled_results());
  for (const ArgumentSpec& a : slot.arguments) {
    if (a.kind != 'o') continue;
    const std::string node = slot.id + "." + a.name;
    const auto consumers = loop.feeds.find(node);
    if (consumers == loop.feeds.end() || consumers->second.empty()) {
      wrong.push_back(node + " has no consumer in the engine's loop");
      continue;
    }
    for (const std::string& consumer : consumers->second) {
      if (sampled_results().count(consumer) != 0)
        wrong.push_back(node + " is " + consumer + ": nothing trusted stands between");
      else if (reached_from(loop, {consumer}).count("logits") == 0)
        wrong.push_back(node + " feeds " + consumer + ", which does not lead to the logits");
      if (sampled.count(consumer) != 0) wrong.push_back(node + " feeds " + consumer + ", which comes after sampling");
    }
    if (sampled.count(node) != 0) wrong.push_back(node + " comes from what is sampled");
  }
  return wrong;
}

Findings call_site(const AvailabilityTable& table, std::string_view arena, std::string_view target,
                   const ProbeRecord& probed) {
  const std::string who = std::string(target) + " in " + std::string(arena);
  const AvailabilityRow* row = find_row(table, arena, target);
  if (!row) return {who + " has no row of availability"};
  Findings wrong;
  if (row->probe.empty()) wrong.push_back(who + " has no evidence of a probe");
  if (!row->probe.empty() && row->probe != probe_digest(probed))
    wrong.push_back(who + ": its evidence is of another probe");
  const bool reaches = row->state == Availability::installable || row->state == Availability::form_excluded;
  if (reaches && (probed.ranks == 0 || probed.completed != probed.ranks))
    wrong.push_back(who + " is " + std::string(name_of(row->state)) + ", and the probe completed on " +
                    std::to_string(probed.completed) + " of " + std::to_string(probed.ranks) + " ranks");
  if (!reaches && probed.completed != 0)
    wrong.push_back(who + " is " + std::string(name_of(row->state)) + ", and the probe completed");
  if (probed.fallbacks != 0) wrong.push_back(who + ": the probe fell back to stock");
  if (!reaches && row->reason.empty()) wrong.push_back(who + " is not installable, and the row does not say why");
  return wrong;
}

Findings complete(const RegisteredParts& p) {
  if (!p.spec) return {"a target is registered, and no slot"};
  const SlotSpec& slot = *p.spec;
  Findings wrong;
  const auto need = [&](bool holds, const std::string& what) {
    if (!holds) wrong.push_back(slot.id + " lacks " + what);
  };
  const auto rule_like = [&](const char* prefix) {
    return std::any_of(p.rules.begin(), p.rules.end(), [&](const std::string& r) { return r.rfind(prefix, 0) == 0; });
  };
  const auto rejects = [&](std::initializer_list<const char*> prefixes) {
    return std::any_of(p.must_reject.begin(), p.must_reject.end(), [&](const auto& fault) {
      return std::any_of(prefixes.begin(), prefixes.end(),
                         [&](const char* x) { return fault.second.rfind(x, 0) == 0; });
    });
  };
  need(slot.reference.symbol || slot.reference.function, "a reference");
  need(p.second_form, "a second, naive form of its reference");
  need(!slot.pins.empty(), "pinned shapes");
  need(std::any_of(slot.arguments.begin(), slot.arguments.end(),
                   [](const ArgumentSpec& a) { return a.kind == 'i' && a.dynamic; }),
       "a dynamic input");
  need(!slot.summary.empty(), "a summary");
  if (!p.names) {
    need(false, "a row of the target catalogue");
  } else {
    need(p.names->slot == slot.id && !p.names->entry.empty() && !p.names->binding_family.empty(),
         "its names in the catalogue");
    need(slot.weights.empty() == !p.names->prepare.has_value(), "the prepare callable that its weights ask for");
    for (const auto& [part, version] : {std::pair("input", p.names->input),
                                        {"output", p.names->output},
                                        {"reference", p.names->reference},
                                        {"verify", p.names->profile}})
      need(content_digests().count(slot.id + "." + part + ".v" + std::to_string(version)) != 0,
           std::string("the content digest of its ") + part + " id");
  }
  need(!p.availability.empty(), "a row of availability");
  need(std::any_of(p.availability.begin(), p.availability.end(),
                   [](const AvailabilityRow& r) { return is_digest(r.probe); }),
       "a probe of its call site");
  need(p.supply && p.supply->slot == slot.id && slot.descriptor,
       "a row of the supply matrix, or its descriptor's builder");
  for (const char* group : {"write.", "input.", "number.", "graph.", "stream."})
    need(rule_like(group), std::string("rules of the group ") + group + "*");
  need(slot.kind != Kind::collective || p.rules.count("collective.reference") != 0, "distributed verification");
  need(slot.weights.empty() || rule_like("prepare."), "rules of the group prepare.*");
  need(rejects({"number.", "collective.reference"}), "a planted fault in its values");
  need(rejects({"graph."}), "a planted fault that only a graph shows");
  need(rejects({"verdict.attribution", "write.no_return"}), "a planted fault on its failure path");
  need(p.documents.find("`" + slot.id + "`") != std::string::npos, "a line in the documents");
  return wrong;
}

}  // namespace assay
