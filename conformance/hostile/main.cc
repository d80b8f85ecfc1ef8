// assay_hostile: every library of kernels/hostile through `assay check --gate`, against its row of hostile.tsv.
// Exit codes: 0 all as demanded, 1 one is not, 2 bad input, 77 the device is absent.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <thread>

#include "conformance/fault_matrix/selection.hpp"
#include "conformance/hostile/ordeal.hpp"
#include "conformance/installation.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

constexpr int kMissed = 1, kBadInput = 2;

struct Arguments {
  Selection selection;
  std::string folder, markdown, reports;
  std::vector<std::string> check;
  bool trusting = false, contrast = false;
};

std::vector<std::string> arguments_of(const Arguments& a, bool gate) {
  std::vector<std::string> words = {"--device", a.selection.device, "--dtype", "fp32"};
  if (gate)
    words.emplace_back("--gate");
  else
    words.insert(words.end(), {"--tier", "gate"});
  words.insert(words.end(), a.check.begin(), a.check.end());
  return words;
}

int run_all(const Arguments& a) {
  const bool cuda = a.selection.device == "cuda";
  const std::string table = std::string(ASSAY_HOSTILE) + (cuda ? "/cuda/hostile_cuda.tsv" : "/hostile.tsv");
  const std::string target = cuda ? "assay_hostile_libraries_cuda" : "assay_hostile_libraries";
  std::vector<Ordeal> ordeals;
  std::map<std::string, Ordeal> contrast;
  for (const HostileRow& row : a.selection.of(read_hostile(table), table)) {
    const std::string library = library_of(a.folder, row.stem, target);
    const OrdealPlan plan{fs::path(own_path()).parent_path() / "assay", library, a.reports + "/" + row.stem,
                          arguments_of(a, !a.trusting)};
    ordeals.push_back(undergo(row, plan));
    std::printf("%s\n", text_line(ordeals.back()).c_str());
    std::fflush(stdout);
    if (!a.contrast) continue;
    OrdealPlan without = plan;
    without.folder += "-trusting";
    without.arguments = arguments_of(a, false);
    contrast[row.stem] = undergo(row, without);
    std::printf("       without isolation: %s\n", contrast[row.stem].verdict.c_str());
  }
  if (ordeals.empty()) throw BadTable("no library is left to run");
  const auto held = std::count_if(ordeals.begin(), ordeals.end(), [](const Ordeal& o) { return o.miss.empty(); });
  std::printf("%zu hostile libraries and controls, %td as demanded; isolation: %s\n", ordeals.size(), held,
              ordeals.front().isolation.c_str());
  if (!a.markdown.empty()) {
    const std::string what = "`assay_hostile --device " + a.selection.device + "`: `assay check --gate --dtype fp32`, assay " +
                             ASSAY_VERSION + ", on " + std::to_string(std::thread::hardware_concurrency()) +
                             " cores; isolation: " + ordeals.front().isolation + ".";
    if (!(std::ofstream(a.markdown) << markdown_page(ordeals, contrast, what)))
      throw BadTable("cannot write " + a.markdown);
  }
  return held == static_cast<std::ptrdiff_t>(ordeals.size()) ? 0 : kMissed;
}

int run(int argc, char** argv) {
  Arguments a;
  const fs::path bin = fs::path(own_path()).parent_path();
  a.folder = (bin / "../hostile").lexically_normal();
  a.reports = fs::temp_directory_path() / "assay-hostile";
  CLI::App app{"Runs hostile libraries through whole checks and demands what their table says."};
  add_options(app, a.selection);
  app.add_option("--folder", a.folder, "where the libraries lie")->capture_default_str();
  app.add_option("--reports", a.reports, "folder for the runs' reports")->capture_default_str();
  app.add_option("--markdown", a.markdown, "write the table to this file, too");
  app.add_flag("--contrast", a.contrast, "run each without isolation, too, and show what comes of it");
  app.add_flag("--trusting", a.trusting, "without isolation only");
  app.add_option("--check", a.check, "further arguments of `assay check`")->delimiter(',');
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  if (!has_device(a.selection, "assay_hostile")) return kAbsentExit;
  return run_all(a);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay_hostile: %s\n", error.what());
    return assay::kBadInput;
  }
}
