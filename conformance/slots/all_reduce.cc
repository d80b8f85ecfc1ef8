// collective.all_reduce: out = sum over the ranks of x, on every rank (spec/slots.md 5.9).
#include "reference/all_reduce.hpp"

#include "assay/slot.hpp"
#include "conformance/slots/partials.hpp"

namespace assay {

static const SlotRow all_reduce = slot<&assay_entry::all_reduce>(
    args(in("x", {"tokens", "hidden"}).by_rank(fill_partials), out("out", {"tokens", "hidden"})),
    {.id = "collective.all_reduce",
     .kind = Kind::collective,
     .summary = "out (M,H) = sum over the group's ranks of x (M,H), on every rank",
     .dims = {{"tokens", 1, 256, {1, 2, 3, 7, 8, 47, 48, 64, 128}, true},
              {"hidden", 1, 8192, {1, 2, 3, 7, 8, 64, 257, 2880, 4096, 6144, 7168}}},
     .comparator = {.mode = Mode::matched_ratio, .floor = 0.99},
     .groups = {{"row", std::nullopt}},
     .reference = reference::all_reduce,
     .accumulation = [](const Case& c) { return static_cast<double>(c.world) + 8.0; },
     .work = [](const Case& c) { return static_cast<double>(c.world * c["tokens"] * c["hidden"]); },
     .recipes = partial_recipes(),
     .relations = {{RelationSpec::Form::rows, "tokens", {"x"}, {"out"}}, partials_doubled({"x"})},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"num_tokens", c["tokens"]}, {"hidden_dim", c["hidden"]}, {"last_dim", c["hidden"]}};
           d.words = {{"layout", "row_major"}, {"quant", "dense"}};
         },
     .pins = {{{{"tokens", 1}, {"hidden", 4096}}, Tier::quick},
              {{{"tokens", 8}, {"hidden", 4096}}, Tier::quick},
              {{{"tokens", 3}, {"hidden", 257}}, Tier::quick},
              {{{"tokens", 3}, {"hidden", 257}}, Tier::quick, {}, "negative_zero"},
              {{{"tokens", 5}, {"hidden", 96}}, Tier::quick, {}, "rank_digits"},
              {{{"tokens", 47}, {"hidden", 6144}}, Tier::full},
              {{{"tokens", 48}, {"hidden", 6144}}, Tier::full},
              {{{"tokens", 128}, {"hidden", 7168}}, Tier::full}}});

}  // namespace assay
