// attention.decode: one query a request over harness-selected blocks of a paged cache (spec/slots.md 5.4).
#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "assay/slot.hpp"
#include "harness/tensor/philox.hpp"
#include "reference/attention_decode.hpp"

namespace assay {
namespace {

using Ints = std::vector<std::int32_t>;

std::int64_t below(std::uint64_t key, std::int64_t n) {
  return static_cast<std::int64_t>(mix64(key) >> 1) % std::max<std::int64_t>(1, n);
}

// Shuffles all, or enough of the front that it is a random choice of `front` items.
template <class T>
void shuffle(std::span<T> items, std::uint64_t key, std::size_t front = ~std::size_t{0}) {
  for (std::size_t i = 0; i + 1 < items.size() && i < front; ++i)
    std::swap(items[i],
              items[i + static_cast<std::size_t>(below(key + i, static_cast<std::int64_t>(items.size() - i)))]);
}

bool is_private(const Case& c) { return c.knobs.at("table").rfind("private", 0) == 0; }
bool is_paged(const Case& c) { return c.knobs.at("table").find("token") == std::string::npos; }
// These write chosen values at positions: each row of the table then has a bank of its own.
bool writes_positions(const Case& c) { return c.recipe == "needle" || c.recipe == "stale" || c.recipe == "extreme"; }

std::int64_t blocks_of(const Case& c) { return (c["capacity"] + c["block_size"] - 1) / c["block_size"]; }
std::int64_t bank_slots(const Case& c) { return blocks_of(c) * c["block_size"]; }
std::int64_t slots_of(const Case& c) { return (is_private(c) ? c["pool"] : 2) * bank_slots(c); }

// Row r of the table lies in bank r mod 2, or in a bank of its own, its pages or tokens in random order.
void make_table(const Case& c, std::uint64_t key, std::int32_t* table) {
  const std::int64_t unit = is_paged(c) ? c["block_size"] : 1, capacity = c["capacity"];
  Ints order(static_cast<std::size_t>(bank_slots(c) / unit));
  for (std::int64_t r = 0; r < c["pool"]; ++r) {
    const std::int64_t bank = (is_private(c) ? r : r % 2) * bank_slots(c);
    std::iota(order.begin(), order.end(), 0);
    shuffle(std::span(order), derive_key(key, "pages", static_cast<std::uint64_t>(r)));
    for (std::int64_t p = 0; p < capacity; ++p)
      *table++ = static_cast<std::int32_t>(bank + order[static_cast<std::size_t>(p / unit)] * unit + p % unit);
  }
}

void make_lengths(const Case& c, std::uint64_t key, std::int32_t* lengths) {
  const std::int64_t capacity = c["capacity"], block = c["block_size"];
  const std::int64_t probes[] = {0, 1, block - 1, block, block + 1, capacity};
  const std::int64_t least = std::min(capacity, std::max(block + 1, capacity - block));
  for (std::int64_t b = 0; b < c["batch"]; ++b) {
    const std::uint64_t own = key + static_cast<std::uint64_t>(b);
    const bool probe = c.knobs.at("lengths") == "probe";
    lengths[b] = static_cast<std::int32_t>(probe ? std::min(capacity, probes[(b + below(key, 6)) % 6])
                                                 : least + below(own, capacity - least + 1));
  }
}

void make_rows(const Case& c, std::uint64_t key, std::int32_t* rows) {
  Ints all(static_cast<std::size_t>(c["pool"]));
  std::iota(all.begin(), all.end(), 0);
  shuffle(std::span(all), key);
  std::copy_n(all.begin(), c["batch"], rows);
}

// Random existing blocks, as many as there are or fit, then -1. Existing: of the case's base lengths.
void make_selection(const Case& c, std::uint64_t key, std::int32_t* selected) {
  const std::int64_t batch = c["batch"], width = c["top_k"], all = blocks_of(c);
  const std::string& mode = c.knobs.at("selection");
  Ints lengths(static_cast<std::size_t>(batch)), blocks(static_cast<std::size_t>(all));
  make_lengths(c, base_key(c, "seq_lens"), lengths.data());
  for (std::int64_t j = 0; j < c["kv_heads"]; ++j)
    for (std::int64_t b = 0; b < batch; ++b, selected += width) {
      const std::uint64_t own = derive_key(key, "blocks", static_cast<std::uint64_t>(j), static_cast<std::uint64_t>(b));
      const std::int64_t existing = (lengths[static_cast<std::size_t>(b)] + c["block_size"] - 1) / c["block_size"];
      std::int64_t count = std::min(width, existing);
      std::iota(blocks.begin(), blocks.end(), 0);
      shuffle(std::span(blocks).first(static_cast<std::size_t>(existing)), own, static_cast<std::size_t>(count));
      if (mode == "interleaved" && count > 0) count = 1 + below(own + 1, count);
      if (mode == "dead_row" && (b == below(key, batch) || below(own + 2, 4) == 0)) count = 0;
      std::fill_n(std::copy_n(blocks.begin(), count, selected), width - count, -1);
      if (mode == "beyond" && existing < all)
        selected[std::min(count, width - 1)] = static_cast<std::int32_t>(existing + below(own + 3, all - existing));
      if (mode == "interleaved" || mode == "beyond")
        shuffle(std::span(selected, static_cast<std::size_t>(width)), own + 4);
    }
}

template <void (*Make)(const Case&, std::uint64_t, std::int32_t*)>
bool filled(const Case& c, std::uint64_t key, const TensorView& view) {
  Make(c, key, static_cast<std::int32_t*>(view.data));
  return true;
}

struct Metadata {
  const std::int32_t *table, *lengths, *rows, *selected;
};

// Calls visit(head, request, place in the selection, slot) for every cache slot that the metadata include.
template <class Visit>
void for_included(const Case& c, const Metadata& m, Visit&& visit) {
  const std::int64_t batch = c["batch"], width = c["top_k"], block = c["block_size"], capacity = c["capacity"];
  for (std::int64_t j = 0; j < c["kv_heads"]; ++j)
    for (std::int64_t b = 0; b < batch; ++b)
      for (std::int64_t i = 0; i < width; ++i) {
        const std::int64_t id = m.selected[(j * batch + b) * width + i];
        const std::int64_t end = std::min<std::int64_t>(m.lengths[b], (id + 1) * block);
        for (std::int64_t p = std::max<std::int64_t>(0, id) * block; p < end; ++p)
          visit(j, b, i, std::int64_t{m.table[m.rows[b] * capacity + p]});
      }
}

// One bit for each (slot, head): whether any request includes it.
std::vector<bool> included(const Case& c, const Metadata& m) {
  std::vector<bool> result(static_cast<std::size_t>(slots_of(c) * c["kv_heads"]));
  for_included(c, m, [&](std::int64_t j, std::int64_t, std::int64_t, std::int64_t slot) {
    result[static_cast<std::size_t>(slot * c["kv_heads"] + j)] = true;
  });
  return result;
}

// The case's base metadata: what a cache's chosen values are chosen by.
struct BaseMetadata {
  Ints table, lengths, rows, selected;

