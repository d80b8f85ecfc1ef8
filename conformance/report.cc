// report.cc: `assay report`: a page of what a check left behind. Judges nothing and needs neither candidate nor device.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <stdexcept>

#include "conformance/commands.hpp"
#include "reports/failure_text.hpp"
#include "reports/page.hpp"
#include "reports/render.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

// No run ends with it: a page of a failed run is a page made, and a file that is no run's is no verdict on anything.
constexpr int kNoWholeRun = 5;

// The results of a folder; a results file may be named itself.
std::string results_of(const std::string& named) {
  std::error_code error;
  return fs::is_directory(named, error) ? (fs::path(named) / "results.jsonl").string() : named;
}

// Prints what is wrong and sets `exit_code` where there are no results of one run.
std::optional<RunResults> read_or_refuse(const std::string& named, int& exit_code) {
  const std::string path = results_of(named);
  std::error_code error;
  if (!fs::is_regular_file(path, error)) {
    exit_code = refuse("there is no " + path + ": name a folder that `assay check --report FOLDER` wrote");
    return std::nullopt;
  }
  try {
    RunResults results = read_results(path);
    if (results.has_run) return results;
    std::fprintf(stderr, "assay: %s holds no run: check again into another folder\n", path.c_str());
    exit_code = kNoWholeRun;
  } catch (const std::invalid_argument& why) {
    std::fprintf(stderr, "assay: %s; these are not the results of one run: check again\n", why.what());
    exit_code = kNoWholeRun;
  } catch (const std::runtime_error& why) {
    exit_code = refuse(why.what());
  }
  return std::nullopt;
}

void write_file(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path + ": name another file with --output");
}

}  // namespace

int report_command(const Options& options) {
  int exit_code = 0;
  const std::string& folder = options.folders.back();
  const std::optional<RunResults> results = read_or_refuse(folder, exit_code);
  if (!results) return exit_code;
  std::optional<EarlierRun> before;
  if (options.folders.size() > 1) {
    std::optional<RunResults> earlier = read_or_refuse(options.folders.front(), exit_code);
    if (!earlier) return exit_code;
    before = EarlierRun{options.folders.front(), std::move(*earlier)};
  }
  if (!can_render())
    return refuse("this build has no template library: install libkainjow-mustache-dev, configure and build again");
  const EarlierRun* old = before ? &*before : nullptr;
  const std::string text = options.markdown ? markdown_summary(*results, old) : html_page(*results, old);
  std::string output = options.output;
  if (output.empty())
    output = options.markdown
                 ? "-"
                 : (fs::path(results_of(folder)).parent_path() / (old ? "comparison.html" : "report.html")).string();
  try {
    if (output == "-") {
      std::cout << text << std::flush;
      if (!std::cout) throw std::runtime_error("cannot write to standard output");
    } else {
      write_file(output, text);
      const EndRecord end = conclude(*results);
      const std::size_t failures = grouped(*results).size();
      std::printf("%s: %s%s%s, %zu failure%s\n", output.c_str(), end.verdict.c_str(), end.why.empty() ? "" : ": ",
                  end.why.c_str(), failures, failures == 1 ? "" : "s");
    }
  } catch (const std::runtime_error& why) {
    return refuse(why.what());
  }
  for (const std::string& named : options.folders) {
    if ((&named == &folder ? *results : before->results).has_end) continue;
    std::fprintf(stderr,
                 "assay: %s has no end line: that run was cut off, and the page shows what it found until then\n",
                 results_of(named).c_str());
    exit_code = kNoWholeRun;
  }
  return exit_code;
}

}  // namespace assay
