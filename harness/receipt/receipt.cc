#include "harness/receipt/receipt.hpp"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

using nlohmann::json;

constexpr const char* kDomain = "assay.receipt";
constexpr int kSchema = 1;
constexpr std::array<std::string_view, 11> kNames{"active",      "load_failed", "fired",          "aot_loaded",
                                                  "aot_invoked", "completed",   "replayed",       "fallback",
                                                  "audit",       "export",      "teardown_failed"};
static_assert(kNames.size() == static_cast<std::size_t>(ReceiptKind::teardown_failed) + 1);

[[noreturn]] void refuse(const std::string& sentence) { throw ReceiptRefused(sentence); }

// What the detail of a kind holds: 'n' an integer from 0, 'N' one from 1, 'W' an integer from 1 or -1 (unknown), 't'
// text, 'd' a digest, 'p' a phase, 'l' a list of texts that is not empty.
using DetailForm = std::vector<std::pair<const char*, char>>;
const DetailForm& form_of(ReceiptKind kind) {
  static const std::map<ReceiptKind, DetailForm> forms = {
      {ReceiptKind::active, {{"slots", 'l'}}},
      {ReceiptKind::load_failed, {{"reason", 't'}}},
      {ReceiptKind::fired, {}},
      {ReceiptKind::aot_loaded, {{"artifact_id", 't'}, {"provider", 't'}, {"inventory_digest", 'd'}}},
      {ReceiptKind::aot_invoked, {{"artifact_id", 't'}, {"phase", 'p'}}},
      {ReceiptKind::completed, {{"phase", 'p'}, {"nodes", 'W'}}},
      {ReceiptKind::replayed, {{"replays", 'N'}, {"inventory_digest", 'd'}}},
      {ReceiptKind::fallback, {{"error_type", 't'}, {"message", 't'}}},
      {ReceiptKind::audit,
       {{"n", 'N'},
        {"violations", 'n'},
        {"compare_errors", 'n'},
        {"worst_frac", 't'},
        {"min_ratio", 't'},
        {"mode", 't'}}},
      {ReceiptKind::export_counters,
       {{"exports", 'n'}, {"consumed", 'n'}, {"orphans", 'n'}, {"stale_dropped", 'n'}, {"last_layer_vetoes", 'n'}}},
      {ReceiptKind::teardown_failed, {{"reason", 't'}}},
  };
  return forms.at(kind);
}

bool fits(const DetailValue& value, char form) {
  if (const auto* number = std::get_if<std::int64_t>(&value))
    return (form == 'n' && *number >= 0) || (form == 'N' && *number >= 1) ||
           (form == 'W' && (*number >= 1 || *number == -1));
  if (const auto* text = std::get_if<std::string>(&value))
    return (form == 't' && text->size() <= receipt_message_limit) || (form == 'd' && is_digest(*text)) ||
           (form == 'p' && (*text == "eager" || *text == "captured"));
  const auto& list = std::get<std::vector<std::string>>(value);
  return form == 'l' && !list.empty() && std::is_sorted(list.begin(), list.end());
}

