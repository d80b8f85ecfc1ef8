// harness/receipt/call_receipts.hpp: when the calls of a program have earned their receipts.
//
// Promises: `fired` before an entry is called; `completed` once the call's stream has been waited for without a device
// error, and only where the call enqueued something (RC-5); `completed` with phase "captured" when the capture ended
// well, which proves the capture and nothing else (RC-6); `replayed` when at least two replays of a graph that holds
// the call have been waited for. Costs nothing once the judge names no calls any more: it stops when it has them all.
// Not promised: who asked. Identity comes from the judge (contract, descriptor) and from the library's table as it was
// when it was loaded (slot, variant).
// Who calls it: worker/executor.cc, in the order in which things happen.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "harness/device/device.hpp"
#include "harness/receipt/receipt.hpp"

namespace assay {

inline constexpr std::int64_t kLeastReplays = 2;  // before a replay proves anything (routing-and-targets.md 10.3)

// What the judge says of a program's calls: their contract, and the descriptor of each by its step.
struct NamedCalls {
  std::string contract_digest;
  std::map<std::uint32_t, std::string> descriptors;
};

class CallReceipts {
 public:
  struct VariantName {
    std::string slot, id;
  };
  CallReceipts(ReceiptMint& mint, std::vector<VariantName> variants) : mint_(mint), variants_(std::move(variants)) {}

  void begin(std::optional<NamedCalls>);  // a program; without names nothing of it is minted
  void entering(std::uint32_t step, std::uint32_t variant);
  // The entry returned ASSAY_OK and left its bindings alone. `enqueued`: operations, where the device counts them.
  void returned(std::uint32_t step, std::uint32_t variant, std::uint32_t stream, std::optional<std::uint64_t> enqueued);
  void begun_capture(std::uint32_t stream);
  void ended_capture(std::uint32_t graph, const GraphInventory&);
  void launched(std::uint32_t graph, std::uint32_t stream);
  void dropped(std::uint32_t graph) { graphs_.erase(graph); }
  void waited_for(std::uint32_t stream);
  void waited_for_device();
  void reset();  // all graphs are gone

 private:
  struct Pending {
    CallIdentity call;
    std::uint32_t stream = 0;
    std::int64_t nodes = -1;
  };
  struct Captured {
    std::vector<CallIdentity> calls;
    std::string inventory_digest;
    std::int64_t under_way = 0, replays = 0;  // launched and not waited for; waited for
    std::uint32_t stream = 0;                 // of the last launch
  };
  [[nodiscard]] std::optional<CallIdentity> named(std::uint32_t step, std::uint32_t variant) const;
  void settle(Captured&);
  void settle(const Pending&);

  ReceiptMint& mint_;
  std::vector<VariantName> variants_;
  std::optional<NamedCalls> names_;
  std::vector<Pending> pending_;
  std::optional<std::uint32_t> capturing_;  // the stream
  std::vector<CallIdentity> in_capture_;
  std::map<std::uint32_t, Captured> graphs_;
};

}  // namespace assay
