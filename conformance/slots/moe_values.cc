#include "conformance/slots/moe_values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <span>
#include <string>

#include "harness/tensor/nvfp4.hpp"
#include "harness/tensor/philox.hpp"

namespace assay::moe {
namespace {

// Base values have this deviation: four bytes added up, over 128.
constexpr double base_deviation = 1.1547;

std::uint64_t word(std::uint64_t key, std::int64_t index) {
  return mix64(key + (static_cast<std::uint64_t>(index) + 1) * 0x9E3779B97F4A7C15ULL);
}
double unit(std::uint64_t bits) { return static_cast<double>(bits >> 11) * 0x1p-53; }
double log_uniform(std::uint64_t bits, double low, double high) { return low * std::pow(high / low, unit(bits)); }

const std::string& knob(const Case& c, const char* name) { return c.knobs.at(name); }
std::int64_t routed_experts(const Case& c) { return c["experts"] - (has_shared(c) ? 1 : 0); }
std::int64_t routed_places(const Case& c) { return c["top_k"] - (has_shared(c) ? 1 : 0); }

template <class T>
std::span<T> cells(const TensorView& view) {
  return {static_cast<T*>(view.data), static_cast<std::size_t>(view.size())};
}

// The experts that may be chosen: all, or a set that leaves the first, the last and adjacent ones without tokens.
std::vector<std::int32_t> choosable(const Case& c) {
  const std::int64_t experts = routed_experts(c);
  std::vector<std::int32_t> list;
  if (knob(c, "routing") == "holes")
    for (std::int64_t e = 1; e + 1 < experts; ++e)
      if (e % 5 == 1 || e % 5 == 4) list.push_back(static_cast<std::int32_t>(e));
  if (!list.empty() && (!is_nvfp4(c) || static_cast<std::int64_t>(list.size()) >= routed_places(c))) return list;
  list.clear();
  for (std::int64_t e = 0; e < experts; ++e) list.push_back(static_cast<std::int32_t>(e));
  return list;
}

// A token's routed experts, drawn from a list: with repeats, or distinct as NVFP4's routing is.
void draw_places(std::span<std::int32_t> places, std::span<const std::int32_t> list, bool distinct, std::uint64_t key) {
  std::int64_t draw = 0;
  for (std::size_t k = 0; k < places.size();) {
    places[k] = list[word(key, draw++) % list.size()];
    const auto before = places.first(k);
    if (!distinct || std::find(before.begin(), before.end(), places[k]) == before.end()) ++k;
  }
}

// The activation probe (spec/slots.md 6.3): column 0 of w13 puts the channels of a group at (gate, up).
struct Corner {
  double gate, up;
  bool signed_up;  // up's sign is the channel's
};
constexpr std::array<Corner, 4> corners = {{{-1.5, 5, true}, {1, 0.5, false}, {20, 18, true}, {5, 5, true}}};
constexpr std::int64_t probe_columns = 16;  // x is 1 in column 0 and 0 in the others of the first scale group

// Groups are whole scale groups of w2: a group's channels then share a magnitude, which four bits need.
std::size_t corner_of(std::int64_t expert, std::int64_t channel) {
  return static_cast<std::size_t>((channel / nvfp4::group_size + expert) % 4);
}
double up_sign(const Case& c, std::int64_t expert, std::int64_t channel) {
  const std::uint64_t key = derive_key(c.seed, "probe signs", static_cast<std::uint64_t>(expert));
  return (word(key, channel / 64) >> (channel % 64) & 1) != 0 ? 1.0 : -1.0;
}
double activated(const Case& c, double gate, double up) {
  if (!is_m3(c)) return gate / (1 + std::exp(-gate)) * up;
  const double g = std::min(gate, 7.0), u = std::clamp(up, -7.0, 7.0);
  return g / (1 + std::exp(-1.702 * g)) * (u + 1);
}
double corner_energy(const Case& c, const Corner& corner, double sign) {
  return std::max(0.05, std::abs(activated(c, corner.gate, corner.signed_up ? sign * corner.up : corner.up)));
}
double corner_energy(const Case& c, const Corner& corner) {
  return std::sqrt((std::pow(corner_energy(c, corner, 1), 2) + std::pow(corner_energy(c, corner, -1), 2)) / 2);
}

// Experts named by a factor of their up half, exact in 16 bits and as a block scale: 1 to 3.5.
double tag_of(std::int64_t expert) { return nvfp4::decode_e4m3(static_cast<std::uint8_t>(0x70 + expert % 15)) / 128.0; }

struct Shape {
  std::int64_t experts, rows, cols, half;  // half: w13's gate rows; w2: none
};
Shape shape_of(const Case& c, Matrix m) {
  const std::int64_t h = c["hidden"], i = c["inter"];
  return m == Matrix::w13 ? Shape{c["experts"], 2 * i, h, i} : Shape{c["experts"], h, i, h};
}

double deviation_of(const Case& c, Matrix m) {
  if (m == Matrix::w13) return 1 / (base_deviation * std::sqrt(static_cast<double>(c["hidden"])));
  // More places or the larger activation of M3 must not make larger outputs: fp32 is graded at 1e-5.
  const double places = 2.0 / static_cast<double>(std::max<std::int64_t>(2, c["top_k"]));
  const double factor = is_nvfp4(c) ? 1.0 : (is_m3(c) ? 1.5 : 3.0) * std::sqrt(places);
  return factor / std::sqrt(static_cast<double>(c["inter"]));
}

// One expert's dense matrix under the activation probe, base values already in place.
void place_corners(const Case& c, Matrix m, const Shape& s, std::int64_t expert, const TensorView& view) {
  if (m == Matrix::w2) {
    std::vector<double> energies;
    for (std::int64_t k = 0; k < s.cols; ++k)
      energies.push_back(corner_energy(c, corners[corner_of(expert, k)], up_sign(c, expert, k)));
    for (std::int64_t i = 0; i < s.rows * s.cols; ++i) {
      const double value = value_at(view.data, view.dtype, i) / energies[static_cast<std::size_t>(i % s.cols)];
      store_value(view.data, view.dtype, i, value);
    }
    return;
  }
  for (std::int64_t r = 0; r < s.rows; ++r) {
    const std::int64_t channel = r % s.half;
    const Corner& corner = corners[corner_of(expert, channel)];
    const double up = corner.signed_up ? up_sign(c, expert, channel) * corner.up : corner.up;
    for (std::int64_t k = 0; k < std::min(probe_columns, s.cols); ++k)
      store_value(view.data, view.dtype, r * s.cols + k, k > 0 ? 0.0 : r < s.half ? corner.gate : up);
  }
}

bool fill_dense(const Case& c, Matrix m, const TensorView& view) {
  const Shape s = shape_of(c, m);
  const std::uint64_t key = base_key(c, m == Matrix::w13 ? "w13" : "w2");
  const std::size_t bytes = static_cast<std::size_t>(s.rows * s.cols) * size_of(view.dtype);
  TensorView part = view;
  part.shape = {s.rows, s.cols};
  part.strides = contiguous_strides(part.shape);
  for (std::int64_t e = 0; e < s.experts; ++e) {
    part.data = static_cast<std::byte*>(view.data) + static_cast<std::size_t>(e) * bytes;
    if (c.recipe == "expert_tags") {
      std::memset(part.data, 0, bytes);
      for (std::int64_t r = 0; r < s.rows; ++r)
        store_value(part.data, view.dtype, r * s.cols + r % s.half % s.cols, r < s.half ? 1.0 : tag_of(e));
      continue;
    }
    FillPlan plan{.dtype = view.dtype, .key = derive_key(key, "expert", static_cast<std::uint64_t>(e))};
    plan.scale = deviation_of(c, m) / base_deviation;
    if (c.recipe == "expert_scales" && m == Matrix::w2) plan.scale *= std::exp2(static_cast<double>(3 * e % 5 - 2));
    fill_tensor(part, plan);
    if (c.recipe == "activation") place_corners(c, m, s, e, part);
  }
  return true;
}

// Groups of 16 values as they look after quantisation, deviation 1 before it: codes, and the largest magnitude. Drawing
// one of them and 16 signs takes one random word.
struct Library {
  static constexpr std::size_t size = 512;
  std::array<std::uint64_t, size> codes{};
  std::array<float, size> most{};

