// commands.hpp: what the assay program does, one function a subcommand. Each returns the process's exit code and has
// printed what a person needs to know.
#pragma once

#include "conformance/candidate.hpp"
#include "conformance/examiner.hpp"
#include "conformance/options.hpp"

namespace assay {

int check_command(const Options&);
int replay_command(const Options&);
int report_command(const Options&);
int verdict_command(const Options&);   // verdict.cc
int list_command(const Options&);
int explain_command(const Options&);
int targets_command(const Options&);   // targets/commands.cc
int contract_command(const Options&);

// How workers of the candidate that the options name are started.
[[nodiscard]] WorkerConfig worker_config(const Options&, DeviceType);

// Under --gate: isolates the workers to come as far as this machine allows. An exit code where that is less than what is
// required: a sentence has been printed.
[[nodiscard]] std::optional<int> isolate(Options&);

// The day, as waivers write it: "2026-11-29".
[[nodiscard]] std::string today_utc();

// Bad input: one sentence on standard error, exit code 2.
int refuse(const std::string& sentence);

// Loads the candidate that the options name. Prints what is wrong with it and sets `exit_code` where it cannot be used.
[[nodiscard]] std::optional<Candidate> load_or_refuse(const Options&, int& exit_code);

// Units, in catalogue order, that the options select; empty: the sentence says why.
[[nodiscard]] std::vector<Unit> units_of(const Options&, const Candidate&, std::string& why_none);


}  // namespace assay
