// rank_drives.cc: drives about what the ranks of a group owe each other: burst, groups, one_rank.
#include <algorithm>

#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

constexpr std::uint32_t kMain = 0, kReplay = 2;
constexpr std::uint32_t kMostDelay = 200;  // microseconds, of each rank by itself (spec/slots.md 10.4)
constexpr std::uint64_t kVersions = 3;     // of a size's values in a burst: another than the last two calls'
constexpr int kRounds = 2, kReplays = 6;
constexpr std::size_t kMostSwitches = 2;
constexpr int kStepsOfACall = 32;  // with its copies, at most
constexpr std::int64_t kLargeCells = 1 << 14;
constexpr std::uint32_t kLossAfterMs = 15;  // peers are in their call by then
constexpr int kLossDeadlineMs = 5000, kHangDeadlineMs = 300, kCudaHangDeadlineMs = 2000;

// Calls that nothing waits for: each behind delays of its own on every rank, with fresh values, and read in its turn.
class Burst {
 public:
  Burst(Bench& bench, std::uint32_t stream, std::uint64_t key) : bench_(bench), stream_(stream), key_(key) {}

  template <class Enqueue>
  void add(const Bindings& bindings, const std::string& label, Enqueue&& enqueue) {
    bench_.label(label);
    mutate(bench_, bindings, 1 + calls_ % kVersions);
    for (Binding* b : bindings) {
      bench_.push_inputs_on(*b, stream_);
      bench_.push_outputs_on(*b, stream_, static_cast<std::uint32_t>(calls_ % 16));
    }
    bench_.script().delay(stream_, kMostDelay, derive_key(key_, "delay", calls_));
    const int step = enqueue();
    for (Binding* b : bindings) bench_.collect(*b, label, {.call = step, .on_stream = stream_});
    ++calls_;
  }
  void call(Binding& b, const std::string& label) {
    add({&b}, label, [&] { return bench_.script().call(b, stream_); });
  }
  [[nodiscard]] bool has_room() const { return bench_.script().steps() + kStepsOfACall < static_cast<int>(kMaxSteps); }
  bool end() {
    bench_.label("the end of what was not waited for");
    bench_.script().simple(Op::sync, stream_);
    bench_.script().simple(Op::sync_device, kMain);
    return bench_.flush();
  }

 private:
  Bench& bench_;
  std::uint32_t stream_;
  std::uint64_t key_, calls_ = 0;
};

// The case one under each dim that is at an edge or one over it: the other side of what may be a switch of modes.
std::vector<Case> across_switches(const SlotSpec& slot, const Case& c) {
  std::vector<Case> sides;
  for (const DimSpec& d : slot.dims) {
    const std::int64_t value = c[d.name];
    const bool at_edge =
        std::any_of(d.edges.begin(), d.edges.end(), [&](std::int64_t e) { return value == e || value == e + 1; });
    if (!at_edge || value <= d.min || sides.size() == kMostSwitches) continue;
    Case lower = c;
    lower.dims[d.name] = value - 1;
    lower.seed = derive_key(c.seed, "lower side", sides.size()) >> 16;
    repair(slot, lower);
    if (lower[d.name] == value - 1 && slot.output_cells(lower) > 0) sides.push_back(std::move(lower));
  }
  return sides;
}

// The case with a quarter of its tokens.
Case with_few(const SlotSpec& slot, const Case& c) {
  Case few = c;
  for (const DimSpec& d : slot.dims)
    if (d.count) few.dims[d.name] = std::max({d.min, std::int64_t{1}, c[d.name] / 4});
  few.seed = derive_key(c.seed, "few") >> 16;
  repair(slot, few);
  return few;
}

