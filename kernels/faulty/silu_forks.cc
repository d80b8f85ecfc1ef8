// Leaves a child process behind for a minute.
// Slot: activation.silu_and_mul. Caught by: verdict.attribution. Source: blame:forked.
#include <sys/wait.h>
#include <unistd.h>

#include "kernels/faulty/faulty.hpp"

namespace {

using faulty::SiluArguments;

struct Fault : faulty::Silu<Fault> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static pid_t child = 0;
    if (child == 0 || waitpid(child, nullptr, WNOHANG) != 0) child = fork();
    if (child == 0) {
      sleep(60);
      _exit(0);
    }
    return Right::enqueue(call, a);
  }
};

}  // namespace

FAULTY_SILU(Fault)
