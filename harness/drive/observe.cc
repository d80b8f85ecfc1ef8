#include <stdexcept>

#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"

namespace assay {
namespace {

using DriveFunction = void (*)(Bench&, Observation&);

DriveFunction function_of(Drive drive) {
  switch (drive) {
    case Drive::eager: return drive_eager;
    case Drive::two_poisons: return drive_two_poisons;
    case Drive::relocated: return drive_relocated;
    case Drive::guard_pages: return drive_guard_pages;
    case Drive::garbage: return drive_garbage;
    case Drive::variation: return drive_variation;
    case Drive::repeat_under_load: return drive_repeat_under_load;
    case Drive::late_producer: return drive_late_producer;
    case Drive::held_stream: return drive_held_stream;
    case Drive::two_streams: return drive_two_streams;
    case Drive::capture_replay: return drive_capture_replay;
    case Drive::interleaved_graphs: return drive_interleaved_graphs;
    case Drive::regrow: return drive_regrow;
    case Drive::many_replays: return drive_many_replays;
    case Drive::prepared: return drive_prepared;
    case Drive::burst: return drive_burst;
    case Drive::groups: return drive_groups;
    case Drive::one_rank: return drive_one_rank;
    case Drive::routed: return drive_routed;
    case Drive::endurance: return drive_endurance;
  }
  throw std::logic_error("a drive without a program");
}

Observation blank(const Bench& bench, const Trial& trial, const TrialPart& part, Tier tier) {
  Observation seen;
  seen.slot = &bench.slot();
  seen.variant = bench.variant();
  seen.tier = tier;
  seen.device = bench.device();
  seen.trial = trial;
  seen.trial.part = part;
  return seen;
}

}  // namespace

bool captures(Drive d) noexcept {
  return d == Drive::capture_replay || d == Drive::interleaved_graphs || d == Drive::regrow || d == Drive::many_replays;
}

bool is_huge(const SlotSpec& slot, const Case& c) {
  return slot.output_cells(c) > kHugeCells || slot.input_bytes(c) > kHugeBytes;
}

bool fits(const SlotSpec& slot, const TrialPart& part) {
  // Huge outputs go through the drives that size can matter to; the others see every smaller size.
  for (const Case& c : part.cases)
    if (is_huge(slot, c) && part.drive != Drive::eager && part.drive != Drive::two_poisons &&
        part.drive != Drive::late_producer && part.drive != Drive::capture_replay)
      return false;
  // A group of one has no peers.
  if (part.drive == Drive::burst || part.drive == Drive::groups || part.drive == Drive::one_rank)
    if (slot.kind != Kind::collective || part.cases.front().world < 2) return false;
  // Collectives of one group run one after the other.
  if (part.drive == Drive::two_streams && slot.kind == Kind::collective) return false;
  for (const Case& c : part.cases)
    if (part.drive == Drive::guard_pages && slot.input_bytes(c) > kGuardBytes) return false;
  if (part.drive == Drive::endurance) {
    const Case& c = part.cases.front();
    return !c.far && slot.output_cells(c) > 0 && slot.output_cells(c) <= kEnduranceCells &&
           work_of(slot, c) <= kEnduranceWork;
  }
  // Nor does a call without cells need its peers.
  if (!captures(part.drive) && part.drive != Drive::burst && part.drive != Drive::one_rank) return true;
  for (const Case& c : part.cases)
    if (slot.output_cells(c) == 0) return false;
  return true;
}

Observation observe(Bench& bench, const Trial& trial, Tier tier) {
  if (!trial.history.empty()) {
    bench.retire_worker();
    for (const TrialPart& part : trial.history) {
      Observation before = blank(bench, trial, part, tier);
      bench.begin_trial(before);
      function_of(part.drive)(bench, before);
      if (bench.flush()) bench.finish();
      if (before.fault) {  // the history itself ends the worker: it is the failure
        before.trial = trial;
        return before;
      }
      bench.history().push_back(part);
    }
  }
  Observation seen = blank(bench, trial, trial.part, tier);
  bench.begin_trial(seen);
  function_of(trial.part.drive)(bench, seen);
  if (bench.flush()) bench.finish();
  bench.history().push_back(trial.part);
  return seen;
}

}  // namespace assay
