#include "harness/receipt/ledger.hpp"

#include <openssl/rand.h>

#include <array>
#include <utility>

#include "harness/case/json.hpp"

namespace assay {
namespace {

constexpr std::size_t kMostRefused = 16;  // sentences that are kept: a candidate could send any number
constexpr const char* kAnotherFile = "it is of another library file";
constexpr const char* kScope = "g1";  // a worker loads one library, once

std::string random_hex(std::size_t bytes) {
  std::array<unsigned char, 32> drawn{};
  if (RAND_bytes(drawn.data(), static_cast<int>(bytes)) != 1) throw std::runtime_error("OpenSSL has no random bytes");
  std::string hex;
  for (std::size_t i = 0; i < bytes; ++i) {
    hex += "0123456789abcdef"[drawn[i] >> 4u];
    hex += "0123456789abcdef"[drawn[i] & 15u];
  }
  return hex;
}

}  // namespace

ReceiptLedger::ReceiptLedger(int world, std::string artifact_digest)
    : launch_{kScope, random_hex(16), random_hex(32), -1, world},
      artifact_digest_(std::move(artifact_digest)),
      next_(static_cast<std::size_t>(world), 0),
      book_(std::make_shared<ReceiptBook>()) {
  book_->world = world;
}

LaunchTicket ReceiptLedger::ticket(int rank) const {
  LaunchTicket ticket = launch_;
  ticket.rank = rank;
  return ticket;
}

void ReceiptLedger::name(const CallIdentity& call) {
  named_.emplace(call.slot, call.variant, call.contract_digest, call.descriptor_digest);
}

ReceiptBook& ReceiptLedger::changed() {
  if (book_.use_count() > 1) book_ = std::make_shared<ReceiptBook>(*book_);
  return *book_;
}

void ReceiptLedger::refuse(int rank, const std::string& why) {
  if (book_->refused.size() < kMostRefused)
    changed().refused.push_back("a receipt of rank " + std::to_string(rank) + " was refused: " + why);
}

// Why it is refused; empty: it is taken.
std::string ReceiptLedger::defect(int rank, std::int64_t pid, std::string_view line, Receipt& r) const {
  try {
    r = decode(line);
  } catch (const ReceiptRefused& refused) {
    return refused.what();
  }
  if (!sealed_with(line, launch_.key)) return "its seal is not this launch's";
  if (r.launch_nonce != launch_.nonce) return "it is of another launch";
  if (r.scope != launch_.scope) return "it is of another scope, " + shown(r.scope);
  if (r.rank != rank || r.world_size != launch_.world_size)
    return "it says rank " + std::to_string(r.rank) + " of " + std::to_string(r.world_size);
  if (r.pid != pid)
    return "it says process " + std::to_string(r.pid) + ", and process " + std::to_string(pid) + " sent it";
  if (!artifact_digest_.empty() && r.artifact_digest != artifact_digest_) return kAnotherFile;
  if (r.seq != next_[static_cast<std::size_t>(rank)])
    return "its sequence number is " + std::to_string(r.seq) + " where " +
           std::to_string(next_[static_cast<std::size_t>(rank)]) + " is next";
  if (is_of_a_call(r.kind) &&
      !named_.count({r.call.slot, r.call.variant, r.call.contract_digest, r.call.descriptor_digest}))
    return "it names a call that the judge did not make: " + shown(r.call.slot) + " " + shown(r.call.variant);
  if (said_.count({r.rank, r.kind, r.call.slot, r.call.variant, r.phase()}))
    return "it says " + std::string(name_of(r.kind)) + " a second time";
  return {};
}

bool ReceiptLedger::take(int rank, std::int64_t pid, std::string_view line) {
  Receipt r;
  if (const std::string why = defect(rank, pid, line, r); !why.empty()) {
    refuse(rank, why);
    if (why == kAnotherFile) changed().another_file = true;
    return false;
  }
  ++next_[static_cast<std::size_t>(rank)];
  said_.insert({r.rank, r.kind, r.call.slot, r.call.variant, r.phase()});
  changed().receipts.push_back(std::move(r));
  if (on_taken) on_taken(std::string(line));
  return true;
}

bool ReceiptLedger::has(ReceiptKind kind, const std::string& slot, const std::string& variant,
                        const std::string& phase) const {
  for (std::int64_t rank = 0; rank < launch_.world_size; ++rank)
    if (!said_.count({rank, kind, slot, variant, phase})) return false;
  return true;
}

}  // namespace assay
