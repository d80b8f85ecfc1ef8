// harness/catalogue/canonical.hpp: the identity of a JSON value: its canonical envelope, and the digest of that.
//
// Promises: routing-and-targets.md 11.3. The envelope is the canonical text (harness/case/json.hpp) of
// {"domain":D,"payload":P,"schema_version":N}; the digest is its SHA-256 in lower-case hex. Equal values have equal
// envelopes whatever their spelling was. What has no identity is refused with a JsonError: a float (decimals travel as
// text), an integer above 2^63-1, ill-formed UTF-8, nesting over the limit, a domain that is not
// [a-z0-9][a-z0-9._-]*, a schema below 1. Duplicate keys are parse_strict's to refuse: a json value has none.
// Who calls it: contracts, targets, descriptors, receipts.
//
//   envelope_digest("assay.call-descriptor", payload, 1);   // 64 lower-case hex digits
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace assay {

[[nodiscard]] std::string canonical_envelope(std::string_view domain, const nlohmann::json& payload, int schema);
[[nodiscard]] std::string envelope_digest(std::string_view domain, const nlohmann::json& payload, int schema);

// 64 lower-case hex digits, not all of them 0: the form of every digest that one record quotes of another.
[[nodiscard]] bool is_digest(std::string_view) noexcept;

}  // namespace assay
