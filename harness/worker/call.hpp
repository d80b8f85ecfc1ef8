// call.hpp: calls an entry by its signature text, with libffi. The worker knows no slot.
//
// Promises: the C++ type of the entry is never needed; each argument is passed with the C type of its letter.
// Who calls it: worker/executor.cc.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "assay/abi.h"

namespace assay {

// One argument after assay_call, by signature letter: i const DLTensor *, o DLTensor *, p const void *, d double,
// w int32_t, l int64_t.
struct CallArgument {
  char kind = 0;
  union {
    void* pointer;
    double real;
    std::int32_t word;
    std::int64_t integer;
  };
  CallArgument() : pointer(nullptr) {}
};

[[nodiscard]] bool valid_signature(std::string_view) noexcept;  // at most 24 of the letters above

// An exception that leaves the entry ends the process: caught further out it would pass for the harness's own.
[[nodiscard]] assay_status call_entry(void (*entry)(void), const assay_call* call,
                                      const std::vector<CallArgument>& arguments);

}  // namespace assay