  Library() {
    for (std::size_t b = 0; b < size; ++b) {
      std::array<float, nvfp4::group_size> values{};
      for (std::size_t k = 0; k < values.size(); ++k) {
        const PhiloxBlock block = philox({{static_cast<std::uint32_t>(b), static_cast<std::uint32_t>(k / 4), 0, 0}}, 4);
        values[k] = static_cast<float>(fill::base_of(block.word[k % 4])) / static_cast<float>(128 * base_deviation);
        most[b] = std::max(most[b], std::abs(values[k]));
      }
      for (std::size_t k = 0; k < values.size(); ++k)
        codes[b] |= static_cast<std::uint64_t>(nvfp4::encode_e2m1(values[k] / most[b] * nvfp4::most_e2m1)) << (4 * k);
    }
  }
  static std::size_t index(std::uint64_t bits) { return (bits & 7) | (bits >> 1 & 0x38) | (bits >> 2 & 0x1c0); }
  static std::uint64_t signs(std::uint64_t bits) { return bits & 0x8888888888888888ULL; }
};
const Library& library() {
  static const Library made;
  return made;
}

// Scale groups of one expert's matrix, row-major; the same word draws a group's codes and its scale.
std::uint64_t group_key(const Case& c, Matrix m, std::int64_t expert) {
  return derive_key(c.seed, m == Matrix::w13 ? "w13 groups" : "w2 groups", static_cast<std::uint64_t>(expert));
}

// The scale that all of an expert's matrix shares.
double outer_scale(const Case& c, Matrix m, std::int64_t expert) {
  if (c.recipe == "expert_scales") return std::exp2(static_cast<double>(3 * expert % 5 - 11));
  const std::uint64_t key = derive_key(c.seed, m == Matrix::w13 ? "w13 outer" : "w2 outer");
  const double exponent = 2 * unit(word(key, expert));
  // The probe's gates of 20 need a larger one, or their block scales saturate.
  return std::exp2((c.recipe == "activation" && m == Matrix::w13 ? -6 : -9) + exponent);
}

// Bounds of every version of the inputs: a replay's values must not saturate what was measured on the first call.
double x_bound(const Case& c) {
  if (c.recipe == "tag" || c.recipe == "constant") return 2.0;
  if (c.recipe == "spike") return 3.125;
  if (c.recipe == "activation") return 1.4;
  if (c.recipe == "ties") return 1.0;
  return 4.0;
}
constexpr double act_bound = 56.0;  // swigluoai: at most 7 * (7 + 1)

// Rounds every group to what four bits hold of it. A right kernel with four-bit activations has a cosine of 0.990 where
// both products' inputs lose a hundredth of their energy, too near the floor for few tokens and channels; so it has
// 0.995, and activations still test its rounding.
void round_groups(const TensorView& view, double inverse) {
  for (std::int64_t first = 0; first < view.size(); first += nvfp4::group_size) {
    double most = 0;
    for (std::int64_t i = first; i < first + nvfp4::group_size; ++i)
      most = std::max(most, std::abs(value_at(view.data, view.dtype, i)));
    const auto code = nvfp4::encode_e4m3(static_cast<float>(most * inverse / nvfp4::most_e2m1));
    const double scale = nvfp4::decode_e4m3(code) / inverse;
    for (std::int64_t i = first; i < first + nvfp4::group_size; ++i) {
      const double value = scale > 0 ? value_at(view.data, view.dtype, i) / scale : 0.0;
      store_value(view.data, view.dtype, i, nvfp4::decode_e2m1(nvfp4::encode_e2m1(static_cast<float>(value))) * scale);
    }
  }
}

double inverse_scale(const Case& c, Matrix m, std::int64_t expert) {
  const double bound = m == Matrix::w13 ? x_bound(c) : act_bound;
  const std::uint64_t key = derive_key(c.seed, m == Matrix::w13 ? "a1" : "a2");
  const double factor = (word(key, expert) & 1) != 0 ? 2.0 : 1.0;
  return nvfp4::most_e2m1 * nvfp4::most_e4m3 / (bound * factor);
}

bool fill_packed(const Case& c, Matrix m, const TensorView& view) {
  const Shape s = shape_of(c, m);
  const std::int64_t groups = s.cols / nvfp4::group_size;
  auto* out = static_cast<std::uint8_t*>(view.data);
  const Library& lib = library();
  for (std::int64_t e = 0; e < s.experts; ++e) {
    std::uint8_t* matrix = out + e * s.rows * s.cols / 2;
    const std::uint64_t key = group_key(c, m, e);
    for (std::int64_t g = 0; g < s.rows * groups; ++g) {
      const std::uint64_t bits = word(key, g);
      const std::uint64_t codes = lib.codes[Library::index(bits)] ^ Library::signs(bits);
      std::memcpy(matrix + g * nvfp4::group_bytes, &codes, sizeof codes);
    }
    if (c.recipe != "activation" || m != Matrix::w13) continue;
    for (std::int64_t r = 0; r < s.rows; ++r) {
      const std::int64_t channel = r % s.half;
      const Corner& corner = corners[corner_of(e, channel)];
      const bool minus = r < s.half ? corner.gate < 0 : corner.signed_up && up_sign(c, e, channel) < 0;
      const std::uint64_t codes = minus ? 15 : 7;
      std::memcpy(matrix + r * s.cols / 2, &codes, sizeof codes);
    }
  }
  return true;
}

// The scales of one matrix; what follows from the case is looked up once.
struct ScaleRule {
  Matrix matrix;
  bool probe;
  double deviation;
  std::int64_t half;
  std::array<double, 4> energies{};

