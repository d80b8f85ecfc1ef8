// attention.sdpa: dense attention with grouped heads, the causal diagonal ending at the last key (spec/slots.md 5.3).
#include <algorithm>
#include <cmath>

#include "assay/slot.hpp"
#include "harness/tensor/philox.hpp"
#include "reference/attention_sdpa.hpp"

namespace assay {
namespace {

bool causal(const Case& c) { return c.scalars.at("causal") != 0.0; }

void set(const TensorView& view, std::int64_t row, std::int64_t head, std::int64_t column, double value) {
  store_value(view.data, view.dtype, (row * view.shape[1] + head) * view.shape[2] + column, value);
}
double get(const TensorView& view, std::int64_t row, std::int64_t head, std::int64_t column) {
  return value_at(view.data, view.dtype, (row * view.shape[1] + head) * view.shape[2] + column);
}

void base_values(std::uint64_t key, const TensorView& view) { fill_tensor(view, {.dtype = view.dtype, .key = key}); }

// Probe future_key: feature t mod D of row t is raised by 8; the first key that the row must not see has a logit of 22
// from that alone, and +-8 in its value, in a pattern of its own: alike values would hide one leaked key among those
// that are legal. Larger ones would cancel to what fp32 cannot resolve.
constexpr double kRaised = 8.0, kFutureLogit = 22.0, kLoud = 8.0;
double future_key(const Case& c) { return kFutureLogit / kRaised * std::sqrt(static_cast<double>(c["head_dim"])); }

void raise_rows(const Case& c, const TensorView& q) {
  for (std::int64_t t = 0; t < q.shape[0]; ++t)
    for (std::int64_t h = 0; h < q.shape[1]; ++h)
      set(q, t, h, t % c["head_dim"], get(q, t, h, t % c["head_dim"]) + kRaised);
}

// Calls visit(row, key) for every row whose first invisible key exists.
template <class Visit>
void for_future_keys(const Case& c, Visit&& visit) {
  const std::int64_t first = c["kv_len"] - c["q_len"] + 1;
  for (std::int64_t t = std::max<std::int64_t>(0, -first); t < c["q_len"] && t + first < c["kv_len"]; ++t)
    visit(t, t + first);
}

// Probe extreme: key t_i, with t_i = i * S / n, carries feature i alone, and each row looks for one such key that it
// sees: that logit is 120, every other below 100.
std::int64_t targets(const Case& c) { return std::min<std::int64_t>({c["head_dim"], c["kv_len"], 64}); }
double target_value(const Case& c) { return std::sqrt(120.0 * std::sqrt(static_cast<double>(c["head_dim"]))); }

void seek_targets(const Case& c, std::uint64_t key, const TensorView& q) {
  const std::int64_t n = targets(c), keys = c["kv_len"];
  for (std::int64_t t = 0; t < q.shape[0]; ++t) {
    const std::int64_t seen = causal(c) ? std::min(keys, t + keys - c["q_len"] + 1) : keys;
    std::int64_t within = 0;
    while (within < n && within * keys / n < seen) ++within;
    if (within == 0) continue;
    const auto pick = static_cast<std::int64_t>(mix64(key + static_cast<std::uint64_t>(t)) >> 1) % within;
    for (std::int64_t h = 0; h < q.shape[1]; ++h) set(q, t, h, pick, target_value(c));
  }
}

bool fill_q(const Case& c, std::uint64_t key, const TensorView& q) {
  if (c.recipe != "future_key" && c.recipe != "extreme") return false;
  base_values(key, q);
  if (c.recipe == "future_key") raise_rows(c, q);
  if (c.recipe == "extreme") seek_targets(c, key, q);
  return true;
}

bool fill_k(const Case& c, std::uint64_t key, const TensorView& k) {
  if (c.recipe != "future_key" && c.recipe != "extreme") return false;
  base_values(key, k);
  const std::int64_t d = c["head_dim"];
  for (std::int64_t j = 0; j < k.shape[1]; ++j) {
    if (c.recipe == "future_key")
      for_future_keys(c, [&](std::int64_t row, std::int64_t s) { set(k, s, j, row % d, future_key(c)); });
    for (std::int64_t i = 0; c.recipe == "extreme" && i < targets(c); ++i)
      set(k, i * c["kv_len"] / targets(c), j, i, target_value(c));
  }
  return true;
}

// Probes constant_v and one_hot_v: the output names its key/value head, or is 64 times the row's own weights.
bool fill_v(const Case& c, std::uint64_t key, const TensorView& v) {
  const bool future = c.recipe == "future_key", constant = c.recipe == "constant_v", one_hot = c.recipe == "one_hot_v";
  if (!future && !constant && !one_hot) return false;
  base_values(key, v);
  const std::int64_t d = c["head_dim"];
  if (future)
    for_future_keys(c, [&](std::int64_t, std::int64_t s) {
      const std::uint64_t pattern = mix64(static_cast<std::uint64_t>(s) + 1);
      for (std::int64_t j = 0; j < v.shape[1]; ++j)
        for (std::int64_t i = 0; i < d; ++i) set(v, s, j, i, (pattern >> (i % 64) & 1) != 0 ? kLoud : -kLoud);
    });
  for (std::int64_t s = 0; !future && s < v.shape[0]; ++s)
    for (std::int64_t j = 0; j < v.shape[1]; ++j)
      for (std::int64_t i = 0; i < d; ++i) {
        const double tag = static_cast<double>(j + 1) * (1.0 + static_cast<double>(key % 8) / 8.0);
        const bool hot = i == (s + static_cast<std::int64_t>(key % 1024)) % d;
        set(v, s, j, i, constant ? tag : hot ? 64.0 : 0.0);
      }
  return true;
}

void legal(Case& c) {
  if (c.knobs.at("keys") == "enough") c.dims.at("kv_len") = std::max(c["kv_len"], c["q_len"]);
}

bool double_values(const Case&, std::uint64_t, std::map<std::string, TensorView>& inputs) {
  const TensorView& v = inputs.at("v");
  for (std::int64_t i = 0; i < v.size(); ++i) store_value(v.data, v.dtype, i, 2.0 * value_at(v.data, v.dtype, i));
  return v.size() > 0;
}

bool permute_keys(const Case& c, std::uint64_t key, std::map<std::string, TensorView>& inputs) {
  const std::int64_t keys = c["kv_len"], cells = c["kv_heads"] * c["head_dim"];
  for (std::int64_t s = keys - 1; s > 0; --s) {
    const auto other = static_cast<std::int64_t>((key = mix64(key + 1)) >> 1) % (s + 1);
    if (other == s) continue;
    for (const char* name : {"k", "v"}) {
      const TensorView& t = inputs.at(name);
      const std::size_t bytes = static_cast<std::size_t>(cells) * size_of(t.dtype);
      auto* data = static_cast<std::byte*>(t.data);
      std::swap_ranges(data + static_cast<std::size_t>(s) * bytes, data + static_cast<std::size_t>(s + 1) * bytes,
                       data + static_cast<std::size_t>(other) * bytes);
    }
  }
  return keys > 1;
}

// A cell of an input counts as 32 multiply-adds: it is filled, laid out and copied for every call.
double work(const Case& c) {
  const auto queries = static_cast<double>(c["q_len"] * c["group"]), keys = static_cast<double>(c["kv_len"]);
  return static_cast<double>(c["kv_heads"] * c["head_dim"]) * (2.0 * queries * keys + 32.0 * (queries + 2.0 * keys));
}

using Dims = std::map<std::string, std::int64_t>;
Dims shape(std::int64_t q_len, std::int64_t kv_len, std::int64_t kv_heads, std::int64_t group, std::int64_t head_dim) {
  return {{"q_len", q_len}, {"kv_len", kv_len}, {"kv_heads", kv_heads}, {"group", group}, {"head_dim", head_dim}};
}

const std::map<std::string, std::string> fewer = {{"keys", "fewer"}};
const std::map<std::string, double> unmasked = {{"causal", 0}};

double inverse_root(const Case& c) { return 1.0 / std::sqrt(static_cast<double>(c["head_dim"])); }

const SlotRow sdpa = slot<&assay_entry::attention>(
    args(in("q", {"q_len", "q_heads", "head_dim"}).filled(fill_q),
         in("k", {"kv_len", "kv_heads", "head_dim"}).filled(fill_k),
         in("v", {"kv_len", "kv_heads", "head_dim"}).filled(fill_v), out("out", {"q_len", "q_heads", "head_dim"}),
         f64("sm_scale", {1.0, 0.37}).times(inverse_root), i32("causal", {1, 0})),
    {.id = "attention.sdpa",
     .kind = Kind::block,
     .summary = "attention: out (T,Hq,D) = softmax(sm_scale * q k^T) v, causal "
                "up to key t + S - T",
     .dims = {{"q_len", 0, 1024, {0, 1, 2, 3, 5, 7, 16, 17, 33, 63, 64, 65, 128, 129}, true},
              {"kv_len", 0, 4096, {0, 1, 2, 5, 7, 8, 15, 16, 17, 31, 33, 48, 63, 64, 65, 127, 128, 129, 257}, true},
              {"kv_heads", 1, 16, {1, 2, 3, 4, 7, 8, 16}},
              {"group", 1, 16, {1, 2, 3, 4, 7, 8, 16}},
              // From 8 on: with fewer columns a row that cancels to nothing is no measure of a right kernel.
              {"head_dim", 8, 256, {8, 9, 16, 24, 32, 40, 64, 65, 80, 96, 128, 192, 256}}},
     .knobs = {{"keys", {"enough", "fewer"}}},
     .legal = legal,
     .sizes = {{"q_heads", [](const Case& c) { return c["kv_heads"] * c["group"]; }}},
     .comparator = {.mode = Mode::matched_ratio, .floor = 0.99},
     .groups = {{"query token", 0}, {"head", 1}, {"row", std::nullopt}},
     .reference = reference::attention_sdpa,
     // Rounding a logit moves its weight by the logit's own size in units of the last place: 128 covers the probes'
     // 120.
     .accumulation = [](const Case& c) { return static_cast<double>(c["head_dim"] + c["kv_len"]) + 8.0 + 128.0; },
     .work = work,
     .recipes = {{"normal", Recipe::normal},
                 // Logits of unscaled tags are beyond what fp32 resolves.
                 {"tag", Recipe::tag, 0.125},
                 {"future_key", Recipe::normal},
                 {"extreme", Recipe::normal},
                 {"constant_v", Recipe::normal},
                 {"one_hot_v", Recipe::normal},
                 {"zero_row", Recipe::zero_row},
                 {"ties", Recipe::ties},
                 {"negative_zero", Recipe::negative_zero},
                 {"constant", Recipe::constant}},
     .relations = {{.form = RelationSpec::Form::rows,
                    .dim = "q_len",
                    .inputs = {"q"},
                    .outputs = {"out"},
                    .holds = [](const Case& c) { return !causal(c); }},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.linearity",
                    .name = "v doubled",
                    .change = double_values,
                    .factor = 2.0},
                   {.form = RelationSpec::Form::change,
                    .holds = [](const Case& c) { return !causal(c); },
                    .rule = "relation.index_order",
                    .name = "keys in another order",
                    .change = permute_keys}},
     .descriptor =
         [](const Case& c, DescriptorFacts& d) {
           d.numbers = {{"last_dim", c["head_dim"]},    {"head_dim", c["head_dim"]},
                        {"num_tokens", c["q_len"]},     {"q_len", c["q_len"]},
                        {"kv_len", c["kv_len"]},        {"num_q_heads", c["kv_heads"] * c["group"]},
                        {"num_kv_heads", c["kv_heads"]}};
           d.words = {{"phase", "prefill"}, {"layout", "row_major"}, {"quant", "dense"}};
         },
     .pins = {{shape(1, 1, 8, 1, 64)},
              {shape(16, 16, 2, 4, 128)},
              {shape(16, 48, 2, 4, 128)},
              {shape(33, 33, 4, 2, 64), Tier::quick, {}, "normal", unmasked},
              {shape(1, 257, 8, 1, 128)},
              {shape(7, 5, 2, 2, 64), Tier::quick, fewer},
              // FAULT-005 to FAULT-008: head ratios, cached prefixes, rows without a key, fewer keys than splits.
              {shape(2, 3, 4, 8, 32), Tier::quick, {}, "constant_v"},
              {shape(2, 3, 4, 7, 32), Tier::quick, {}, "constant_v"},
              {shape(2, 3, 3, 8, 32), Tier::quick, {}, "constant_v"},
              {shape(2, 3, 4, 2, 32), Tier::quick, {}, "constant_v"},
              {shape(3, 128, 2, 2, 128), Tier::quick, {}, "one_hot_v"},
              {shape(1, 17, 2, 2, 64), Tier::quick, {}, "one_hot_v"},
              {shape(16, 48, 2, 4, 64), Tier::quick, {}, "future_key"},
              {shape(40, 40, 2, 2, 64), Tier::quick, {}, "extreme"},
              {shape(5, 2, 2, 2, 64), Tier::quick, fewer},
              {shape(14, 0, 2, 2, 16), Tier::quick, fewer},
              {shape(33, 19, 1, 2, 32), Tier::quick, fewer},
              {shape(3, 9, 16, 8, 16)},
              {shape(16, 16, 2, 4, 128), Tier::quick, {}, "normal", {{"sm_scale", 0.37}}},
              {shape(64, 64, 16, 1, 128), Tier::full},
              {shape(128, 128, 1, 8, 128), Tier::full},
              {shape(64, 64, 16, 1, 128), Tier::full, {}, "future_key"},
              {shape(64, 64, 16, 1, 128), Tier::full, {}, "extreme"},
              {shape(128, 128, 1, 8, 128), Tier::full, {}, "extreme"},
              {shape(256, 4096, 1, 8, 128), Tier::gate}}});

}  // namespace
}  // namespace assay
