#include "harness/worker/program.hpp"

namespace assay {

const char* name_of(Op op) noexcept {
  switch (op) {
    case Op::call: return "call";
    case Op::copy: return "copy";
    case Op::fill: return "fill";
    case Op::load: return "load";
    case Op::record: return "record";
    case Op::wait: return "wait";
    case Op::hold: return "hold";
    case Op::unhold: return "unhold";
    case Op::begin_capture: return "begin_capture";
    case Op::end_capture: return "end_capture";
    case Op::launch: return "launch";
    case Op::drop_graph: return "drop_graph";
    case Op::sync: return "sync";
    case Op::sync_device: return "sync_device";
    case Op::scribble: return "scribble";
    case Op::usage: return "usage";
    case Op::schedule: return "schedule";
    case Op::reset: return "reset";
    case Op::prepare: return "prepare";
    case Op::meet: return "meet";
    case Op::release: return "release";
    case Op::delay: return "delay";
    case Op::skip: return "skip";
    case Op::lose: return "lose";
    case Op::facts: return "facts";
  }
  return "unknown";
}

const char* name_of(Loss loss) noexcept {
  switch (loss) {
    case Loss::fails: return "fails";
    case Loss::exits: return "exits";
    case Loss::hangs: return "hangs";
  }
  return "unknown";
}

}  // namespace assay
