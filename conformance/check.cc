// check.cc: `assay check`: one run, from loading the library to the verdict; one judge a core, each with its units.
#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <ctime>
#include <optional>
#include <set>
#include <thread>

#include "conformance/claims.hpp"
#include "conformance/command_line.hpp"
#include "conformance/commands.hpp"
#include "conformance/gate_facts.hpp"
#include "conformance/installation.hpp"
#include "conformance/progress.hpp"
#include "conformance/report_folder.hpp"
#include "conformance/resume.hpp"
#include "conformance/shard.hpp"
#include "harness/case/digest.hpp"
#include "harness/case/json.hpp"
#include "harness/device/cuda/cuda_device.hpp"
#include "harness/device/owned_fd.hpp"
#include "harness/rank/placing.hpp"
#include "harness/route/structure.hpp"
#include "harness/result/parts.hpp"
#include "harness/result/waivers.hpp"
#include "reports/failure_text.hpp"
#include "reports/junit.hpp"
#include "reports/table.hpp"

extern char** environ;

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

volatile std::sig_atomic_t interrupted = 0;
void on_interrupt(int) { interrupted = 1; }

std::string now_utc() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

// The GPU, and which sets of ranks it is shared by: these show values, not link ordering or speed. Under MPS a fault of
// one worker ends others.
std::string describe_gpu(const Options& options, const std::vector<Unit>& units) {
  std::string text = make_cuda_memory(options.ordinal)->architecture();
  if (under_mps()) text += " under MPS";
  std::set<int> sharing;
  for (const Unit& u : units)
    if (u.variant->device == DeviceType::cuda && ranks_share(u.ranks, count_cuda_devices(), options.ordinal))
      sharing.insert(u.ranks);
  for (const int ranks : sharing)
    text += (ranks == *sharing.begin() ? ", shared by sets of " : " and of ") + std::to_string(ranks);
  if (sharing.empty()) return text;
  text += under_mps() ? " ranks" : " ranks by turns, with a part of the tier's cases";
  return text + " (values only, no evidence of link ordering or speed)";
}

// Before a receipt's line on its way from a child; everything else is a line of results.
constexpr std::string_view kReceipt = "receipt ";
bool is_receipt(std::string_view text) { return text.rfind(kReceipt, 0) == 0; }

// A rule line after the waivers; empty: it stays as it is.
std::string waived(const Waivers& waivers, std::string_view text) {
  if (text.find("\"kind\":\"rule\"") == std::string_view::npos) return {};
  RunResults one = read_line(text);
  if (one.rules.empty()) return {};
  waivers.apply(one.rules.front());
  return to_json(one.rules.front()).dump();
}

// One child judge: reads its lines as they come.
struct Child {
  pid_t pid = -1;
  int fd = -1;
  std::string partial;
  bool done = false;
};

Child start_child(const Options& o, int shard, int shards, int shared) {
  int pipes[2];
  if (pipe2(pipes, O_CLOEXEC) != 0) throw std::runtime_error("cannot create a pipe");
  Options own = o;
  own.waivers.clear();  // the parent applies them, to what its judges say together
  own.jobs = 0;
  if (o.gate) own.require_isolation = o.isolation->level();  // what the run line says of all of them
  std::vector<std::string> words = words_of(own);
  words.insert(words.begin(), own_path());
  const auto add = [&](const char* name, const std::string& value) {
    words.emplace_back(name);
    words.push_back(value);
  };
  add("--report", o.report);
  add("--called", o.called);
  add("--shard", std::to_string(shard));
  add("--shards", std::to_string(shards));
  add("--parts", std::to_string(o.parts));
  for (const std::size_t unit : o.finished) add("--finished", std::to_string(unit));
  constexpr int kResults = 210, kShared = 211;
  add("--results-fd", std::to_string(kResults));
  add("--shared-fd", std::to_string(kShared));
  std::vector<char*> argv;
  for (std::string& w : words) argv.push_back(w.data());
  argv.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, pipes[1], kResults);
  posix_spawn_file_actions_adddup2(&actions, shared, kShared);
  Child child;
  const int error = posix_spawn(&child.pid, own_path().c_str(), &actions, nullptr, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  close(pipes[1]);
  if (error != 0) {
    close(pipes[0]);
    throw std::runtime_error(std::string("cannot start a judge: ") + std::strerror(error));
  }
  child.fd = pipes[0];
  return child;
}

