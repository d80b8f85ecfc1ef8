// All rows of a tile use the expert of its first.
// Slot: moe.fused_experts. Caught by: number.reference. Source: slots.md 5.7.
#include "kernels/faulty/moe.hpp"

namespace {

using faulty::ExpertsArguments;
using faulty::Tile;

struct Fault : faulty::Moe<Fault> {
  static bool joins(const ExpertsArguments&, const Tile&) { return true; }
};

}  // namespace

FAULTY_MOE(Fault)
