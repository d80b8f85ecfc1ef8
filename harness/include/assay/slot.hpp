// assay/slot.hpp: a slot as one file: its dims, arguments, values, comparator, reference, relations and pins.
//
// Promises: what is declared here is all that the generic rules need; a SlotRow registers itself. The argument list
// is checked against the entry's C type at compile time.
// Who uses it: conformance/slots/*.cc, and slot files outside this tree (assay_add_suite).
//
//   static const SlotRow row = slot<&assay_entry::rmsnorm>(
//       args(in("x", {"rows", "hidden"}).strided(16), in("weight", {"hidden"}).fixed(),
//            out("out", {"rows", "hidden"}).strided(16).aligned(16), f64("eps", {1e-6, 0.25})),
//       {.id = "norm.rmsnorm", .kind = Kind::op, .dims = {{"rows", 0, 4096, {0, 1, 7}}, ...}, ...});
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "assay/abi.h"
#include "assay/reference.hpp"
#include "assay/tensor.hpp"
#include "harness/case/case.hpp"
#include "harness/compare/comparators.hpp"
#include "harness/tensor/fill.hpp"

namespace assay {

enum class Kind : std::uint8_t { op, block, collective };
enum class Tier : std::uint8_t { quick, full, gate };
[[nodiscard]] std::string_view name_of(Kind) noexcept;
[[nodiscard]] std::string_view name_of(Tier) noexcept;
[[nodiscard]] Tier tier_from(std::string_view);  // throws std::invalid_argument

struct DimSpec {
  std::string name;
  std::int64_t min = 1, max = 1;       // min is where shrinking leads
  std::vector<std::int64_t> edges;     // mode switches, primes, one under and over vector widths
  bool count = false;                  // counts tokens, requests or rows: the full tier jitters it in pins
};

struct KnobSpec {
  std::string name;
  std::vector<std::string> values;     // the first is the simplest
};

// What a tensor holds where no generic recipe says it: pure in (case, key), so that values never shrink, dims and knobs
// do. The view is a contiguous host tensor of the argument's shape and dtype; false leaves it to the case's recipe,
// which integers do not have. Other arguments' base values follow from base_key().
using Fill = std::function<bool(const Case&, std::uint64_t key, const TensorView&)>;
// The same for an input that differs by rank. The key is the argument's, the same on all ranks: one rank's values may
// follow from another's. rank_key() makes it the rank's own.
using RankFill = std::function<bool(const Case&, int rank, std::uint64_t key, const TensorView&)>;
[[nodiscard]] std::uint64_t rank_key(std::uint64_t key, int rank);
// The key that the argument's base values are drawn with; replays draw with other keys.
[[nodiscard]] std::uint64_t base_key(const Case&, std::string_view argument);

// Cells that the contract excludes for these values (past a length, unselected, of no request): half-open ranges of
// row-major ordinals of the argument's cells. Whatever they hold must not matter.
using Excluded = std::function<std::vector<std::pair<std::int64_t, std::int64_t>>(const Case&, const ReferenceCall&)>;

struct ArgumentSpec {
  char kind = 'i';                     // signature letter
  std::string name;
  std::vector<std::string> extents;    // dim names, "2*d" or numbers; "rows" may be spread by the lead knob
  std::optional<DType> dtype;          // none: the run dtype
  bool strided = false;
  std::int64_t stride_bytes = 0;       // rows lie at a pitch in steps of so many bytes
  std::int64_t alignment = 256;        // bytes that the address is promised to be a multiple of
  bool dynamic = true;                 // changes between graph replays
  bool plain_values = false;           // always the base distribution, whatever the case's recipe
  Fill fill = {};                      // integer tensors need one
  bool per_rank = false;               // other values on every rank; else all ranks have the same
  RankFill rank_fill = {};             // of such an input
  Excluded excluded = {};              // floating-point inputs only
  std::vector<double> choices = {};    // scalars; the first is the default
  std::function<double(const Case&)> unit = {};  // scalars: what choices are multiples of; none: 1
  std::function<bool(const Case&)> present = {};  // weights: whether the case's form has it; none: always
};

template <char K>
struct Argument {
  ArgumentSpec spec;
  Argument&& strided(std::int64_t bytes) && { spec.strided = true; spec.stride_bytes = bytes; return std::move(*this); }
  Argument&& aligned(std::int64_t bytes) && { spec.alignment = bytes; return std::move(*this); }
  Argument&& fixed() && { spec.dynamic = false; return std::move(*this); }
  Argument&& plain() && { spec.plain_values = true; return std::move(*this); }
  Argument&& typed(DType dtype) && { spec.dtype = dtype; return std::move(*this); }
  Argument&& filled(Fill fill) && { spec.fill = std::move(fill); return std::move(*this); }
  Argument&& by_rank(RankFill fill = {}) && { spec.per_rank = true; spec.rank_fill = std::move(fill); return std::move(*this); }
  Argument&& excludes(Excluded cells) && { spec.excluded = std::move(cells); return std::move(*this); }
  Argument&& times(std::function<double(const Case&)> unit) && { spec.unit = std::move(unit); return std::move(*this); }
  Argument&& when(std::function<bool(const Case&)> present) && { spec.present = std::move(present); return std::move(*this); }
};

// Scalars hold choice * unit: f64("sm_scale", {1.0, 0.37}).times(...); i64("topk", {1}).times(...) follows a dim.
[[nodiscard]] Argument<'i'> in(std::string name, std::vector<std::string> extents);
[[nodiscard]] Argument<'p'> prepared(std::string name);  // what prepare made of the slot's weights
[[nodiscard]] Argument<'o'> out(std::string name, std::vector<std::string> extents);
[[nodiscard]] Argument<'d'> f64(std::string name, std::vector<double> choices);
[[nodiscard]] Argument<'l'> i64(std::string name, std::vector<double> choices);
[[nodiscard]] Argument<'w'> i32(std::string name, std::vector<double> choices);

template <char... K>
struct Arguments {
  std::vector<ArgumentSpec> specs;
};
template <char... K>
[[nodiscard]] Arguments<K...> args(Argument<K>... arguments) {
  Arguments<K...> list;
  (list.specs.push_back(std::move(arguments.spec)), ...);
  return list;
}

// Cells that may be wrong as a whole: the groups of number.no_structured_error. Groups that follow from values (the
// expert of a token) come from the reference (Expected::groups).
struct GroupSpec {
  std::string name;                    // "row", "head", ...
  std::optional<std::size_t> dim;      // one index of this dim is one group; none: all dims but the last ("row")
};

struct RecipeSpec {
  std::string name;
  Recipe recipe = Recipe::normal;
  double scale = 1.0, scale_f16 = 0.0; // scale_f16 0: the same
};

// A known change of the inputs and what it does to the outputs.
struct RelationSpec {
  enum class Form : std::uint8_t {
    rows,    // independent rows: other rows beside one, and a split in two, leave it as it is
    change,  // the outputs are multiplied by `factor`
  } form = Form::rows;
  std::string dim = {};                // rows: the dim, an extent of each of these arguments
  std::vector<std::string> inputs = {}, outputs = {};
  std::function<bool(const Case&)> holds = {};  // none: in every case
  // change:
  std::string rule = {};               // that reads it: "relation.page_permutation", ...
  std::string name = {};               // "pages moved"
  // Changes inputs in place, contiguous host tensors by argument name; false: this case has nothing to change.
  std::function<bool(const Case&, std::uint64_t key, std::map<std::string, TensorView>& inputs)> change = {};
  double factor = 1.0;
  bool exact = false;                  // the same arithmetic in the same order: bitwise where DETERMINISTIC
};

struct DescriptorFacts {
  std::map<std::string, std::int64_t> numbers;
  std::map<std::string, std::string> words;
};

struct PinSpec {
  std::map<std::string, std::int64_t> dims;
  Tier tier = Tier::quick;
  std::map<std::string, std::string> knobs = {};
  std::string recipe = "normal";
  std::map<std::string, double> scalars = {};
  bool far = false;
};

// The members of assay_moe_weights that are no tensors; texts are static.
struct WeightFacts {
  const char* form = "dense";
  std::int64_t num_experts = 0, hidden_size = 0, intermediate = 0, group_size = 0, top_k = 0, fused_shared_experts = 0,
               tp_size = 1, ep_size = 1, ep_rank = 0;
  const char *activation = "silu", *layout = "gate_up";
};

struct SlotParts {
  std::string id = {};
  Kind kind = Kind::op;
  std::string summary = {};                                  // one line for `assay list slots`
  std::vector<DimSpec> dims = {};
  std::vector<KnobSpec> knobs = {};
  std::function<void(Case&)> legal = [](Case&) {};      // total, idempotent repair; never rejects
  std::map<std::string, std::function<std::int64_t(const Case&)>> sizes = {};  // extents that follow from dims
  Comparator comparator = {};
  std::function<Comparator(const Case&)> comparator_by_case = {};  // profiles; replaces comparator
  std::vector<GroupSpec> groups = {};
  Reference reference = {};
  std::function<double(const Case&)> accumulation = {};      // K of number.bound (spec/README.md)
  bool sums_in_fp32 = false;                                 // by contract: number.bound fails; of ops it always does
  std::function<double(const Case&)> work = {};              // reference multiply-adds; none: cells of the outputs
  std::vector<RecipeSpec> recipes = {};                      // first normal, then tag
  std::vector<RelationSpec> relations = {};
  std::function<void(const Case&, DescriptorFacts&)> descriptor = {};  // beyond dtype, architecture, graph_mode, sizes
  std::vector<PinSpec> pins = {};
  // Facts that a domain must name to be asked for: a variant that names no quant runs dense weights only. Field and the
  // value that needs no naming, "" for none.
  std::map<std::string, std::string> paired = {};
  // Slots with prepare: the raw weights, in the order of assay_moe_weights' tensors, and the scalars beside them.
  std::vector<ArgumentSpec> weights = {};
  std::function<WeightFacts(const Case&)> weight_facts = {};
};

struct SlotSpec : SlotParts {
  std::string signature;
  std::vector<ArgumentSpec> arguments;

