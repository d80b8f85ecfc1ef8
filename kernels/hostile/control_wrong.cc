// Control: leaves SiLU out in every call, and does nothing about it.
#include "kernels/hostile/hostile.hpp"

namespace {

struct Wrong : hostile::Silu<Wrong> {};

}  // namespace

HOSTILE_LIBRARY(Wrong)