  explicit BaseMetadata(const Case& c)
      : table(static_cast<std::size_t>(c["pool"] * c["capacity"])),
        lengths(static_cast<std::size_t>(c["batch"])),
        rows(lengths.size()),
        selected(static_cast<std::size_t>(c["kv_heads"] * c["batch"] * c["top_k"])) {
    make_table(c, base_key(c, "req_to_token"), table.data());
    make_lengths(c, base_key(c, "seq_lens"), lengths.data());
    make_rows(c, base_key(c, "req_pool_indices"), rows.data());
    make_selection(c, base_key(c, "topk_idx"), selected.data());
  }
  [[nodiscard]] Metadata view() const { return {table.data(), lengths.data(), rows.data(), selected.data()}; }
};

// One slot of a (slot, head, column) cache, or of q (request, head, column).
struct Cells {
  const TensorView& view;

  void set(std::int64_t row, std::int64_t head, std::int64_t column, double value) const {
    store_value(view.data, view.dtype, (row * view.shape[1] + head) * view.shape[2] + column, value);
  }
  void set_all(std::int64_t row, std::int64_t head, double value) const {
    for (std::int64_t d = 0; d < view.shape[2]; ++d) set(row, head, d, value);
  }
  void scale(std::int64_t row, std::int64_t head, double factor) const {
    for (std::int64_t d = 0, at = (row * view.shape[1] + head) * view.shape[2]; d < view.shape[2]; ++d)
      store_value(view.data, view.dtype, at + d, factor * value_at(view.data, view.dtype, at + d));
  }
};

void base_values(std::uint64_t key, const TensorView& view) { fill_tensor(view, {.dtype = view.dtype, .key = key}); }

// The direction that the probes of a key/value head look along: one feature.
std::int64_t feature(const Case& c, std::int64_t head) {
  return below(derive_key(c.seed, "direction", static_cast<std::uint64_t>(head)), c["head_dim"]);
}
// A needle's logit is 8 against a query of 4; the extreme key's is 120.
constexpr double kAlong = 4.0, kNeedleValue = 4.0, kStaleKey = 1.3, kStaleValue = 8.0;
double needle_key(const Case& c) { return 8.0 / kAlong * std::sqrt(static_cast<double>(c["head_dim"])); }
double extreme_value(const Case& c) { return std::sqrt(120.0 * std::sqrt(static_cast<double>(c["head_dim"]))); }

bool fill_q(const Case& c, std::uint64_t key, const TensorView& q) {
  if (!writes_positions(c)) return false;
  base_values(key, q);
  for (std::int64_t b = 0; b < q.shape[0]; ++b)
    for (std::int64_t h = 0; h < q.shape[1]; ++h)
      Cells{q}.set(b, h, feature(c, h / c["group"]), c.recipe == "extreme" ? extreme_value(c) : kAlong);
  return true;
}

// Calls visit(head, slot) for one included slot of every selected block, or of every request and head.
template <class Visit>
void for_chosen(const Case& c, const Metadata& m, bool per_block, Visit&& visit) {
  std::vector<std::int64_t> run;
  std::int64_t of[3] = {-1, -1, -1};
  const auto choose = [&] {
    if (!run.empty())
      visit(of[0], run[static_cast<std::size_t>(below(c.seed + static_cast<std::uint64_t>(run.front() * 64 + of[0]),
                                                      static_cast<std::int64_t>(run.size())))]);
    run.clear();
  };
  for_included(c, m, [&](std::int64_t j, std::int64_t b, std::int64_t i, std::int64_t slot) {
    if (j != of[0] || b != of[1] || (per_block && i != of[2])) choose();
    of[0] = j;
    of[1] = b;
    of[2] = i;
    run.push_back(slot);
  });
  choose();
}

// Calls visit(head, slot) for what the base requests' rows of the table address and nobody includes.
template <class Visit>
void for_stale(const Case& c, const Metadata& m, Visit&& visit) {
  const std::vector<bool> live = included(c, m);
  for (std::int64_t b = 0; b < c["batch"]; ++b)
    for (std::int64_t p = 0; p < c["capacity"]; ++p) {
      const std::int64_t slot = m.table[m.rows[b] * c["capacity"] + p];
      for (std::int64_t j = 0; j < c["kv_heads"]; ++j)
        if (!live[static_cast<std::size_t>(slot * c["kv_heads"] + j)]) visit(j, slot);
    }
}

bool fill_k(const Case& c, std::uint64_t key, const TensorView& k) {
  if (!writes_positions(c)) return false;
  base_values(key, k);
  const Cells cells{k};
  const BaseMetadata base(c);
  if (c.recipe == "extreme") {
    for_chosen(c, base.view(), false,
               [&](std::int64_t j, std::int64_t slot) { cells.set(slot, j, feature(c, j), extreme_value(c)); });
    return true;
  }
  const auto along = [&](double height) {
    return [&, height](std::int64_t j, std::int64_t slot) {
      cells.set_all(slot, j, 0.0);
      cells.set(slot, j, feature(c, j), height);
    };
  };
  for (std::int64_t j = 0; j < c["kv_heads"]; ++j)
    for (std::int64_t slot = 0, f = feature(c, j); slot < k.shape[0]; ++slot) cells.set(slot, j, f, 0.0);
  for_chosen(c, base.view(), true, along(needle_key(c)));
  if (c.recipe == "stale") for_stale(c, base.view(), along(kStaleKey * needle_key(c)));
  return true;
}

// Probe value_tags: the value of a page is one constant that names page and head.
bool fill_v(const Case& c, std::uint64_t key, const TensorView& v) {
  const bool tags = c.recipe == "value_tags";
  if (!tags && c.recipe != "needle" && c.recipe != "stale") return false;
  base_values(key, v);
  const Cells cells{v};
  for (std::int64_t slot = 0; tags && slot < v.shape[0]; ++slot)
    for (std::int64_t j = 0; j < c["kv_heads"]; ++j) {
      const auto page = static_cast<std::uint64_t>(slot / c["block_size"]);
      cells.set_all(
          slot, j,
          0.125 * static_cast<double>(1 + below(derive_key(key, "tag", page, static_cast<std::uint64_t>(j)), 126)));
    }
  if (tags) return true;
  const BaseMetadata base(c);
  for_chosen(c, base.view(), true, [&](std::int64_t j, std::int64_t slot) { cells.scale(slot, j, kNeedleValue); });
  if (c.recipe == "stale")
    for_stale(c, base.view(), [&](std::int64_t j, std::int64_t slot) { cells.set_all(slot, j, kStaleValue); });
  return true;
}

std::vector<std::pair<std::int64_t, std::int64_t>> excluded_cells(const Case& c, const ReferenceCall& call) {
  const auto ints = [&](const char* name) { return static_cast<const std::int32_t*>(call.inputs.at(name).data); };
  const std::vector<bool> live =
      included(c, {ints("req_to_token"), ints("seq_lens"), ints("req_pool_indices"), ints("topk_idx")});
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const std::int64_t d = c["head_dim"], rows = static_cast<std::int64_t>(live.size());
  for (std::int64_t row = 0; row < rows; ++row) {
    if (live[static_cast<std::size_t>(row)]) continue;
    if (!ranges.empty() && ranges.back().second == row * d)
      ranges.back().second += d;
    else
      ranges.emplace_back(row * d, (row + 1) * d);
  }
  return ranges;
}

void legal(Case& c) {
  c.dims.at("pool") = std::max({c["pool"], c["batch"], std::int64_t{1}});
  std::string& table = c.knobs.at("table");
  if (writes_positions(c) && !is_private(c)) table = table == "token" ? "private_token" : "private";
}

using Inputs = std::map<std::string, TensorView>;

bool double_values(const Case&, std::uint64_t, Inputs& inputs) {
  const TensorView& v = inputs.at("v_cache");
  for (std::int64_t i = 0; i < v.size(); ++i) store_value(v.data, v.dtype, i, 2.0 * value_at(v.data, v.dtype, i));
  return true;
}

// Pages, or slots where the table is by tokens, change places; the table follows.
bool move_pages(const Case& c, std::uint64_t key, Inputs& inputs) {
  const std::int64_t unit = is_paged(c) ? c["block_size"] : 1;
  Ints to(static_cast<std::size_t>(slots_of(c) / unit));
  if (to.size() < 2) return false;
  std::iota(to.begin(), to.end(), 0);
  shuffle(std::span(to), key);
  for (const char* name : {"k_cache", "v_cache"}) {
    const TensorView& cache = inputs.at(name);
    const std::size_t bytes = static_cast<std::size_t>(unit * c["kv_heads"] * c["head_dim"]) * size_of(cache.dtype);
    auto* cells = static_cast<std::byte*>(cache.data);
    const std::vector<std::byte> before(cells, cells + to.size() * bytes);
    for (std::size_t page = 0; page < to.size(); ++page)
      std::copy_n(before.begin() + static_cast<std::ptrdiff_t>(page * bytes), bytes,
                  cells + static_cast<std::size_t>(to[page]) * bytes);
  }
  const TensorView& table = inputs.at("req_to_token");
  for (std::int64_t i = 0; i < table.size(); ++i) {
    auto& slot = static_cast<std::int32_t*>(table.data)[i];
    slot = static_cast<std::int32_t>(to[static_cast<std::size_t>(slot / unit)] * unit + slot % unit);
  }
  return true;
}

bool reorder_selection(const Case& c, std::uint64_t key, Inputs& inputs) {
  auto* selected = static_cast<std::int32_t*>(inputs.at("topk_idx").data);
  const auto width = static_cast<std::size_t>(c["top_k"]);
  const std::int64_t lists = c["kv_heads"] * c["batch"];
  for (std::int64_t i = 0; i < lists; ++i)
    shuffle(std::span(selected + static_cast<std::size_t>(i) * width, width),
            key + static_cast<std::uint64_t>(i) * 977);
  return width > 1 && lists > 0;
}

// A cell of an input counts as 32 multiply-adds: it is filled, laid out and copied for every call.
double work(const Case& c) {
  const auto positions = static_cast<double>(std::min(c["top_k"] * c["block_size"], bank_slots(c)));
  const auto queries = static_cast<double>(c["batch"] * c["group"]), slots = static_cast<double>(slots_of(c));
  return static_cast<double>(c["kv_heads"] * c["head_dim"]) *
             (2.0 * queries * positions + 32.0 * (queries + 2.0 * slots)) +
         32.0 * static_cast<double>(c["pool"] * c["capacity"]);
}

void describe_case(const Case& c, DescriptorFacts& d) {
  const std::int64_t q_heads = c["kv_heads"] * c["group"];
  d.numbers = {{"batch_size", c["batch"]},
               {"num_tokens", c["batch"]},
               {"q_len", 1},
               {"kv_len", c["capacity"]},
               {"top_k", c["top_k"]},
               {"block_size", c["block_size"]},
               {"page_size", is_paged(c) ? c["block_size"] : 1},
               {"num_q_heads", q_heads},
               {"num_kv_heads", c["kv_heads"]},
               {"head_dim", c["head_dim"]},
               {"last_dim", c["head_dim"]}};
  d.words = {{"layout", "paged_nhd"}, {"phase", "decode"}, {"quant", "dense"}};
  if (q_heads == 16 && c["kv_heads"] == 1 && c["head_dim"] == 128 && c["block_size"] == 128 && c["top_k"] == 16)
    d.words["model"] = "MiniMax-M3";
}

struct Shape {
  std::int64_t batch, capacity, kv_heads, group, head_dim, block_size, top_k;
};
PinSpec pin(Shape s, Tier tier, std::map<std::string, std::string> knobs = {}, std::string recipe = "normal") {
  return {{{"batch", s.batch},
           {"capacity", s.capacity},
           {"kv_heads", s.kv_heads},
           {"group", s.group},
           {"head_dim", s.head_dim},
           {"block_size", s.block_size},
           {"top_k", s.top_k},
           {"pool", s.batch + 2}},
          tier,
          std::move(knobs),
          std::move(recipe)};
}

std::vector<PinSpec> pins() {
  constexpr Shape small_gqa = {4, 512, 2, 4, 128, 64, 4}, small_mha = {3, 320, 8, 1, 64, 16, 6};
  constexpr Shape m3 = {4, 4096, 1, 16, 128, 128, 16};
  return {
      pin({4, 128, 2, 4, 64, 32, 3}, Tier::quick),
      pin({3, 64, 8, 1, 32, 8, 6}, Tier::quick),
      pin({2, 96, 1, 4, 64, 32, 8}, Tier::quick),
      pin({2, 100, 2, 4, 32, 64, 1}, Tier::quick),
      pin({4, 64, 2, 4, 64, 16, 3}, Tier::quick, {}, "needle"),
      pin({4, 64, 2, 4, 64, 16, 3}, Tier::quick, {{"lengths", "probe"}}, "stale"),
      pin({3, 80, 4, 2, 32, 16, 3}, Tier::quick, {}, "extreme"),
      pin({6, 96, 4, 2, 32, 16, 5}, Tier::quick, {{"lengths", "probe"}, {"selection", "interleaved"}}),
      pin({6, 96, 4, 2, 32, 16, 3}, Tier::quick, {{"selection", "dead_row"}}),
      pin({5, 160, 2, 2, 32, 16, 6}, Tier::quick, {{"lengths", "probe"}, {"selection", "beyond"}}),
      pin({4, 96, 2, 2, 32, 16, 4}, Tier::quick, {{"table", "token"}}),
      // FAULT-005, FAULT-011, FAULT-013: head ratios, lists of their own, as many requests as heads.
      pin({4, 128, 4, 8, 16, 8, 2}, Tier::quick, {}, "value_tags"),
      pin({5, 128, 4, 7, 16, 8, 2}, Tier::quick, {}, "value_tags"),
      // Many short requests: a hundredth of the cells is several rows.
      pin({24, 40, 2, 4, 16, 8, 3}, Tier::quick, {{"lengths", "probe"}}),
      pin(small_gqa, Tier::full),
      pin(small_mha, Tier::full),
      pin({1, 9344, 1, 16, 128, 128, 16}, Tier::full),
      pin({32, 9344, 1, 16, 128, 128, 16}, Tier::full),
      pin({5, 1000, 2, 8, 128, 128, 1}, Tier::full),
      pin(small_gqa, Tier::full, {}, "needle"),
      pin(small_gqa, Tier::full, {{"lengths", "probe"}}, "stale"),
      pin(small_gqa, Tier::full, {{"table", "private_token"}}, "extreme"),
      pin(small_mha, Tier::full, {{"lengths", "probe"}}, "needle"),
      pin(small_mha, Tier::full, {{"selection", "interleaved"}, {"table", "private_token"}}, "stale"),
      pin(m3, Tier::full, {}, "needle"),
      pin(m3, Tier::full, {{"lengths", "probe"}}, "stale"),
      pin({128, 9344, 1, 16, 128, 128, 16}, Tier::gate),
  };
}

double inverse_root(const Case& c) { return 1.0 / std::sqrt(static_cast<double>(c["head_dim"])); }
double block_tokens(const Case& c) { return static_cast<double>(c["block_size"]); }

const SlotRow decode = slot<&assay_entry::attention_decode>(
    args(in("q", {"batch", "q_heads", "head_dim"}).filled(fill_q),
         in("k_cache", {"slots", "kv_heads", "head_dim"}).filled(fill_k).excludes(excluded_cells),
         in("v_cache", {"slots", "kv_heads", "head_dim"}).filled(fill_v).excludes(excluded_cells),
         in("req_to_token", {"pool", "capacity"}).typed(DType::i32).filled(filled<make_table>),
         in("seq_lens", {"batch"}).typed(DType::i32).filled(filled<make_lengths>),
         in("req_pool_indices", {"batch"}).typed(DType::i32).filled(filled<make_rows>),
         in("topk_idx", {"kv_heads", "batch", "top_k"}).typed(DType::i32).filled(filled<make_selection>),
         out("out", {"batch", "q_heads", "head_dim"}), f64("sm_scale", {1.0, 0.37}).times(inverse_root),
         i64("block_size", {1}).times(block_tokens)),
    {.id = "attention.decode",
     .kind = Kind::block,
     .summary = "paged sparse attention: out (B,Hq,D), one query a request over its selected blocks below its length",
     .dims = {{"batch", 0, 128, {0, 1, 2, 3, 4, 5, 17, 32, 128}, true},
              {"capacity", 1, 9344, {1, 2, 15, 16, 17, 33, 64, 96, 127, 128, 129, 320, 512, 1000, 9344}, true},
              {"kv_heads", 1, 8, {1, 2, 4, 8}},
              {"group", 1, 16, {1, 2, 4, 7, 8, 16}},
              // From 8 on: with fewer columns a row that cancels to nothing is no measure of a right kernel.
              {"head_dim", 8, 256, {8, 9, 16, 24, 32, 40, 64, 65, 80, 96, 128, 192, 256}},
              {"block_size", 1, 128, {1, 2, 3, 8, 16, 32, 64, 128}},
              {"top_k", 1, 32, {1, 2, 4, 5, 8, 16, 17, 32}},
              {"pool", 1, 256, {1, 2, 3, 7, 34, 130}}},
     .knobs = {{"lengths", {"near_full", "probe"}},
               {"table", {"page", "token", "private", "private_token"}},
               {"selection", {"full", "interleaved", "dead_row", "beyond"}}},
     .legal = legal,
     .sizes = {{"q_heads", [](const Case& c) { return c["kv_heads"] * c["group"]; }}, {"slots", slots_of}},
     .comparator = {.mode = Mode::matched_ratio, .floor = 0.99},
     .groups = {{"request", 0}, {"head", 1}, {"row", std::nullopt}},
     .reference = reference::attention_decode,
     // Rounding a logit moves its weight by the logit's own size in units of the last place: 128 covers the probes'
     // 120.
     .accumulation =
         [](const Case& c) {
           return static_cast<double>(c["head_dim"] + std::min(c["capacity"], c["top_k"] * c["block_size"])) + 8.0 +
                  128.0;
         },
     .work = work,
     .recipes = {{"normal", Recipe::normal},
                 // Logits of unscaled tags are beyond what fp32 resolves.
                 {"tag", Recipe::tag, 0.125},
                 {"needle", Recipe::normal},
                 {"stale", Recipe::normal},
                 {"extreme", Recipe::normal},
                 {"value_tags", Recipe::normal},
                 {"zero_row", Recipe::zero_row},
                 {"ties", Recipe::ties},
                 {"negative_zero", Recipe::negative_zero},
                 {"constant", Recipe::constant}},
     .relations = {{.form = RelationSpec::Form::rows,
                    .dim = "batch",
                    .inputs = {"q", "seq_lens", "req_pool_indices", "topk_idx"},
                    .outputs = {"out"}},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.page_permutation",
                    .name = "pages moved",
                    .change = move_pages,
                    .exact = true},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.index_order",
                    .name = "selected blocks in another order",
                    .change = reorder_selection},
                   {.form = RelationSpec::Form::change,
                    .rule = "relation.linearity",
                    .name = "v_cache doubled",
                    .change = double_values,
                    .factor = 2.0}},
     .descriptor = describe_case,
     .pins = pins()});

}  // namespace
}  // namespace assay
