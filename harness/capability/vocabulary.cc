#include "harness/capability/vocabulary.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <cmath>
#include <stdexcept>
#include <utility>

namespace assay {
namespace {

using Pair = std::pair<std::string_view, std::string_view>;

constexpr std::array<std::string_view, 22> numeric_fields = {
    "alignment",   "batch_size",   "block_size",       "ep_size",    "exp_tokens", "head_dim",
    "hidden_dim",  "init_blocks",  "intermediate_dim", "kv_len",     "last_dim",   "local_blocks",
    "num_experts", "num_kv_heads", "num_q_heads",      "num_tokens", "page_size",  "q_block_size",
    "q_len",       "top_k",        "tp_size",          "world_size"};
constexpr std::array<std::string_view, 8> context_fields = {"architecture", "dtype", "graph_mode", "layout",
                                                            "model",        "phase", "quant",      "runtime"};
constexpr std::array<std::string_view, 3> mandatory = {"architecture", "dtype", "graph_mode"};

constexpr std::array<Pair, 6> field_aliases = {{{"arch", "architecture"},
                                                {"dtype_name", "dtype"},
                                                {"tp", "tp_size"},
                                                {"ep", "ep_size"},
                                                {"world", "world_size"},
                                                {"worldsize", "world_size"}}};

constexpr std::array<std::string_view, 7> dtypes = {"bfloat16",    "float16", "float32", "float8_e4m3",
                                                    "float8_e5m2", "uint8",   "int32"};
constexpr std::array<Pair, 10> dtype_aliases = {{{"bf16", "bfloat16"},
                                                 {"fp16", "float16"},
                                                 {"fp32", "float32"},
                                                 {"torch.bfloat16", "bfloat16"},
                                                 {"torch.float16", "float16"},
                                                 {"torch.float32", "float32"},
                                                 {"torch.float8_e4m3fn", "float8_e4m3"},
                                                 {"torch.float8_e5m2", "float8_e5m2"},
                                                 {"torch.uint8", "uint8"},
                                                 {"torch.int32", "int32"}}};
constexpr std::array<std::string_view, 2> graph_modes = {"eager", "cuda_graph"};
constexpr std::array<Pair, 8> graph_mode_aliases = {{{"capture", "cuda_graph"},
                                                     {"capturing", "cuda_graph"},
                                                     {"replay", "cuda_graph"},
                                                     {"graph", "cuda_graph"},
                                                     {"on", "cuda_graph"},
                                                     {"graphs_on", "cuda_graph"},
                                                     {"off", "eager"},
                                                     {"graphs_off", "eager"}}};
constexpr std::array<std::string_view, 4> layouts = {"row_major", "paged_nhd", "paged", "routed_moe"};
constexpr std::array<std::string_view, 3> phases = {"decode", "prefill", "mixed"};
constexpr std::array<Pair, 1> phase_aliases = {{{"extend", "prefill"}}};
constexpr std::array<std::string_view, 4> quants = {"dense", "fp8", "nvfp4", "mxfp4"};
constexpr std::array<Pair, 2> quant_aliases = {{{"none", "dense"}, {"unquantized", "dense"}}};

struct ContextField {
  std::string_view name;
  std::span<const std::string_view> closed;
  std::span<const Pair> aliases;
};
constexpr std::array<ContextField, 5> closed_fields = {{{"dtype", dtypes, dtype_aliases},
                                                        {"graph_mode", graph_modes, graph_mode_aliases},
                                                        {"layout", layouts, {}},
                                                        {"phase", phases, phase_aliases},
                                                        {"quant", quants, quant_aliases}}};

// ASCII by hand: the C functions ask the locale, and a candidate may have set it.
constexpr bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }
constexpr bool is_lower(char c) { return c >= 'a' && c <= 'z'; }
constexpr bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

std::string lowered(std::string_view text) {
  std::string out(trim(text));
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    if (c == '-') c = '_';
  }
  return out;
}

