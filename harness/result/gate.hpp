// harness/result/gate.hpp: what a gate's run line adds: the facts that its verdict is bound to and that no other line
// of results.jsonl can say.
//
// Promises: names and digests only, nothing that is measured; verdict.json is a function of results.jsonl and
// receipts.jsonl because these facts stand in the run line. Reading is strict: exact keys, digests that are digests,
// lists sorted and without repetition. Not promised: that the digests are true; who does not trust the machine that
// ran the gate pins them (`assay verdict verify --expect-...`).
// Who uses it: records.cc (a key of the run line), conclude.cc, verdict_file.cc; conformance/gate_facts.cc fills it in.
//
//   run.gate = GateRecord{...};          // makes a run a gate's
//   suite_digest(*run.gate);             // one digest of what judged
#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "harness/result/verdict.hpp"

namespace assay {

// A variant that the run was asked to judge.
struct GateVariant {
  std::string slot, variant, device;
  std::string domain;  // what it declares, canonical; "{}": the whole slot
  bool graph_safe = false;
  friend auto operator<=>(const GateVariant&, const GateVariant&) = default;
};

// A waiver of the run's file, whether it was used or not.
struct GateWaiver {
  std::string rule, slot, variant, reason, owner, tracker, expires;
  friend auto operator<=>(const GateWaiver&, const GateWaiver&) = default;
};

struct GateRecord {
  std::map<std::string, std::string> contracts;  // slot: digest of its contract, schema 2
  std::map<std::string, std::string> targets;    // slot: digest of its target; a stranger's slot is none
  std::vector<GateVariant> variants;             // sorted
  std::string rules;                             // digest of the rules that judged: ids, sentences, methods, drives
  std::int64_t rules_left_out = 0;               // by --rule: such a run decides nothing but a failure
  std::string program, worker, references;       // SHA-256; no reference module: empty
  std::string compiler;                          // that built the judge program
  std::vector<GateWaiver> waivers;               // sorted
  std::string waivers_sha256;                    // of the file; empty: none was given
  friend bool operator==(const GateRecord&, const GateRecord&) = default;
};

[[nodiscard]] nlohmann::json to_json(const GateRecord&);
// Throws std::invalid_argument with what is wrong: "is not ...".
[[nodiscard]] GateRecord gate_from(const nlohmann::json&);

// Over contracts, rules, judge program, worker program and reference module: changes when any of them does. The slots'
// generators, comparators and recipes are code of the judge program.
[[nodiscard]] std::string suite_digest(const GateRecord&);

}  // namespace assay
