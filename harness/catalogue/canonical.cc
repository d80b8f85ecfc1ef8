#include "harness/catalogue/canonical.hpp"

#include <algorithm>
#include <limits>

#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"

namespace assay {
namespace {

bool lower_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

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

std::string canonical_envelope(std::string_view domain, const nlohmann::json& payload, int schema) {
  const bool legal = !domain.empty() && lower_or_digit(domain[0]) &&
                     std::all_of(domain.begin(), domain.end(),
                                 [](char c) { return lower_or_digit(c) || c == '.' || c == '_' || c == '-'; });
  if (!legal) throw JsonError(JsonFault::type, "identity: " + shown(domain) + " is not a digest domain");
  if (schema < 1) throw JsonError(JsonFault::type, "identity: schema versions start at 1");
  std::string envelope = R"({"domain":")";
  // canonical first: its depth limit bounds the recursion of the check.
  envelope.append(domain).append(R"(","payload":)").append(canonical(payload));
  refuse_unidentifiable(payload);
  envelope.append(R"(,"schema_version":)").append(std::to_string(schema)).append("}");
  return envelope;
}

std::string envelope_digest(std::string_view domain, const nlohmann::json& payload, int schema) {
  return sha256_hex(canonical_envelope(domain, payload, schema));
}

bool is_digest(std::string_view text) noexcept {
  const auto hex = [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); };
  return text.size() == 64 && std::all_of(text.begin(), text.end(), hex) && text.find_first_not_of('0') != text.npos;
}

}  // namespace assay
