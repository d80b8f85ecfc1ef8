// attention.msa_prefill_block_score: the best visible blocks of every head and query block, one call for a ragged,
// paged batch (spec/slots.md 5.6).
#include "reference/msa_prefill_block_score.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/slots/msa_values.hpp"
#include "conformance/slots/prefill_shape.hpp"

namespace assay {
namespace {

using probes::pick;
using probes::ProbeRows;
using probes::Sign;

std::int32_t* integers(const TensorView& view) { return static_cast<std::int32_t*>(view.data); }
bool is_probe(const Case& c) { return c.recipe != "normal" && c.recipe != "tag"; }

// With "free" every request has more visible blocks than places, and a place that no policy forces.
void make_legal(Case& c) {
  const bool free = c.knobs["selection"] == "free";
  std::int64_t& topk = c.dims["topk"];
  if (free) topk = std::min(topk, std::max<std::int64_t>(1, c["prefix_blocks"]));
  const std::int64_t forced = free ? topk - 1 : topk;
  if (c.recipe == "intra_future") c.dims["local"] = 0;  // a forced last block would hide the leak
  c.dims["local"] = std::min(c["local"], forced);
  c.dims["init"] = std::min(c["init"], forced - c["local"]);
  // Chosen keys of one request would be another's plain ones.
  if (is_probe(c) && c.knobs["table"] == "shared") c.knobs["table"] = "page";
}

// A random order of the pages of each row's bank; "token" permutes single slots, "shared" gives all rows one bank.
std::vector<std::int32_t> page_table(const Case& c, const PrefillShape& s, std::uint64_t key) {
  const std::string& mode = c.knobs.at("table");
  const std::int64_t unit = mode == "token" ? 1 : s.block_k, pages = s.capacity / unit;
  std::vector<std::int32_t> table(static_cast<std::size_t>(s.slots()));
  std::vector<std::int64_t> order(static_cast<std::size_t>(pages));
  auto cell = table.begin();
  for (std::int64_t row = 0; row <= s.batch; ++row) {
    for (std::int64_t i = 0; i < pages; ++i) order[static_cast<std::size_t>(i)] = i;
    std::uint64_t word = derive_key(key, "pages", static_cast<std::uint64_t>(row));
    for (std::size_t i = order.size(); i > 1; --i)
      std::swap(order[i - 1], order[(word = mix64(word + 0x9E3779B97F4A7C15ULL)) % i]);
    const std::int64_t bank = mode == "shared" ? 0 : row * s.capacity;
    for (const std::int64_t page : order)
      for (std::int64_t i = 0; i < unit; ++i) *cell++ = static_cast<std::int32_t>(bank + page * unit + i);
  }
  return table;
}

bool fill_table(const Case& c, std::uint64_t key, const TensorView& view) {
  const std::vector<std::int32_t> table = page_table(c, prefill_shape(c), key);
  std::copy(table.begin(), table.end(), integers(view));
  return true;
}

Fill metadata(std::vector<std::int64_t> (*values)(const PrefillShape&)) {
  return [values](const Case& c, std::uint64_t, const TensorView& view) {
    const std::vector<std::int64_t> list = values(prefill_shape(c));
    std::copy(list.begin(), list.end(), integers(view));
    return true;
  };
}

std::vector<std::int64_t> table_rows(const PrefillShape& s) {
  std::vector<std::int64_t> rows;
  for (std::int64_t b = 0; b < s.batch; ++b) rows.push_back(s.table_row(b));
  return rows;
}
std::vector<std::int64_t> key_counts(const PrefillShape& s) {
  std::vector<std::int64_t> lengths(s.prefix);
  for (std::size_t b = 0; b < lengths.size(); ++b) lengths[b] += s.rows[b];
  return lengths;
}

void fill_plain(const TensorView& view, std::uint64_t key) {
  fill_tensor(view, {.recipe = Recipe::normal, .dtype = view.dtype, .key = key});
}
void fill_zeros(const TensorView& view) {
  std::memset(view.data, 0, static_cast<std::size_t>(view.size()) * size_of(view.dtype));
}

constexpr int kDigits = 4;  // that near_ties spells a rank in

// The feature that names an anchor among the anchors of the call.
std::int64_t feature_of(const Case& c, const PrefillShape& s, std::int64_t b, std::int64_t j) {
  return (s.first_block[static_cast<std::size_t>(b)] + j) % c["head_dim"];
}

template <class Visit>
void for_anchors(const PrefillShape& s, Visit visit) {
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t j = 0; j < s.query_blocks(b); ++j) visit(b, j);
}

bool fill_q(const Case& c, std::uint64_t key, const TensorView& view) {
  const std::int64_t heads = c["heads"], width = c["head_dim"];
  if (c.recipe == "extreme") {
    probes::fill_one_sided(view, key, Sign::minus);
    return true;
  }
  if (!is_probe(c) || c.recipe == "ties") return false;
  fill_plain(view, key);
  const ProbeRows q(view);
  if (c.recipe == "zero_query") {
    if (key == base_key(c, "q")) fill_zeros(view);
  } else if (c.recipe == "clustered") {
    for (std::int64_t row = 0; row < q.count; ++row) q.set(row, 0, 4.0);
  } else if (c.recipe == "per_head") {
    for (std::int64_t row = 0; row < q.count; ++row)
      for (std::int64_t f = 0; f < std::min(heads, width); ++f) q.set(row, f, f == row % heads % width ? 4.0 : 0.0);
  } else if (c.recipe == "near_ties") {
    // A replay's queries are halved: other bytes, the same kind of scores.
    const double unit = key == base_key(c, "q") ? 1.0 : 0.5;
    for (std::int64_t row = 0; row < q.count; ++row) {
      q.zero(row);
      q.set(row, 0, 1024.0 * unit);
      for (int f = 1; f < std::min<std::int64_t>(kDigits + 1, width); ++f) q.set(row, f, std::ldexp(unit, 3 - 4 * f));
    }
  } else {
    const PrefillShape s = prefill_shape(c);
    for_anchors(s, [&](std::int64_t b, std::int64_t j) {
      for (std::int64_t h = 0; h < heads; ++h) q.set(s.anchor_row(b, j) * heads + h, feature_of(c, s, b, j), 1.0);
    });
  }
  return true;
}

// A request's cache slots by position, from the base values of the page table.
struct Placing {
  PrefillShape s;
  std::vector<std::int32_t> table;

