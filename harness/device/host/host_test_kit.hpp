// host_test_kit.hpp: what the tests of the host model share: a device per test, and kernels that leave a trace.
//
// Who uses it: the *_test.cc files of this folder.
//
//   class Queues : public HostTest {};
//   TEST_F(Queues, X) { note(stream(0), 'a'); EXPECT_EQ(trace(), ""); }
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <mutex>
#include <string>

#include "harness/device/host/host_device.hpp"

namespace assay::host {

class HostTest : public ::testing::Test {
 protected:
  HostTest() : device_(make_host_device({})) {}

  [[nodiscard]] assay_call call(std::uint32_t stream = 0) {
    assay_call call{};
    call.size = sizeof call;
    EXPECT_TRUE(device_->bind(call, stream).ok());
    return call;
  }
  [[nodiscard]] assay_host_stream* stream(std::uint32_t index) { return call(index).host_stream; }
  [[nodiscard]] const assay_host_api& api() { return *call().host; }

  [[nodiscard]] assay_host_stream* side() {
    assay_host_stream* made = nullptr;
    EXPECT_EQ(api().stream_create(&made), ASSAY_OK);
    return made;
  }
  [[nodiscard]] assay_host_event* event() {
    assay_host_event* made = nullptr;
    EXPECT_EQ(api().event_create(&made), ASSAY_OK);
    return made;
  }
  void join(assay_host_stream* waiter, assay_host_stream* recorder) {
    assay_host_event* mark = event();
    EXPECT_EQ(api().event_record(mark, recorder), ASSAY_OK);
    EXPECT_EQ(api().stream_wait(waiter, mark), ASSAY_OK);
    EXPECT_EQ(api().event_destroy(mark), ASSAY_OK);
  }

  // Launches a kernel that appends its name to the trace.
  assay_status note(assay_host_stream* on, char name) {
    const Note args{this, name};
    return api().launch(on, run_note, 1, &args, sizeof args);
  }
  [[nodiscard]] std::string trace() {
    const std::lock_guard lock(mutex_);
    return trace_;
  }
  void forget() { trace_.clear(); }
  [[nodiscard]] StepCode verdict() { return device_->verdict_on_call().code; }

  // Kernels that are still queued run when the device goes, so what they write to goes after it.
 private:
  struct Note {
    HostTest* test;
    char name;
  };
  static void run_note(const void* args, std::uint32_t, std::uint32_t) {
    const auto* note = static_cast<const Note*>(args);
    const std::lock_guard lock(note->test->mutex_);
    note->test->trace_ += note->name;
  }
  std::mutex mutex_;
  std::string trace_;

 protected:
  std::unique_ptr<Device> device_;
};

}  // namespace assay::host