bool replays_in_a_burst(Bench& bench, const Bindings& sizes, std::uint64_t seed) {
  // One call in one graph, two in the other: an odd number of calls between two replays of either.
  const Bindings graphs[2] = {{sizes.front(), sizes.back()}, {sizes[sizes.size() / 2]}};
  for (std::uint32_t g = 0; g < 2; ++g) capture(bench, graphs[g], g, "capture of graph " + std::to_string(g));
  if (!bench.flush()) return false;
  Burst burst(bench, kReplay, derive_key(seed, "replays"));
  for (std::uint64_t i = 0; i < kReplays && burst.has_room(); ++i) {
    // Either graph first, the same one twice in a row, the other between: as drawn.
    const auto g = static_cast<std::uint32_t>(i < 2 ? i : derive_key(seed, "graph", i) & 1);
    burst.add(graphs[g], "replay " + std::to_string(i) + " of graph " + std::to_string(g),
              [&] { return bench.script().simple(Op::launch, kReplay, g); });
  }
  return burst.end();
}

std::string describe_sizes(const Case& c) {
  std::string text;
  for (const auto& [name, value] : c.dims) text += (text.empty() ? "" : " ") + name + "=" + std::to_string(value);
  return text;
}

// Odd ranks downwards, then even ones upwards: neither in order nor in one piece.
std::vector<int> reordered(int world) {
  std::vector<int> ranks;
  for (int r = world - 1; r >= 0; --r)
    if (r % 2) ranks.push_back(r);
  for (int r = 0; r < world; r += 2) ranks.push_back(r);
  return ranks;
}

// Other values in what all ranks share, or in one rank's own share.
void change_shared(Bench& bench, Binding& b, std::uint64_t version) {
  for (std::size_t i = 0; i < b.tensors.size(); ++i)
    if (const ArgumentSpec& a = *b.tensors[i].spec; a.kind == 'i' && a.dynamic && !a.per_rank && !b.tensors[i].weight)
      bench.set_version(b, i, version);
}
void change_rank(Bench& bench, Binding& b, std::uint64_t version, int rank) {
  for (std::size_t i = 0; i < b.tensors.size(); ++i) {
    const ArgumentSpec& a = *b.tensors[i].spec;
    if (a.kind != 'i' || !a.dynamic || !a.per_rank || b.tensors[i].weight) continue;
    const Tensor before = b.tensors[i].values;
    std::vector<Tensor> others = b.tensors[i].others;
    bench.set_version(b, i, version);
    others[static_cast<std::size_t>(rank) - 1] = b.tensors[i].of(rank);
    bench.set_values(b, i, before, std::move(others));
  }
}

bool has_shared(const Binding& b) {
  return std::any_of(b.tensors.begin(), b.tensors.end(), [](const Placed& p) {
    return p.spec->kind == 'i' && p.spec->dynamic && !p.spec->per_rank && !p.weight;
  });
}
bool has_own(const Binding& b) {
  return std::any_of(b.tensors.begin(), b.tensors.end(), [](const Placed& p) {
    return p.spec->kind == 'i' && p.spec->dynamic && p.spec->per_rank && !p.weight;
  });
}

}  // namespace

void drive_burst(Bench& bench, Observation& seen) {
  const Case &c = seen.trial.part.cases[0], &upper = seen.trial.part.cases[1];
  Bindings sizes = {&bench.bind(c), &bench.bind(upper, Placement::ordinary, 1)};
  std::uint64_t salt = 2;
  for (const Case& lower : across_switches(bench.slot(), upper))
    sizes.push_back(&bench.bind(lower, Placement::ordinary, salt++));
  const std::size_t sides = sizes.size();
  sizes.push_back(&bench.bind(with_few(bench.slot(), c), Placement::ordinary, salt));
  for (std::size_t i = 1; i < sides; ++i) {
    bench.push(*sizes[i]);
    const char* side = sides == 2 ? "size " : i == 1 ? "size over a switch: " : "size under a switch: ";
    if (!call_and_collect(bench, *sizes[i], side + describe_sizes(sizes[i]->c))) return;
  }
  bench.push(*sizes.front());
  if (!bench.flush()) return;

  // Down and up again: what a call leaves for the next covers no more rows than its own.
  std::stable_sort(sizes.begin(), sizes.end(), [&](const Binding* a, const Binding* b) {
    return bench.slot().output_cells(a->c) > bench.slot().output_cells(b->c);
  });
  Bindings order = sizes;
  order.insert(order.end(), sizes.rbegin() + 1, sizes.rend());
  const bool once = bench.sharing() == Sharing::by_turns || bench.slot().output_cells(sizes.front()->c) > kLargeCells;
  const int rounds = once ? 1 : kRounds;
  Burst burst(bench, kMain, derive_key(c.seed, "burst"));
  for (int round = 0; round < rounds; ++round)
    for (std::size_t i = 0; i < order.size() && burst.has_room(); ++i)
      burst.call(*order[i],
                 "burst " + std::to_string(round) + "." + std::to_string(i) + ": " + describe_sizes(order[i]->c));
  if (!burst.end()) return;
  if (bench.variant().graph_safe()) replays_in_a_burst(bench, sizes, c.seed);
}

