// program.hpp: a program of steps, as it lies in the arena that judge and worker share.
//
// Promises: plain data of fixed size, no pointers: tensors are named by index into a descriptor table, memory by
// arena and offset. The judge writes header, tensors and steps; the worker writes results and nothing else.
// Who uses it: harness/drive (writer), harness/worker (reader). Version: kProtocolVersion in protocol.hpp.
#pragma once

#include <cstdint>
#include <span>

#include "harness/device/device.hpp"

namespace assay {

inline constexpr std::uint32_t kMaxSteps = 256, kMaxTensors = 256, kMaxArguments = 24, kMaxRank = 6;

enum class Op : std::uint32_t {
  call,           // variant, arguments, stream; `pattern` times more, of which nobody looks at one alone
  copy,           // stream; to, from: tensor regions of equal bytes (trusted addresses)
  fill,           // stream; to; pattern
  load,           // stream: other work beside the candidate's
  record,         // event a on stream
  wait,           // stream waits for event a
  hold, unhold,   // stream
  begin_capture,  // stream, mode in a
  end_capture,    // stream, graph a
  launch,         // graph a on stream; `pattern` times more
  drop_graph,     // graph a
  sync,           // stream
  sync_device,
  scribble,       // overwrites host memory (descriptors, argument list) that earlier calls were given
  usage,          // device memory and handles, into the result
  schedule,       // host model: a is 1 for early | 2 for a thread a stream; block seed in to.offset
  reset,          // ends what earlier programs left: streams, events, graphs, holds, prepared weights
  prepare,        // variant a prepares weights; the result is kept under the token `to.offset`; pattern 1: what it
                  // leaves around it is measured, which takes longer than most prepares
  release,        // the prepared weights of token `to.offset`
  meet,           // group a: all members meet, and its control collective runs
  delay,          // stream: what follows on it comes `a` microseconds later
  skip,           // a step of other ranks
  lose,           // this rank, `pattern` milliseconds later, as candidate code would be lost: Loss in a
  facts,          // what the worker itself knows of the call that may follow: the group that it is given, entries so far
};
[[nodiscard]] const char* name_of(Op) noexcept;

// How Op::lose ends a rank: a status that is not OK, the end of its process, or never coming back.
enum class Loss : std::uint32_t { fails, exits, hangs };
[[nodiscard]] const char* name_of(Loss) noexcept;

struct ProgramTensor {
  std::uint32_t arena = 0, reserved = 0;
  std::uint64_t offset = 0;       // bytes from the arena's base to cell 0
  std::uint8_t code = 0, bits = 0;
  std::uint16_t lanes = 1;
  std::int32_t rank = 0;
  std::int64_t shape[kMaxRank] = {}, strides[kMaxRank] = {};
};

struct ProgramArgument {
  char kind = 0;                  // a signature letter
  std::uint32_t tensor = 0;       // i, o
  std::uint64_t token = 0;        // p: a prepared token
  std::int64_t integer = 0;       // w, l
  double real = 0;                // d
};

struct ProgramRegion {
  std::uint32_t arena = 0, reserved = 0;
  std::uint64_t offset = 0, bytes = 0;
};

// Arguments of a prepare step: the tensors of assay_moe_weights in its order (kind 0 where the form has none), then its
// integers; words are its form, activation and layout.
inline constexpr std::uint32_t kPrepareTensors = 8, kPrepareIntegers = 9, kPrepareWords = 3;

struct ProgramStep {
  Op op = Op::sync;
  std::uint32_t stream = 0;
  std::uint32_t a = 0;            // event, graph, mode or variant index, by op
  std::uint32_t argument_count = 0;
  std::uint32_t pattern = 0, pattern_bytes = 1;
  std::uint32_t group = 0;        // of a call: the group that it is given; 0: none
  ProgramRegion to, from;
  char words[kPrepareWords][16] = {};
  ProgramArgument arguments[kMaxArguments];
};

// Bits of ProgramResult::surroundings: what a prepare step, or a whole program, left changed around it.
enum Surrounding : std::uint32_t { kEnvironment = 1, kSignalHandlers = 2, kDirectory = 4, kThreads = 8, kRounding = 16,
                                   kCache = 32 };

// Bits of ProgramResult::binding: what a call left changed in an output's descriptor.
enum BindingChange : std::uint32_t { kData = 1, kShape = 2, kStrides = 4, kDType = 8, kDeviceField = 16, kOffset = 32,
                                     kInputDescriptor = 64 };

struct ProgramResult {
  StepCode code = StepCode::not_run;
  std::int32_t status = 0;        // of a call
  std::uint32_t binding = 0;      // BindingChange bits of a call
  std::uint32_t children = 0;     // processes that a call left behind (they were ended)
  std::uint64_t nanoseconds = 0;
  GraphInventory graph;           // of end_capture
  DeviceUsage usage;              // of usage
  std::uint32_t surroundings = 0; // Surrounding bits of prepare; of the last step: of the program, without threads
  std::int64_t device_bytes = 0, host_bytes = 0;  // that prepare left held; host_bytes of usage: what the process holds
  std::int32_t group_rank = 0, group_size = 1;    // of facts; without a group, one
  std::uint64_t group_id = 0, entries = 0;
  char text[160] = {};            // one line for people, NUL-terminated
};

struct Program {
  std::uint32_t step_count = 0, tensor_count = 0;
  std::uint32_t reserved = 0;
  std::uint32_t done = 0;         // steps finished; written by the worker
  ProgramTensor tensors[kMaxTensors];
  ProgramStep steps[kMaxSteps];
  ProgramResult results[kMaxSteps];
};

}  // namespace assay
