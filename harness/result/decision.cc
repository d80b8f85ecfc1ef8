#include "harness/result/decision.hpp"

#include <array>
#include <stdexcept>

namespace assay {
namespace {

constexpr std::array<std::string_view, 5> kNames{"none", "candidate", "validator", "infrastructure", "measurement"};

}  // namespace

std::string_view name_of(Attribution a) noexcept { return kNames[static_cast<std::size_t>(a)]; }

Attribution attribution_from(std::string_view name) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == name) return static_cast<Attribution>(i);
  throw std::invalid_argument("no such attribution: " + std::string(name));
}

Verdict verdict_of(const AttributedVerdict& d) noexcept {
  if (std::holds_alternative<Passed>(d)) return Verdict::pass;
  return std::holds_alternative<CandidateFailed>(d) ? Verdict::fail : Verdict::no_decision;
}

Attribution attribution_of(const AttributedVerdict& d) noexcept {
  if (std::holds_alternative<Passed>(d)) return Attribution::none;
  if (std::holds_alternative<CandidateFailed>(d)) return Attribution::candidate;
  switch (std::get<Undecided>(d).by) {
    case Undecided::By::validator:
      return Attribution::validator;
    case Undecided::By::measurement:
      return Attribution::measurement;
    case Undecided::By::infrastructure:
      break;
  }
  return Attribution::infrastructure;
}

const std::string& why_of(const AttributedVerdict& d) noexcept {
  static const std::string nothing;
  if (const auto* failed = std::get_if<CandidateFailed>(&d)) return failed->why;
  if (const auto* open = std::get_if<Undecided>(&d)) return open->why;
  return nothing;
}

}  // namespace assay
