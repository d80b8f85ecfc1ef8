#include "harness/device/device.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string_view>

namespace assay {
namespace {

TEST(StepCodeNames, AreDistinctAndKnownForEveryCode) {
  std::set<std::string_view> names;
  const auto last = static_cast<std::uint32_t>(StepCode::infrastructure);
  for (std::uint32_t code = 0; code <= last; ++code) {
    const std::string_view name = name_of(static_cast<StepCode>(code));
    EXPECT_NE(name, "unknown") << code;
    EXPECT_TRUE(names.insert(name).second) << name << " names two codes";
  }
}

TEST(StepCodeNames, AValueOutsideTheListIsNamedUnknown) {
  EXPECT_EQ(name_of(static_cast<StepCode>(static_cast<std::uint32_t>(StepCode::infrastructure) + 1)), "unknown");
}

}  // namespace
}  // namespace assay
