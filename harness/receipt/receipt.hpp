// harness/receipt/receipt.hpp: what one rank of one launch says it did with a candidate, once a kind, and who may say
// so.
//
// Promises: a receipt is one canonical JSON object, sealed with the launch's key (HMAC-SHA-256) over its envelope; the
// mint fills in who it is (launch, sequence number, process, rank, artifact), whatever its caller says. It mints once a
// (scope, kind, slot, variant, phase), so that a hot path pays for its first call only; it never throws into its
// caller, and what could not be written does not count as minted (routing-and-targets.md 8.1, 8.2). Not promised: proof
// against a forger. The key lies in the candidate's process (RC-8). Who calls it: the worker's trusted half and the
// router (mint), ledger.hpp (decode, sealed_with).
//
//   ReceiptMint mint;
//   mint.open(ticket, sha256_of_library, device.describe());       // what the judge gave this rank
//   mint.mint(ReceiptKind::fired, {slot, variant, contract, descriptor});
//   mint.mint(ReceiptKind::fallback, call, {{"error_type", "entry_failed"}, {"message", why}});
//   for (std::string& line : mint.take()) ...                      // with the reply, to the judge
#pragma once

#include <cstdint>
#include <map>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <variant>
#include <vector>

namespace assay {

enum class ReceiptKind : std::uint8_t {
  active,           // a rank loaded the library and enabled at least one slot: membership
  load_failed,      // a rank tried and did not; disqualifies
  fired,            // the selected entry is about to be called: routing, no proof of execution
  aot_loaded,       // a sealed artifact is bound to this rank's context
  aot_invoked,      // its entry returned for the first time
  completed,        // what the call enqueued has completed without a device error
  replayed,         // so has a replay of a graph that holds the call
  fallback,         // stock served after the selected candidate failed; disqualifies the launch
  audit,            // rolling summary of audited calls
  export_counters,  // of a two-point boundary; spelled "export"
  teardown_failed,  // disqualifies the process for reuse
};
[[nodiscard]] std::string_view name_of(ReceiptKind) noexcept;
[[nodiscard]] ReceiptKind receipt_kind_from(std::string_view);  // throws std::invalid_argument
// Kinds of one call; the others are of the whole rank and leave CallIdentity empty.
[[nodiscard]] bool is_of_a_call(ReceiptKind) noexcept;

// Decimals travel as text: a float has no identity.
using DetailValue = std::variant<std::int64_t, std::string, std::vector<std::string>>;
using ReceiptDetail = std::map<std::string, DetailValue>;

// Digests are SHA-256 in lower-case hex: of the slot's contract, and of the descriptor of the call.
struct CallIdentity {
  std::string slot, variant, contract_digest, descriptor_digest;
  friend bool operator==(const CallIdentity&, const CallIdentity&) = default;
};

struct Receipt {
  ReceiptKind kind = ReceiptKind::active;
  std::string scope, launch_nonce;
  std::int64_t seq = 0, pid = 0;
  std::int64_t rank = -1, world_size = -1;  // -1: unknown, never guessed
  std::string device, artifact_digest;
  CallIdentity call;
  ReceiptDetail detail;

  // "eager" or "captured"; empty for kinds that have none.
  [[nodiscard]] std::string phase() const;
  friend bool operator==(const Receipt&, const Receipt&) = default;
};

class ReceiptRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

inline constexpr std::size_t receipt_message_limit = 512;  // bytes of a fallback's or a failure's message

[[nodiscard]] std::string encode(const Receipt&, std::string_view key);  // throws ReceiptRefused, as decode would
// Exact keys, types and details of its kind, in canonical form. The seal is not looked at.
[[nodiscard]] Receipt decode(std::string_view line);
[[nodiscard]] bool sealed_with(std::string_view line, std::string_view key);

// What a judge gives each rank of a launch. The key is never written down.
struct LaunchTicket {
  std::string scope;       // the library's generation in this launch: "g1"
  std::string nonce, key;  // 32 and 64 hex digits
  std::int64_t rank = -1, world_size = -1;
};

class ReceiptMint {
 public:
  // Begins a scope; what an earlier one minted is no longer in the way. Throws std::invalid_argument: a scope that is
  // empty, starts with anything but a letter or digit, or holds ".."; a nonce or key of another form.
  void open(const LaunchTicket&, std::string artifact_digest, std::string device);
  [[nodiscard]] bool is_open() const noexcept { return !ticket_.nonce.empty(); }
  // False: nothing was minted, because no launch is open, it was minted before, or it could not be written.
  bool mint(ReceiptKind, const CallIdentity& = {}, ReceiptDetail = {}) noexcept;
  [[nodiscard]] std::vector<std::string> take() { return std::exchange(unsent_, {}); }

 private:
  LaunchTicket ticket_;
  std::string artifact_digest_, device_;
  std::int64_t next_ = 0;
  std::set<std::tuple<std::string, ReceiptKind, std::string, std::string, std::string>> minted_;
  std::vector<std::string> unsent_;
};

}  // namespace assay
