// assay_fault_matrix: every planted fault against the rule that must catch it, and right libraries against all rules.
// Exit codes: 0 all caught (or all right), 1 one missed (or a complaint), 2 bad input, 77 the device is absent.
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <thread>

#include "conformance/fault_matrix/detection_table.hpp"
#include "conformance/fault_matrix/selection.hpp"
#include "conformance/installation.hpp"

namespace assay {
namespace {

constexpr int kMissed = 1, kBadInput = 2;

struct Arguments {
  Selection selection;
  std::string folder, markdown, right_library;
  std::uint64_t seed = 0, seeds = 1;
  bool right = false;
};

std::string table_path(DeviceType device) {
  return std::string(ASSAY_FAULTS) + (device == DeviceType::cuda ? "/cuda/faults_cuda.tsv" : "/faults.tsv");
}

int run_right(Laboratory& laboratory, const Arguments& a) {
  std::size_t complaints = 0;
  for (std::uint64_t i = 0; i < a.seeds; ++i) {
    if (!a.selection.takes(i)) continue;
    const auto found = laboratory.examine_right(a.right_library, a.seed + i);
    for (const Complaint& c : found)
      std::printf("seed %llu: %s\n", static_cast<unsigned long long>(c.seed), c.text.c_str());
    if (found.empty()) std::printf("seed %llu: every rule holds\n", static_cast<unsigned long long>(a.seed + i));
    std::fflush(stdout);
    complaints += found.size();
  }
  return complaints ? kMissed : 0;
}

int run_faults(Laboratory& laboratory, DeviceType device, const Arguments& a) {
  const std::string table = table_path(device), target = device == DeviceType::cuda ? "assay_faults_cuda" : "assay_faults";
  std::vector<Detection> detections;
  for (const FaultRow& row : a.selection.of(read_faults(table), table)) {
    const std::string library = library_of(a.folder, row.stem, target);
    detections.push_back(laboratory.detect(row, library));
    std::printf("%s\n", text_line(detections.back()).c_str());
    std::fflush(stdout);
  }
  if (detections.empty()) throw BadTable("no fault is left to look for");
  std::printf("%s\n", summary_line(detections).c_str());
  if (!a.markdown.empty()) {
    const std::string what =
        "`assay_fault_matrix --device " + a.selection.device + "`, assay " + ASSAY_VERSION + ", tier quick, seed " +
        std::to_string(a.seed) + ", one judge, on " + std::to_string(std::thread::hardware_concurrency()) + " cores." +
        (device == DeviceType::host ? " Graph results are of the host model, never GPU proof." : "");
    if (!(std::ofstream(a.markdown) << markdown_page(detections, what))) throw BadTable("cannot write " + a.markdown);
  }
  return medians_of(detections).caught == detections.size() ? 0 : kMissed;
}

int run(int argc, char** argv) {
  Arguments a;
  a.folder = (std::filesystem::path(own_path()).parent_path() / "../faulty").lexically_normal();
  CLI::App app{"Runs planted faults and demands that the rules that their tables name catch them."};
  add_options(app, a.selection);
  app.add_option("--seed", a.seed, "the run's seed, or the first of --right")->capture_default_str();
  app.add_option("--seeds", a.seeds, "with --right: how many seeds")->capture_default_str();
  app.add_option("--folder", a.folder, "where the faulty libraries lie")->capture_default_str();
  app.add_option("--markdown", a.markdown, "write the table to this file, too");
  app.add_flag("--right", a.right, "run every rule on the right library and demand that all hold");
  app.add_option("--library", a.right_library, "with --right: another right library");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kBadInput;
  }
  if (!has_device(a.selection, "assay_fault_matrix")) return kAbsentExit;
  const DeviceType device = device_from(a.selection.device);
  if (a.right_library.empty())
    a.right_library = std::filesystem::path(own_path()).parent_path() / ("libassay_" + a.selection.device + "_kernels.so");
  LaboratoryConfig config;
  config.device = device;
  config.worker = worker_path();
  config.reference = reference_path();
  config.seed = a.seed;
  Laboratory laboratory(config);
  return a.right ? run_right(laboratory, a) : run_faults(laboratory, device, a);
}

}  // namespace
}  // namespace assay

int main(int argc, char** argv) {
  try {
    return assay::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay_fault_matrix: %s\n", error.what());
    return assay::kBadInput;
  }
}
