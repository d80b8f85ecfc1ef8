// harness/case/json.hpp: the one strict reader and the one canonical writer of JSON.
//
// Promises: parse_strict refuses what nlohmann forgives (duplicate keys, integers beyond 64 bits read as floats, a raw
// NUL that ends the text, a byte order mark) and bounds depth and size, so the text may come from a worker or a
// stranger. canonical gives equal values equal text, and parse_strict reads back exactly what canonical wrote. A number
// keeps its type: 1 and 1.0 are two values. Not promised: key order or spelling of the text that was read.
// Who calls it: every codec (Case, Trial, results), predicates, library tables, worker frames.
//
//   nlohmann::json j = parse_strict(R"({"b": 1, "a": [0.5]})", "trial.json");   // throws JsonError
//   canonical(j);                                                               // {"a":[0.5],"b":1}
#pragma once

#include <cstddef>
#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string>
#include <string_view>

namespace assay {

enum class JsonFault { syntax, duplicate_key, depth, size, integer_range, not_finite, type };

class JsonError : public std::runtime_error {
 public:
  JsonError(JsonFault fault, const std::string& sentence) : std::runtime_error(sentence), fault_(fault) {}
  [[nodiscard]] JsonFault fault() const noexcept { return fault_; }

 private:
  JsonFault fault_;
};

inline constexpr std::size_t json_depth_limit = 32;        // nested arrays and objects
inline constexpr std::size_t json_size_limit = 1u << 20u;  // bytes

// `what` names the text in errors: "what, line 3, column 7: why" or "what, at /cases/0: why".
// Integers lie in -2^63 .. 2^64-1; a number with a point or an exponent is a finite double.
[[nodiscard]] nlohmann::json parse_strict(std::string_view text, std::string_view what,
                                          std::size_t size_limit = json_size_limit);

// Keys in byte order, no white space, shortest round-trip doubles that always show a point or an exponent, non-ASCII
// raw. Throws JsonError where no such text exists: NaN, infinity, ill-formed UTF-8, binary, nesting over the limit.
[[nodiscard]] std::string canonical(const nlohmann::json&);

[[nodiscard]] bool is_utf8(std::string_view) noexcept;

// Untrusted text made fit for one line of an error: in quotes, printable ASCII only, at most 64 characters of it.
[[nodiscard]] std::string shown(std::string_view);

}  // namespace assay
