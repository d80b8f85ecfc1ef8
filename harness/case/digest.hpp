// harness/case/digest.hpp: SHA-256 of text, and the identity digest of a JSON value under a domain.
//
// Promises: identity_digest is routing-and-targets.md 11.3: SHA-256 of the canonical text of
// {"domain":D,"payload":P,"schema_version":N}; a payload with a float in it has no identity (decimals travel as text).
// Who calls it: Case and Trial digests, descriptors, contracts, receipts.
//
//   identity_digest("assay.call-descriptor", payload, 1);   // 64 lower-case hex digits
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace assay {

[[nodiscard]] std::string sha256_hex(std::string_view bytes);

// Throws JsonError: float in the payload, integer above 2^63-1, domain not [a-z0-9][a-z0-9._-]*, version below 1.
[[nodiscard]] std::string identity_digest(std::string_view domain, const nlohmann::json& payload,
                                          std::int64_t schema_version);

}  // namespace assay
