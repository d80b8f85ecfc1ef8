#include "conformance/claims.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>

#include <thread>
#include <vector>

#include "harness/device/owned_fd.hpp"

namespace assay {
namespace {

TEST(Claims, OneOfSeveralJudgesHasAName) {
  const OwnedFd file(memfd_create("claims", MFD_CLOEXEC));
  Claims::prepare(file.get());
  std::atomic<int> taken = 0, names_of_one = 0;
  std::vector<std::thread> judges;
  for (int judge = 0; judge < 8; ++judge)
    judges.emplace_back([&] {
      Claims claims(file.get());  // each maps it for itself, as processes do
      for (int name = 0; name < 1000; ++name) taken += claims.take("rule " + std::to_string(name));
      names_of_one += claims.take("rule 7");
    });
  for (std::thread& judge : judges) judge.join();
  EXPECT_EQ(taken, 1000);
  EXPECT_EQ(names_of_one, 0) << "taken is taken";
}

TEST(Claims, WhatIsGivenBackIsAnothers) {
  const OwnedFd file(memfd_create("claims", MFD_CLOEXEC));
  Claims::prepare(file.get());
  Claims one(file.get()), other(file.get());
  EXPECT_TRUE(one.take("a"));
  EXPECT_FALSE(other.take("a"));
  EXPECT_TRUE(other.take("b"));
  one.give_back("a");
  EXPECT_TRUE(other.take("a"));
  EXPECT_FALSE(one.take("a"));
}

TEST(Claims, AFullTableRefusesNobody) {
  const OwnedFd file(memfd_create("claims", MFD_CLOEXEC));
  Claims::prepare(file.get());
  Claims claims(file.get());
  for (int name = 0; name < (1 << 17) + 100; ++name) EXPECT_TRUE(claims.take(std::to_string(name)));
}

TEST(Claims, AJudgeAloneMayAlways) {
  Claims alone;
  EXPECT_TRUE(alone.take("a"));
  EXPECT_TRUE(alone.take("a"));
}

}  // namespace
}  // namespace assay