bool is_hex(std::string_view text, std::size_t digits) {
  return text.size() == digits && text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

bool is_scope(std::string_view text) {
  return !text.empty() && std::isalnum(static_cast<unsigned char>(text.front())) &&
         text.find("..") == std::string_view::npos && text.size() <= 64 && is_utf8(text);
}

// One sentence where the receipt is none.
void check(const Receipt& r) {
  const std::string kind(name_of(r.kind));
  if (!is_scope(r.scope)) refuse("a receipt's scope is not a generation: " + shown(r.scope));
  if (!is_hex(r.launch_nonce, 32)) refuse("a receipt's launch_nonce is not 32 hex digits");
  if (r.seq < 0 || r.pid < 1) refuse("a receipt's seq or pid is below its least value");
  const bool unknown = r.rank == -1 && r.world_size == -1;
  if (!unknown && (r.rank < 0 || r.rank >= r.world_size)) refuse("a receipt's rank does not lie within its world_size");
  if (!is_digest(r.artifact_digest)) refuse("a receipt's artifact_digest is not a digest");
  if (is_of_a_call(r.kind)) {
    if (r.call.slot.empty() || r.call.variant.empty()) refuse("a " + kind + " receipt names no slot or no variant");
    if (!is_digest(r.call.contract_digest)) refuse("a receipt's contract_digest is not a digest");
    if (!is_digest(r.call.descriptor_digest)) refuse("a receipt's descriptor_digest is not a digest");
  } else if (r.call != CallIdentity{}) {
    refuse("a " + kind + " receipt is of a rank and names a call");
  }
  const DetailForm& form = form_of(r.kind);
  for (const auto& [name, letter] : form) {
    const auto at = r.detail.find(name);
    if (at == r.detail.end()) refuse("a " + kind + " receipt lacks its detail " + name);
    if (!fits(at->second, letter))
      refuse("the detail " + std::string(name) + " of a " + kind + " receipt has no legal value");
  }
  if (r.detail.size() != form.size()) refuse("a " + kind + " receipt has a detail too many");
}

json payload_of(const Receipt& r) {
  json detail = json::object();
  for (const auto& [name, value] : r.detail) std::visit([&, &key = name](const auto& v) { detail[key] = v; }, value);
  return {{"schema", kSchema},
          {"kind", name_of(r.kind)},
          {"scope", r.scope},
          {"launch_nonce", r.launch_nonce},
          {"seq", r.seq},
          {"pid", r.pid},
          {"rank", r.rank},
          {"world_size", r.world_size},
          {"device", r.device},
          {"artifact_digest", r.artifact_digest},
          {"slot", r.call.slot},
          {"variant", r.call.variant},
          {"contract_digest", r.call.contract_digest},
          {"descriptor_digest", r.call.descriptor_digest},
          {"detail", std::move(detail)}};
}

std::string seal_of(const json& payload, std::string_view key) {
  const std::string envelope = canonical_envelope(kDomain, payload, kSchema);
  std::array<unsigned char, EVP_MAX_MD_SIZE> mac{};
  unsigned length = 0;
  if (!HMAC(EVP_sha256(), key.data(), static_cast<int>(key.size()),
            reinterpret_cast<const unsigned char*>(envelope.data()), envelope.size(), mac.data(), &length))
    refuse("OpenSSL could not seal a receipt");
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    hex += "0123456789abcdef"[mac[i] >> 4u];
    hex += "0123456789abcdef"[mac[i] & 15u];
  }
  return hex;
}

json parsed(std::string_view line) {
  json object;
  try {
    object = parse_strict(line, "a receipt");
    if (canonical(object) != line) refuse("a receipt is not in canonical form");
  } catch (const JsonError& error) {
    refuse(error.what());
  }
  if (!object.is_object()) refuse("a receipt is not an object");
  return object;
}

DetailValue detail_from(const std::string& name, const json& value) {
  if (value.is_number_integer()) return value.get<std::int64_t>();
  if (value.is_string()) return value.get<std::string>();
  if (!value.is_array() || !std::all_of(value.begin(), value.end(), [](const json& v) { return v.is_string(); }))
    refuse("the detail " + shown(name) + " of a receipt is neither an integer, text nor a list of texts");
  return value.get<std::vector<std::string>>();
}

// Text of unknown origin: a candidate's error.
std::string fit_for_a_receipt(std::string_view text) {
  std::string fit(text.substr(0, receipt_message_limit));
  while (!fit.empty() && !is_utf8(fit) && fit.size() + 4 > receipt_message_limit)
    fit.pop_back();  // a code point cut in two
  if (is_utf8(fit)) return fit;
  std::replace_if(
      fit.begin(), fit.end(), [](char c) { return static_cast<unsigned char>(c) >= 0x80; }, '?');
  return fit;
}

}  // namespace

std::string_view name_of(ReceiptKind kind) noexcept { return kNames[static_cast<std::size_t>(kind)]; }

ReceiptKind receipt_kind_from(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<ReceiptKind>(i);
  throw std::invalid_argument("no such kind of receipt: " + shown(name));
}

bool is_of_a_call(ReceiptKind kind) noexcept {
  return kind != ReceiptKind::active && kind != ReceiptKind::load_failed && kind != ReceiptKind::teardown_failed;
}

std::string Receipt::phase() const {
  const auto at = detail.find("phase");
  const auto* text = at == detail.end() ? nullptr : std::get_if<std::string>(&at->second);
  return text ? *text : "";
}

