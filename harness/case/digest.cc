#include "harness/case/digest.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <limits>
#include <stdexcept>

#include "harness/case/json.hpp"

namespace assay {
namespace {

bool domain_char(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

void refuse_unidentifiable(const nlohmann::json& value) {
  if (value.is_number_float()) throw JsonError(JsonFault::type, "identity: a float has no identity, write it as text");
  if (value.is_number_unsigned() &&
      value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw JsonError(JsonFault::integer_range, "identity: an integer does not fit in a signed 64-bit integer");
  }
  if (value.is_structured()) {
    for (const auto& item : value) refuse_unidentifiable(item);
  }
}

}  // namespace

std::string sha256_hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned length = 0;
  if (EVP_Digest(bytes.data(), bytes.size(), digest.data(), &length, EVP_sha256(), nullptr) != 1) {
    throw std::runtime_error("OpenSSL could not compute a SHA-256 digest");
  }
  std::string hex;
  for (unsigned i = 0; i < length; ++i) {
    hex += "0123456789abcdef"[digest[i] >> 4u];
    hex += "0123456789abcdef"[digest[i] & 15u];
  }
  return hex;
}

std::string identity_digest(std::string_view domain, const nlohmann::json& payload, std::int64_t schema_version) {
  const bool legal = !domain.empty() && domain_char(domain[0]) && std::all_of(domain.begin(), domain.end(), [](char c) {
    return domain_char(c) || c == '.' || c == '_' || c == '-';
  });
  if (!legal) throw JsonError(JsonFault::type, "identity: " + shown(domain) + " is not a digest domain");
  if (schema_version < 1) throw JsonError(JsonFault::type, "identity: schema versions start at 1");
  std::string envelope = R"({"domain":")";
  // canonical first: its depth limit bounds the recursion of the check.
  envelope.append(domain).append(R"(","payload":)").append(canonical(payload));
  refuse_unidentifiable(payload);
  envelope.append(R"(,"schema_version":)").append(std::to_string(schema_version)).append("}");
  return sha256_hex(envelope);
}

}  // namespace assay
