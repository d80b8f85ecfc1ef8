// harness/result/tried.hpp: which of a slot's dimension edges, recipes and knobs the cases of a run met, and how often.
//
// Promises: every edge, recipe and knob value of the slot is listed, those that no case met with 0. Counts are of
// distinct cases inside the variant's domain. Size follows from the slot, not from the run.
// Not promised: that a rule judged each of these cases; a rule that fails stops early.
// Who calls it: conformance (counts), records (writes and reads), reports (show).
//
//   for (const DimTried& dim : cases.tried.dims) ...
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

namespace assay {

struct DimTried {
  std::string name;
  std::int64_t least = 0, most = 0;                          // values met; both 0 where there was no case
  std::vector<std::pair<std::int64_t, std::int64_t>> edges;  // value, cases
  std::int64_t elsewhere = 0;                                // cases at no edge
  friend bool operator==(const DimTried&, const DimTried&) = default;
};

struct Tried {
  std::vector<DimTried> dims;
  std::vector<std::pair<std::string, std::int64_t>> recipes;  // name, cases
  std::vector<std::pair<std::string, std::int64_t>> knobs;    // "lead=2d", cases
  [[nodiscard]] bool empty() const noexcept { return dims.empty() && recipes.empty() && knobs.empty(); }
  friend bool operator==(const Tried&, const Tried&) = default;
};

[[nodiscard]] nlohmann::json to_json(const Tried&);
// Throws std::invalid_argument with what is wrong: "is not ...".
[[nodiscard]] Tried tried_from(const nlohmann::json&);

}  // namespace assay