// Takes whole lines off what a child wrote.
template <class Line>
void take_lines(Child& child, Line&& line) {
  std::size_t end;
  while ((end = child.partial.find('\n')) != std::string::npos) {
    line(std::string_view(child.partial).substr(0, end));
    child.partial.erase(0, end + 1);
  }
}

// Runs the children to their end. no_decision: one was killed from outside; internal: one failed by itself.
template <class Line>
ExitCode run_children(std::vector<Child>& children, Line&& line) {
  ExitCode outcome = ExitCode::pass;
  std::size_t open = children.size();
  while (open > 0) {
    if (interrupted)
      for (Child& c : children)
        if (c.pid > 0) kill(c.pid, SIGTERM);
    std::vector<pollfd> waits;
    for (const Child& c : children) waits.push_back({c.done ? -1 : c.fd, POLLIN, 0});
    if (poll(waits.data(), waits.size(), 200) < 0 && errno != EINTR) throw std::runtime_error("cannot wait for judges");
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (children[i].done || !waits[i].revents) continue;
      char chunk[65536];
      const ssize_t n = ::read(children[i].fd, chunk, sizeof chunk);
      if (n < 0 && errno == EINTR) continue;
      if (n > 0) {
        children[i].partial.append(chunk, static_cast<std::size_t>(n));
        take_lines(children[i], line);
        continue;
      }
      close(children[i].fd);
      children[i].done = true;
      --open;
      int status = 0;
      while (waitpid(children[i].pid, &status, 0) < 0 && errno == EINTR) {
      }
      children[i].pid = -1;
      if (WIFEXITED(status) && WEXITSTATUS(status) == 0) continue;
      // A judge that got less isolation than its parent has said so.
      const bool refused = WIFEXITED(status) && WEXITSTATUS(status) == static_cast<int>(ExitCode::no_decision);
      const bool killed = WIFSIGNALED(status) && (WTERMSIG(status) == SIGKILL || WTERMSIG(status) == SIGTERM);
      if (outcome != ExitCode::internal) outcome = killed || refused ? ExitCode::no_decision : ExitCode::internal;
    }
  }
  return outcome;
}

int check_load_only(const Options& options, const Candidate& candidate) {
  std::set<std::string> offered;
  for (const CandidateVariant& v : candidate.variants) offered.insert(v.slot->id);
  for (const std::string& note : candidate.notes) std::printf("note: %s\n", note.c_str());
  if (!options.slots_offered.empty()) {
    const std::set<std::string> listed(options.slots_offered.begin(), options.slots_offered.end());
    for (const std::string& s : listed)
      if (!offered.count(s)) return refuse("the library does not offer " + s + ", which SLOTS lists");
    for (const std::string& s : offered)
      if (!listed.count(s)) return refuse("the library offers " + s + ", which SLOTS does not list: it would go unjudged");
  }
  std::printf("%s %s: %zu variants of %zu slots\n", candidate.name.c_str(), candidate.version.c_str(),
              candidate.variants.size(), offered.size());
  return 0;
}

// The fault of a library that dies while it is loaded, as the run's only rule.
RuleRecord load_rule(const Fault& fault) {
  RuleRecord rule;
  rule.subject.rule = "load";
  rule.verdict = fault.verdict;
  rule.reason = fault.reason;
  rule.judged = 1;
  rule.text = fault.text;
  return rule;
}

// What is wrong with the library as one that a router would load: told before anything runs.
std::vector<RuleRecord> overlap_rules(const Options& options, const std::vector<Unit>& units) {
  const auto& asked = options.rules;
  if (!asked.empty() && std::find(asked.begin(), asked.end(), "route.disjoint") == asked.end()) return {};
  std::vector<const CandidateVariant*> variants;
  for (const Unit& u : units)
    if (std::find(variants.begin(), variants.end(), u.variant) == variants.end()) variants.push_back(u.variant);
  std::vector<RuleRecord> rules;
  for (const SlotOverlap& o : overlaps_among(variants)) {
    RuleRecord& rule = rules.emplace_back();
    rule.subject.rule = "route.disjoint";
    rule.subject.slot = o.slot->id;
    rule.subject.variant = o.overlap.second;
    rule.subject.device = name_of(o.device);
    rule.verdict = Verdict::fail;
    rule.reason = Reason::overlap;
    rule.judged = rule.evidence = 1;
    rule.text = "the variants " + o.overlap.text() +
                ": no router can tell them apart; make their capabilities disjoint, or judge one alone with --variant";
  }
  return rules;
}

