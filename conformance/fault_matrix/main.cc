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
#include "conformance/installation.hpp"
#include "harness/device/memory.hpp"

namespace assay {
namespace {

constexpr int kMissed = 1, kBadInput = 2, kAbsent = 77;

struct Arguments {
  std::string device = "host", folder, shard = "0/1", markdown, right_library;
  std::vector<std::string> stems;
  std::uint64_t seed = 0, seeds = 1;
  bool right = false;
  int part = 0, parts = 1;
};

std::string table_path(DeviceType device) {
  return std::string(ASSAY_FAULTS) + (device == DeviceType::cuda ? "/cuda/faults_cuda.tsv" : "/faults.tsv");
}

int run_right(Laboratory& laboratory, const Arguments& a) {
  std::size_t complaints = 0;
  for (std::uint64_t i = 0; i < a.seeds; ++i) {
    if (static_cast<int>(i % static_cast<std::uint64_t>(a.parts)) != a.part) continue;
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
  std::vector<FaultRow> rows = read_faults(table_path(device));
  for (const std::string& stem : a.stems)
    if (std::none_of(rows.begin(), rows.end(), [&](const FaultRow& r) { return r.stem == stem; }))
      throw BadTable("no fault is called " + stem + "; " + table_path(device) + " names them");
  std::vector<Detection> detections;
  int index = -1;
  for (const FaultRow& row : rows) {
    if (!a.stems.empty() && std::find(a.stems.begin(), a.stems.end(), row.stem) == a.stems.end()) continue;
    if (++index % a.parts != a.part) continue;
    const std::string library = a.folder + "/" + row.stem + ".so";
    if (!std::filesystem::exists(library))
      throw BadTable("there is no " + library + "; build the target " +
                     (device == DeviceType::cuda ? "assay_faults_cuda" : "assay_faults") + ", or name a --folder");
    detections.push_back(laboratory.detect(row, library));
    std::printf("%s\n", text_line(detections.back()).c_str());
    std::fflush(stdout);
  }
  if (detections.empty()) throw BadTable("no fault is left to look for");
  std::printf("%s\n", summary_line(detections).c_str());
  if (!a.markdown.empty()) {
    const std::string what =
        "`assay_fault_matrix --device " + a.device + "`, assay " + ASSAY_VERSION + ", tier quick, seed " +
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
  app.add_option("--device", a.device, "host or cuda")->check(CLI::IsMember({"host", "cuda"}))->capture_default_str();
  app.add_option("--stems", a.stems, "only these faults, separated by commas")->delimiter(',');
  app.add_option("--shard", a.shard, "i/n: every n-th fault or seed, from the i-th on")->capture_default_str();
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
  if (std::sscanf(a.shard.c_str(), "%d/%d", &a.part, &a.parts) != 2 || a.part < 0 || a.part >= a.parts)
    throw BadTable("--shard takes i/n with i from 0 to n - 1, not " + a.shard);
  const DeviceType device = device_from(a.device);
  if (a.right_library.empty())
    a.right_library = std::filesystem::path(own_path()).parent_path() / ("libassay_" + a.device + "_kernels.so");
  LaboratoryConfig config;
  config.device = device;
  config.worker = worker_path();
  config.reference = reference_path();
  config.seed = a.seed;
  std::unique_ptr<Laboratory> laboratory;
  try {
    laboratory = std::make_unique<Laboratory>(config);
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "assay_fault_matrix: nothing was tried: %s\n", error.what());
    return kAbsent;
  }
  return a.right ? run_right(*laboratory, a) : run_faults(*laboratory, device, a);
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
