#include "conformance/effort.hpp"

#include <gtest/gtest.h>

#include <map>
#include <utility>

namespace assay {
namespace {

// No drive is left out by the way the turns fall, however few cases a unit tries.
TEST(Effort, EveryDriveComesWhateverTheUnitCosts) {
  for (const Tier tier : {Tier::quick, Tier::full, Tier::gate})
    for (const DeviceType device : {DeviceType::host, DeviceType::cuda})
      for (const auto& [ranks, variants] : {std::pair{1, 1}, {1, 4}, {2, 1}, {4, 1}})
        for (const Sharing sharing : {Sharing::none, Sharing::by_turns, Sharing::under_mps}) {
          if (ranks == 1 && sharing != Sharing::none) continue;
          const Effort effort = effort_of(tier, device, ranks, sharing, DType::bf16, variants);
          std::map<Drive, int> times;
          std::int64_t tried = 0;
          for (std::int64_t drawn = 1; drawn <= (tier == Tier::quick ? 96 : 512); ++drawn) {
            if (!tried_of(effort, drawn)) continue;
            ++tried;
            for (std::size_t d = 0; d < kDrives; ++d)
              times[static_cast<Drive>(d)] += due(effort, static_cast<Drive>(d), tried, tried);
          }
          for (std::size_t d = 0; d < kDrives; ++d) {
            const Drive drive = static_cast<Drive>(d);
            if (drive == Drive::endurance && sharing != Sharing::none) {
              EXPECT_EQ(times[drive], 0);
              continue;
            }
            const bool few = sharing == Sharing::by_turns || drive == Drive::one_rank;
            if (drive == Drive::one_rank && (sharing == Sharing::under_mps || (sharing == Sharing::by_turns && ranks == 2))) {
              EXPECT_EQ(times[drive], 0);
              continue;
            }
            EXPECT_GE(times[drive], few ? 1 : 3) << name_of(drive) << " at " << ranks << " ranks";
          }
          EXPECT_EQ(times[Drive::eager], tried) << "every tried case is called plainly";
          EXPECT_GE(tried, 8);
        }
}

// A call without cells goes through every drive only while a full one still has to.
TEST(Effort, EmptyCallsTakeNoPlace) {
  const Effort effort = effort_of(Tier::gate, DeviceType::cuda, 4, Sharing::by_turns, DType::bf16);
  EXPECT_TRUE(due(effort, Drive::groups, 1, 1)) << "an empty first case";
  EXPECT_TRUE(due(effort, Drive::groups, 2, 1)) << "the full one after it";
  EXPECT_FALSE(due(effort, Drive::groups, 3, 2));
}

TEST(Effort, AGateTriesMoreThanTheQuickTier) {
  for (const int ranks : {1, 4})
    for (const Sharing sharing : {Sharing::none, Sharing::by_turns, Sharing::under_mps}) {
      const Effort quick = effort_of(Tier::quick, DeviceType::cuda, ranks, sharing, DType::bf16);
      const Effort gate = effort_of(Tier::gate, DeviceType::cuda, ranks, sharing, DType::bf16);
      EXPECT_GE(gate.all_drives, quick.all_drives);
      EXPECT_GE(512 / gate.one_in, 96 / quick.one_in);
    }
}

}  // namespace
}  // namespace assay