// A gate admits some variants only where they declare GRAPH_SAFE.
void note_admission(const std::vector<Unit>& units) {
  std::set<std::string> said;
  for (const Unit& u : units) {
    const GraphSafe safe = u.variant->info.graph_safe() ? GraphSafe::yes : GraphSafe::no;
    if (admission(*u.variant->slot, safe) != Admission::not_admitted) continue;
    if (said.insert(u.variant->slot->id + " " + u.variant->info.id).second)
      std::printf("note: %s %s does not declare GRAPH_SAFE: a gate does not admit it\n", u.variant->slot->id.c_str(),
                  u.variant->info.id.c_str());
  }
}

std::vector<Unit> unfinished(const std::vector<Unit>& units, const std::vector<std::size_t>& finished) {
  std::vector<Unit> rest;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (std::find(finished.begin(), finished.end(), u) == finished.end()) rest.push_back(units[u]);
  return rest;
}

// What a person and a build server read of a run. Returns the exit code.
enum class Written { whole, in_part };
int present(const Options& options, const ReportFolder& folder, const RunResults& results, EndRecord end,
            Written written) {
  const bool colour = isatty(STDOUT_FILENO) && !std::getenv("NO_COLOR");
  for (const auto& group : grouped(results)) std::printf("%s\n", failure_text(group, results.run, colour).c_str());
  std::printf("%s", table(results, colour).c_str());
  try {
    if (written == Written::whole) folder.write_junit(junit_xml(results));
  } catch (const std::runtime_error& failure) {
    std::fprintf(stderr, "assay: %s\n", failure.what());
    if (end.exit_code == 0) end.exit_code = static_cast<int>(ExitCode::no_decision);
  }
  if (options.gate && results.has_end) {
    try {
      std::printf("%s: verdict digest %s\n", folder.verdict().c_str(), folder.write_verdict().c_str());
    } catch (const std::runtime_error& failure) {
      std::fprintf(stderr, "assay: there is no %s: %s\n", folder.verdict().c_str(), failure.what());
      if (end.exit_code == 0) end.exit_code = static_cast<int>(ExitCode::no_decision);
    }
  }
  std::printf("%s%s%s  (%s, %s)\n", end.verdict.c_str(), end.why.empty() ? "" : ": ", end.why.c_str(),
              folder.results().c_str(), folder.junit().c_str());
  return end.exit_code;
}

// A run that had ended before it was to be resumed: its reports and its verdict are made again, nothing is judged.
int present_ended(const Options& options) {
  std::optional<ReportFolder> folder;
  RunResults results;
  try {
    folder.emplace(options.report, "", ReportFolder::Earlier::kept);
    for (const std::string& path : {folder->results(), folder->receipts()})
      const ResultWriter mended(path, ResultWriter::Lines::kept);
    results = read_results(folder->results());
  } catch (const std::exception& failure) {
    return refuse(failure.what());
  }
  std::printf("the run in %s has ended: nothing is left to judge\n", options.report.c_str());
  return present(options, *folder, results, conclude(results), Written::whole);
}

}  // namespace