  ScaleRule(const Case& c, Matrix m, std::int64_t gate_rows)
      : matrix(m), probe(c.recipe == "activation"), deviation(deviation_of(c, m)), half(gate_rows) {
    for (std::size_t i = 0; i < corners.size(); ++i) energies[i] = corner_energy(c, corners[i]);
  }
  // Of group g of row r, logical; `most` is the largest magnitude of the group before scaling.
  [[nodiscard]] std::uint8_t operator()(std::int64_t e, std::int64_t r, std::int64_t g, float most,
                                        double outer) const {
    double largest = most * deviation;
    if (probe && matrix == Matrix::w2) largest /= energies[corner_of(e, g * nvfp4::group_size)];
    if (probe && matrix == Matrix::w13 && g == 0) {
      const Corner& corner = corners[corner_of(e, r % half)];
      largest = std::abs(r < half ? corner.gate : corner.up);
    }
    return nvfp4::encode_e4m3(static_cast<float>(largest / nvfp4::most_e2m1 / outer));
  }
};

bool fill_scales(const Case& c, Matrix m, const TensorView& view) {
  const Shape s = shape_of(c, m);
  const nvfp4::ScaleGrid grid{s.rows, s.cols / nvfp4::group_size};
  auto* out = static_cast<std::uint8_t*>(view.data);
  const Library& lib = library();
  std::memset(out, 0, static_cast<std::size_t>(view.size()));
  // Large matrices look scales up by their draw: one table an expert, four where the probe's corners alternate. The
  // probe's first column of w13 is a matter of its row.
  const ScaleRule scale_of(c, m, s.half);
  const std::int64_t columns = scale_of.probe && m == Matrix::w2 ? 4 : 1;
  const std::int64_t first = scale_of.probe && m == Matrix::w13 ? 1 : 0;
  std::vector<std::uint8_t> table(static_cast<std::size_t>(columns) * Library::size);
  const bool looked_up = grid.rows * grid.cols > 2 * static_cast<std::int64_t>(table.size());
  for (std::int64_t e = 0; e < s.experts; ++e) {
    std::uint8_t* matrix = out + e * grid.bytes();
    const std::uint64_t key = group_key(c, m, e);
    const double outer = outer_scale(c, m, e);
    for (std::size_t i = 0; looked_up && i < table.size(); ++i)
      table[i] =
          scale_of(e, 0, first + static_cast<std::int64_t>(i / Library::size), lib.most[i % Library::size], outer);
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (std::int64_t g = 0; g < grid.cols; ++g) {
        const std::size_t draw = Library::index(word(key, r * grid.cols + g));
        matrix[grid.offset(r, g)] = looked_up && g >= first
                                        ? table[static_cast<std::size_t>(g % columns) * Library::size + draw]
                                        : scale_of(e, r, g, lib.most[draw], outer);
      }
  }
  return true;
}

}  // namespace

bool is_nvfp4(const Case& c) { return knob(c, "profile") == "m3_nvfp4"; }
bool is_m3(const Case& c) { return knob(c, "profile") != "generic"; }
bool has_shared(const Case& c) { return knob(c, "shared") == "yes"; }

const std::vector<RecipeSpec>& recipes() {
  // Small enough that fp32 products and sums stay within fp32's tolerance of 1e-5.
  static const std::vector<RecipeSpec> list = {
      {"normal", Recipe::normal},      {"tag", Recipe::tag, 0.125},       {"activation", Recipe::normal},
      {"expert_tags", Recipe::normal}, {"expert_scales", Recipe::normal}, {"spike", Recipe::spike, 0.03125},
      {"zero_row", Recipe::zero_row},  {"constant", Recipe::constant},    {"ties", Recipe::ties}};
  return list;
}

bool fill_x(const Case& c, std::uint64_t key, const TensorView& view) {
  if (c.recipe != "activation") {
    if (!is_nvfp4(c)) return false;
    // Another constant a version: the base values that a replay would else hold are beyond the activation scale.
    const double factor = c.recipe == "constant" ? 0.5 + static_cast<double>(key % 32) / 32 : 1.0;
    for (const RecipeSpec& r : recipes())
      if (r.name == c.recipe)
        fill_tensor(view, {.recipe = r.recipe, .dtype = view.dtype, .key = key, .scale = r.scale * factor});
    round_groups(view, nvfp4::most_e2m1 * nvfp4::most_e4m3 / x_bound(c));
    return true;
  }
  fill_tensor(view, {.dtype = view.dtype, .key = key, .scale = 0.35});
  const std::int64_t hidden = c["hidden"];
  for (std::int64_t m = 0; m < c["tokens"]; ++m)
    for (std::int64_t k = 0; k < std::min(probe_columns, hidden); ++k)
      store_value(view.data, view.dtype, m * hidden + k, k == 0 ? 1.0 : 0.0);
  return true;
}

bool fill_ids(const Case& c, std::uint64_t key, const TensorView& view) {
  const auto ids = cells<std::int32_t>(view);
  const auto places = static_cast<std::size_t>(c["top_k"]), routed = static_cast<std::size_t>(routed_places(c));
  const std::int64_t experts = routed_experts(c);
  const std::string& routing = knob(c, "routing");
  const std::vector<std::int32_t> list = choosable(c);
  // One expert takes every token: the first, the last or any.
  const std::uint64_t choice = word(key, -1);
  const std::int64_t any = static_cast<std::int64_t>(mix64(choice) % static_cast<std::uint64_t>(experts));
  const std::int64_t hot = choice % 3 == 0 ? 0 : choice % 3 == 1 ? experts - 1 : any;
  for (std::size_t m = 0; places > 0 && m < ids.size() / places; ++m) {
    const auto row = ids.subspan(m * places, places);
    if (routed < places) row.back() = static_cast<std::int32_t>(experts);
    const auto of_place = [&](std::int64_t expert, std::size_t k) {
      return static_cast<std::int32_t>((expert + static_cast<std::int64_t>(k)) % experts);
    };
    if (routing == "skew_one") {
      for (std::size_t k = 0; k < routed; ++k) row[k] = of_place(hot, is_nvfp4(c) ? k : 0);
    } else if (routing == "spread") {
      for (std::size_t k = 0; k < routed; ++k) row[k] = of_place(any, m * routed + k);
    } else {
      draw_places(row.first(routed), list, is_nvfp4(c), mix64(key + m));
    }
  }
  return true;
}

// Rows do not sum to one, and the weight of a single place is not 1: nothing may be normalised or left out.
bool fill_routing_weights(const Case& c, std::uint64_t key, const TensorView& view) {
  const auto weights = cells<float>(view);
  const auto places = static_cast<std::size_t>(c["top_k"]), routed = static_cast<std::size_t>(routed_places(c));
  for (std::size_t m = 0; places > 0 && m < weights.size() / places; ++m) {
    const auto row = weights.subspan(m * places, places);
    const std::uint64_t draws = mix64(key + m);
    const double factor = log_uniform(word(draws, -1), has_shared(c) ? 1.0 : 0.5, 3.0);
    double sum = 0;
    for (std::size_t k = 0; k < routed; ++k) {
      row[k] = static_cast<float>(0.25 + 0.5 * unit(word(draws, static_cast<std::int64_t>(k))));
      sum += row[k];
    }
    double share = 1.0;
    if (is_nvfp4(c)) share = (has_shared(c) ? 1.0 : static_cast<double>(places) / 2) / sum;
    for (std::size_t k = 0; k < routed; ++k) row[k] = static_cast<float>(row[k] * factor * share);
    if (routed < places) row.back() = 1.0F;
  }
  return true;
}

Fill dense_weights(Matrix m) {
  return [m](const Case& c, std::uint64_t, const TensorView& view) { return fill_dense(c, m, view); };
}
Fill packed_weights(Matrix m) {
  return [m](const Case& c, std::uint64_t, const TensorView& view) { return fill_packed(c, m, view); };
}
Fill block_scales(Matrix m) {
  return [m](const Case& c, std::uint64_t, const TensorView& view) { return fill_scales(c, m, view); };
}
Fill inverse_scales(Matrix m) {
  return [m](const Case& c, std::uint64_t, const TensorView& view) {
    std::int64_t e = 0;
    for (float& value : cells<float>(view)) value = static_cast<float>(inverse_scale(c, m, e++));
    return true;
  };
}
Fill alphas(Matrix m) {
  return [m](const Case& c, std::uint64_t, const TensorView& view) {
    std::int64_t e = 0;
    for (float& value : cells<float>(view)) {
      value = static_cast<float>(outer_scale(c, m, e) / inverse_scale(c, m, e));
      ++e;
    }
    return true;
  };
}

Excluded unchosen_experts(std::string_view weight) {
  return [name = std::string(weight)](const Case& c, const ReferenceCall& call) {
    std::vector<bool> chosen(static_cast<std::size_t>(c["experts"]));
    for (const std::int32_t id : cells<std::int32_t>(call.inputs.at("topk_ids")))
      chosen[static_cast<std::size_t>(id)] = true;
    const std::int64_t each = call.inputs.at(name).size() / c["experts"];
    std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
    for (std::size_t e = 0; e < chosen.size(); ++e)
      if (!chosen[e]) ranges.emplace_back(static_cast<std::int64_t>(e) * each, static_cast<std::int64_t>(e + 1) * each);
    return ranges;
  };
}

bool reorder_places(const Case& c, std::uint64_t key, std::map<std::string, TensorView>& inputs) {
  const auto ids = cells<std::int32_t>(inputs.at("topk_ids"));
  const auto weights = cells<float>(inputs.at("topk_weights"));
  const auto places = static_cast<std::size_t>(c["top_k"]), routed = static_cast<std::size_t>(routed_places(c));
  if (routed < 2 || ids.empty()) return false;
  for (std::size_t row = 0; row < ids.size(); row += places) {
    const std::size_t by = 1 + word(key, static_cast<std::int64_t>(row)) % (routed - 1);
    std::rotate(ids.begin() + static_cast<std::ptrdiff_t>(row), ids.begin() + static_cast<std::ptrdiff_t>(row + by),
                ids.begin() + static_cast<std::ptrdiff_t>(row + routed));
    std::rotate(weights.begin() + static_cast<std::ptrdiff_t>(row),
                weights.begin() + static_cast<std::ptrdiff_t>(row + by),
                weights.begin() + static_cast<std::ptrdiff_t>(row + routed));
  }
  return true;
}

bool double_routing_weights(const Case& c, std::uint64_t, std::map<std::string, TensorView>& inputs) {
  if (has_shared(c)) return false;  // its weight is 1 by contract
  const auto weights = cells<float>(inputs.at("topk_weights"));
  for (float& weight : weights) weight *= 2;
  return !weights.empty();
}

}  // namespace assay::moe
