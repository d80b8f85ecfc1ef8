// main.cc: the assay program.
#include <cstdio>
#include <exception>

#include "conformance/commands.hpp"
#include "harness/result/verdict.hpp"

int main(int argc, char** argv) {
  using namespace assay;
  const ParseOutcome parsed = parse_options(argc, argv);
  if (parsed.done) return parsed.exit_code;
  try {
    switch (parsed.options.command) {
      case Options::Command::check: return check_command(parsed.options);
      case Options::Command::replay: return replay_command(parsed.options);
      case Options::Command::report: return report_command(parsed.options);
      case Options::Command::list: return list_command(parsed.options);
      case Options::Command::explain: return explain_command(parsed.options);
      case Options::Command::targets: return targets_command(parsed.options);
      case Options::Command::verdict: return verdict_command(parsed.options);
      case Options::Command::contract: return contract_command(parsed.options);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "assay: internal error: %s\n", error.what());
  }
  return static_cast<int>(ExitCode::internal);
}
