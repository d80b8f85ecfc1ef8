// verdict.cc: `assay verdict verify`: is a verdict.json what the results beside it say? Needs neither candidate nor
// device.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>

#include "conformance/commands.hpp"
#include "harness/case/digest.hpp"
#include "harness/result/verdict_file.hpp"

namespace assay {
namespace {

namespace fs = std::filesystem;

// No run ends with it: what is refused is nobody's verdict.
constexpr int kNoVerdict = 5;

std::optional<std::string> text_of(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return std::nullopt;
  std::ifstream file(path, std::ios::binary);
  std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file || file.bad()) return std::nullopt;
  return text;
}

int refuse_verdict(const std::string& folder, const std::string& why) {
  std::fprintf(stderr, "assay: %s: %s\n", folder.c_str(), why.c_str());
  return kNoVerdict;
}

}  // namespace

int verdict_command(const Options& options) {
  std::error_code error;
  const bool folder_named = fs::is_directory(options.verdict, error);
  const fs::path path = folder_named ? fs::path(options.verdict) / "verdict.json" : fs::path(options.verdict);
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  const auto text = text_of(path);
  if (!text)
    return refuse("cannot read " + path.string() + ": name a folder that `assay check --gate --report FOLDER` wrote");
  const auto results = text_of(folder / "results.jsonl"), receipts = text_of(folder / "receipts.jsonl");
  for (const auto& [file, name] : {std::pair(&results, "results.jsonl"), {&receipts, "receipts.jsonl"}})
    if (!*file)
      return refuse("cannot read " + (folder / name).string() + ": a verdict is derived from the files beside it");
  PinnedFacts expected = options.expected;
  if (!options.library.empty()) {
    const std::string sha256 = sha256_of_file(options.library);
    if (sha256.empty()) return refuse("cannot read the library " + options.library);
    if (!expected.candidate.empty() && expected.candidate != sha256)
      return refuse_verdict(options.library, "is not the candidate that --expect-candidate names");
    expected.candidate = sha256;
  }
  try {
    const VerifiedVerdict v = verify_verdict(*text, {*results, *receipts}, expected);
    std::printf("%s%s%s  (%s, verdict digest %s)\n", v.verdict.c_str(), v.why.empty() ? "" : ": ", v.why.c_str(),
                path.c_str(), v.digest.c_str());
    return v.exit_code;
  } catch (const VerdictRefused& why) {
    return refuse_verdict(folder.string(), why.what());
  }
}

}  // namespace assay
