#include "conformance/candidate.hpp"

#include <algorithm>

#include "harness/case/digest.hpp"
#include "harness/case/generate.hpp"
#include "harness/route/live_facts.hpp"
#include "harness/route/routing_table.hpp"
#include "harness/worker/nccl.hpp"
#include "harness/worker/oom_kills.hpp"

namespace assay {
namespace {

// Entries of abi.h by slot id, for slots that this build does not judge: reported and skipped.
constexpr std::pair<const char*, const char*> kAbiSignatures[] = {
    {"activation.silu_and_mul", "io"},
    {"norm.rmsnorm", "iiod"},
    {"attention.sdpa", "iiiodw"},
    {"attention.decode", "iiiiiiiodl"},
    {"attention.msa_block_score", "iiilo"},
    {"attention.msa_prefill_block_score", "iiiiiiillllllldillo"},
    {"moe.fused_experts", "iiipo"},
    {"moe.fused_experts_reduce", "iiipo"},
    {"collective.all_reduce", "io"},
    {"collective.ar_residual_rmsnorm", "iiidoo"},
    {"collective.moe_finalize_ar_rmsnorm", "iiiiidoo"},
};

SlotCatalogueView catalogue_view() {
  SlotCatalogueView view;
  for (const auto& [id, signature] : kAbiSignatures)
    view[id] = SlotFacts{signature, find_slot(id) != nullptr, *supply_of(id)};
  for (const SlotSpec* slot : slot_catalogue()) {
    SlotFacts facts;
    facts.signature = slot->signature;
    if (const SlotSupply* supply = supply_of(slot->id)) {
      facts.supply = *supply;
    } else {
      // A stranger's slot supplies what its own descriptor says of its smallest case.
      Case c;
      repair(*slot, c);
      DescriptorFacts said;
      slot->descriptor(c, said);
      facts.supply = make_supply(slot->id, {});
      for (const auto& [name, value] : said.numbers) facts.supply.fields.push_back({name, std::nullopt, false});
      for (const auto& [name, value] : said.words) facts.supply.fields.push_back({name, std::nullopt, false});
    }
    view[slot->id] = std::move(facts);
  }
  return view;
}

// The group's communicator and the library's calls have to be of one NCCL: the one that the library loads.
void check_nccl(Candidate& candidate, const NcclFacts& loaded, const std::string& file) {
  const auto& all = candidate.variants;
  const bool collectives = std::any_of(all.begin(), all.end(), [](const CandidateVariant& v) {
    return v.device == DeviceType::cuda && v.slot->kind == Kind::collective;
  });
  if (!collectives) return;
  candidate.nccl = loaded;
  if (!loaded.path.empty()) return;
  if (holds_nccl(file))
    candidate.errors.push_back(file + " has NCCL linked statically; link libnccl.so.2 dynamically, so that the group's "
                               "communicator and the library's calls are of one NCCL");
  else
    candidate.notes.push_back("the library loads no libnccl.so.2: its groups on CUDA have exchange and symmetric memory, "
                              "and no communicator");
}

// One table for all variants of a slot on a device.
std::shared_ptr<const RoutingTable> table_of(const Candidate& candidate, const CandidateVariant& of,
                                             const SlotCatalogueView& slots) {
  for (const CandidateVariant& v : candidate.variants)
    if (v.slot == of.slot && v.device == of.device && v.info.routing) return v.info.routing;
  auto table = std::make_shared<RoutingTable>(RoutingTable{VariantSet(of.slot->id), slots.at(of.slot->id).supply, {}});
  for (const CandidateVariant& v : candidate.variants) {
    if (v.slot != of.slot || v.device != of.device) continue;
    table->variants.add(v.info.id, v.domain, Proof::not_provable);
    table->index[v.info.id] = v.info.index;
    table->artifact_digest = candidate.sha256;
  }
  return table;
}

// As the examiner does with calls: what is nobody's fault in three workers is the library's, but for want of memory.
std::unique_ptr<WorkerSession> load_patiently(const WorkerConfig& config, std::optional<Fault>& fault) {
  const std::optional<std::uint64_t> before = oom_kills();
  std::unique_ptr<WorkerSession> session;
  for (int attempt = 0; attempt < 3; ++attempt) {
    session = std::make_unique<WorkerSession>(config);
    fault = session->load();
    if (!fault || fault->verdict != Verdict::no_decision) return session;
  }
  if (fault->reason == Reason::killed && (!before || oom_kills() != before)) return session;
  fault->verdict = Verdict::fail;
  fault->reason = Reason::load_crash;
  fault->text = "the library's process ends while it is loaded, in three workers: " + fault->text;
  return session;
}

}  // namespace

Candidate load_candidate(const WorkerConfig& config) {
  Candidate candidate;
  candidate.sha256 = sha256_of_file(config.library.empty() ? config.worker : config.library);
  const std::unique_ptr<WorkerSession> loaded = load_patiently(config, candidate.fault);
  if (candidate.fault) return candidate;
  WorkerSession& session = *loaded;
  const LibraryDescription library = library_from_json(session.description());
  candidate.name = library.name.value.value_or("");
  candidate.version = library.version.value.value_or("");
  const SlotCatalogueView slots = catalogue_view();
  const LoadReport report = validate(library, slots);
  for (const LoadError& e : report.errors) candidate.errors.push_back(e.sentence);
  for (const SkippedVariant& s : report.skipped) candidate.notes.push_back(s.sentence);
  for (const AcceptedVariant& a : report.accepted) {
    CandidateVariant v;
    const VariantDescription& d = library.variants[a.variant];
    v.info.index = a.variant;
    v.info.id = a.id;
    v.info.flags = d.flags;
    v.slot = find_slot(a.slot);
    v.device = d.device_type == kDLCUDA ? DeviceType::cuda : DeviceType::host;
    v.domain = lowered(*v.slot, a.domain);
    candidate.variants.push_back(std::move(v));
  }
  for (CandidateVariant& v : candidate.variants) v.info.routing = table_of(candidate, v, slots);
  check_nccl(candidate, session.nccl(), config.library.empty() ? config.worker : config.library);
  return candidate;
}

std::vector<SlotOverlap> overlaps_among(const std::vector<const CandidateVariant*>& variants) {
  std::map<std::pair<const SlotSpec*, DeviceType>, std::vector<NamedDomain>> rows;
  for (const CandidateVariant* v : variants) rows[{v->slot, v->device}].push_back({v->info.id, v->domain});
  std::vector<SlotOverlap> found;
  for (const auto& [where, domains] : rows)
    for (Overlap& o : overlaps(domains)) found.push_back({where.first, where.second, std::move(o)});
  return found;
}

Domain lowered(const SlotSpec& slot, Domain domain) {
  for (const auto& [field, unnamed] : slot.paired) {
    if (domain.fields.count(field)) continue;
    FieldDomain silent;
    silent.or_absent = true;
    silent.allowed.emplace();
    if (!unnamed.empty()) silent.allowed->push_back(FactValue(unnamed));
    domain.restrict_to(field, silent);
  }
  return domain;
}

Match applicable(const CandidateVariant& variant, const Descriptor& descriptor) {
  return match(variant.domain, descriptor);
}

}  // namespace assay
