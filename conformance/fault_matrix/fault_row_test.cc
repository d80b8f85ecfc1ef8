#include "conformance/fault_matrix/fault_row.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>

namespace assay {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr const char* kHeader = "stem\tdevice\tslot\trule\tsource\tfault\tminimal\n";

std::string table_with(const std::string& rows) {
  const std::string path = testing::TempDir() + "fault_row_test.tsv";
  std::ofstream(path) << kHeader << rows;
  return path;
}

TEST(FaultTable, ReadsBlameAndMinimalCounterexample) {
  const auto rows = read_faults(
      table_with("a\thost\tnorm.rmsnorm\tverdict.attribution\tblame:crash,exit\tDies.\trows=1 hidden=65\n"));
  ASSERT_EQ(rows.size(), 1u);
  EXPECT_TRUE(rows[0].any_rule());
  EXPECT_EQ(rows[0].blame, (std::vector{Reason::crash, Reason::exit}));
  EXPECT_EQ(rows[0].minimal, (std::map<std::string, std::int64_t>{{"rows", 1}, {"hidden", 65}}));
}

TEST(FaultTable, UnknownNamesAreRefusedWithTheirLine) {
  const auto refusal = [](const std::string& row, const std::string& words) {
    EXPECT_THAT([&] { (void)read_faults(table_with(row)); }, ThrowsMessage<BadTable>(HasSubstr(words)));
  };
  refusal("a\thost\tnorm.rmsnorn\tinput.bounds\tx\ty\t\n", ":2: no such slot: norm.rmsnorn");
  refusal("a\thost\tnorm.rmsnorm\tinput.bound\tx\ty\t\n", ":2: no such rule: input.bound");
  refusal("a\thost\tnorm.rmsnorm\tverdict.attribution\tx\ty\t\n", "needs a source of blame");
  refusal("a\thost\tnorm.rmsnorm\tinput.bounds\tblame:magic\ty\t\n", "magic");
  refusal("a\tphone\tnorm.rmsnorm\tinput.bounds\tx\ty\t\n", "phone");
  refusal("a\thost\tnorm.rmsnorm\tinput.bounds\tx\ty\trows\n", "'rows' in minimal");
  refusal("a\thost\tnorm.rmsnorm\tinput.bounds\tx\ty\n", "6 columns where 7");
  const std::string row = "a\thost\tnorm.rmsnorm\tinput.bounds\tx\ty\t\n";
  refusal(row + row, ":3: a is there twice for input.bounds");
}

// Each source has its row and each row its source: a fault that no table names is never run.
TEST(FaultTable, TablesAndSourcesAgree) {
  for (const auto& [table, folder, extension] :
       {std::tuple{"faults.tsv", "", ".cc"}, std::tuple{"cuda/faults_cuda.tsv", "cuda", ".cu"}}) {
    std::set<std::string> listed, present;
    for (const FaultRow& row : read_faults(std::string(ASSAY_FAULTS) + "/" + table)) listed.insert(row.stem);
    for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_FAULTS) + "/" + folder))
      if (entry.path().extension() == extension) present.insert(entry.path().stem());
    EXPECT_EQ(listed, present) << table;
  }
}

}  // namespace
}  // namespace assay
