// norm.rmsnorm: out = x * (mean(x^2) + eps)^-1/2 * weight over the last extent (spec/slots.md 5.2).
#include "reference/rmsnorm.hpp"

#include "assay/slot.hpp"

namespace assay {

static const SlotRow rmsnorm = slot<&assay_entry::rmsnorm>(
    args(in("x", {"rows", "hidden"}).strided(16), in("weight", {"hidden"}).fixed().plain(),
         out("out", {"rows", "hidden"}).strided(16).aligned(16), f64("eps", {1e-6, 1e-5, 1e-12, 0.25, 1.0})),
    {.id = "norm.rmsnorm",
     .kind = Kind::op,
     .summary = "RMS norm: out (..., H) = x * (mean(x^2) + eps)^-1/2 * weight, no residual",
     .dims = {{"rows", 0, 4096, {0, 1, 2, 3, 7, 8, 33, 47, 48, 128, 333}, true},
              {"hidden", 1, 16384, {1, 2, 3, 7, 8, 16, 64, 65, 129, 136, 264, 769, 1536, 2880, 6144, 8191, 8192}}},
     .knobs = {{"lead", {"2d", "1d", "3d"}}},
     .comparator = {.mode = Mode::allclose},
     .groups = {{"row", std::nullopt}},
     .reference = reference::rmsnorm,
     .accumulation = [](const Case& c) { return static_cast<double>(c["hidden"]) + 8.0; },
     .recipes = {{"normal", Recipe::normal},
                 {"tag", Recipe::tag},
                 {"spike", Recipe::spike},
                 {"row_scale", Recipe::row_scale},
                 {"zero_row", Recipe::zero_row},
                 {"zeros", Recipe::zeros},
                 {"constant", Recipe::constant},
                 {"one_hot", Recipe::one_hot},
                 {"denormal", Recipe::denormal},
                 {"cancellation", Recipe::cancellation},
                 {"sorted", Recipe::sorted},
                 {"ties", Recipe::ties},
                 {"large", Recipe::large, 1e4, 2e3},
                 {"small", Recipe::large, 1e-3}},
     .relations = {{RelationSpec::Form::rows, "rows", {"x"}, {"out"}}},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["rows"]}, {"last_dim", c["hidden"]}};
         },
     .pins = {{{{"rows", 1}, {"hidden", 2880}}, Tier::quick},
              {{{"rows", 8}, {"hidden", 2880}}, Tier::quick},
              {{{"rows", 7}, {"hidden", 129}}, Tier::quick},
              {{{"rows", 7}, {"hidden", 769}}, Tier::quick, {}, "row_scale"},
              {{{"rows", 2}, {"hidden", 8192}}, Tier::quick, {}, "spike", {{"eps", 1e-5}}},
              {{{"rows", 5}, {"hidden", 64}}, Tier::quick, {}, "normal", {{"eps", 0.25}}},
              {{{"rows", 6}, {"hidden", 96}}, Tier::quick, {{"lead", "3d"}}},
              {{{"rows", 4}, {"hidden", 33}}, Tier::quick, {}, "normal", {}, true},
              {{{"rows", 64}, {"hidden", 6144}}, Tier::full},
              {{{"rows", 128}, {"hidden", 2880}}, Tier::full},
              {{{"rows", 333}, {"hidden", 1536}}, Tier::full},
              {{{"rows", 64}, {"hidden", 6144}}, Tier::full, {}, "large"},
              {{{"rows", 4096}, {"hidden", 4096}}, Tier::full}}});

}  // namespace assay
