// Aborts in the constructor of a static object.
// Slot: norm.rmsnorm. Caught by: verdict.attribution. Source: blame:load_crash.
#include <stdlib.h>

#include "kernels/faulty/faulty.hpp"

namespace {

struct Fault : faulty::Norm<Fault> {
  Fault() { abort(); }
};

const Fault at_load;

}  // namespace

FAULTY_NORM(Fault)
