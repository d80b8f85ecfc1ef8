#include "harness/catalogue/availability.hpp"

#include <gtest/gtest.h>

#include "harness/catalogue/canonical.hpp"

namespace assay {
namespace {

const std::string probed = probe_digest({"here", "t", 4, 4, 0});

std::string why(AvailabilityRow row, CandidateForm form = {}) {
  row.arena = "here";
  row.target = "t";
  const ArenaAdmission a = admit({row}, "here", "t", form);
  EXPECT_EQ(a.admitted, a.why.empty());
  return a.why;
}

TEST(Availability, OnlyAProbedInstallableRowAdmits) {
  EXPECT_EQ(why({.state = Availability::installable, .probe = probed}), "");
  EXPECT_EQ(why({.state = Availability::installable}),
            "t in here was never probed: nobody has seen its call site reached");
  for (const Availability state :
       {Availability::not_reached, Availability::no_adapter, Availability::topology_excluded})
    EXPECT_EQ(why({.state = state, .reason = "so it is", .probe = probed}),
              "t in here is " + std::string(name_of(state)) + ": so it is");
  EXPECT_EQ(admit({}, "here", "t", {}).why, "t in here has no row of availability");
}

TEST(Availability, AFormThatIsExcludedIsRefusedAndTheOthersAreNot) {
  const AvailabilityRow row{
      .state = Availability::form_excluded, .reason = "no", .excluded = {ArtifactForm::sealed}, .probe = probed};
  EXPECT_EQ(why(row, {ArtifactForm::sealed}), "t in here takes no sealed artifact: no");
  EXPECT_EQ(why(row, {ArtifactForm::source}), "");
  EXPECT_EQ(why(row, {ArtifactForm::library}), "");
}

TEST(Availability, AGroupHandleInASealedArtifactFailsClosed) {
  const AvailabilityRow row{.state = Availability::installable, .probe = probed};
  EXPECT_NE(why(row, {ArtifactForm::sealed, true}).find("fails closed"), std::string::npos);
  EXPECT_EQ(why(row, {ArtifactForm::library, true}), "");
}

TEST(Availability, AStateOrAProbeChangesTheTablesDigestAndOrderDoesNot) {
  const AvailabilityRow a{.arena = "x", .target = "t", .state = Availability::installable, .probe = probed};
  const AvailabilityRow b{.arena = "y", .target = "t"};
  const std::string digest = availability_digest({a, b});
  EXPECT_TRUE(is_digest(digest));
  EXPECT_EQ(availability_digest({b, a}), digest);
  AvailabilityRow c = a;
  c.state = Availability::not_reached;
  EXPECT_NE(availability_digest({c, b}), digest);
  c = a;
  c.probe = "";
  EXPECT_NE(availability_digest({c, b}), digest);
  EXPECT_NE(availability_digest({a}), digest);
  EXPECT_NE(probe_digest({"here", "t", 4, 3, 0}), probed);
}

}  // namespace
}  // namespace assay
