#include "harness/drive/device_turns.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "harness/device/owned_fd.hpp"

namespace assay {
namespace {

using namespace std::chrono_literals;

// Locks tell open files apart, so two in one process stand for two judges.
class Turns : public testing::Test {
 protected:
  OwnedFd own_file() const {
    return OwnedFd(open(("/proc/self/fd/" + std::to_string(file_.get())).c_str(), O_RDWR | O_CLOEXEC));
  }
  // Whether `other` has to wait for as long as `hold` is there, and no longer.
  template <class Hold, class Other>
  static bool waits_for(Hold&& hold, Other&& other) {
    std::atomic<bool> in = false;
    std::thread waiting;
    bool waited = false;
    {
      const DeviceTurns::Hold held = hold();
      waiting = std::thread([&] {
        const DeviceTurns::Hold theirs = other();
        in = true;
      });
      std::this_thread::sleep_for(50ms);
      waited = !in;
    }
    waiting.join();
    return waited;
  }

  const OwnedFd file_{memfd_create("turns", MFD_CLOEXEC)};
  const OwnedFd a_ = own_file(), b_ = own_file();
  DeviceTurns one_{a_.get()}, two_{b_.get()};
};

TEST_F(Turns, RunsFollowEachOther) {
  EXPECT_TRUE(waits_for([&] { return one_.turn(); }, [&] { return two_.turn(); }));
}

TEST_F(Turns, SeveralAllocateAtOnce) {
  EXPECT_FALSE(waits_for([&] { return one_.allocating(); }, [&] { return two_.allocating(); }));
}

TEST_F(Turns, NobodyAllocatesBesideOneWhoIsAlone) {
  EXPECT_TRUE(waits_for([&] { return one_.alone(); }, [&] { return two_.allocating(); }));
  EXPECT_TRUE(waits_for([&] { return one_.allocating(); }, [&] { return two_.alone(); }));
  EXPECT_TRUE(waits_for([&] { return one_.alone(); }, [&] { return two_.alone(); }));
}

TEST_F(Turns, OneWhoIsAloneStaysSoThroughItsOwnAllocations) {
  EXPECT_TRUE(waits_for(
      [&] {
        DeviceTurns::Hold alone = one_.alone();
        { const DeviceTurns::Hold own = one_.allocating(); }
        return alone;
      },
      [&] { return two_.allocating(); }));
  EXPECT_FALSE(waits_for([&] { return one_.allocating(); }, [&] { return two_.allocating(); }));
}

TEST_F(Turns, WithoutAFileNothingIsHeld) {
  DeviceTurns none{std::nullopt}, other{std::nullopt};
  EXPECT_FALSE(waits_for([&] { return none.alone(); }, [&] { return other.alone(); }));
}

}  // namespace
}  // namespace assay
