#include "conformance/shard.hpp"

#include <gtest/gtest.h>

#include <map>
#include <set>

namespace assay {
namespace {

// Every part of every unit has one judge, no judge two parts of one unit, and all about as much to do.
TEST(Shard, UnitsAreSharedWholeAndEvenly) {
  for (const Tier tier : {Tier::quick, Tier::gate})
    for (int count = 1; count <= 40; ++count)
      for (int cores = 1; cores <= 20; ++cores) {
        std::vector<Unit> units(static_cast<std::size_t>(count));
        for (int u = 0; u < count; ++u) units[static_cast<std::size_t>(u)].ranks = u;  // tells them apart
        const int judges = judges_for(units.size(), cores);
        ASSERT_LE(judges, cores);
        std::map<int, std::set<int>> parts;
        std::size_t least = units.size() * 8, most = 0;
        for (int j = 0; j < judges; ++j) {
          const std::vector<Unit> mine = share_of(units, j, judges, parts_of(units.size(), judges, tier));
          std::set<int> own;
          for (const Unit& u : mine) {
            EXPECT_EQ(u.parts, parts_of(units.size(), judges, tier));
            EXPECT_TRUE(own.insert(u.ranks).second) << "two parts of a unit";
            EXPECT_TRUE(parts[u.ranks].insert(u.part).second) << "a part twice";
          }
          least = std::min(least, mine.size());
          most = std::max(most, mine.size());
        }
        ASSERT_EQ(parts.size(), units.size());
        for (const auto& [unit, seen] : parts)
          ASSERT_EQ(static_cast<int>(seen.size()), parts_of(units.size(), judges, tier));
        EXPECT_GT(least, 0U) << count << " units, " << cores << " cores";
        EXPECT_LE(most - least, 1U) << count << " units, " << cores << " cores";
      }
}

TEST(Shard, OneSlotsThreeDtypesKeepTwoCoresBusy) {
  EXPECT_EQ(parts_of(3, 2, Tier::quick), 2);
  EXPECT_EQ(parts_of(33, 2, Tier::quick), 1);
  EXPECT_EQ(parts_of(27, 16, Tier::gate), 4);
}

}  // namespace
}  // namespace assay
