// activation.gelu_tanh_and_mul: its shapes, values and what is demanded. Every generic rule applies to it.
#include <assay/slot.hpp>

#include "gelu.h"

void gelu_reference(const assay::ReferenceCall&, assay::ReferenceResult&);  // gelu_reference.cc

using namespace assay;

static const SlotRow gelu = slot<gelu_fn>(
    args(in("x", {"rows", "2*d"}).strided(16), out("out", {"rows", "d"}).strided(16).aligned(16)),
    {.id = "activation.gelu_tanh_and_mul",
     .summary = "gated activation: out (..., d) = gelu_tanh(x[:d]) * x[d:], x (..., 2d)",
     .dims = {{"rows", 0, 1024, {0, 1, 2, 3, 7, 8, 33}, true}, {"d", 1, 4096, {1, 2, 3, 4, 7, 8, 33, 64, 65, 129}}},
     .knobs = {{"lead", {"2d", "1d", "3d"}}},
     .comparator = {.mode = Mode::allclose},
     .groups = {{"row", std::nullopt}},
     .reference = gelu_reference,
     .accumulation = [](const Case&) { return 8.0; },
     .recipes = {{"normal", Recipe::normal},
                 {"tag", Recipe::tag},
                 {"gate_extreme", Recipe::gate_extreme},
                 {"zero_row", Recipe::zero_row},
                 {"denormal", Recipe::denormal},
                 {"large", Recipe::large, 64.0, 32.0}},
     .relations = {{RelationSpec::Form::rows, "rows", {"x"}, {"out"}}},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["rows"]}, {"last_dim", 2 * c["d"]}};
         },
     .pins = {{{{"rows", 1}, {"d", 1024}}},
              {{{"rows", 5}, {"d", 7}}},
              {{{"rows", 6}, {"d", 96}}, Tier::quick, {{"lead", "3d"}}},
              {{{"rows", 4}, {"d", 33}}, Tier::quick, {}, "normal", {}, true},
              {{{"rows", 333}, {"d", 2880}}, Tier::full}}});
