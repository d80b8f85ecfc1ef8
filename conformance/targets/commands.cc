// commands.cc: `assay targets` and `assay contract`.
#include "conformance/commands.hpp"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "conformance/targets/registered.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

using nlohmann::json;

// NULL where this program has no catalogue, or no such target: the exit code is set.
const Catalogue* catalogue_or_refuse(int& exit_code) {
  try {
    return &registered_catalogue();
  } catch (const CatalogueError& error) {
    exit_code = refuse(std::string("this program has no target catalogue, ask the assay program: ") + error.what());
    return nullptr;
  }
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& w : words) out += (out.empty() ? "" : ", ") + w;
  return out;
}

std::string floor_text(const Correctness& c) {
  if (c.mode == "topk_overlap") return c.min_overlap + " of the best " + std::to_string(c.top_k);
  if (c.mode == "cosine") return c.min_cosine + ", norm within " + c.max_rel_norm_err;
  return c.min_ratio + " of the cells";
}

void print_contract(const Target& target) {
  const TargetSpec& spec = target.spec();
  std::printf("%s (%s)\n", spec.id.c_str(), std::string(name_of(spec.kind)).c_str());
  if (spec.contract) {
    const TargetContractRef& c = *spec.contract;
    std::printf("  kind %s, entry %s%s\n", c.kind.c_str(), c.entry.c_str(), c.prepare ? ", with prepare" : "");
    std::printf("  replays follow: %s\n", joined(c.graph_dynamic_inputs).c_str());
    std::printf("  correct: %s, %s\n", c.correctness.mode.c_str(), floor_text(c.correctness).c_str());
    for (const ContractTolerance& t : c.tolerances)
      std::printf("  tolerance %-9s atol %s, rtol %s\n", t.dtype.c_str(), t.atol.c_str(), t.rtol.c_str());
    if (c.kl_threshold) std::printf("  quality threshold: %s\n", c.kl_threshold->c_str());
    for (const auto& [id, digest] : {std::pair(&c.input_abi_id, &c.input_abi_digest),
                                     {&c.output_abi_id, &c.output_abi_digest},
                                     {&c.reference_id, &c.reference_digest},
                                     {&c.verification_profile_id, &c.profile_digest}})
      std::printf("  %-52s %s\n", id->c_str(), digest->c_str());
    std::printf("  call site: %s\n", c.binding_family_id.c_str());
  } else {
    std::printf("  members: %s\n  semantics: %s\n", joined({spec.members.begin(), spec.members.end()}).c_str(),
                spec.atomic_semantics_id.c_str());
  }
  std::printf("  contract digest %s\n  target digest   %s\n", target.contract_digest().c_str(),
              target.digest().c_str());
}

}  // namespace

int targets_command(const Options&) {
  int exit_code = 0;
  const Catalogue* catalogue = catalogue_or_refuse(exit_code);
  if (!catalogue) return exit_code;
  for (const Target& t : catalogue->targets()) {
    const TargetSpec& spec = t.spec();
    std::printf("%-36s %-6s contract %.12s  target %.12s\n", spec.id.c_str(), std::string(name_of(spec.kind)).c_str(),
                t.contract_digest().c_str(), t.digest().c_str());
    if (!spec.displaces.empty())
      std::printf("    displaces %s\n", joined({spec.displaces.begin(), spec.displaces.end()}).c_str());
  }
  for (const CompositionRule& r : catalogue->rules())
    std::printf("%s: at one call site %s is tried first, then %s\n", r.id.c_str(), r.precedence[0].c_str(),
                r.precedence[1].c_str());
  for (const DeploymentArena& arena : arenas()) {
    std::printf("\n%s: %s\n", arena.id.c_str(), arena.summary.c_str());
    for (const Target& t : catalogue->targets()) {
      const AvailabilityRow* row = find_row(availability(), arena.id, t.spec().id);
      if (!row) continue;
      std::printf("  %-36s %-17s %s%s%s\n", row->target.c_str(), std::string(name_of(row->state)).c_str(),
                  row->probe.empty() ? "not probed" : "probed", row->reason.empty() ? "" : ": ", row->reason.c_str());
    }
  }
  std::printf("\ncatalogue    %s\navailability %s\n", catalogue->digest().c_str(),
              availability_digest(availability()).c_str());
  return 0;
}

int contract_command(const Options& options) {
  int exit_code = 0;
  const Catalogue* catalogue = catalogue_or_refuse(exit_code);
  if (!catalogue) return exit_code;
  const Target* target = catalogue->find(options.topic);
  if (!target) return refuse("no such target: '" + options.topic + "'; `assay targets` names them");
  if (!options.json) {
    print_contract(*target);
    return 0;
  }
  json answer = {{"schema_version", options.schema},
                 {"target_id", options.topic},
                 {"target", target->snapshot()},
                 {"target_digest", target->digest()},
                 {"catalogue_digest", catalogue->digest()},
                 {"contract_digest", target->contract_digest()}};
  if (const auto& contract = target->spec().contract) {
    answer["contract"] = to_json(*contract, options.schema);
    answer["contract_digest"] = contract_digest(*contract, options.schema);
    answer["domain"] = contract_domain;
  } else if (options.schema == 1) {
    return refuse(options.topic + " is atomic, and an atomic target has no schema 1: leave --schema out");
  }
  std::printf("%s\n", canonical(answer).c_str());
  return 0;
}

}  // namespace assay
