// harness/capability/vocabulary.hpp: the closed vocabulary of call facts and its canonical spellings.
//
// Promises: spec/routing-and-targets.md 2.1 to 2.3 as data. Folding is total, idempotent and the same for predicates
// and descriptors. A field outside the vocabulary is never invented here, nor is a token of a closed field.
// Who calls it: descriptors, predicates, supply sets, library tables.
//
//   fold_field(" Graph-Mode ");                  // "graph_mode"
//   fold_text("graph_mode", "capture").token;    // "cuda_graph"
//   fold_text("graph_mode", "sometimes").token;  // nullopt: not in the closed vocabulary
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace assay {

// A canonical value. Numeric fields hold integers, context fields text; scalar.<argument> any of the three, a float
// as its f64_hex text. Two values of different types are never equal: true is not 1.
using FactValue = std::variant<std::int64_t, bool, std::string>;
[[nodiscard]] std::string text_of(const FactValue&);  // for people

enum class FieldKind { numeric, context, scalar };
enum class ScalarType { i64, boolean, f64 };

[[nodiscard]] std::string fold_field(std::string_view name);
// By canonical name; nullopt outside the vocabulary. Any well-formed scalar.<argument> is of kind scalar: which
// arguments exist is the slot's to say (supply.hpp).
[[nodiscard]] std::optional<FieldKind> kind_of_field(std::string_view canonical);

// The canonical token of a context field's text. Without a token the text is blank or outside a closed vocabulary.
struct FoldedText {
  std::optional<std::string> token;
  bool blank = false;
};
[[nodiscard]] FoldedText fold_text(std::string_view field, std::string_view text);
[[nodiscard]] std::span<const std::string_view> closed_tokens(std::string_view field);  // empty: the field is open

// The fields of DR-9, present in every descriptor.
[[nodiscard]] std::span<const std::string_view> mandatory_fields();

// direct-artifacts.md 7: the one text of a finite double. f64_hex throws std::invalid_argument on NaN and infinity.
[[nodiscard]] std::string f64_hex(double);
[[nodiscard]] bool is_f64_hex(std::string_view);

}  // namespace assay
