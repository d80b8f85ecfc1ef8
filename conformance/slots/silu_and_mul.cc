// activation.silu_and_mul: out = silu(x[..., :d]) * x[..., d:], gate first (spec/slots.md 5.1).
#include "reference/silu_and_mul.hpp"

#include "assay/slot.hpp"

namespace assay {

static const SlotRow silu_and_mul = slot<&assay_entry::silu_and_mul>(
    args(in("x", {"rows", "2*d"}).strided(16), out("out", {"rows", "d"}).strided(16).aligned(16)),
    {.id = "activation.silu_and_mul",
     .kind = Kind::op,
     .summary = "gated activation: out (..., d) = silu(x[:d]) * x[d:], x (..., 2d)",
     .dims = {{"rows", 0, 4096, {0, 1, 2, 3, 5, 7, 8, 33, 128, 333}, true},
              {"d", 1, 8192, {1, 2, 3, 4, 7, 8, 12, 20, 33, 64, 65, 127, 129, 1024, 2880, 2881, 3420}}},
     .knobs = {{"lead", {"2d", "1d", "3d"}}},
     .comparator = {.mode = Mode::allclose},
     .groups = {{"row", std::nullopt}},
     .reference = reference::silu_and_mul,
     .accumulation = [](const Case&) { return 8.0; },
     .recipes = {{"normal", Recipe::normal},
                 {"tag", Recipe::tag},
                 {"gate_extreme", Recipe::gate_extreme},
                 {"row_scale", Recipe::row_scale, 1.0, 0.0078125},
                 {"zero_row", Recipe::zero_row},
                 {"zeros", Recipe::zeros},
                 {"constant", Recipe::constant},
                 {"one_hot", Recipe::one_hot},
                 {"denormal", Recipe::denormal},
                 {"sorted", Recipe::sorted},
                 {"ties", Recipe::ties},
                 {"negative_zero", Recipe::negative_zero},
                 {"large", Recipe::large, 64.0, 32.0},
                 {"small", Recipe::large, 0.01}},
     .relations = {{RelationSpec::Form::rows, "rows", {"x"}, {"out"}}},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["rows"]}, {"last_dim", 2 * c["d"]}};
         },
     .pins = {{{{"rows", 1}, {"d", 1024}}, Tier::quick},
              {{{"rows", 8}, {"d", 1024}}, Tier::quick},
              {{{"rows", 5}, {"d", 7}}, Tier::quick},
              {{{"rows", 3}, {"d", 2881}}, Tier::quick},
              {{{"rows", 3}, {"d", 3420}}, Tier::quick},
              {{{"rows", 0}, {"d", 64}}, Tier::quick},
              {{{"rows", 1}, {"d", 64}}, Tier::quick, {{"lead", "1d"}}},
              {{{"rows", 6}, {"d", 96}}, Tier::quick, {{"lead", "3d"}}},
              {{{"rows", 4}, {"d", 33}}, Tier::quick, {}, "normal", {}, true},
              {{{"rows", 128}, {"d", 4096}}, Tier::full},
              {{{"rows", 333}, {"d", 2880}}, Tier::full},
              {{{"rows", 4096}, {"d", 4096}}, Tier::full}}});

}  // namespace assay
