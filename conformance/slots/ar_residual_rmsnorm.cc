// collective.ar_residual_rmsnorm: out_residual = sum over the ranks of x, + residual; out_norm = its RMS norm times
// weight (spec/slots.md 5.10).
#include "reference/ar_residual_rmsnorm.hpp"

#include "assay/slot.hpp"
#include "conformance/slots/partials.hpp"
#include "conformance/slots/residual_norm.hpp"

namespace assay {

static const SlotRow ar_residual_rmsnorm = slot<&assay_entry::ar_residual_rmsnorm>(
    args(in("x", {"tokens", "hidden"}).by_rank(fill_partials),
         in("residual", {"tokens", "hidden"}).filled(fill_residual),
         in("weight", {"hidden"}).fixed().filled(fill_norm_weight), f64("eps", {1e-6, 1e-5, 0.25}),
         out("out_norm", {"tokens", "hidden"}), out("out_residual", {"tokens", "hidden"})),
    {.id = "collective.ar_residual_rmsnorm",
     .kind = Kind::collective,
     .summary = "out_residual (T,H) = sum over the group's ranks of x, + residual; out_norm (T,H) = its RMS norm",
     .dims = {{"tokens", 1, 256, {1, 2, 3, 7, 8, 32, 47, 48, 64}, true},
              {"hidden", 1, 8192, {1, 2, 3, 7, 8, 16, 64, 136, 257, 264, 2880, 4096, 6144, 7168}}},
     .comparator = {.mode = Mode::matched_ratio, .floor = 0.99},
     .groups = {{"row", std::nullopt}},
     .reference = reference::ar_residual_rmsnorm,
     .accumulation = [](const Case& c) { return static_cast<double>(c.world + c["hidden"]) + 8.0; },
     .work = [](const Case& c) { return static_cast<double>((c.world + 4) * c["tokens"] * c["hidden"]); },
     .recipes = residual_norm_recipes(),
     .relations = {{RelationSpec::Form::rows, "tokens", {"x", "residual"}, {"out_norm", "out_residual"}},
                   signs_changed({"x", "residual"})},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["tokens"]}, {"hidden_dim", c["hidden"]}, {"last_dim", c["hidden"]}};
           d.words = {{"layout", "row_major"}, {"quant", "dense"}};
         },
     // Few tokens at the production width, or kernels made for it never run in one shot; both sides of the switch.
     .pins = {{{{"tokens", 4}, {"hidden", 4096}}, Tier::quick},
              {{{"tokens", 1}, {"hidden", 6144}}, Tier::quick},
              {{{"tokens", 8}, {"hidden", 6144}}, Tier::quick},
              {{{"tokens", 47}, {"hidden", 257}}, Tier::quick},
              {{{"tokens", 48}, {"hidden", 257}}, Tier::quick},
              {{{"tokens", 64}, {"hidden", 64}}, Tier::quick, {}, "rank_digits"},
              {{{"tokens", 3}, {"hidden", 136}}, Tier::quick, {}, "negative_zero"},
              {{{"tokens", 9}, {"hidden", 264}}, Tier::quick, {}, "residual_dominant"},
              {{{"tokens", 5}, {"hidden", 64}}, Tier::quick, {}, "normal", {{"eps", 0.25}}},
              {{{"tokens", 32}, {"hidden", 6144}}, Tier::full},
              {{{"tokens", 47}, {"hidden", 6144}}, Tier::full},
              {{{"tokens", 48}, {"hidden", 6144}}, Tier::full},
              {{{"tokens", 64}, {"hidden", 6144}}, Tier::full},
              {{{"tokens", 256}, {"hidden", 6144}}, Tier::full}}});

}  // namespace assay
