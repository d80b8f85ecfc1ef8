// The assay program as its user meets it: refusals, what may not pass, interruption.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <set>
#include <string>

#include "cmake/tests/program.hpp"
#include "harness/case/json.hpp"
#include "harness/catalogue/canonical.hpp"
#include "harness/catalogue/contract.hpp"
#include "harness/receipt/receipt.hpp"
#include "harness/result/records.hpp"

namespace assay {
namespace {

struct Refusal {
  const char* name;
  Words words;
  const char* sentence;  // part of it
};

class BadInput : public Program, public testing::WithParamInterface<Refusal> {};

TEST_P(BadInput, IsOneSentenceAndExitCode2) {
  EXPECT_EQ(run(GetParam().words), 2) << out() << err();
  EXPECT_EQ(out(), "");
  const std::string sentence = err();
  EXPECT_EQ(sentence.rfind("assay: ", 0), 0u) << sentence;
  EXPECT_EQ(std::count(sentence.begin(), sentence.end(), '\n'), 1) << sentence;
  EXPECT_NE(sentence.find(GetParam().sentence), std::string::npos) << sentence;
}

const std::string kLibrary = ASSAY_HOST_KERNELS;

INSTANTIATE_TEST_SUITE_P(
    Table, BadInput,
    testing::Values(
        Refusal{"NoSubcommand", {}, "subcommand"}, Refusal{"UnknownSubcommand", {"frobnicate"}, "--help"},
        Refusal{"UnknownOption", {"check", kLibrary, "--frobnicate"}, "--frobnicate"},
        Refusal{"NoLibrary", {"check"}, "no library is named"},
        Refusal{"ReportOfNothing", {"report", "/nonexistent"}, "no /nonexistent: name a folder"},
        Refusal{"ReportOfAFolderWithoutResults", {"report", "/tmp/"}, "results.jsonl: name a folder"},
        Refusal{"NoSuchFile", {"check", "/nonexistent.so"}, "no such file: /nonexistent.so"},
        Refusal{"AFolder", {"check", "/tmp"}, "/tmp"},
        Refusal{"NotALibrary", {"check", "/etc/passwd"}, "not a loadable library"},
        Refusal{"NoSymbol", {"check", ASSAY_REFERENCES}, "does not export assay_get_library"},
        Refusal{"NoSuchWorker", {"check", kLibrary, "--worker", "/nonexistent"}, "/nonexistent"},
        Refusal{"UnknownSlot", {"check", kLibrary, "--slot", "norm.nope"}, "no such slot: 'norm.nope'"},
        Refusal{"UnknownRule", {"check", kLibrary, "--rule", "write.nope"}, "no such rule: 'write.nope'"},
        Refusal{"UnknownVariant", {"check", kLibrary, "--variant", "nope"}, "--variant"},
        Refusal{"UnknownDevice", {"check", kLibrary, "--device", "tpu"}, "'tpu' is no device"},
        Refusal{"DeviceNotOffered", {"check", kLibrary, "--device", "cuda"}, "--device"},
        Refusal{"UnknownDtype", {"check", kLibrary, "--dtype", "fp8"}, "'fp8' is no dtype"},
        Refusal{"DtypeThatIsNotJudged", {"check", kLibrary, "--dtype", "fp64"}, "--dtype"},
        Refusal{"UnknownTier", {"check", kLibrary, "--tier", "huge"}, "'huge' is no tier"},
        Refusal{"SeedThatIsNoNumber", {"check", kLibrary, "--seed", "1x"}, "'1x' is neither"},
        Refusal{"NegativeJobs", {"check", kLibrary, "--jobs", "-3"}, "--jobs"},
        Refusal{"ReportIsAFile", {"check", kLibrary, "--report", "/etc/passwd"}, "report folder /etc/passwd"},
        Refusal{"ReportCannotBeMade", {"check", kLibrary, "--report", "/proc/nope/x"}, "report folder /proc/nope/x"},
        Refusal{"NoSuchWaivers", {"check", kLibrary, "--waivers", "/nonexistent.toml"}, "/nonexistent.toml"},
        Refusal{"WaiversAreNoToml", {"check", kLibrary, "--waivers", "/etc/passwd"}, "/etc/passwd, line 1: "},
        Refusal{"CorpusIsAFile", {"check", kLibrary, "--corpus", "/etc/passwd"}, "/etc/passwd"},
        Refusal{"NoSuchTrial", {"replay", "/nonexistent.json", "--library", kLibrary}, "/nonexistent.json"},
        Refusal{"NotATrial", {"replay", "/etc/passwd", "--library", kLibrary}, "/etc/passwd is not a trial"},
        Refusal{"TrialIsAFolder", {"replay", "/tmp", "--library", kLibrary}, "/tmp"},
        Refusal{"ReplayWithoutLibrary", {"replay", "/etc/passwd"}, "/etc/passwd is not a trial"},
        Refusal{"ListOfNothing", {"list", "frogs"}, "frogs"},
        Refusal{"ContractOfNothing", {"contract", "norm.rmsnor"}, "no such target: 'norm.rmsnor'"},
        Refusal{"ContractWithoutATarget", {"contract", "--json"}, "target"},
        Refusal{"ContractOfASchemaToCome", {"contract", "norm.rmsnorm", "--schema", "3"}, "--schema"},
        Refusal{"AtomicContractOfSchemaOne",
                {"contract", "collective.moe_epilogue.v1", "--json", "--schema", "1"},
                "has no schema 1"},
        Refusal{"ExplainUnknown", {"explain", "write.nope"}, "no such rule or slot: 'write.nope'"},
        Refusal{"OffersMore", {"check", kLibrary, "--load-only", "--offers", "norm.rmsnorm"}, "would go unjudged"},
        Refusal{"OffersLess", {"check", kLibrary, "--load-only", "--offers", "norm.nope"}, "does not offer norm.nope"}),
    [](const auto& row) { return row.param.name; });

TEST_F(Program, HelpVersionAndListsSucceed) {
  for (const Words& words :
       {Words{"--help"}, Words{"check", "--help"}, Words{"--version"}, Words{"list", "slots"}, Words{"list", "rules"},
        Words{"explain", "write.every_cell"}, Words{"explain", "norm.rmsnorm"}, Words{"list", "variants", kLibrary},
        Words{"explain", "contract.complete"}, Words{"targets"}, Words{"contract", "norm.rmsnorm"},
        Words{"contract", "collective.moe_epilogue.v1"}}) {
    EXPECT_EQ(run(words), 0) << words.front();
    EXPECT_NE(out(), "") << words.front();
    EXPECT_EQ(err(), "") << words.front();
  }
}

// What another program reads: its digest is that of what stands beside it.
TEST_F(Program, AContractsJsonProvesItsOwnDigest) {
  for (const int schema : {1, 2}) {
    ASSERT_EQ(run({"contract", "attention.decode", "--json", "--schema", std::to_string(schema)}), 0) << err();
    const nlohmann::json answer = parse_strict(out(), "assay contract");
    const TargetContractRef contract = contract_from_json(answer.at("contract"));
    EXPECT_EQ(contract.slot_id, "attention.decode");
    EXPECT_EQ(answer.at("contract_digest"), contract_digest(contract, schema));
    EXPECT_EQ(answer.at("contract_digest"),
              envelope_digest(answer.at("domain").get<std::string>(), answer.at("contract"), schema));
    EXPECT_EQ(answer.at("target_digest"), envelope_digest("assay.target-spec", answer.at("target"), 1));
  }
}

TEST_F(Program, AbsentGpuIsNoDecisionWithAReason) {
  EXPECT_EQ(run({"check", ASSAY_ABSENT_GPU, "--device-ordinal", "99", "--report", report()}), 3) << out() << err();
  EXPECT_NE(out().find("NO_DECISION"), std::string::npos);
  EXPECT_EQ(out().find("PASS"), std::string::npos) << out();
  EXPECT_EQ(conclude(read_results(results())).exit_code, 3);
  EXPECT_NE(read_results(results()).rules.at(0).text, "");
}

TEST_F(Program, NothingInTheDeclaredDomainIsNoPass) {
  EXPECT_EQ(run({"check", ASSAY_FP32_ONLY, "--dtype", "bf16", "--report", report()}), 3) << out() << err();
  EXPECT_NE(out().find("NO_DECISION"), std::string::npos);
}

#ifdef ASSAY_OVERLAPPING
TEST_F(Program, OverlappingVariantsFailBeforeAnythingRuns) {
  EXPECT_EQ(run({"check", ASSAY_OVERLAPPING, "--report", report()}), 1) << out() << err();
  EXPECT_NE(out().find("few_rows and general both accept a call with dtype=bfloat16, num_tokens=0"), std::string::npos)
      << out();
  const RunResults read = read_results(results());
  EXPECT_EQ(read.trials, 0);
  ASSERT_EQ(read.rules.size(), 1u);
  EXPECT_EQ(read.rules[0].subject.rule, "route.disjoint");
  EXPECT_EQ(run({"check", ASSAY_OVERLAPPING, "--variant", "general", "--rule", "number.reference", "--report", report()}),
            0)
      << "one of them alone is judged: " << out() << err();
}
#endif

TEST_F(Program, InterruptedRunIsReadableAndUndecided) {
  const pid_t pid = start_long_run();
  kill(pid, SIGINT);
  EXPECT_EQ(finish(pid), 3);
  EXPECT_NE(out().find("NO_DECISION: the run was interrupted"), std::string::npos) << out();
  EXPECT_TRUE(std::filesystem::exists(report() + "/junit.xml"));
  expect_readable_and_undecided();
  expect_nothing_left();
}

TEST_F(Program, CtrlCReachesTheWholeGroupAndIsTheSame) {
  const pid_t pid = start_long_run();
  kill(-pid, SIGINT);
  EXPECT_EQ(finish(pid), 3);
  EXPECT_NE(out().find("NO_DECISION: the run was interrupted"), std::string::npos) << out();
  expect_readable_and_undecided();
  expect_nothing_left();
}

TEST_F(Program, KilledProgramLeavesReadableLinesAndNoProcess) {
  const pid_t pid = start_long_run();
  kill(pid, SIGKILL);
  EXPECT_EQ(finish(pid), -SIGKILL);
  expect_readable_and_undecided();
  expect_nothing_left();
}

TEST_F(Program, KilledJudgeIsNoDecisionAndTheOthersFinish) {
  const pid_t pid = start_long_run("quick");
  const std::string task = "/proc/" + std::to_string(pid) + "/task/" + std::to_string(pid) + "/children";
  std::ifstream children(task);
  pid_t judge = 0;
  ASSERT_TRUE(children >> judge);
  kill(judge, SIGKILL);
  EXPECT_EQ(finish(pid), 3);
  EXPECT_NE(out().find("NO_DECISION: a judge"), std::string::npos) << out();
  EXPECT_FALSE(read_results(results()).cases.empty());
  expect_readable_and_undecided();
  expect_nothing_left();
}

TEST_F(Program, ReportThatCouldNotBeFinishedIsRefusedBeforeTheRun) {
  for (const char* file : {"trials", "results.jsonl", "receipts.jsonl", "junit.xml"}) {
    std::filesystem::remove_all(report());
    std::filesystem::create_directories(report());
    if (std::string(file) == "trials")
      std::ofstream(report() + "/trials") << "x";
    else
      std::filesystem::create_directory(report() + "/" + file);
    EXPECT_EQ(run({"check", ASSAY_HOST_KERNELS, "--report", report()}), 2) << out();
    EXPECT_NE(err().find(file), std::string::npos) << err();
  }
}

#if defined(ASSAY_HAVE_MUSTACHE)
constexpr bool kPages = true;
#else
constexpr bool kPages = false;
#endif

// Results that are no whole run's: one sentence, an exit code that no run has, and a page only of a run that was cut
// off.
TEST_F(Program, ReportOfWhatIsNoWholeRunIsExitCode5) {
  if (!kPages) GTEST_SKIP() << "this build has no template library";
  std::filesystem::create_directories(report());
  const std::string golden = text_of(ASSAY_FIXTURES "/results_golden.jsonl"), page = report() + "/report.html";
  const auto reported = [&](const std::string& results, const char* sentence) {
    std::ofstream(report() + "/results.jsonl", std::ios::trunc) << results;
    std::filesystem::remove(page);
    EXPECT_EQ(run({"report", report()}), 5) << err();
    EXPECT_NE(err().find(sentence), std::string::npos) << err();
    const std::string sentences = err();
    EXPECT_EQ(std::count(sentences.begin(), sentences.end(), '\n'), 1) << sentences;
    return std::filesystem::exists(page);
  };
  const std::size_t end = golden.rfind('\n', golden.size() - 2) + 1;
  EXPECT_TRUE(reported(golden.substr(0, end), "cut off"));
  EXPECT_TRUE(reported(golden.substr(0, end + 9), "cut off"));
  EXPECT_FALSE(reported(golden + golden, "nothing may follow the end line"));
  EXPECT_FALSE(reported(golden.substr(0, end) + golden, "a second run line"));
  EXPECT_FALSE(reported("", "holds no run"));
  EXPECT_FALSE(reported("{}\n" + golden, "line 1"));
  std::string edited = golden;
  edited.replace(edited.find("\"verdict\":\"PASS\""), 16, "\"verdict\":\"FINE\"");
  EXPECT_FALSE(reported(edited, "FINE"));
}

TEST_F(Program, ReportOfAFailedRunIsAPageMade) {
  if (!kPages) GTEST_SKIP() << "this build has no template library";
  std::filesystem::create_directories(report());
  std::filesystem::copy_file(ASSAY_FIXTURES "/results_golden.jsonl", report() + "/results.jsonl");
  EXPECT_EQ(run({"report", report()}), 0) << err();
  EXPECT_NE(out().find("FAIL"), std::string::npos) << out();
  EXPECT_NE(text_of(report() + "/report.html").find("</html>"), std::string::npos);
  EXPECT_EQ(run({"report", report(), report()}), 0) << err();
  EXPECT_NE(text_of(report() + "/comparison.html").find("same verdict in both runs"), std::string::npos);
  EXPECT_EQ(run({"report", report(), "--markdown"}), 0) << err();
  EXPECT_EQ(out().rfind("## assay: FAIL", 0), 0u) << out();
  EXPECT_EQ(run({"report", report(), "--output", "/nonexistent/page.html"}), 2);
  EXPECT_NE(err().find("--output"), std::string::npos) << err();
}

TEST_F(Program, OneRunAtATimeWritesIntoAReport) {
  const pid_t first = start_long_run();
  EXPECT_EQ(run({"check", ASSAY_HOST_KERNELS, "--report", report()}), 2);
  EXPECT_NE(err().find("another run is writing into"), std::string::npos) << err();
  kill(first, SIGINT);
  EXPECT_EQ(finish(first), 3);
  expect_nothing_left();
}

TEST_F(Program, BrokenTrialInTheCorpusIsBadInput) {
  const std::string corpus = folder + "/corpus";
  std::filesystem::create_directory(corpus);
  std::ofstream(corpus + "/half.json") << "{\"drive\": \"eag";
  EXPECT_EQ(run({"check", ASSAY_HOST_KERNELS, "--corpus", corpus, "--report", report()}), 2) << out();
  EXPECT_NE(err().find("half.json is not a trial"), std::string::npos) << err();
}

TEST_F(Program, PipeIsNeitherALibraryNorATrial) {
  const std::string pipe = folder + "/pipe";
  ASSERT_EQ(mkfifo(pipe.c_str(), 0600), 0);
  EXPECT_EQ(run({"check", pipe, "--report", report()}), 2);
  EXPECT_NE(err().find("not a regular file"), std::string::npos) << err();
  EXPECT_EQ(run({"replay", pipe, "--library", ASSAY_HOST_KERNELS}), 2);
  EXPECT_NE(err().find("cannot read the trial"), std::string::npos) << err();
}

#ifdef ASSAY_WRONG_KERNELS
TEST_F(Program, FailureIsExitCode1AndItsReplayFailsToo) {
  EXPECT_EQ(run({"check", ASSAY_WRONG_KERNELS, "--report", report()}), 1) << err();
  const RunResults read = read_results(results());
  ASSERT_FALSE(read.failures.empty());
  const FailureRecord& failure = read.failures.front();
  EXPECT_NE(out().find(failure.replay), std::string::npos) << "the report does not name the replay command";
  EXPECT_EQ(run({"replay", failure.trial_file, "--library", ASSAY_WRONG_KERNELS}), 1) << out() << err();
  EXPECT_NE(out().find("FAIL  " + failure.subject.rule), std::string::npos) << out();
  EXPECT_EQ(run({"replay", failure.trial_file, "--library", ASSAY_HOST_KERNELS}), 0) << out() << err();
}

TEST_F(Program, AWaivedFailureFailsNothingUntilItsDay) {
  const auto check = [&](const std::string& library, const std::string& expires, bool gate = false) {
    std::ofstream(folder + "/waivers.toml")
        << "[[waiver]]\nrule = \"number.reference\"\nslot = \""
        << (library == ASSAY_WRONG_KERNELS ? "activation.silu_and_mul" : "norm.rmsnorm") << "\"\nvariant = \""
        << (library == ASSAY_WRONG_KERNELS ? "faulty" : "host.rows") << "\"\nreason = \"mismatch\"\nowner = \"me\"\n"
        << "tracker = \"https://tracker.example.org/7\"\nexpires = " << expires << "\n";
    Words words = {"check", library, "--slot",
                   library == ASSAY_WRONG_KERNELS ? "activation.silu_and_mul" : "norm.rmsnorm", "--dtype", "fp32",
                   "--rule", "number.reference", "--rule", "write.every_cell", "--waivers", folder + "/waivers.toml",
                   "--report", report()};
    if (gate) words.emplace_back("--gate");
    return run(std::move(words));
  };
  EXPECT_EQ(check(ASSAY_WRONG_KERNELS, "2999-12-31"), 0) << out() << err();
  EXPECT_NE(out().find("WAIVED"), std::string::npos) << out();
  EXPECT_NE(text_of(report() + "/junit.xml").find("<skipped message=\"WAIVED (mismatch): until 2999-12-31 by me"),
            std::string::npos);
  EXPECT_EQ(conclude(read_results(results())).verdict, "PASS");
  EXPECT_EQ(check(ASSAY_WRONG_KERNELS, "2020-01-01"), 1) << out() << err();
  EXPECT_NE(text_of(results()).find("its waiver expired on 2020-01-01"), std::string::npos);
  EXPECT_EQ(check(ASSAY_WRONG_KERNELS, "soon"), 2) << out();
  EXPECT_NE(err().find("waivers.toml, line 8"), std::string::npos) << err();
  EXPECT_EQ(check(ASSAY_HOST_KERNELS, "2999-12-31"), 0) << out() << err();
  EXPECT_NE(out().find("UNEXPECTED_PASS"), std::string::npos) << out();
  EXPECT_EQ(check(ASSAY_HOST_KERNELS, "2999-12-31", true), 1) << out() << err();
}
#endif

TEST_F(Program, ReceiptsOfARunLieBesideItsResults) {
  EXPECT_EQ(run({"check", ASSAY_FP32_ONLY, "--dtype", "fp32", "--report", report()}), 0) << out() << err();
  std::ifstream file(report() + "/receipts.jsonl");
  std::set<std::string> kinds;
  for (std::string line; std::getline(file, line);) kinds.insert(std::string(name_of(decode(line).kind)));
  EXPECT_EQ(kinds, (std::set<std::string>{"active", "fired", "completed", "replayed"}));
}

}  // namespace
}  // namespace assay
