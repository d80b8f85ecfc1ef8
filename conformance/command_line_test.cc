#include "conformance/command_line.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

TEST(CommandLine, GoesBothWaysForEveryOptionThatARunIsOf) {
  Options o;
  o.command = Options::Command::check;
  o.library = "./lib of 'mine'.so";
  o.slots = {"norm.rmsnorm"};
  o.rules = {"number.bound", "receipt.fired"};
  o.variants = {"a variant; rm -rf \\"};
  o.devices = {DeviceType::cuda};
  o.dtypes = {DType::bf16};
  o.ranks = {2, 4};
  o.waivers = "w.toml";
  o.corpus = "my corpus";
  o.ordinal = 3;
  o.jobs = 5;
  o.seed = 0xFFFFFFFFFFFFFFFFULL;
  for (const bool gate : {false, true}) {
    o.gate = gate;
    o.tier = gate ? Tier::gate : Tier::full;
    o.require_isolation = gate ? IsolationLevel::user : IsolationLevel::trusting;
    EXPECT_EQ(words_of(options_of(command_of(o))), words_of(o)) << command_of(o);
  }
}

TEST(CommandLine, AnyTextIsOneWordOfAShell) {
  holds("quoted words come back", 500, [](const std::string& library) {
    RC_PRE(!library.empty() && library.find('\0') == std::string::npos && library[0] != '-');
    Options o;
    o.command = Options::Command::check;
    o.library = "./" + library;
    RC_ASSERT(options_of(command_of(o)).library == o.library);
  });
}

TEST(CommandLine, AnotherCommandIsRefused) {
  for (const char* command :
       {"", "assay", "assay list slots", "assay check 'x", "assay check --frobnicate", "rm -rf /"})
    EXPECT_THROW((void)options_of(command), std::invalid_argument) << command;
}

}  // namespace
}  // namespace assay