  explicit Placing(const Case& c) : s(prefill_shape(c)), table(page_table(c, s, base_key(c, "req_to_token"))) {}
  [[nodiscard]] std::int64_t operator()(std::int64_t b, std::int64_t position) const {
    return table[static_cast<std::size_t>(s.table_row(b) * s.capacity + position)];
  }
};

// The first key of each anchor's first invisible block carries 100 in the anchor's feature.
void put_future_keys(const Case& c, const Placing& slot, const ProbeRows& keys) {
  for_anchors(slot.s, [&](std::int64_t b, std::int64_t j) {
    const std::int64_t position = slot.s.visible(b, j) * slot.s.block_k;
    if (position < slot.s.capacity) keys.set(slot(b, position), feature_of(c, slot.s, b, j), 100.0);
  });
}

// The first invisible key of each anchor's last visible block does, while the visible ones of that block speak against
// it: on plain data such a leak costs a place only where the block was not chosen anyway.
void put_keys_later_in_the_block(const Case& c, const Placing& slot, const ProbeRows& keys) {
  const std::int64_t size = slot.s.block_k;
  const auto at_anchors = [&](auto&& put) {
    for_anchors(slot.s, [&](std::int64_t b, std::int64_t j) {
      const std::int64_t last = slot.s.anchor(b, j);
      if ((last + 1) % size != 0) put(b, last, feature_of(c, slot.s, b, j));
    });
  };
  at_anchors([&](std::int64_t b, std::int64_t last, std::int64_t feature) {
    for (std::int64_t p = last / size * size; p <= last; ++p) keys.set(slot(b, p), feature, -16.0);
  });
  at_anchors(
      [&](std::int64_t b, std::int64_t last, std::int64_t feature) { keys.set(slot(b, last + 1), feature, 100.0); });
}

// What a plain score stays under, seven deviations, over the 4 that queries have in an outstanding key's feature.
double outstanding(const Case& c) { return 7.0 / 4.0 * std::sqrt(static_cast<double>(c["head_dim"])); }

// Blocks [first, end) of a request that its first anchor sees and no policy forces, and the places left for them. What
// stands out fills the places exactly, so that no rounding of keys can tip the choice.
struct Contested {
  std::int64_t first, end, places;

