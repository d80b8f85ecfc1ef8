#include "harness/device/device.hpp"

#include <chrono>
#include <thread>

namespace assay {

std::string_view name_of(StepCode code) noexcept {
  switch (code) {
    case StepCode::ok:
      return "ok";
    case StepCode::not_run:
      return "not_run";
    case StepCode::entry_failed:
      return "entry_failed";
    case StepCode::synchronised_held:
      return "synchronised_held";
    case StepCode::capture_illegal:
      return "capture_illegal";
    case StepCode::capture_unjoined:
      return "capture_unjoined";
    case StepCode::capture_empty:
      return "capture_empty";
    case StepCode::capture_host_node:
      return "capture_host_node";
    case StepCode::device_fault:
      return "device_fault";
    case StepCode::launch_invalid:
      return "launch_invalid";
    case StepCode::peer_gone:
      return "peer_gone";
    case StepCode::out_of_memory:
      return "out_of_memory";
    case StepCode::unsupported:
      return "unsupported";
    case StepCode::infrastructure:
      return "infrastructure";
  }
  return "unknown";
}

Outcome Device::delay(std::uint32_t, std::uint32_t microseconds) {
  std::this_thread::sleep_for(std::chrono::microseconds(microseconds));
  return {};
}

}  // namespace assay