std::string_view through(std::span<const Pair> aliases, std::string_view text) {
  const auto found = std::find_if(aliases.begin(), aliases.end(), [&](const Pair& p) { return p.first == text; });
  return found == aliases.end() ? text : found->second;
}

bool is_name(std::string_view text) {
  return !text.empty() && is_lower(text[0]) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_lower(c) || is_digit(c) || c == '_'; });
}

// sm_103a -> sm103a; anything that is not sm, digits and at most one suffix letter keeps its spelling.
std::string fold_architecture(std::string text) {
  if (!text.starts_with("sm_")) return text;
  std::string_view rest = std::string_view(text).substr(3);
  if (!rest.empty() && is_lower(rest.back())) rest.remove_suffix(1);
  if (!rest.empty() && std::all_of(rest.begin(), rest.end(), is_digit)) text.erase(2, 1);
  return text;
}

}  // namespace

std::string text_of(const FactValue& value) {
  if (const auto* number = std::get_if<std::int64_t>(&value)) return std::to_string(*number);
  if (const auto* truth = std::get_if<bool>(&value)) return *truth ? "true" : "false";
  return std::get<std::string>(value);
}

std::string fold_field(std::string_view name) {
  const std::string text = lowered(name);
  return std::string(through(field_aliases, text));
}

std::optional<FieldKind> kind_of_field(std::string_view canonical) {
  const auto holds = [&](const auto& names) { return std::find(names.begin(), names.end(), canonical) != names.end(); };
  if (holds(numeric_fields)) return FieldKind::numeric;
  if (holds(context_fields)) return FieldKind::context;
  if (canonical.starts_with("scalar.") && is_name(canonical.substr(7))) return FieldKind::scalar;
  return std::nullopt;
}

FoldedText fold_text(std::string_view field, std::string_view text) {
  if (trim(text).empty()) return {std::nullopt, true};
  if (field == "model") return {std::string(trim(text)), false};
  std::string folded = lowered(text);
  if (field == "architecture") folded = fold_architecture(std::move(folded));
  for (const ContextField& closed : closed_fields) {
    if (closed.name != field) continue;
    folded = through(closed.aliases, folded);
    if (std::find(closed.closed.begin(), closed.closed.end(), folded) == closed.closed.end()) return {};
  }
  return {std::move(folded), false};
}

std::span<const std::string_view> closed_tokens(std::string_view field) {
  for (const ContextField& closed : closed_fields) {
    if (closed.name == field) return closed.closed;
  }
  return {};
}

std::span<const std::string_view> mandatory_fields() { return mandatory; }

std::string f64_hex(double value) {
  if (!std::isfinite(value)) throw std::invalid_argument("f64_hex: a number has to be finite");
  const auto bits = std::bit_cast<std::uint64_t>(value);
  const auto biased = static_cast<int>((bits >> 52u) & 0x7FFu);
  const std::uint64_t mantissa = bits & 0xFFFFFFFFFFFFFu;
  std::string out = bits >> 63u != 0 ? "-" : "";
  if (biased == 0 && mantissa == 0) return out + "0x0.0p+0";
  out += biased == 0 ? "0x0." : "0x1.";
  for (int shift = 48; shift >= 0; shift -= 4) {
    out += "0123456789abcdef"[(mantissa >> static_cast<unsigned>(shift)) & 15u];
  }
  const int exponent = biased == 0 ? -1022 : biased - 1023;
  return out + (exponent < 0 ? "p" : "p+") + std::to_string(exponent);
}

bool is_f64_hex(std::string_view text) {
  // from_chars reads any hexadecimal float; the text is canonical iff writing that value gives it back.
  std::string_view digits = text;
  const bool negative = digits.starts_with('-');
  if (negative) digits.remove_prefix(1);
  if (!digits.starts_with("0x") || digits.starts_with("0x-")) return false;
  digits.remove_prefix(2);
  double value = 0;
  const auto [end, error] =
      std::from_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::hex);
  if (error != std::errc() || end != digits.data() + digits.size() || !std::isfinite(value)) return false;
  return f64_hex(negative ? -value : value) == text;
}

}  // namespace assay