  Contested(const Case& c, const PrefillShape& s, std::int64_t b)
      : first(c["init"]), end(s.visible(b, 0) - c["local"]), places(c["topk"] - c["init"] - c["local"]) {
    places = std::clamp<std::int64_t>(places, 0, std::max<std::int64_t>(0, end - first));
  }
};

// The blocks to be selected are one run, each with a single outstanding key on its first or last position in turn.
void put_clustered_keys(const Case& c, std::uint64_t key, const Placing& slot, const ProbeRows& keys) {
  for (std::int64_t row = 0; row < keys.count; ++row) keys.set(row, 0, 0.0);
  const std::int64_t size = slot.s.block_k;
  for (std::int64_t b = 0; b < slot.s.batch; ++b) {
    if (slot.s.query_blocks(b) == 0) continue;
    const Contested blocks(c, slot.s, b);
    const std::int64_t spare = blocks.end - blocks.first - blocks.places;
    const std::int64_t start = blocks.first + pick(key, 1, static_cast<std::uint64_t>(b), spare + 1);
    for (std::int64_t i = 0; i < blocks.places; ++i) {
      const std::int64_t first = (start + i) * size, last = std::min(first + size - 1, slot.s.anchor(b, 0));
      const std::int64_t row = slot(b, i % 2 == 0 ? first : last);
      keys.zero(row);
      keys.set(row, 0, outstanding(c) * (2.0 + 0.1 * static_cast<double>(i)));
    }
  }
}

// Of the blocks n = h (mod Hq), which are head h's alone, as many as there are places hold one outstanding key for it.
void put_keys_for_heads(const Case& c, std::uint64_t key, const Placing& slot, const ProbeRows& keys) {
  const std::int64_t heads = c["heads"], width = c["head_dim"], size = slot.s.block_k;
  for (std::int64_t row = 0; row < keys.count; ++row)
    for (std::int64_t f = 0; f < std::min(heads, width); ++f) keys.set(row, f, 0.0);
  for (std::int64_t b = 0; b < slot.s.batch; ++b) {
    if (slot.s.query_blocks(b) == 0) continue;
    const Contested blocks(c, slot.s, b);
    const std::int64_t last = slot.s.anchor(b, 0);
    for (std::int64_t n = blocks.first; n < std::min(blocks.end, blocks.first + heads * blocks.places); ++n) {
      const std::int64_t first = n * size;
      const std::int64_t row =
          slot(b, first + pick(key, 2, static_cast<std::uint64_t>(n), std::min(size, last + 1 - first)));
      keys.zero(row);
      keys.set(row, n % heads % width, outstanding(c) * (2.0 + 0.1 * static_cast<double>(n / heads)));
    }
  }
}

// Scores of one key a block lie within 2^-7 of each other and differ: whoever sorts by their upper 16 bits sees one
// bucket. Ranks are spelled in digits of four bits, which every format down to E4M3 holds.
void put_near_ties(const Case& c, std::uint64_t key, const Placing& slot, const ProbeRows& keys) {
  const std::int64_t size = slot.s.block_k;
  for (std::int64_t row = 0; row < keys.count; ++row) {
    keys.zero(row);
    keys.set(row, 0, -1.0);
  }
  for (std::int64_t b = 0; b < slot.s.batch; ++b) {
    const auto shift = static_cast<std::int64_t>(derive_key(key, "ranks", static_cast<std::uint64_t>(b)) & 0xffff);
    for (std::int64_t n = 0; n * size < slot.s.seen(b); ++n) {
      const std::int64_t rank = (n * 40503 + shift) & 0xffff;  // an odd factor: distinct, and out of order
      const std::int64_t row = slot(b, n * size);
      keys.set(row, 0, 1.0);
      for (int f = 1; f < std::min<std::int64_t>(kDigits + 1, c["head_dim"]); ++f)
        keys.set(row, f, static_cast<double>(rank >> (16 - 4 * f) & 0xf));
    }
  }
}

bool fill_keys(const Case& c, std::uint64_t key, const TensorView& view) {
  if (c.recipe == "extreme") {
    probes::fill_one_sided(view, key, Sign::plus);
    return true;
  }
  if (!is_probe(c) || c.recipe == "ties" || c.recipe == "zero_query") return false;
  fill_plain(view, key);
  const Placing slot(c);
  const ProbeRows keys(view);
  if (c.recipe == "future_key") put_future_keys(c, slot, keys);
  if (c.recipe == "intra_future") put_keys_later_in_the_block(c, slot, keys);
  if (c.recipe == "clustered") put_clustered_keys(c, key, slot, keys);
  if (c.recipe == "per_head") put_keys_for_heads(c, key, slot, keys);
  if (c.recipe == "near_ties") put_near_ties(c, key, slot, keys);
  return true;
}

// Cells of slots that no anchor's visible position maps to: stale pages, other rows' pages, keys of the future.
std::vector<std::pair<std::int64_t, std::int64_t>> unseen_slots(const Case& c, const ReferenceCall& call) {
  const PrefillShape s = prefill_shape(c);
  const std::int32_t* table = integers(call.inputs.at("req_to_token"));
  const std::int32_t* rows = integers(call.inputs.at("slot_ids"));
  std::vector<char> seen(static_cast<std::size_t>(s.slots()), 0);
  for (std::int64_t b = 0; b < s.batch; ++b)
    for (std::int64_t p = 0; p < s.seen(b); ++p) seen[static_cast<std::size_t>(table[rows[b] * s.capacity + p])] = 1;
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  const std::int64_t width = c["head_dim"];
  for (std::int64_t slot = 0; slot < s.slots(); ++slot) {
    if (seen[static_cast<std::size_t>(slot)] != 0) continue;
    if (!ranges.empty() && ranges.back().second == slot * width)
      ranges.back().second += width;
    else
      ranges.emplace_back(slot * width, (slot + 1) * width);
  }
  return ranges;
}

// Pages go elsewhere in the cache and the table follows.
bool move_pages(const Case& c, std::uint64_t key, std::map<std::string, TensorView>& inputs) {
  const PrefillShape s = prefill_shape(c);
  const std::int64_t unit = c.knobs.at("table") == "token" ? 1 : s.block_k, pages = s.slots() / unit;
  std::vector<std::int64_t> target(static_cast<std::size_t>(pages));
  for (std::int64_t i = 0; i < pages; ++i) target[static_cast<std::size_t>(i)] = i;
  std::uint64_t word = derive_key(key, "targets");
  for (std::size_t i = target.size(); i > 1; --i)
    std::swap(target[i - 1], target[(word = mix64(word + 0x9E3779B97F4A7C15ULL)) % i]);
  const auto moved = [&](std::int64_t slot) {
    return target[static_cast<std::size_t>(slot / unit)] * unit + slot % unit;
  };
  const ProbeRows cache(inputs.at("index_k_cache"));
  const std::vector<std::byte> before(cache.data, cache.row(cache.count));
  for (std::int64_t slot = 0; slot < cache.count; ++slot)
    std::memcpy(cache.row(moved(slot)), before.data() + (cache.row(slot) - cache.data), cache.row_bytes());
  std::int32_t* table = integers(inputs.at("req_to_token"));
  for (std::int64_t i = 0; i < s.slots(); ++i) table[i] = static_cast<std::int32_t>(moved(table[i]));
  return true;
}

bool double_queries(const Case&, std::uint64_t, std::map<std::string, TensorView>& inputs) {
  const TensorView& q = inputs.at("q");
  for (std::int64_t i = 0; i < q.size(); ++i) store_value(q.data, q.dtype, i, 2.0 * value_at(q.data, q.dtype, i));
  return true;
}

double work_of(const Case& c) {
  const PrefillShape s = prefill_shape(c);
  double scores = 0;
  for (std::int64_t b = 0; b < s.batch; ++b) scores += static_cast<double>(s.query_blocks(b) * s.seen(b));
  // Keys are gathered one by one, and a cache that few rows look at costs its filling.
  return 6.0 * (scores * static_cast<double>(c["heads"]) + 4.0 * static_cast<double>(s.slots())) *
         static_cast<double>(c["head_dim"]);
}

std::int64_t bound_q(const Case& c) {
  const std::int64_t tight = prefill_shape(c).longest_q;
  return c.knobs.at("bounds") == "loose" ? 2 * tight + 3 : tight;
}
std::int64_t bound_k(const Case& c) {
  const std::int64_t tight = prefill_shape(c).longest_k;
  return c.knobs.at("bounds") == "loose" ? 2 * tight + c["block_k"] + 1 : tight;
}

std::function<double(const Case&)> dim(const char* name) {
  return [name](const Case& c) { return static_cast<double>(c[name]); };
}

void describe_call(const Case& c, DescriptorFacts& d) {
  const PrefillShape s = prefill_shape(c);
  d.numbers = {{"head_dim", c["head_dim"]}, {"last_dim", c["head_dim"]},
               {"block_size", s.block_k},   {"page_size", c.knobs.at("table") == "token" ? 1 : s.block_k},
               {"q_block_size", s.block_q}, {"q_len", bound_q(c)},
               {"kv_len", bound_k(c)},      {"num_tokens", s.all_rows()},
               {"batch_size", s.batch},     {"num_q_heads", c["heads"]},
               {"num_kv_heads", 1},         {"top_k", c["topk"]},
               {"init_blocks", c["init"]},  {"local_blocks", c["local"]}};
  d.words = {{"phase", "prefill"}, {"layout", "paged"}, {"quant", "dense"}};
  if (c["head_dim"] == 128 && s.block_k == 128 && c["heads"] == 1 && c["topk"] == 16) d.words["model"] = "MiniMax-M3";
}

using Dims = std::map<std::string, std::int64_t>;

// The catalogue's {q_len, prefix_blocks, D, bk, B, Hq, topk} with its defaults.
Dims chunk(std::int64_t q_len, std::int64_t prefix_blocks, std::int64_t head_dim, std::int64_t block_k,
           std::int64_t batch, std::int64_t heads, std::int64_t topk, Dims others = {}) {
  Dims dims = {{"q_len", q_len},
               {"prefix_blocks", prefix_blocks},
               {"head_dim", head_dim},
               {"block_k", block_k},
               {"batch", batch},
               {"heads", heads},
               {"topk", topk},
               {"block_q", block_k},
               {"init", 0},
               {"local", 1}};
  for (const auto& [name, value] : others) dims[name] = value;
  return dims;
}

const SlotRow msa_prefill_block_score = slot<&assay_entry::msa_prefill_block_score>(
    args(in("q", {"rows", "heads", "head_dim"}).filled(fill_q),
         in("index_k_cache", {"slots", "1", "head_dim"}).filled(fill_keys).excludes(unseen_slots),
         in("req_to_token", {"table_rows", "capacity"}).typed(DType::i32).fixed().filled(fill_table),
         in("slot_ids", {"batch"}).typed(DType::i32).fixed().filled(metadata(table_rows)),
         in("cu_seqlens", {"fences"}).typed(DType::i32).fixed().filled(metadata([](const PrefillShape& s) {
           return s.first_row;
         })),
         in("seq_lens", {"batch"}).typed(DType::i32).fixed().filled(metadata(key_counts)),
         in("prefix_lens", {"batch"}).typed(DType::i32).fixed().filled(metadata([](const PrefillShape& s) {
           return s.prefix;
         })),
         i64("max_seqlen_q", {1}).times([](const Case& c) { return static_cast<double>(bound_q(c)); }),
         i64("max_seqlen_k", {1}).times([](const Case& c) { return static_cast<double>(bound_k(c)); }),
         i64("block_size_q", {1}).times(dim("block_q")), i64("block_size_k", {1}).times(dim("block_k")),
         i64("topk", {1}).times(dim("topk")), i64("init_blocks", {1}).times(dim("init")),
         i64("local_blocks", {1}).times(dim("local")), f64("scale", {1.0}).times([](const Case& c) {
           return 1.4426950409 / std::sqrt(static_cast<double>(c["head_dim"]));
         }),
         in("cu_seqblocks_q", {"fences"}).typed(DType::i32).fixed().filled(metadata([](const PrefillShape& s) {
           return s.first_block;
         })),
         i64("max_seqblock_q", {1}).times([](const Case& c) {
           return static_cast<double>(prefill_shape(c).most_blocks);
         }),
         i64("all_seqblock_q", {1}).times([](const Case& c) {
           return static_cast<double>(prefill_shape(c).all_blocks());
         }),
         out("out_topk", {"heads", "query_blocks", "topk"}).typed(DType::i32).aligned(4)),
    {.id = "attention.msa_prefill_block_score",
     .kind = Kind::block,
     .summary = "prefill selection: out_topk (Hq, query blocks, topk) = each query block's best visible key blocks",
     .dims = {{"q_len", 1, 1024, {1, 2, 4, 7, 8, 16, 33, 64, 65, 128}, true},
              {"prefix_blocks", 0, 8192, {0, 1, 2, 4, 7, 8, 16, 32, 64, 80, 128}, true},
              {"head_dim", 1, 512, {1, 2, 4, 8, 16, 33, 64, 128}},
              {"block_k", 1, 4096, {1, 2, 3, 4, 8, 16, 64, 128}},
              {"block_q", 1, 1024, {1, 2, 4, 5, 8, 16, 64, 128}},
              {"batch", 1, 64, {1, 2, 3, 4, 5, 8}, true},
              {"heads", 1, 32, {1, 2, 3, 4, 5, 8}},
              {"topk", 1, 128, {1, 2, 3, 4, 8, 16, 32}},
              {"init", 0, 8, {0, 1, 2, 3}},
              {"local", 0, 8, {0, 1, 2, 3}}},
     .knobs = {{"selection", {"free", "any"}},
               {"lengths", {"ragged", "equal", "mixed"}},
               {"bounds", {"tight", "loose"}},
               {"table", {"page", "token", "shared"}}},
     .legal = make_legal,
     .sizes = {{"rows", [](const Case& c) { return prefill_shape(c).all_rows(); }},
               {"slots", [](const Case& c) { return prefill_shape(c).slots(); }},
               {"table_rows", [](const Case& c) { return c["batch"] + 1; }},
               {"capacity", [](const Case& c) { return prefill_shape(c).capacity; }},
               {"fences", [](const Case& c) { return c["batch"] + 1; }},
               {"query_blocks", [](const Case& c) { return prefill_shape(c).all_blocks(); }}},
     .comparator = {.mode = Mode::topk_indices, .floor = 0.90},
     .groups = {{"head", 0}},
     .reference = reference::msa_prefill_block_score,
     .accumulation = [](const Case& c) { return static_cast<double>(c["head_dim"]) + 8.0; },
     .work = work_of,
     .recipes = {{"normal", Recipe::normal},
                 {"tag", Recipe::tag},
                 {"future_key", Recipe::normal},
                 {"intra_future", Recipe::normal},
                 {"clustered", Recipe::normal},
                 {"per_head", Recipe::normal},
                 {"near_ties", Recipe::normal},
                 {"extreme", Recipe::normal},
                 {"ties", Recipe::ties},
                 {"zero_query", Recipe::normal}},
     // Every head selects for itself, and a positive factor changes no order.
     .relations = {{.form = RelationSpec::Form::rows, .dim = "heads", .inputs = {"q"}, .outputs = {"out_topk"}},
                   {.form = RelationSpec::Form::change,
                    .outputs = {"out_topk"},
                    .rule = "relation.page_permutation",
                    .name = "pages moved",
                    .change = move_pages,
                    .exact = true},
                   {.form = RelationSpec::Form::change,
                    .outputs = {"out_topk"},
                    .rule = "relation.linearity",
                    .name = "queries doubled",
                    .change = double_queries}},
     .descriptor = describe_call,
     .pins = {
         {chunk(7, 5, 16, 4, 2, 3, 5)},
         {chunk(3, 1, 8, 4, 3, 2, 6), Tier::quick, {{"selection", "any"}}},
         {chunk(17, 7, 32, 8, 2, 4, 6, {{"block_q", 4}}), Tier::quick, {}, "future_key"},
         {chunk(8, 20, 64, 32, 1, 1, 16), Tier::quick, {{"lengths", "equal"}}},
         {chunk(16, 0, 64, 2, 4, 2, 3, {{"block_q", 4}}), Tier::quick, {{"selection", "any"}, {"lengths", "mixed"}}},
         {chunk(9, 6, 16, 8, 2, 2, 3, {{"block_q", 2}, {"local", 0}}), Tier::quick, {}, "intra_future"},
         {chunk(5, 9, 8, 4, 2, 4, 3, {{"block_q", 2}}), Tier::quick, {}, "per_head"},
         {chunk(5, 12, 8, 4, 2, 2, 6, {{"init", 1}}), Tier::quick, {{"bounds", "loose"}}, "clustered"},
         {chunk(4, 9, 8, 3, 1, 4, 2, {{"block_q", 1}}), Tier::quick, {{"table", "token"}, {"lengths", "equal"}}},
         {chunk(3, 80, 8, 2, 2, 2, 12, {{"init", 2}, {"local", 2}}), Tier::quick, {{"lengths", "mixed"}}},
         {chunk(7, 0, 8, 4, 2, 2, 4, {{"init", 2}, {"local", 2}}), Tier::quick, {{"selection", "any"}}},
         {chunk(1, 8192, 8, 1, 1, 2, 16, {{"local", 0}}), Tier::quick, {}, "near_ties"},
         {chunk(8, 20, 128, 128, 1, 1, 16), Tier::full, {{"lengths", "equal"}}},
         {chunk(17, 7, 32, 8, 2, 4, 6, {{"block_q", 4}}), Tier::full},
         {chunk(17, 7, 32, 8, 2, 4, 6, {{"block_q", 4}, {"local", 0}}), Tier::full, {}, "intra_future"},
         {chunk(128, 24, 128, 128, 2, 1, 16, {{"block_q", 1}}), Tier::full},
         {chunk(128, 24, 128, 128, 2, 1, 16, {{"block_q", 1}}), Tier::full, {}, "future_key"},
         {chunk(128, 24, 128, 128, 2, 1, 16, {{"block_q", 1}}), Tier::full, {}, "clustered"},
         {chunk(96, 20, 128, 128, 3, 2, 8, {{"block_q", 16}, {"init", 1}, {"local", 2}}), Tier::full},
         {chunk(65, 9, 64, 64, 2, 4, 4, {{"block_q", 64}, {"local", 0}}), Tier::full},
         {chunk(65, 9, 64, 64, 2, 4, 4, {{"block_q", 64}, {"local", 0}}), Tier::full, {}, "intra_future"},
         {chunk(512, 12, 128, 64, 1, 1, 8, {{"block_q", 32}}), Tier::full, {{"lengths", "equal"}}},
         {chunk(3, 8192, 8, 1, 2, 2, 16, {{"local", 0}}), Tier::full, {}, "near_ties"}}});

}  // namespace
}  // namespace assay
