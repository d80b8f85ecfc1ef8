// Libraries that must not load, through the program that a person would run: one sentence, exit code 2, nothing judged.
#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <set>

#include "conformance/fault_matrix/fault_row.hpp"

namespace assay {
namespace {

struct Said {
  std::string text;
  int exit_code = -1;
};

Said run_assay(const std::string& arguments) {
  Said said;
  const std::string command = "'" ASSAY_PROGRAM "' " + arguments + " 2>&1";
  FILE* pipe = popen(command.c_str(), "r");
  if (!pipe) return said;
  std::array<char, 4096> chunk;
  while (const std::size_t n = fread(chunk.data(), 1, chunk.size(), pipe)) said.text.append(chunk.data(), n);
  const int status = pclose(pipe);
  if (WIFEXITED(status)) said.exit_code = WEXITSTATUS(status);
  return said;
}

std::vector<std::string> words_of(std::string text) {
  std::vector<std::string> words;
  for (std::size_t at; (at = text.find("; ")) != std::string::npos; text.erase(0, at + 2))
    words.push_back(text.substr(0, at));
  words.push_back(text);
  return words;
}

std::string cases_path() { return std::string(ASSAY_FAULTS) + "/loading/cases.tsv"; }

class Loading : public testing::TestWithParam<std::map<std::string, std::string>> {};

TEST_P(Loading, IsToldInOneSentenceThatNamesTheMistake) {
  const std::filesystem::path source = GetParam().at("file");
  const std::string library = std::string(ASSAY_FAULTY_LIBRARIES "/") + source.stem().string() + ".so";
  ASSERT_TRUE(std::filesystem::exists(library)) << library << ": build the target assay_faults";
  const bool refused = GetParam().at("outcome") == "refused";
  const std::vector<std::string> commands = {"list variants '" + library + "'", "check --load-only '" + library + "'"};
  for (const std::string& command : commands) {
    const Said said = run_assay(command);
    for (const std::string& word : words_of(GetParam().at("words")))
      EXPECT_NE(said.text.find(word), std::string::npos) << "'" << word << "' is not in: " << said.text;
    if (!refused) {
      // A slot that this build has no tests for: not the library's mistake, and never a pass.
      EXPECT_EQ(said.exit_code, 0) << said.text;
      EXPECT_EQ(run_assay("check '" + library + "' --report '" + testing::TempDir() + "loading'").exit_code, 2);
      continue;
    }
    EXPECT_EQ(said.exit_code, 2) << said.text;
    EXPECT_EQ(said.text.rfind("assay: ", 0), 0u) << said.text;
    EXPECT_EQ(said.text.find('\n'), said.text.size() - 1) << "more than one line: " << said.text;
    // What and where, and after the semicolon the remedy.
    EXPECT_NE(said.text.find("; "), std::string::npos) << said.text;
  }
}

std::string name_of_case(const testing::TestParamInfo<Loading::ParamType>& info) {
  return std::filesystem::path(info.param.at("file")).stem();
}
INSTANTIATE_TEST_SUITE_P(Cases, Loading, testing::ValuesIn(read_table(cases_path())), name_of_case);

TEST(LoadingCases, EveryLibraryThatMustNotLoadIsListed) {
  std::set<std::string> listed, present;
  for (const auto& row : read_table(cases_path())) listed.insert(row.at("file"));
  for (const auto& entry : std::filesystem::directory_iterator(std::string(ASSAY_FAULTS) + "/loading"))
    if (entry.path().extension() == ".c") present.insert(entry.path().filename());
  EXPECT_EQ(listed, present);
}

}  // namespace
}  // namespace assay
