// harness/receipt/ledger.hpp: the judge's book of one launch: it draws the nonce, names the calls, and takes receipts
// or refuses them.
//
// Promises: what is taken was sealed with this launch's key, by the process and for the rank that sent it, in sequence,
// of this artifact and device, and names a contract and a descriptor that the judge gave for that slot and variant. All
// else is refused with one sentence and remembered: edited, of another launch, out of sequence, said twice, of a
// variant or rank that is not this one's. Refused lines change nothing else.
// Not promised: that silence is noticed; coverage.hpp grades what is there and what is not.
// Who calls it: harness/drive/bench_run.cc; rules read book().
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "harness/receipt/receipt.hpp"

namespace assay {

// What was taken and refused so far, as plain data.
struct ReceiptBook {
  int world = 1;
  std::vector<Receipt> receipts;
  std::vector<std::string> refused;  // a sentence each
  bool another_file = false;         // one of them for its artifact: the library was replaced under the run
};

class ReceiptLedger {
 public:
  // A launch of `world` ranks. Draws its nonce and key. `artifact`: the library's SHA-256; empty: not known here.
  ReceiptLedger(int world, std::string artifact_digest);

  [[nodiscard]] LaunchTicket ticket(int rank) const;
  // A call that ranks may mint for from now on.
  void name(const CallIdentity& call);
  // False: refused, and the book says why. `pid`: of the process that sent it.
  bool take(int rank, std::int64_t pid, std::string_view line);
  void refuse(int rank, const std::string& why);

  // Whether every rank has said this of a variant's calls; phase as in Receipt::phase().
  [[nodiscard]] bool has(ReceiptKind, const std::string& slot, const std::string& variant,
                         const std::string& phase = {}) const;
  // Of the moment: what is taken later goes to another one.
  [[nodiscard]] std::shared_ptr<const ReceiptBook> book() const noexcept { return book_; }

  // Given each line that was taken, as it came.
  std::function<void(const std::string&)> on_taken;

 private:
  [[nodiscard]] std::string defect(int rank, std::int64_t pid, std::string_view line, Receipt&) const;
  [[nodiscard]] ReceiptBook& changed();  // a copy where somebody holds the present book

  LaunchTicket launch_;
  std::string artifact_digest_;
  std::set<std::tuple<std::string, std::string, std::string, std::string>> named_;
  std::vector<std::int64_t> next_;  // by rank
  std::set<std::tuple<std::int64_t, ReceiptKind, std::string, std::string, std::string>> said_;
  std::shared_ptr<ReceiptBook> book_;
};

}  // namespace assay
