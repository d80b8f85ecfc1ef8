// main.cc: the worker program. Linked with a candidate it serves that one; else it loads a shared library.
#include "harness/worker/worker.hpp"
#ifndef ASSAY_NO_REFUSALS
#include "harness/worker/refusals.hpp"
#endif

int main(int argc, char** argv) {
#ifdef ASSAY_NO_REFUSALS
  return assay::worker_main(argc, argv, nullptr);
#else
  return assay::worker_main(argc, argv, assay::note_refusals);
#endif
}
