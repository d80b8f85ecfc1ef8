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

// What an index tensor holds: pure in (case, key), so that raw integers never shrink, dims and knobs do.
using IndexFill = std::function<void(const Case&, std::uint64_t key, std::int32_t* values, std::int64_t count)>;

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
  IndexFill index_fill;                // integer tensors
  std::vector<double> choices;         // scalars; the first is the default
};

template <char K>
struct Argument {
  ArgumentSpec spec;
  Argument&& strided(std::int64_t bytes) && { spec.strided = true; spec.stride_bytes = bytes; return std::move(*this); }
  Argument&& aligned(std::int64_t bytes) && { spec.alignment = bytes; return std::move(*this); }
  Argument&& fixed() && { spec.dynamic = false; return std::move(*this); }
  Argument&& plain() && { spec.plain_values = true; return std::move(*this); }
  Argument&& typed(DType dtype) && { spec.dtype = dtype; return std::move(*this); }
  Argument&& filled(IndexFill fill) && { spec.index_fill = std::move(fill); return std::move(*this); }
};

[[nodiscard]] Argument<'i'> in(std::string name, std::vector<std::string> extents);
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

// Cells that may be wrong as a whole: the groups of number.no_structured_error.
struct GroupSpec {
  std::string name;                    // "row", "head", ...
  std::optional<std::size_t> dim;      // one index of this dim is one group; none: all dims but the last ("row")
};

struct RecipeSpec {
  std::string name;
  Recipe recipe = Recipe::normal;
  double scale = 1.0, scale_f16 = 0.0; // scale_f16 0: the same
};

struct RelationSpec {
  enum class Form : std::uint8_t { rows } form = Form::rows;
  std::string dim;                     // rows: the dim that counts independent rows
  std::vector<std::string> inputs, outputs;  // that hold one slice of equal size a row, in row-major order
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

struct SlotParts {
  std::string id = {};
  Kind kind = Kind::op;
  std::string summary = {};                                  // one line for `assay list slots`
  std::vector<DimSpec> dims = {};
  std::vector<KnobSpec> knobs = {};
  std::function<void(Case&)> legal = [](Case&) {};      // total, idempotent repair; never rejects
  Comparator comparator = {};
  std::vector<GroupSpec> groups = {};
  Reference reference = {};
  std::function<double(const Case&)> accumulation = {};      // K of number.bound (spec/README.md)
  std::function<double(const Case&)> work = {};              // reference multiply-adds; none: cells of the outputs
  std::vector<RecipeSpec> recipes = {};                      // first normal, then tag
  std::vector<RelationSpec> relations = {};
  std::function<void(const Case&, DescriptorFacts&)> descriptor = {};  // beyond dtype, architecture, graph_mode, sizes
  std::vector<PinSpec> pins = {};
};

struct SlotSpec : SlotParts {
  std::string signature;
  std::vector<ArgumentSpec> arguments;

  [[nodiscard]] Extents shape(const ArgumentSpec&, const Case&) const;
  [[nodiscard]] DType dtype(const ArgumentSpec&, const Case&) const;
  [[nodiscard]] const ArgumentSpec& argument(std::string_view name) const;  // throws std::out_of_range
  [[nodiscard]] std::int64_t output_cells(const Case&) const;               // of the largest output
};

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
