// harness/result/verdict_file.hpp: verdict.json, what a gate leaves for others to rely on, and the check of one.
//
// Promises: verdict.json is a function of the bytes of results.jsonl and receipts.jsonl (schema 1, written out in
// harness/result/README.md): canonical JSON, one line, with a digest over all else in it. verify_verdict makes it again
// and refuses anything that is not the same byte for byte, with one sentence that names file, and line or field: so
// every edit of one or two of the three files is found.
// Not promised: that nobody made all three anew. Digests have no key; who does not trust the place that they lay in
// states what they expect, or keeps the verdict's digest elsewhere. Whether receipts' seals are right cannot be seen
// afterwards: the key is never written.
// Who calls it: conformance/check.cc (writes), conformance/verdict.cc (verifies).
//
//   const RunFiles files{text_of("results.jsonl"), text_of("receipts.jsonl")};
//   const std::string text = verdict_text(files);
//   verify_verdict(text, files, {.digest = pinned}).exit_code;      // throws VerdictRefused
#pragma once

#include <map>
#include <stdexcept>
#include <string>
#include <string_view>

#include "harness/result/records.hpp"

namespace assay {

inline constexpr int verdict_schema = 1;

class VerdictRefused : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// What the files of a run hold, whole.
struct RunFiles {
  std::string results, receipts;
};

// With its newline. Throws VerdictRefused where the files are not those of one gate's run that ended.
[[nodiscard]] std::string verdict_text(const RunFiles&);

// What the caller knows from elsewhere; empty: nothing.
struct PinnedFacts {
  std::string digest, candidate, suite = {};          // the verdict's own digest, the library's SHA-256
  std::map<std::string, std::string> contracts = {};  // slot: digest
};

struct VerifiedVerdict {
  std::string verdict, why, digest;
  int exit_code = 3;
};

[[nodiscard]] VerifiedVerdict verify_verdict(std::string_view text, const RunFiles&, const PinnedFacts& = {});

}  // namespace assay
