// endurance_drive.cc: very many calls and replays in one worker, of which a few are looked at, at drawn moments.
#include <algorithm>
#include <cmath>

#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kMain = 0, kReplay = 2;
constexpr int kStretches = 8;
constexpr std::uint32_t kAtOnce = 1024;            // calls between two looks at the clock, once they are known to be fast
constexpr double kSeconds = 10, kGlance = 0.1;     // of runs: in all, and between two looks

// In all. What a call of many multiply-adds costs is worth several that have few; ranks meet in every call, which costs
// them more than the call does.
std::uint64_t calls_of(Tier tier, double work, bool grouped) {
  constexpr double kCheap = 4096;
  const std::uint64_t calls = tier == Tier::quick ? 1u << 12 : tier == Tier::full ? 1u << 14 : 1u << 15;
  if (grouped) return calls >> 7;
  return static_cast<std::uint64_t>(static_cast<double>(calls) * kCheap / std::max(kCheap, work));
}

// Lengths that add up to `all`, the longest several times the shortest, in no order that a library could know.
std::vector<std::uint32_t> stretches(std::uint64_t all, std::uint64_t key) {
  std::vector<double> shares;
  double sum = 0;
  for (std::uint64_t i = 0; i < kStretches; ++i)
    sum += shares.emplace_back(std::exp2(static_cast<double>(derive_key(key, "stretch", i) % 4096) / 1024.0));
  std::vector<std::uint32_t> lengths;
  for (const double share : shares)
    lengths.push_back(std::max(1u, static_cast<std::uint32_t>(share / sum * static_cast<double>(all))));
  return lengths;
}

}  // namespace

bool grows(const std::vector<std::int64_t>& held) {
  constexpr std::int64_t slack = 4 << 20;
  if (held.size() < 3) return false;
  const std::size_t half = held.size() / 2;
  for (std::size_t i = half + 1; i < held.size(); ++i)
    if (held[i] <= held[i - 1]) return false;
  return held.back() > held[half] + slack;
}

void drive_endurance(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  Binding& b = bench.bind(c);
  bench.push(b);
  if (!call_and_collect(bench, b, "the first call")) return;
  const bool replays = seen.variant.graph_safe();
  if (replays) capture(bench, {&b}, 0, "capture");
  const auto measure = [&] {
    bench.script().simple(Op::sync_device, kMain);
    bench.expect(bench.script().simple(Op::usage, kMain),
                 [](Observation& rank, const ProgramResult& r) { rank.held.push_back(r.host_bytes); });
  };
  measure();
  std::uint64_t endured = 0, version = 1;
  const double start = bench.ran_seconds();
  bool cut_short = false;
  std::uint32_t at_once = 16;
  // So many calls or launches, or as many as there is time for until then; none: the workers ended.
  const auto make = [&](std::uint32_t wanted, double until, std::uint32_t stream, const auto& step) -> std::uint32_t {
    std::uint32_t made = 0;
    while (made < wanted) {
      const double before = bench.ran_seconds();
      if (made > 0 && before - start > until) break;
      const std::uint32_t now = std::min(at_once, wanted - made);
      bench.script().repeat(step(), now - 1);
      bench.script().simple(Op::sync, stream);
      if (!bench.flush()) return 0;
      made += now;
      if (bench.ran_seconds() - before < kGlance) at_once = std::min(kAtOnce, 2 * at_once);
    }
    cut_short = cut_short || made < wanted;
    return made;
  };
  const std::vector<std::uint32_t> lengths =
      stretches(calls_of(seen.tier, work_of(bench.slot(), c), c.world > 1), c.seed);
  for (std::size_t i = 0; i < lengths.size(); ++i) {
    // Each stretch has its share of the time: there is a measurement after each.
    const double until = kSeconds * static_cast<double>(i + 1) / static_cast<double>(lengths.size());
    bench.label("many calls");
    bench.push(b);
    const std::uint32_t made = make(lengths[i], until, kMain, [&] { return bench.script().call(b, kMain); });
    if (made == 0) return;
    measure();
    if (const std::uint32_t again = made / 4; replays && again > 0)
      if (make(again, until, kReplay, [&] { return bench.script().simple(Op::launch, kReplay, 0); }) == 0) return;
    endured += made;
    // Fresh inputs and poison for the one that is looked at.
    const std::string after = "after " + std::to_string(endured) + " calls";
    mutate(bench, {&b}, version++);
    bench.push(b);
    if (!call_and_collect(bench, b, after)) return;
    if (!replays) continue;
    mutate(bench, {&b}, version++);
    bench.push(b, Poison::first, static_cast<std::uint32_t>(version % 16));
    bench.label("replay " + after);
    const int launch = bench.script().simple(Op::launch, kReplay, 0);
    bench.script().simple(Op::sync, kReplay);
    if (!bench.collect(b, "replay " + after, {.call = launch})) return;
  }
  for_each_rank(seen, [&](Observation& rank) {
    rank.endured = static_cast<std::int64_t>(endured);
    rank.cut_short = cut_short;
  });
}

}  // namespace assay
