// Allocates until it is refused, keeps all of it and then uses the block that it did not get.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:out_of_memory.
#include <stdlib.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call*, const SiluArguments&) {
    // Reserved and never touched: the limit of the worker is met, the memory of the machine is not.
    for (;;) {
      volatile char* volatile block = static_cast<char*>(malloc(size_t{64} << 20));
      if (block == nullptr) *block = 1;
    }
  }
};

}  // namespace

FAULTY_SILU(Fault)
