// Whatever a program queues, every schedule runs each launch exactly once and in an order that the program allows.
#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

#include <mutex>
#include <set>
#include <vector>

#include "harness/device/host/host_device.hpp"

namespace assay::host {
namespace {

constexpr std::uint32_t streams = 4, events = 3;

struct Step {
  enum Kind { launch, record, wait } kind;
  std::uint32_t stream, event;
};

rc::Gen<std::vector<Step>> programs() {
  const auto step = rc::gen::build<Step>(
      rc::gen::set(&Step::kind, rc::gen::element(Step::launch, Step::launch, Step::record, Step::wait)),
      rc::gen::set(&Step::stream, rc::gen::inRange(0u, streams)),
      rc::gen::set(&Step::event, rc::gen::inRange(0u, events)));
  return rc::gen::container<std::vector<Step>>(step);
}

struct Log {
  std::mutex mutex;
  std::vector<std::uint32_t> ran;
};
struct Entry {
  Log* log;
  std::uint32_t id;
};
void write_log(const void* raw, std::uint32_t, std::uint32_t) {
  const auto* entry = static_cast<const Entry*>(raw);
  const std::lock_guard lock(entry->log->mutex);
  entry->log->ran.push_back(entry->id);
}

// For each launch, the launches that come before it: computed from the program alone.
using Before = std::vector<std::set<std::uint32_t>>;

Before run(Device& device, const std::vector<Step>& program, Log& log) {
  Before before;
  std::set<std::uint32_t> seen[streams], recorded[events];
  for (const Step& step : program) {
    if (step.kind == Step::launch) {
      assay_call call{};
      RC_ASSERT(device.bind(call, step.stream).ok());
      const Entry entry{&log, static_cast<std::uint32_t>(before.size())};
      RC_ASSERT(call.host->launch(call.host_stream, write_log, 1, &entry, sizeof entry) == ASSAY_OK);
      before.push_back(seen[step.stream]);
      seen[step.stream].insert(entry.id);
    } else if (step.kind == Step::record) {
      RC_ASSERT(device.record(step.event, step.stream).ok());
      recorded[step.event] = seen[step.stream];
    } else {
      RC_ASSERT(device.wait(step.stream, step.event).ok());
      seen[step.stream].insert(recorded[step.event].begin(), recorded[step.event].end());
    }
  }
  return before;
}

void require_allowed(const std::vector<std::uint32_t>& ran, const Before& before) {
  RC_ASSERT(ran.size() == before.size());
  std::set<std::uint32_t> done;
  for (const std::uint32_t id : ran) {
    for (const std::uint32_t earlier : before[id]) RC_ASSERT(done.contains(earlier));
    RC_ASSERT(done.insert(id).second);
  }
}

RC_GTEST_PROP(Schedules, EagerOrderRespectsQueuesAndEvents, (bool early, bool threads)) {
  const auto program = *programs();
  Log log;
  const auto device = make_host_device({});
  device->schedule({.early = early, .threads = threads});
  const Before before = run(*device, program, log);
  RC_ASSERT(device->sync_device().ok());
  require_allowed(log.ran, before);
}

RC_GTEST_PROP(Schedules, TheSameScheduleGivesTheSameOrder, (bool early)) {
  const auto program = *programs();
  Log first, second;
  for (Log* log : {&first, &second}) {
    const auto device = make_host_device({});
    device->schedule({.early = early});
    run(*device, program, *log);
    RC_ASSERT(device->sync_device().ok());
  }
  RC_ASSERT(first.ran == second.ran);
}

RC_GTEST_PROP(Schedules, ReplayOrderRespectsQueuesAndEvents, (bool early)) {
  std::vector<Step> body = *programs();
  // Fork to every stream, then the drawn body, then join every stream: always a legal capture. The drawn events are
  // recorded once first, because waiting for one that is not of this capture is another subject.
  std::vector<Step> program{{Step::launch, 0, 0}};
  for (std::uint32_t e = 0; e < events; ++e) program.push_back({Step::record, 0, e});
  for (std::uint32_t s = 1; s < streams; ++s) program.push_back({Step::wait, s, 0});
  program.insert(program.end(), body.begin(), body.end());
  for (std::uint32_t s = 1; s < streams; ++s) {
    program.push_back({Step::record, s, 0});
    program.push_back({Step::wait, 0, 0});
  }
  Log log;
  const auto device = make_host_device({});
  device->schedule({.early = early});
  RC_ASSERT(device->begin_capture(0, CaptureMode::global).ok());
  const Before before = run(*device, program, log);
  GraphInventory inventory;
  RC_ASSERT(device->end_capture(0, 0, inventory).code == StepCode::ok);
  RC_ASSERT(inventory.kernels == before.size());
  RC_ASSERT(log.ran.empty());
  for (int replay = 0; replay < 2; ++replay) {
    log.ran.clear();
    RC_ASSERT(device->launch(0, 0).ok());
    RC_ASSERT(device->sync(0).ok());
    require_allowed(log.ran, before);
  }
}

}  // namespace
}  // namespace assay::host
