// harness/result/verdict_runs_test.hpp: the golden runs of gates that fixtures/verdict_* hold, for tests.
#pragma once

#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "harness/result/verdict_file.hpp"

namespace assay {

struct StoredRun {
  RunFiles files;
  std::string verdict;
};

inline std::string stored_folder(const std::string& name) { return ASSAY_FIXTURES "/verdict_" + name; }

inline StoredRun stored_run(const std::string& name) {
  const auto text_of = [&](const char* file) {
    std::ifstream in(stored_folder(name) + "/" + file, std::ios::binary);
    if (!in) throw std::runtime_error("no golden " + name + "/" + file);
    return std::string{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  };
  return {{text_of("results.jsonl"), text_of("receipts.jsonl")}, text_of("verdict.json")};
}

inline std::vector<std::string> lines_of_text(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

}  // namespace assay
