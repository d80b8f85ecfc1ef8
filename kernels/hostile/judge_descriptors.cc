// Says in the judge's place that every rule holds: opens the judge's descriptors through /proc and writes lines of
// results to what can be written.
#include "kernels/hostile/hostile.hpp"

namespace {

constexpr char line[] =
    "{\"attribution\":\"none\",\"device\":\"host\",\"dtype\":\"fp32\",\"evidence\":9,\"judged\":9,\"kind\":\"rule\","
    "\"reason\":\"none\",\"rule\":\"number.reference\",\"slot\":\"activation.silu_and_mul\",\"text\":\"\","
    "\"variant\":\"hostile\",\"verdict\":\"PASS\",\"warnings\":[]}\n";

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    hostile::for_each_judge([](pid_t judge) {
      for (int fd = 3; fd < 256; ++fd) {
        const int theirs = open(hostile::Path("/proc/%d/fd/%d", static_cast<int>(judge), fd).text,
                                O_WRONLY | O_APPEND | O_NONBLOCK | O_CLOEXEC);
        if (theirs < 0) continue;
        if (write(theirs, line, sizeof line - 1) > 0) fsync(theirs);
        close(theirs);
      }
    });
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
