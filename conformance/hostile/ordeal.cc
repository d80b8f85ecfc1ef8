#include "conformance/hostile/ordeal.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>

#include "conformance/fault_matrix/fault_row.hpp"
#include "harness/device/owned_fd.hpp"

extern char** environ;

namespace assay {
namespace {

using Clock = std::chrono::steady_clock;

constexpr const char* kHostile = "hostile";
constexpr const char* kBystander = "bystander";
constexpr const char* kBeside = "beside-the-report";  // a file that no candidate may reach

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

std::vector<pid_t> children() {
  std::vector<pid_t> pids;
  std::ifstream list("/proc/self/task/" + std::to_string(getpid()) + "/children");
  for (pid_t pid; list >> pid;) pids.push_back(pid);
  return pids;
}

// Ends and reaps what came down to this process, its subreaper.
int end_orphans() {
  int count = 0;
  for (int round = 0; round < 100; ++round) {
    const std::vector<pid_t> left = children();
    if (left.empty()) break;
    for (const pid_t pid : left) {
      kill(pid, SIGKILL);
      if (waitpid(pid, nullptr, 0) == pid) ++count;
    }
  }
  return count;
}

struct Ending {
  bool in_time = false;
  int status = 0;
  int orphans = 0;
};

Ending run_program(const OrdealPlan& plan, double seconds) {
  std::vector<std::string> words = {plan.program, "check", plan.library, "--report", plan.folder + "/report"};
  words.insert(words.end(), plan.arguments.begin(), plan.arguments.end());
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  const std::string output = plan.folder + "/output.txt";
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, 1, output.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0600);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  pid_t pid = -1;
  const int error = posix_spawn(&pid, plan.program.c_str(), &actions, &attributes, argv.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  posix_spawnattr_destroy(&attributes);
  if (error != 0) throw BadTable("cannot start " + plan.program + ": " + std::strerror(error));
  const OwnedFd handle(static_cast<int>(syscall(SYS_pidfd_open, pid, 0)));
  pollfd ended{handle.get(), POLLIN, 0};
  Ending ending;
  const auto until = Clock::now() + std::chrono::duration<double>(seconds);
  while (!ending.in_time && Clock::now() < until) ending.in_time = poll(&ended, 1, 100) == 1;
  if (!ending.in_time) kill(-pid, SIGKILL);
  waitpid(pid, &ending.status, 0);
  ending.orphans = end_orphans();
  return ending;
}

std::string ending_text(const Ending& e) {
  if (!e.in_time) return "did not end";
  if (WIFSIGNALED(e.status)) return "ended by signal " + std::to_string(WTERMSIG(e.status));
  switch (WEXITSTATUS(e.status)) {
    case 0:
      return "PASS";
    case 1:
      return "FAIL";
    case 3:
      return "NO_DECISION";
    default:
      return "exit code " + std::to_string(WEXITSTATUS(e.status));
  }
}

std::string stray_file(const std::string& report) {
  static const std::set<std::string> known = {"results.jsonl", "receipts.jsonl", "junit.xml", "verdict.json", "trials", ".lock"};
  for (const auto& entry : std::filesystem::directory_iterator(report))
    if (!known.count(entry.path().filename())) return entry.path().filename();
  return {};
}

std::string plural(int n, const std::string& what) { return std::to_string(n) + " " + what + (n == 1 ? "" : "s"); }

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

}  // namespace

std::vector<HostileRow> read_hostile(const std::string& path) {
  std::vector<HostileRow> rows;
  std::set<std::string> known;
  int line = 1;
  for (const auto& cells : read_table(path)) {
    const std::string where = path + ":" + std::to_string(++line) + ": ";
    const auto cell = [&](const char* name) -> const std::string& {
      const auto at = cells.find(name);
      if (at == cells.end()) throw BadTable(path + ": no column " + name);
      return at->second;
    };
    HostileRow row;
    row.stem = cell("stem");
    row.tries = cell("tries");
    if (!known.insert(row.stem).second) throw BadTable(where + row.stem + " is there twice");
    try {
      row.verdict = verdict_from(cell("verdict"));
      std::istringstream reasons(cell("blame"));
      for (std::string reason; std::getline(reasons, reason, ',');) row.blame.push_back(reason_from(reason));
    } catch (const std::invalid_argument& error) {
      throw BadTable(where + error.what());
    }
    if (row.verdict != Verdict::pass && row.verdict != Verdict::fail)
      throw BadTable(where + "verdict is PASS or FAIL, not " + cell("verdict"));
    if ((row.verdict == Verdict::fail) == row.blame.empty())
      throw BadTable(where + "a FAIL names the reasons that may blame it, and a PASS names none");
    const std::string& bystander = cell("bystander");
    if (bystander != "PASS" && bystander != "judged")
      throw BadTable(where + "bystander is PASS or judged, not " + bystander);
    row.spares_bystander = bystander == "PASS";
    const std::string& seconds = cell("seconds");
    int most = 0;
    const char* end = seconds.data() + seconds.size();
    if (std::from_chars(seconds.data(), end, most).ptr != end || most <= 0)
      throw BadTable(where + "seconds is a number from 1, not " + seconds);
    row.seconds = most;
    rows.push_back(std::move(row));
  }
  return rows;
}

void judge_results(Ordeal& o, const RunResults& results) {
  const auto missing = [&](std::string what) {
    if (o.miss.empty()) o.miss = std::move(what);
  };
  o.isolation = results.run.isolation;
  if (!results.has_end) return missing("results.jsonl has no end line");
  const EndRecord proven = conclude(results);
  if (proven.verdict != std::string(name_of(o.row.verdict)))
    missing("results.jsonl proves " + proven.verdict + (proven.why.empty() ? "" : ": " + proven.why));
  std::set<std::string> variants;
  bool named = false;
  for (const RuleRecord& rule : results.rules) {
    variants.insert(rule.subject.variant);
    const std::string who = rule.subject.variant + " " + rule.subject.rule;
    if (rule.subject.variant == kBystander) {
      if (o.row.spares_bystander && rule.verdict != Verdict::pass && rule.verdict != Verdict::not_applicable)
        missing(who + " is " + std::string(name_of(rule.verdict)) + " (" + std::string(name_of(rule.reason)) +
                "): " + rule.text);
      continue;
    }
    if (undecides_run(rule.verdict))
      missing(who + " is " + std::string(name_of(rule.verdict)) + ", the candidate's fault or not: " + rule.text);
    if (!fails_run(rule.verdict)) continue;
    ++o.blamed[std::string(name_of(rule.reason))];
    if (std::find(o.row.blame.begin(), o.row.blame.end(), rule.reason) == o.row.blame.end() || named) continue;
    named = true;
    o.first = rule.subject.rule + " (" + std::string(name_of(rule.reason)) + ")";
  }
  if (!o.row.blame.empty() && !named && o.miss.empty()) {
    std::string said;
    for (const auto& [reason, count] : o.blamed) said += (said.empty() ? "" : ", ") + reason;
    missing("no rule gives a reason that the table names, but " + (said.empty() ? "none" : said));
  }
  // Loading is everybody's: where it fails, nothing else is judged.
  const bool loaded = std::none_of(results.rules.begin(), results.rules.end(),
                                   [](const RuleRecord& r) { return r.subject.rule == "load"; });
  if (loaded && !variants.count(kHostile)) missing("the hostile variant was not judged");
  if (loaded && !variants.count(kBystander)) missing("the right variant beside it was not judged");
  if (!loaded && o.row.spares_bystander) missing("the library did not load: the right variant was not judged");
}

Ordeal undergo(const HostileRow& row, const OrdealPlan& plan) {
  Ordeal o;
  o.row = row;
  std::filesystem::remove_all(plan.folder);
  std::filesystem::create_directories(plan.folder);
  const std::string beside = plan.folder + "/" + kBeside;
  std::ofstream(beside) << kBeside;
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  const auto start = Clock::now();
  const Ending ending = run_program(plan, row.seconds);
  o.seconds = seconds_since(start);
  o.verdict = ending_text(ending);
  if (o.verdict != name_of(row.verdict)) o.miss = "the run " + (ending.in_time ? "came to " + o.verdict : o.verdict);
  try {
    judge_results(o, read_results(plan.folder + "/report/results.jsonl"));
  } catch (const std::exception& error) {
    if (o.miss.empty()) o.miss = error.what();
  }
  if (o.miss.empty() && ending.orphans) o.miss = plural(ending.orphans, "process") + " outlived the run";
  std::string text;
  std::getline(std::ifstream(beside), text);
  if (o.miss.empty() && text != kBeside) o.miss = "a file beside the report folder was changed";
  if (const std::string stray = o.miss.empty() ? stray_file(plan.folder + "/report") : ""; !stray.empty())
    o.miss = "the report folder holds " + stray + ", which no run writes";
  return o;
}

std::string text_line(const Ordeal& o) {
  char head[96];
  std::snprintf(head, sizeof head, "%-6s %-20s %-11s %5.1f s  ", o.miss.empty() ? "held" : "MISSED", o.row.stem.c_str(),
                o.verdict.c_str(), o.seconds);
  std::string blamed;
  for (const auto& [reason, count] : o.blamed) blamed += (blamed.empty() ? "" : ", ") + reason;
  return head + blamed + (o.miss.empty() ? "" : "\n       " + o.miss);
}

std::string markdown_page(const std::vector<Ordeal>& ordeals, const std::map<std::string, Ordeal>& contrast,
                          const std::string& what) {
  const auto held = std::count_if(ordeals.begin(), ordeals.end(), [](const Ordeal& o) { return o.miss.empty(); });
  std::string page = "# Hostile libraries\n\n" + what + "\n\n" + std::to_string(held) + " of " +
                     std::to_string(ordeals.size()) +
                     " came to what `kernels/hostile/hostile.tsv` demands: the verdict, a failing rule with a reason "
                     "that the table names and none undecided, the verdict of the right variant that each library "
                     "also holds, no process left behind, a report folder with the run's own files in it, and an end "
                     "within the row's bound.\n\n";
  page += std::string("| library | what it tries | verdict | blamed by, for example | right variant beside it | s |") +
          (contrast.empty() ? "" : " without isolation |") + "\n|---|---|---|---|---|---:|" +
          (contrast.empty() ? "" : "---|") + "\n";
  for (const Ordeal& o : ordeals) {
    page += "| `" + o.row.stem + "` | " + o.row.tries + " | " + (o.miss.empty() ? "" : "**missed**: " + o.miss + "; ") +
            o.verdict + " | " + (o.first.empty() ? "" : "`" + o.first + "`") + " | " +
            (o.row.spares_bystander ? "PASS" : "judged") + " | " + number(o.seconds) + " |";
    if (!contrast.empty()) {
      const auto other = contrast.find(o.row.stem);
      page += " " + (other == contrast.end() ? "" : other->second.verdict) + " |";
    }
    page += "\n";
  }
  return page;
}

}  // namespace assay
