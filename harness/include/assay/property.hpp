// assay/property.hpp: a property over the generated cases of a slot. The only header that includes RapidCheck.
//
// Promises: pins of the tier first, then RapidCheck draws; seed and count come from the caller, never from the
// environment; the first case that does not hold ends the property and is returned. RapidCheck does not shrink here:
// a failure may need another process, which ShrinkDriver knows how to start. Properties throw or return false;
// EXPECT_* inside one neither falsifies nor shrinks.
// Who uses it: conformance/examiner_trials.cc, rule authors' own tests.
//
//   const PropertyResult r = for_all_cases(slot, DType::bf16, Tier::quick, seed, [&](const Case& c) { return ...; });
#pragma once

#include <rapidcheck.h>

#include <functional>
#include <optional>
#include <ostream>
#include <string>
#include <unordered_map>

#include "harness/case/generate.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {

inline void showValue(const Case& c, std::ostream& out) { out << describe(c); }

// Changes a drawn case before it is tried: into a variant's domain, for one. Pure.
using Settle = std::function<void(Case&)>;

[[nodiscard]] inline rc::Gen<Case> arbitrary_case(const SlotSpec& slot, DType dtype, Tier tier,
                                                  const Settle& settle = {}) {
  return rc::gen::withSize([&slot, dtype, tier, settle](int size) {
    // The key is drawn at full width whatever the size; the size shapes the case.
    return rc::gen::map(rc::gen::noShrink(rc::gen::resize(100, rc::gen::arbitrary<std::uint64_t>())),
                        [&slot, dtype, tier, settle, size](std::uint64_t key) {
                          Case c = drawn_case(slot, dtype, tier, size, mix64(key));
                          if (settle) settle(c);
                          return c;
                        });
  });
}

struct PropertyResult {
  int held = 0;                       // cases for which it held
  std::optional<Case> falsified;
  std::string error;                  // the property threw, or RapidCheck gave up
};

namespace detail {
struct SilentListener : rc::detail::TestListener {
  void onTestCaseFinished(const rc::detail::CaseDescription&) override {}
  void onShrinkTried(const rc::detail::CaseDescription&, bool) override {}
  void onTestFinished(const rc::detail::TestMetadata&, const rc::detail::TestResult&) override {}
};
}  // namespace detail

[[nodiscard]] inline PropertyResult for_all_cases(const SlotSpec& slot, DType dtype, Tier tier, std::uint64_t seed,
                                                  const std::function<bool(const Case&)>& holds,
                                                  const Settle& settle = {}) {
  PropertyResult result;
  const std::vector<Case> pins = pins_of(slot, dtype, tier, seed);
  for (const Case& pin : pins) {
    if (!holds(pin)) {
      result.falsified = pin;
      return result;
    }
    ++result.held;
  }
  rc::detail::TestParams params;
  params.seed = derive_key(seed, slot.id, static_cast<std::uint64_t>(dtype));
  params.maxSuccess = std::max(0, limits_of(tier).cases - static_cast<int>(pins.size()));
  params.disableShrinking = true;
  detail::SilentListener listener;
  rc::detail::TestMetadata metadata;
  metadata.id = slot.id;
  std::exception_ptr thrown;
  const auto outcome = rc::detail::checkTestable(
      [&] {
        const Case c = *arbitrary_case(slot, dtype, tier, settle);
        bool held = false;
        try {
          held = holds(c);
        } catch (...) {
          thrown = std::current_exception();  // a fault of the harness: it must not look like a falsified case
          RC_FAIL("the property threw");
        }
        if (!held) {
          result.falsified = c;
          RC_FAIL("falsified");
        }
        ++result.held;
      },
      metadata, params, listener, std::unordered_map<std::string, rc::detail::Reproduce>{});
  if (thrown) std::rethrow_exception(thrown);
  if (outcome.is<rc::detail::GaveUpResult>()) result.error = "RapidCheck gave up";
  if (outcome.is<rc::detail::Error>()) result.error = outcome.get<rc::detail::Error>().description;
  return result;
}

}  // namespace assay
