// What a bench tells the workers of a launch about receipts: which calls they may mint for, until they have.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "harness/case/digest.hpp"
#include "harness/drive/bench_state.hpp"
#include "harness/drive/call_descriptor.hpp"

namespace assay {

using nlohmann::json;

void Bench::State::open_ledger() {
  if (library_digest.empty()) library_digest = config.library_sha256;
  if (library_digest.empty())
    library_digest = sha256_of_file(config.worker.library.empty() ? config.worker.worker : config.worker.library);
  ledger = std::make_unique<ReceiptLedger>(world, library_digest);
  ledger->on_taken = config.on_receipt;
}

// Empty once all ranks have said what a program of such steps can make them say: nothing then is named, sent or minted.
std::string Bench::State::named_calls(const SlotSpec& slot, const VariantInfo& variant) {
  if (script.calls().empty() || !slot.descriptor) return {};  // a call without a descriptor is bound to nothing
  const ProgramStep* const steps = program->steps;
  const bool captures =
      std::any_of(steps, steps + program->step_count, [](const ProgramStep& s) { return s.op == Op::begin_capture; });
  if (ledger->has(ReceiptKind::completed, slot.id, variant.id, "eager") &&
      (!captures || ledger->has(ReceiptKind::replayed, slot.id, variant.id)))
    return {};
  std::string& contract = contracts[&slot];
  if (contract.empty() && config.contract_digest) contract = config.contract_digest(slot);
  if (contract.empty()) contract = arguments_digest(slot);
  const std::string architecture = domain.type() == DeviceType::cuda ? domain.architecture() : "cpu";
  std::map<std::pair<const Binding*, bool>, std::string> digests;
  json calls = json::array();
  for (const auto& [step, binding] : script.calls()) {
    bool captured = false;
    for (int before = 0; before < step; ++before) {
      if (steps[before].op == Op::begin_capture && steps[before].stream == steps[step].stream) captured = true;
      if (steps[before].op == Op::end_capture) captured = false;
    }
    std::string& digest = digests[{binding, captured}];
    if (digest.empty()) digest = descriptor_of(slot, binding->c, architecture, captured).digest();
    ledger->name({slot.id, variant.id, contract, digest});
    calls.push_back({step, digest});
  }
  return json{{"contract", contract}, {"calls", std::move(calls)}}.dump();
}

}  // namespace assay
