#include "conformance/options.hpp"

#include <CLI/CLI.hpp>
#include <cstdio>
#include <cstdlib>
#include <random>

#include "harness/catalogue/canonical.hpp"
#include "harness/result/verdict.hpp"

namespace assay {
namespace {

template <class T>
CLI::Validator named(T (*read)(std::string_view), const char* what) {
  return CLI::Validator(
      [read, what](std::string& text) -> std::string {
        try {
          (void)read(text);
          return {};
        } catch (const std::exception&) {
          return "'" + text + "' is no " + what;
        }
      },
      what);
}

}  // namespace

ParseOutcome parse_options(int argc, char** argv) {
  ParseOutcome outcome;
  Options& o = outcome.options;
  if (argc > 0 && argv[0] && *argv[0]) o.called = argv[0];
  CLI::App app{"assay: does a kernel library honour its slots' contracts?"};
  app.set_version_flag("--version", std::string("assay " ASSAY_VERSION));
  app.require_subcommand(1);
  app.footer(
      "Examples:\n"
      "  assay check ./libmine.so                      judge every slot that it offers\n"
      "  assay check ./libmine.so --slot norm.rmsnorm --dtype bf16 --seed random\n"
      "  assay replay assay-report/trials/x.json --library ./libmine.so\n"
      "  assay report assay-report                     one HTML page\n"
      "  assay verdict verify assay-report             is this verdict.json what its results say?\n"
      "  assay explain write.every_cell\n"
      "Exit codes: 0 PASS, 1 FAIL, 2 bad input, 3 NO_DECISION, 4 internal error, 5 results or a verdict\n"
      "that are not those of one whole run (report, verdict verify).");

  std::vector<std::string> devices, dtypes;
  std::string tier = "quick", seed = "0", least, gate_if;
  const auto common = [&](CLI::App* sub) {
    sub->add_option("--worker", o.worker, "worker program; one that assay_add_candidate built holds its candidate");
    sub->add_option("--device-ordinal", o.ordinal, "which CUDA device")->check(CLI::Range(0, 1023));
    sub->add_flag("--in-process", o.in_process, "judge and candidate in one process, for debuggers; never evidence");
    sub->add_option("--rule", o.rules, "only these rules");
  };
  CLI::App* check = app.add_subcommand("check", "judge a candidate library");
  check->add_option("library", o.library, "the candidate's shared library");
  common(check);
  check->add_option("--slot", o.slots, "only these slots");
  check->add_option("--variant", o.variants, "only these variants");
  check->add_option("--device", devices, "host, cuda; default: what the library declares")
      ->check(named(device_from, "device (host, cuda)"));
  check->add_option("--dtype", dtypes, "bf16, fp16, fp32; default: all three")
      ->check(named(dtype_from, "dtype (bf16, fp16, fp32)"));
  check->add_option("--ranks", o.ranks, "group sizes that collectives are judged with; default: 2 and 4")
      ->delimiter(',')
      ->check(CLI::Range(1, static_cast<int>(kMostRanks)));
  check->add_option("--tier", tier, "quick, full or gate: how much is tried")
      ->check(named(tier_from, "tier (quick, full, gate)"));
  check->add_flag("--gate", o.gate, "tier gate, with workers isolated as far as this machine allows, and verdict.json")
      ->excludes("--tier", "--in-process");
  check->add_option("--require-isolation", least, "user or namespaces: refuse to judge where this machine gives less")
      ->check(named(isolation_level_from, "isolation level (trusting, user, namespaces)"))
      ->needs("--gate");
  check->add_option("--gate-if", gate_if)->group("");  // of assay_add_candidate: its tests are gated by their preset
  check->add_option("--seed", seed, "a number, or random");
  CLI::Option* to = check->add_option("--report", o.report, "folder for results.jsonl, junit.xml and trials");
  to->capture_default_str();
  check->add_option("--resume", o.resume, "go on with the run in this folder; with a library, begin it where there is none")
      ->excludes(to);
  check->add_option("--jobs", o.jobs, "judges at once; default: one a core");
  check->add_option("--corpus", o.corpus, "folder of counterexamples: tried first, and added to");
  check->add_option("--waivers", o.waivers, "TOML file of failures that are waived until a day");
  check->add_flag("--load-only", o.load_only, "only load the library and check its table");
  check->add_option("--offers", o.slots_offered, "with --load-only: fail unless exactly these slots are offered");
  check->add_option("--shard", o.shard)->group("");
  check->add_option("--called", o.called)->group("");
  check->add_option("--shards", o.shards)->group("");
  check->add_option("--parts", o.parts)->group("");
  check->add_option("--finished", o.finished)->group("");
  check->add_option("--results-fd", o.results_fd)->group("");
  check->add_option("--shared-fd", o.shared_fd)->group("");
  CLI::App* replay = app.add_subcommand("replay", "run one trial again, in a fresh worker");
  replay->add_option("trial", o.trial, "a trial file that a check wrote")->required();
  replay->add_option("--library", o.library, "the candidate's shared library");
  common(replay);
  replay->add_flag("--gate", o.gate, "with the worker isolated, as under check --gate")->excludes("--in-process");
  CLI::App* report = app.add_subcommand("report", "a run's results as one HTML page, or two runs compared");
  report->add_option("folder", o.folders, "a report folder that a check wrote; two: the earlier run first")
      ->required()
      ->expected(1, 2);
  report->add_flag("--markdown", o.markdown, "a summary in Markdown instead, on standard output");
  report->add_option("--output", o.output, "file to write, - for standard output; default: report.html or "
                                           "comparison.html in the (later) folder");
  CLI::App* list = app.add_subcommand("list", "list slots, rules or a library's variants");
  list->add_option("what", o.topic, "slots, rules or variants")
      ->required()
      ->check(CLI::IsMember({"slots", "rules", "variants"}));
  list->add_option("library", o.library, "the candidate's shared library (variants)");
  list->add_option("--worker", o.worker)->group("");
  CLI::App* explain = app.add_subcommand("explain", "what a rule or a slot demands, and how it is made visible");
  explain->add_option("name", o.topic, "an id, as `assay list rules` and `assay list slots` print them")->required();

  CLI::App* targets = app.add_subcommand("targets", "registered targets, their digests, and where they can be reached");
  CLI::App* contract = app.add_subcommand("contract", "the contract of a target, and its digest");
  contract->add_option("target", o.topic, "an id, as `assay targets` prints it")->required();
  contract->add_flag("--json", o.json, "one line of JSON, for programs");
  contract->add_option("--schema", o.schema, "1: names only; 2: with digests of what they stand for")
      ->check(CLI::Range(1, 2))
      ->capture_default_str();

  std::vector<std::string> contracts;
  const CLI::Validator digest(
      [](std::string& text) { return is_digest(text) ? std::string() : "'" + text + "' is no SHA-256 in lower-case hex"; },
      "SHA256");
  CLI::App* verdict = app.add_subcommand("verdict", "verdict.json, which `assay check --gate` writes");
  verdict->require_subcommand(1);
  CLI::App* verify = verdict->add_subcommand(
      "verify", "derive a verdict again from the results beside it; exits as the run did, or with 5");
  verify->add_option("file", o.verdict, "verdict.json, or the report folder that holds it")->required();
  verify->add_option("--expect-digest", o.expected.digest, "digest that the gate printed")->check(digest);
  verify->add_option("--expect-candidate", o.expected.candidate, "SHA-256 of the library")->check(digest);
  verify->add_option("--expect-suite", o.expected.suite, "digest of what judged")->check(digest);
  verify->add_option("--expect-contract", contracts, "SLOT=DIGEST, as `assay contract SLOT` prints it");
  verify->add_option("--library", o.library, "the candidate's file: its bytes have to be those that were judged");

  try {
    app.parse(argc, argv);
    for (const std::string& pair : contracts) {
      const std::size_t equals = pair.find('=');
      if (equals == std::string::npos || equals == 0 || !is_digest(std::string_view(pair).substr(equals + 1)))
        throw CLI::ValidationError("--expect-contract", "'" + pair + "' is not SLOT=DIGEST");
      o.expected.contracts[pair.substr(0, equals)] = pair.substr(equals + 1);
    }
    if (const char* value = gate_if.empty() ? nullptr : std::getenv(gate_if.c_str()); value && *value) {
      const std::string asked = value;
      const bool level = asked == "user" || asked == "namespaces";
      if (!level && asked != "0" && asked != "1")
        throw CLI::ValidationError(gate_if, "'" + asked + "' is none of 0, 1, user, namespaces");
      o.gate = asked != "0";
      if (level) least = asked;
    }
    if (seed == "random") {
      std::random_device entropy;
      o.seed = (static_cast<std::uint64_t>(entropy()) << 32 | entropy()) >> 1;
    } else {
      std::size_t end = 0;
      try {
        o.seed = std::stoull(seed, &end, 0);
      } catch (const std::exception&) {
        end = 0;
      }
      if (seed.empty() || end != seed.size() || seed[0] == '-')
        throw CLI::ValidationError("--seed", "'" + seed + "' is neither a number nor random");
    }
  } catch (const CLI::ParseError& error) {
    outcome.done = true;
    if (error.get_exit_code() == 0) {
      outcome.exit_code = app.exit(error);  // help or version
    } else {
      std::fprintf(stderr, "assay: %s; see `assay --help`\n", error.what());
      outcome.exit_code = static_cast<int>(ExitCode::bad_input);
    }
    return outcome;
  }
  // A bare name is a file here, not something for the loader's search path.
  if (!o.library.empty() && o.library.find('/') == std::string::npos) o.library = "./" + o.library;
  for (const std::string& d : devices) o.devices.push_back(device_from(d));
  for (const std::string& d : dtypes) o.dtypes.push_back(dtype_from(d));
  if (!least.empty()) o.require_isolation = isolation_level_from(least);
  o.tier = o.gate ? Tier::gate : tier_from(tier);
  o.command = check->parsed()      ? Options::Command::check
              : replay->parsed()   ? Options::Command::replay
              : report->parsed()   ? Options::Command::report
              : list->parsed()     ? Options::Command::list
              : targets->parsed()  ? Options::Command::targets
              : contract->parsed() ? Options::Command::contract
              : verdict->parsed()  ? Options::Command::verdict
                                   : Options::Command::explain;
  return outcome;
}

}  // namespace assay
