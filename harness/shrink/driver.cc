#include "harness/shrink/driver.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <unordered_map>

#include "harness/case/generate.hpp"

namespace assay {
namespace {

constexpr int kFlakyRuns = 5;

double size_of_trial(const SlotSpec& slot, const Trial& t) {
  double m = 1e6 * static_cast<double>(t.history.size());
  for (const Case& c : t.part.cases) m += measure(slot, c);
  for (const TrialPart& part : t.history)
    for (const Case& c : part.cases) m += measure(slot, c);
  return m;
}

// One set of ranks runs a trial and its history. A smaller case is a subgroup's.
void same_ranks(Trial& t, std::int64_t world) {
  const auto limit = [&](TrialPart& part) {
    for (Case& c : part.cases) c.world = part.drive == Drive::groups ? std::min(c.world, world) : world;
    if (part.drive == Drive::groups) part.cases.front().world = world;
  };
  limit(t.part);
  for (TrialPart& part : t.history) limit(part);
}

}  // namespace

struct ShrinkDriver::Search {
  ShrinkDriver& driver;
  Reason reason;
  double start;
  int runs = 0;
  bool exhausted = false;
  Worker worker = Worker::reused;
  std::unordered_map<std::string, bool> memo;
  Judgement last;

  bool over() {
    exhausted = exhausted || runs >= driver.budget_.runs || driver.now_() - start > driver.budget_.seconds;
    return exhausted;
  }

  // One run, whatever the memo says.
  bool run(const Trial& t, Worker where) {
    ++runs;
    Judgement j = driver.evaluate_(t, where);
    const bool same = j.verdict == Verdict::fail && j.reason == reason;
    if (same) last = std::move(j);
    return same;
  }

  bool fails(const Trial& t) {
    const std::string key = to_json(t).dump();
    if (const auto known = memo.find(key); known != memo.end()) return known->second;
    if (over()) return false;
    return memo[key] = run(t, t.history.empty() ? worker : Worker::fresh);
  }

  // Drops as much history as possible: halves, quarters, ..., single parts.
  Trial without_history(Trial t) {
    std::size_t chunk = std::max<std::size_t>(1, t.history.size() / 2);
    while (!t.history.empty()) {
      bool dropped = false;
      for (std::size_t at = 0; at < t.history.size() && !over();) {
        Trial shorter = t;
        const auto from = shorter.history.begin() + static_cast<std::ptrdiff_t>(at);
        const auto count = std::min(chunk, shorter.history.size() - at);
        shorter.history.erase(from, from + static_cast<std::ptrdiff_t>(count));
        if (fails(shorter)) {
          t = std::move(shorter);
          dropped = true;
        } else {
          at += chunk;
        }
      }
      if (over() || (chunk == 1 && !dropped)) break;
      if (!dropped || chunk > t.history.size()) chunk = std::max<std::size_t>(1, chunk / 2);
    }
    // A plain call is the simplest history.
    for (TrialPart& part : t.history) {
      if (part.drive == Drive::eager) continue;
      Trial simpler = t;
      TrialPart& same = simpler.history[static_cast<std::size_t>(&part - t.history.data())];
      same = {Drive::eager, {part.cases.front()}};
      if (fails(simpler)) part = same;
    }
    return t;
  }

  // Greedy descent over all cases of the trial.
  Trial smaller(Trial t) {
    bool moved = true;
    while (moved && !over()) {
      moved = false;
      const auto try_moves = [&](auto&& select) {
        const Case now = select(t);
        for (Case& next : moves(driver.slot_, now)) {
          if (over()) return false;
          Trial candidate = t;
          const std::int64_t world = next.world;
          select(candidate) = std::move(next);
          if (world != now.world) same_ranks(candidate, world);
          if (fails(candidate)) {
            t = std::move(candidate);
            return true;
          }
        }
        return false;
      };
      for (std::size_t i = 0; i < t.part.cases.size(); ++i)
        while (try_moves([i](Trial& x) -> Case& { return x.part.cases[i]; })) moved = true;
      for (std::size_t h = 0; h < t.history.size(); ++h)
        for (std::size_t i = 0; i < t.history[h].cases.size(); ++i)
          while (try_moves([h, i](Trial& x) -> Case& { return x.history[h].cases[i]; })) moved = true;
    }
    return t;
  }
};

ShrinkDriver::ShrinkDriver(const SlotSpec& slot, Evaluate evaluate, Seconds now, ShrinkBudget budget)
    : slot_(slot), evaluate_(std::move(evaluate)), now_(std::move(now)), budget_(budget) {}

ShrinkOutcome ShrinkDriver::shrink(const Trial& failing, const Judgement& first, const std::vector<TrialPart>& history,
                                   const std::vector<Trial>& known) {
  Search search{*this, first.reason, now_(), 0, false, Worker::reused, {}, first};
  ShrinkOutcome outcome;
  Trial best = failing;
  const auto finish = [&](std::string confirmed) {
    outcome.trial = best;
    outcome.judgement = search.last;
    outcome.runs = search.runs;
    outcome.minimal = !search.exhausted;
    outcome.confirmed = std::move(confirmed);
    return outcome;
  };

  const bool alone = search.memo[to_json(failing).dump()] = search.run(failing, Worker::fresh);
  if (alone) {
    const Judgement judgement = search.last;
    // A failure that comes once a process is hidden from a worker that has had it.
    if (!search.over() && !search.run(failing, Worker::reused)) search.worker = Worker::fresh;
    // It fails alone. What another rule's failure shrank to is likely to do, too.
    for (const Trial& t : known)
      if (t.part.drive == failing.part.drive && t.history.empty() &&
          size_of_trial(slot_, t) < size_of_trial(slot_, best) && search.fails(t))
        best = t;
    best = search.smaller(std::move(best));
    if (best == failing || search.run(best, Worker::fresh)) return finish("fresh worker");
    // The descent was led astray by what a reused worker remembered: again, slower.
    search.memo.clear();
    search.last = judgement;
    search.worker = Worker::fresh;
    best = search.smaller(failing);
    return finish("fresh worker");
  }

  if (!history.empty()) {
    Trial with = failing;
    with.history = history;
    if (search.run(with, Worker::fresh)) {
      search.worker = Worker::fresh;  // a worker that remembers would make any history look superfluous
      best = search.without_history(std::move(with));
      for (const Trial& t : known)
        if (t.part.drive == failing.part.drive && !t.history.empty() &&
            size_of_trial(slot_, t) < size_of_trial(slot_, best) && search.fails(t))
          best = t;
      best = search.smaller(std::move(best));
      return finish(best.history.empty() ? "fresh worker"
                                         : "fresh worker, with a history of " + std::to_string(best.history.size()));
    }
  }

  int again = 0;
  for (int i = 0; i < kFlakyRuns; ++i) again += search.run(failing, Worker::fresh);
  search.exhausted = true;  // nothing was made smaller
  return finish("flaky: " + std::to_string(again) + " of " + std::to_string(kFlakyRuns));
}

}  // namespace assay
