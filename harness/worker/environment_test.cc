#include "harness/worker/environment.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace assay {
namespace {

std::map<std::string, std::string> environment_of(std::optional<std::uint64_t> draw) {
  std::map<std::string, std::string> variables;
  for (const std::string& e : worker_environment({"GIVEN=1"}, draw))
    EXPECT_TRUE(variables.emplace(e.substr(0, e.find('=')), e.substr(e.find('=') + 1)).second) << e;
  return variables;
}

TEST(WorkerEnvironment, NothingOfTheJudgesIsInheritedButWhatTheListNames) {
  setenv("ASSAY_ENVIRONMENT_TEST", "1", 1);
  for (const std::optional<std::uint64_t> draw : {std::optional<std::uint64_t>(), std::optional<std::uint64_t>(7)}) {
    EXPECT_EQ(environment_of(draw).count("ASSAY_ENVIRONMENT_TEST"), 0u);
    EXPECT_EQ(environment_of(draw).count("GIVEN"), 1u);
  }
  unsetenv("ASSAY_ENVIRONMENT_TEST");
}

TEST(WorkerEnvironment, ConfinedWorkersAreToldOtherLiesOrNone) {
  std::set<std::string> addresses, sizes;
  int none = 0;
  for (std::uint64_t draw = 0; draw < 200; ++draw) {
    const auto variables = environment_of(draw);
    EXPECT_EQ(variables.at("HOME"), "/tmp");
    if (!variables.count("RANK")) {
      EXPECT_EQ(variables.count("MASTER_ADDR"), 0u);
      ++none;
      continue;
    }
    addresses.insert(variables.at("MASTER_ADDR"));
    sizes.insert(variables.at("WORLD_SIZE"));
    for (const char* name : {"RANK", "LOCAL_RANK", "WORLD_SIZE", "TP_SIZE"})
      EXPECT_GT(std::stoi(variables.at(name)), 16) << "no set is as large: never true";
  }
  EXPECT_GT(none, 60);
  EXPECT_LT(none, 140);
  EXPECT_GT(addresses.size(), 50u);
  EXPECT_GT(sizes.size(), 30u);
  EXPECT_EQ(environment_of(3), environment_of(3)) << "a run repeats";
}

}  // namespace
}  // namespace assay
