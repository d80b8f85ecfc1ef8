#include "harness/result/writer.hpp"

#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>
#include <thread>

#include "harness/case/json.hpp"
#include "harness/result/forged_test.hpp"
#include "harness/result/records.hpp"

namespace assay {
namespace {

class ResultFile : public ::testing::Test {
 protected:
  void SetUp() override {
    path_ = (std::filesystem::temp_directory_path() / ("assay_writer_" + std::to_string(::getpid()))).string();
    std::filesystem::remove(path_);
  }
  void TearDown() override { std::filesystem::remove(path_); }
  [[nodiscard]] std::string text() const {
    std::ifstream file(path_, std::ios::binary);
    std::ostringstream all;
    all << file.rdbuf();
    return all.str();
  }
  std::string path_;
};

std::string complaint(const std::function<void()>& act) {
  try {
    act();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "none";
}

TEST_F(ResultFile, EachLineIsThereBeforeTheCallReturns) {
  ResultWriter writer(path_);
  EXPECT_EQ(text(), "");
  writer.line({{"b", 1}, {"a", 0.5}});
  EXPECT_EQ(text(), "{\"a\":0.5,\"b\":1}\n");
  writer.raw_line("{}");
  EXPECT_EQ(text(), "{\"a\":0.5,\"b\":1}\n{}\n");
}

TEST_F(ResultFile, ARunIsReadBackAsItWasWritten) {
  {
    ResultWriter writer(path_);
    writer.line(to_json(forged_run()));
    writer.line(to_json(forged_rule("a.b", Verdict::pass)));
    RunResults so_far = read_results(path_);
    EndRecord end = end_for(so_far);
    end.seconds = 1.5;
    writer.line(to_json(end));
  }
  const RunResults results = read_results(path_);
  EXPECT_EQ(conclude(results).verdict, "PASS");
  EXPECT_EQ(conclude(results).seconds, 1.5);
}

TEST_F(ResultFile, AFileWithLinesIsNeverAppendedTo) {
  std::ofstream(path_) << "{}\n";
  EXPECT_NE(complaint([&] { ResultWriter writer(path_); }).find("already holds a run"), std::string::npos);
  EXPECT_EQ(text(), "{}\n");
}

TEST_F(ResultFile, WhatIsGoneOnWithEndsInAWholeLineFirst) {
  const std::string torn(200'000, 'x');  // more than is read at once
  for (const auto& [before, after] : {std::pair<std::string, std::string>{"", "[3]\n"},
                                      {"{}\n", "{}\n[3]\n"},
                                      {"{}\n{\"a\":", "{}\n[3]\n"},
                                      {"{}\n{\"a\":1}", "{}\n{\"a\":1}\n[3]\n"},
                                      {"{}\n\"" + torn, "{}\n[3]\n"},
                                      {"\"" + torn, "[3]\n"},
                                      {"\"" + torn + "\"\n{", "\"" + torn + "\"\n[3]\n"}}) {
    std::ofstream(path_, std::ios::binary | std::ios::trunc) << before;
    ResultWriter(path_, ResultWriter::Lines::kept).raw_line("[3]");
    EXPECT_EQ(text(), after);
  }
}

TEST_F(ResultFile, AnEmptyFileIsTaken) {
  std::ofstream(path_) << "";
  EXPECT_EQ(complaint([&] { ResultWriter(path_).raw_line("{}"); }), "none");
}

TEST_F(ResultFile, TwoRunsCannotStartInOneFile) {
  ResultWriter first(path_);
  EXPECT_NE(complaint([&] { ResultWriter second(path_); }).find("another run"), std::string::npos);
}

TEST_F(ResultFile, WhatWouldBreakTheLinesIsRefusedAndLeavesNoTrace) {
  ResultWriter writer(path_);
  EXPECT_NE(complaint([&] { writer.raw_line("{}\n{}"); }), "none");
  EXPECT_NE(complaint([&] { writer.raw_line(""); }), "none");
  EXPECT_NE(complaint([&] { writer.raw_line(std::string(results_line_limit + 1, ' ')); }), "none");
  EXPECT_NE(complaint([&] { writer.line({{"text", "\xFF"}}); }), "none");
  EXPECT_EQ(text(), "");
  writer.raw_line("{}");
  EXPECT_EQ(text(), "{}\n");
}

TEST_F(ResultFile, AFolderThatIsNotThereSaysSo) {
  EXPECT_NE(complaint([&] { ResultWriter writer("/nonexistent/results.jsonl"); }).find("No such file"),
            std::string::npos);
}

TEST(FullDisk, IsReportedAndNothingFollowsATornLine) {
  ResultWriter writer("/dev/full");
  EXPECT_NE(complaint([&] { writer.raw_line("{}"); }).find("No space left"), std::string::npos);
  EXPECT_NE(complaint([&] { writer.raw_line("{}"); }).find("an earlier line failed"), std::string::npos);
}

TEST(Pipe, LinesLongerThanItsBufferArriveWholeAndInOrder) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  std::string seen;
  std::thread reader([&] {
    std::array<char, 4096> buffer{};
    for (ssize_t got = 0; (got = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
      seen.append(buffer.data(), static_cast<std::size_t>(got));
    }
  });
  const std::string big(300000, 'x');
  {
    ResultWriter writer(ends[1]);
    writer.raw_line(big);
    writer.raw_line("end");
  }
  ASSERT_EQ(::close(ends[1]), 0) << "the writer closed a descriptor that it does not own";
  reader.join();
  ::close(ends[0]);
  EXPECT_EQ(seen, big + "\nend\n");
}

TEST(Pipe, AParentThatIsGoneIsReported) {
  std::array<int, 2> ends{};
  ASSERT_EQ(::pipe(ends.data()), 0);
  ::close(ends[0]);
  auto* const before = ::signal(SIGPIPE, SIG_IGN);
  ResultWriter writer(ends[1]);
  EXPECT_NE(complaint([&] { writer.raw_line("{}"); }).find("Broken pipe"), std::string::npos);
  ::signal(SIGPIPE, before);
  ::close(ends[1]);
}

}  // namespace
}  // namespace assay