  [[nodiscard]] Extents shape(const ArgumentSpec&, const Case&) const;
  [[nodiscard]] DType dtype(const ArgumentSpec&, const Case&) const;
  [[nodiscard]] const ArgumentSpec& argument(std::string_view name) const;  // throws std::out_of_range
  [[nodiscard]] std::int64_t output_cells(const Case&) const;               // of the largest output
  [[nodiscard]] std::uint64_t input_bytes(const Case&) const;               // weights included
  [[nodiscard]] double scalar(const ArgumentSpec&, const Case&) const;      // choice * unit
  [[nodiscard]] Comparator comparing(const Case&) const;
  // Inputs and outputs in the call's order, then the weights that the case's form has.
  [[nodiscard]] std::vector<const ArgumentSpec*> tensors(const Case&) const;
};

// Which tensor of assay_moe_weights a weight of this name is, in the struct's order from w13 on; -1: none.
inline constexpr int kWeightPlaces = 8;
[[nodiscard]] int weight_place(std::string_view name) noexcept;

class SlotRow {
 public:
  explicit SlotRow(SlotSpec);          // registers; a spec that contradicts itself ends the program with a sentence
};

[[nodiscard]] const std::vector<const SlotSpec*>& slot_catalogue();  // by id
[[nodiscard]] const SlotSpec* find_slot(std::string_view id);        // NULL if there is none

namespace detail {

template <class T>
constexpr char letter() {
  if constexpr (std::is_same_v<T, assay_in>) return 'i';
  else if constexpr (std::is_same_v<T, assay_out>) return 'o';
  else if constexpr (std::is_same_v<T, double>) return 'd';
  else if constexpr (std::is_same_v<T, std::int32_t>) return 'w';
  else if constexpr (std::is_same_v<T, std::int64_t>) return 'l';
  else if constexpr (std::is_same_v<T, const void*>) return 'p';
  else return 0;
}

template <class Entry>
struct EntryLetters;
template <class... A>
struct EntryLetters<assay_status (*)(const assay_call*, A...)> {
  using type = std::integer_sequence<char, letter<A>()...>;
};
template <class Entry>
struct EntryLetters<Entry assay_entry::*> : EntryLetters<Entry> {};

template <class Entry, char... K>
SlotRow make_slot(Arguments<K...> arguments, SlotParts parts) {
  static_assert(std::is_same_v<typename EntryLetters<Entry>::type, std::integer_sequence<char, K...>>,
                "the slot's argument list differs from its entry's C type");
  SlotSpec spec;
  static_cast<SlotParts&>(spec) = std::move(parts);
  spec.signature = std::string{K...};
  spec.arguments = std::move(arguments.specs);
  return SlotRow(std::move(spec));
}

}  // namespace detail

// A slot of abi.h: slot<&assay_entry::rmsnorm>(...).
template <auto Member, char... K>
[[nodiscard]] SlotRow slot(Arguments<K...> arguments, SlotParts parts) {
  return detail::make_slot<decltype(Member)>(std::move(arguments), std::move(parts));
}
// A slot outside abi.h: slot<gelu_fn>(...).
template <class Entry, char... K>
[[nodiscard]] SlotRow slot(Arguments<K...> arguments, SlotParts parts) {
  return detail::make_slot<Entry>(std::move(arguments), std::move(parts));
}

}  // namespace assay
