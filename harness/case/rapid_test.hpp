// harness/case/rapid_test.hpp: runs one RapidCheck property inside a GoogleTest case of the harness's own tests.
//
// Promises: the seed is fixed and the count is the caller's: nothing comes from RC_PARAMS. The property throws or uses
// RC_ASSERT; EXPECT_* inside it would neither falsify nor shrink.
// Who calls it: unit tests beside the code. Rules and slots use assay/property.hpp.
//
//   holds("folding is idempotent", 500, [] { const auto s = *rc::gen::arbitrary<std::string>(); RC_ASSERT(...); });
#pragma once

#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <sstream>
#include <string>

namespace assay {

template <class Property>
void holds(const std::string& name, int cases, Property property) {
  rc::detail::TestMetadata metadata;
  metadata.id = name;
  metadata.description = name;
  rc::detail::TestParams params;
  params.seed = 20240607;
  params.maxSuccess = cases;
  const rc::detail::TestResult result = rc::detail::checkTestable(property, metadata, params);
  std::ostringstream text;
  rc::detail::printResultMessage(result, text);
  ASSERT_TRUE(result.is<rc::detail::SuccessResult>()) << name << ": " << text.str();
}

}  // namespace assay