std::string encode(const Receipt& receipt, std::string_view key) {
  check(receipt);
  try {
    json object = payload_of(receipt);
    object["seal"] = seal_of(object, key);
    return canonical(object);
  } catch (const JsonError& error) {
    refuse(error.what());
  }
}

Receipt decode(std::string_view line) {
  const json object = parsed(line);
  std::size_t read = 0;
  const auto field = [&](const char* name) -> const json& {
    const auto at = object.find(name);
    if (at == object.end()) refuse(std::string("a receipt lacks its ") + name);
    ++read;
    return *at;
  };
  const auto text = [&](const char* name) {
    const json& value = field(name);
    if (!value.is_string()) refuse(std::string("the ") + name + " of a receipt is not text");
    return value.get<std::string>();
  };
  const auto number = [&](const char* name) {
    const json& value = field(name);
    const bool fits_64 =
        value.is_number_integer() && (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
    if (!fits_64) refuse(std::string("the ") + name + " of a receipt is not an integer");
    return value.get<std::int64_t>();
  };
  if (number("schema") != kSchema) refuse("a receipt is of another schema than " + std::to_string(kSchema));
  Receipt r;
  try {
    r.kind = receipt_kind_from(text("kind"));
  } catch (const std::invalid_argument& error) {
    refuse(error.what());
  }
  r.scope = text("scope");
  r.launch_nonce = text("launch_nonce");
  r.seq = number("seq");
  r.pid = number("pid");
  r.rank = number("rank");
  r.world_size = number("world_size");
  r.device = text("device");
  r.artifact_digest = text("artifact_digest");
  r.call = {text("slot"), text("variant"), text("contract_digest"), text("descriptor_digest")};
  const json& detail = field("detail");
  if (!detail.is_object()) refuse("the detail of a receipt is not an object");
  for (const auto& [name, value] : detail.items()) r.detail[name] = detail_from(name, value);
  if (!is_hex(text("seal"), 64)) refuse("the seal of a receipt is not 64 hex digits");
  if (read != object.size()) refuse("a receipt has a key too many");
  check(r);
  return r;
}

bool sealed_with(std::string_view line, std::string_view key) {
  json object = parsed(line);
  const auto seal = object.find("seal");
  if (seal == object.end() || !seal->is_string()) return false;
  const std::string said = seal->get<std::string>();
  object.erase(seal);
  try {
    return seal_of(object, key) == said;
  } catch (const JsonError&) {
    return false;  // a float: nothing of ours
  }
}

void ReceiptMint::open(const LaunchTicket& ticket, std::string artifact_digest, std::string device) {
  if (!is_scope(ticket.scope))
    throw std::invalid_argument("a receipt scope starts with a letter or digit and holds no ..");
  if (!is_hex(ticket.nonce, 32) || !is_hex(ticket.key, 64))
    throw std::invalid_argument("a launch's nonce has 32 hex digits and its key 64");
  if (ticket.nonce != ticket_.nonce) next_ = 0;  // a sequence is a launch's
  ticket_ = ticket;
  artifact_digest_ = std::move(artifact_digest);
  device_ = std::move(device);
}

bool ReceiptMint::mint(ReceiptKind kind, const CallIdentity& call, ReceiptDetail detail) noexcept {
  if (!is_open()) return false;
  try {
    const auto phase = detail.find("phase");
    const auto* text = phase == detail.end() ? nullptr : std::get_if<std::string>(&phase->second);
    const auto once =
        std::tuple(ticket_.nonce + "/" + ticket_.scope, kind, call.slot, call.variant, text ? *text : std::string());
    if (minted_.count(once)) return false;
    Receipt r{kind,
              ticket_.scope,
              ticket_.nonce,
              next_,
              ::getpid(),
              ticket_.rank,
              ticket_.world_size,
              device_,
              artifact_digest_,
              call,
              std::move(detail)};
    for (auto& [name, value] : r.detail)
      if (auto* message = std::get_if<std::string>(&value)) *message = fit_for_a_receipt(*message);
    unsent_.push_back(encode(r, ticket_.key));
    minted_.insert(once);
    ++next_;
    return true;
  } catch (const std::exception&) {
    return false;  // RC-4: accounting never stops the engine; what is missing is the judge's to notice
  }
}

}  // namespace assay