void drive_groups(Bench& bench, Observation& seen) {
  const Case &c = seen.trial.part.cases[0], &part = seen.trial.part.cases[1];
  const int world = static_cast<int>(c.world);
  Binding& all = bench.bind(c);
  bench.push(all);
  if (!call_and_collect(bench, all, "world")) return;
  if (has_shared(all)) {
    change_shared(bench, all, 1);
    bench.push(all);
    if (!call_and_collect(bench, all, "other values in what the ranks share")) return;
  }
  if (has_own(all)) {
    change_rank(bench, all, 2, world - 1);
    bench.push(all);
    if (!call_and_collect(bench, all, "other values on the last rank")) return;
  }
  const std::vector<int> order = reordered(world);
  Bindings groups = {&bench.bind_in(order, sibling(c, 1), 1)};
  std::vector<std::string> labels = {"reordered group"};
  // A subgroup's case of the trial's own size says that the variant declares no smaller one.
  if (part.world < world)
    for (int half = 0; half < 2; ++half) {
      const auto first = order.begin() + half * static_cast<std::ptrdiff_t>(part.world);
      groups.push_back(&bench.bind_in({first, first + static_cast<std::ptrdiff_t>(part.world)},
                                      sibling(part, static_cast<std::uint64_t>(half)),
                                      static_cast<std::uint64_t>(half) + 2));
      labels.push_back("subgroup " + std::to_string(half));
    }
  for (Binding* b : groups) bench.push(*b);
  if (!bench.flush()) return;
  // The two halves at once; the world and another order of it between them.
  Burst burst(bench, kMain, derive_key(c.seed, "groups"));
  for (int round = 0; round < kRounds; ++round) {
    burst.call(all, "world beside other groups, " + std::to_string(round));
    for (std::size_t g = 0; g < groups.size() && burst.has_room(); ++g)
      burst.call(*groups[g], labels[g] + ", " + std::to_string(round));
  }
  burst.end();
}

void drive_one_rank(Bench& bench, Observation& seen) {
  const Case& c = seen.trial.part.cases[0];
  const std::uint64_t draw = derive_key(c.seed, "one rank");
  const int rank = static_cast<int>(draw % static_cast<std::uint64_t>(c.world));
  const auto how = static_cast<Loss>((draw >> 16) % 3);
  Binding& b = bench.bind(c);
  bench.push(b);
  if (!call_and_collect(bench, b, "before a rank is lost") || !bench.flush()) return;

  bench.push(b);
  bench.label("call without rank " + std::to_string(rank));
  bench.script().lose(rank, how, how == Loss::hangs ? 0 : kLossAfterMs);
  const RankMask peers = kAllRanks & ~(RankMask{1} << rank);
  bench.script().only(bench.script().call(b, kMain), peers);
  bench.script().only(bench.script().simple(Op::sync, kMain), peers);
  const int hang = bench.device() == DeviceType::cuda ? kCudaHangDeadlineMs : kHangDeadlineMs;
  if (!bench.flush_and_lose(rank, how, how == Loss::hangs ? hang : kLossDeadlineMs)) return;

  // A fresh set of ranks goes on.
  Binding& after = bench.bind(sibling(c, 1), Placement::ordinary, 1);
  bench.script().schedule(schedule_of(c));
  bench.push(after);
  call_and_collect(bench, after, "after a rank was lost");
}

}  // namespace assay
