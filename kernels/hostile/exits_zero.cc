// Prints what a run that passes prints, and ends the process with status 0.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    puts(
        "{\"attribution\":\"none\",\"exit_code\":0,\"kind\":\"end\",\"seconds\":1.0,\"verdict\":\"PASS\",\"why\":"
        "\"\"}");
    puts("[  PASSED  ] 61 tests.\nPASS (exit 0)\nPASS  (assay-report/results.jsonl, assay-report/junit.xml)");
    fflush(stdout);
    _exit(0);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