int check_command(const Options& given) {
  Options options = given;
  const auto start = Clock::now();
  bool resumes = false;
  if (!given.resume.empty()) {
    try {
      const Resumption resumption = resumption_of(given);
      options = resumption.options;
      if (resumption.ended) return present_ended(options);
      resumes = !resumption.begins;
    } catch (const std::runtime_error& why) {
      return refuse(why.what());
    }
  }
  if (const auto refused = isolate(options)) return *refused;
  const std::string started = now_utc();
  int exit_code = 0;
  const auto candidate = load_or_refuse(options, exit_code);
  if (!candidate) return exit_code;
  if (options.load_only && !candidate->fault) return check_load_only(options, *candidate);
  std::string why;
  std::vector<Unit> units = candidate->fault ? std::vector<Unit>{} : units_of(options, *candidate, why);
  if (!candidate->fault && units.empty()) return refuse(why);
  const std::vector<RuleRecord> overlapping = overlap_rules(options, units);
  if (!overlapping.empty()) units.clear();

  if (options.shard >= 0) {
    for (const int own : {options.results_fd, options.shared_fd}) fcntl(own, F_SETFD, FD_CLOEXEC);  // no candidate's
    ResultWriter writer(options.results_fd);
    const std::vector<Unit> rest = unfinished(units, options.finished);
    run_shard(options, *candidate, in_turn(rest, options.shard, options.shards, options.parts), writer,
              [&](const std::string& receipt) { writer.raw_line(std::string(kReceipt) + receipt); });
    return 0;
  }

  Waivers waivers;
  try {
    if (!options.waivers.empty()) waivers = Waivers::read(options.waivers, started.substr(0, today_utc().size()));
  } catch (const WaiverError& bad) {
    return refuse(bad.what());
  }
  for (const Waiver& w : waivers.all()) {
    const std::string where = options.waivers + ", line " + std::to_string(w.line) + ": ";
    if (!find_rule(w.rule)) return refuse(where + "rule is no rule: " + shown(w.rule) + "; `assay list rules` has them");
    if (!find_slot(w.slot)) return refuse(where + "slot is no slot: " + shown(w.slot) + "; `assay list slots` has them");
  }

  std::optional<ReportFolder> folder;
  std::unique_ptr<ResultWriter> writer, receipts;
  RunResults results;
  try {
    for (const std::string& path : corpus_files(options.corpus)) (void)read_trial(path);  // before anything is judged
    folder.emplace(options.report, options.corpus, resumes ? ReportFolder::Earlier::kept : ReportFolder::Earlier::aside);
    const auto lines = resumes ? ResultWriter::Lines::kept : ResultWriter::Lines::none_yet;
    writer = std::make_unique<ResultWriter>(folder->results(), lines);
    receipts = std::make_unique<ResultWriter>(folder->receipts(), lines);
    if (resumes) results = read_results(folder->results());
  } catch (const std::exception& failure) {
    return refuse(failure.what());
  }
  const unsigned cores = std::max(1u, std::thread::hardware_concurrency());
  const int cores_used = options.jobs ? static_cast<int>(options.jobs) : most_judges(units, static_cast<int>(cores));
  // As many parts as the whole run has, however much of it is left: a unit's counts depend on them.
  options.parts = options.in_process || units.empty() || take_turns(units, options.ordinal)
                      ? 1
                      : parts_of(units.size(), judges_for(units.size(), cores_used), options.tier);
  for (std::size_t u = 0; u < units.size(); ++u)
    if (is_finished(results, units[u])) options.finished.push_back(u);
  const std::vector<Unit> rest = unfinished(units, options.finished);
  const int jobs = rest.empty() ? 0 : judges_for(rest.size(), cores_used);
  PartMerger parts(options.parts);
  Progress progress(units.size());
  std::string unwritten;  // why a line did not reach the disk
  const auto line = [&](std::string_view text) {
    if (!unwritten.empty()) return;
    const std::string changed = waivers.all().empty() ? "" : waived(waivers, text);
    if (!changed.empty()) text = changed;
    try {
      is_receipt(text) ? receipts->raw_line(text.substr(kReceipt.size())) : writer->raw_line(text);
    } catch (const ResultsUnwritten& failure) {
      unwritten = failure.what();
      interrupted = 1;  // nothing that cannot be written is judged
      return;
    }
    if (is_receipt(text)) return;
    add_line(results, text);
    progress.line(results);
  };
  const auto lines = [&](const std::vector<std::string>& ready) {
    for (const std::string& text : ready) line(text);
  };
  RunRecord run;
  run.assay_version = ASSAY_VERSION;
  run.library = options.library.empty() ? options.worker : options.library;
  run.library_sha256 = candidate->sha256;
  run.library_name = candidate->name;
  run.library_version = candidate->version;
  std::set<DeviceType> devices;
  for (const Unit& u : units) devices.insert(u.variant->device);
  for (const DeviceType d : devices) {
    try {
      run.devices.push_back(std::string(name_of(d)) + ": " +
                            (d == DeviceType::cuda ? describe_gpu(options, units) : "host model"));
    } catch (const DeviceError&) {
      run.devices.push_back(std::string(name_of(d)) + ": absent");
    }
  }
  run.nccl = candidate->nccl.path;
  run.nccl_version = candidate->nccl.version;
  run.nccl_sha256 = sha256_of_file(candidate->nccl.path);
  run.tier = name_of(options.tier);
  run.isolation = options.in_process ? "in-process" : options.gate ? options.isolation->text() : "trusting";
  run.seed = options.seed;
  run.started = started;
  run.command = command_of(options);
  if (options.gate) run.gate = gate_facts(options, units, waivers);
  if (!resumes) {
    line(to_json(run).dump());
  } else if (const std::string other = differs(results.run, run); !other.empty()) {
    return refuse(other);
  } else {
    line(to_json(ResumeRecord{started, static_cast<std::int64_t>(results.cases.size())}).dump());
    std::printf("resumes the run of %s: %zu of %zu units are finished\n", results.run.started.c_str(),
                results.cases.size(), units.size());
  }
  std::printf("assay %s  %s  tier %s  seed %llu\n", ASSAY_VERSION, run.library.c_str(), run.tier.c_str(),
              static_cast<unsigned long long>(options.seed));
  if (options.gate) std::printf("isolation: %s\n", run.isolation.c_str());
  for (const std::string& note : candidate->notes) std::printf("note: %s\n", note.c_str());
  note_admission(units);
  std::fflush(stdout);

  ExitCode judges = ExitCode::pass;
  for (const RuleRecord& rule : overlapping) {
    line(to_json(rule).dump());
    std::printf("FAIL %s route.disjoint: %s\n", rule.subject.slot.c_str(), rule.text.c_str());
  }
  if (candidate->fault) {
    const RuleRecord rule = load_rule(*candidate->fault);
    line(to_json(rule).dump());
    std::printf("%s load %s: %s\n", std::string(name_of(rule.verdict)).c_str(),
                std::string(name_of(rule.reason)).c_str(), rule.text.c_str());
  } else if (rest.empty() || !unwritten.empty()) {
    // Nothing runs.
  } else if (options.in_process) {
    // One process from end to end, for debuggers and compute-sanitizer.
    try {
      run_shard(options, *candidate, rest, *writer, [&](const std::string& taken) { receipts->raw_line(taken); });
    } catch (const ResultsUnwritten& failure) {
      unwritten = failure.what();
      interrupted = 1;
    }
    results = read_results(folder->results());
  } else {
    struct sigaction action = {};
    action.sa_handler = on_interrupt;
    sigaction(SIGINT, &action, nullptr);
    sigaction(SIGTERM, &action, nullptr);
    const OwnedFd shared(memfd_create("assay-judges", MFD_CLOEXEC));
    if (shared.get() < 0) throw std::runtime_error("cannot create a memory file");
    Claims::prepare(shared.get());
    std::vector<Child> children;
    for (int i = 0; i < jobs; ++i) children.push_back(start_child(options, i, jobs, shared.get()));
    judges = run_children(children, [&](std::string_view text) {
      if (is_receipt(text)) return line(text);
      lines(parts.take(text));
    });
    lines(parts.rest());
  }
  progress.end();

  // Each rule of each unit owes a line: a judge that lost some has not decided what it did not say.
  const std::size_t owed = units.size() * selected_rules(options).size();
  if (!interrupted && judges == ExitCode::pass && !units.empty() && results.rules.size() != owed)
    judges = ExitCode::internal;
  if (!interrupted && judges == ExitCode::pass) {
    for (const RuleRecord& pass : waivers.unexpected(results)) line(to_json(pass).dump());
    for (const std::string& note : waivers.unused(results)) std::printf("note: %s\n", note.c_str());
  }
  EndRecord end = end_for(results);
  end.seconds = std::chrono::duration<double>(Clock::now() - start).count();
  if (!interrupted && judges == ExitCode::pass) line(to_json(end).dump());
  if (interrupted || judges != ExitCode::pass) {
    end.verdict = "NO_DECISION";
    end.exit_code = static_cast<int>(interrupted ? ExitCode::no_decision : judges);
    end.why = !unwritten.empty() ? unwritten
              : interrupted     ? "the run was interrupted"
                                : "a judge ended before it had finished";
  }

  return present(options, *folder, results, end, unwritten.empty() ? Written::whole : Written::in_part);
}

}  // namespace assay
