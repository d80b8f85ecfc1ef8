// attention.msa_block_score: out[b, n] = max over the visible positions of block n of sum_h q[b, h] . index_k[b, p]
// (spec/slots.md 5.5).
#include "reference/msa_block_score.hpp"

#include <algorithm>
#include <cmath>

#include "conformance/slots/msa_values.hpp"

namespace assay {
namespace {

using probes::pick;
using probes::ProbeRows;
using probes::Sign;

constexpr std::int64_t kSelected = 8;  // blocks that the harness takes from a row

// A sheet as wide as the selection says nothing about order, so the plain form has four blocks more at least. The
// narrow one starts at a single block.
bool narrow(const Case& c) { return c.knobs.at("sheet") == "narrow"; }
std::int64_t blocks_of(const Case& c) { return c["distractors"] + (narrow(c) ? -3 : kSelected); }
std::int64_t keys_of(const Case& c) { return blocks_of(c) * c["block_size"]; }

// Row 0 of the base values has full length; with other keys it has any other one, so that replays of a single request
// differ as well.
std::vector<std::int64_t> lengths_of(const Case& c, std::uint64_t key) {
  const bool base = key == base_key(c, "seq_lens");
  const std::int64_t keys = keys_of(c), size = c["block_size"];
  std::vector<std::int64_t> lengths(static_cast<std::size_t>(c["batch"]));
  if (c.knobs.at("lengths") == "probe") {
    const std::int64_t edges[] = {keys, 0, 1, size, std::min(size + 1, keys)};
    const std::int64_t turn = base ? 0 : 1 + pick(key, 0, 0, 4);
    for (std::size_t b = 0; b < lengths.size(); ++b) lengths[b] = edges[(b + static_cast<std::size_t>(turn)) % 5];
    return lengths;
  }
  if (c.knobs.at("lengths") == "tail") {  // all end within the last block
    for (std::size_t b = 0; b < lengths.size(); ++b) lengths[b] = keys - 1 - pick(key, 5, b, size - 1);
    if (base) lengths[0] = keys;
    return lengths;
  }
  const std::int64_t least = narrow(c) ? 0 : kSelected * size;
  for (std::size_t b = 0; b < lengths.size(); ++b) lengths[b] = least + pick(key, 1, b, keys - least + 1);
  if (base)
    lengths[0] = keys;
  else
    lengths[0] = narrow(c) ? pick(key, 2, 0, keys) : least + 1 + pick(key, 2, 0, keys - least - 1);
  return lengths;
}

std::vector<std::int64_t> base_lengths(const Case& c) { return lengths_of(c, base_key(c, "seq_lens")); }

bool fill_lengths(const Case& c, std::uint64_t key, const TensorView& view) {
  const std::vector<std::int64_t> lengths = lengths_of(c, key);
  std::copy(lengths.begin(), lengths.end(), static_cast<std::int32_t*>(view.data));
  return true;
}

void fill_plain(const TensorView& view, std::uint64_t key) {
  fill_tensor(view, {.recipe = Recipe::normal, .dtype = view.dtype, .key = key});
}

bool fill_q(const Case& c, std::uint64_t key, const TensorView& view) {
  if (c.recipe == "stale") {
    fill_plain(view, key);
  } else if (c.recipe == "clustered") {
    fill_plain(view, key);
    const ProbeRows q(view);
    for (std::int64_t row = 0; row < q.count; ++row) q.set(row, 0, 4.0);
  } else if (c.recipe == "extreme") {
    probes::fill_one_sided(view, key, Sign::minus);
  } else if (c.recipe == "zero_query" && key == base_key(c, "q")) {
    std::memset(view.data, 0, static_cast<std::size_t>(view.size()) * size_of(view.dtype));
  } else {
    return false;
  }
  return true;
}

// Positions past the length hold 8 times the request's summed query: nothing else scores as high.
void put_stale_keys(const Case& c, const TensorView& view) {
  Tensor q({c["batch"] * c["heads"], c["head_dim"]}, view.dtype);
  fill_plain(q.view(), base_key(c, "q"));
  const ProbeRows queries(q.view()), keys(view);
  const std::vector<std::int64_t> lengths = base_lengths(c);
  const std::int64_t each = keys_of(c);
  for (std::int64_t b = 0; b < c["batch"]; ++b) {
    const std::int64_t first = lengths[static_cast<std::size_t>(b)];
    if (first == each) continue;
    for (std::int64_t d = 0; d < c["head_dim"]; ++d) {
      double sum = 0;
      for (std::int64_t h = 0; h < c["heads"]; ++h) sum += queries.get(b * c["heads"] + h, d);
      keys.set(b * each + first, d, 8.0 * sum);
    }
    for (std::int64_t p = first + 1; p < each; ++p) keys.copy(b * each + p, b * each + first);
  }
}

// The blocks to be selected are one run, each with a single outstanding key on its first or last position in turn:
// quotas of parts of the row lose half of them, averages and samples of a block all of them.
void put_clustered_keys(const Case& c, std::uint64_t key, const TensorView& view) {
  const ProbeRows keys(view);
  for (std::int64_t row = 0; row < keys.count; ++row) keys.set(row, 0, 0.0);
  const std::vector<std::int64_t> lengths = base_lengths(c);
  const std::int64_t size = c["block_size"], each = keys_of(c);
  // A plain score stays under about 7 deviations; the query has 4 in feature 0 of every head.
  const double unit = 7.0 / 4.0 * std::sqrt(static_cast<double>(c["head_dim"]) / static_cast<double>(c["heads"]));
  for (std::int64_t b = 0; b < c["batch"]; ++b) {
    const std::int64_t length = lengths[static_cast<std::size_t>(b)];
    const std::int64_t visible = (length + size - 1) / size, run = std::min(visible, kSelected);
    const std::int64_t start = c.knobs.at("lengths") == "tail"
                                   ? visible - run
                                   : pick(key, 3, static_cast<std::uint64_t>(b), visible - run + 1);
    for (std::int64_t i = 0; i < run; ++i) {
      const std::int64_t first = (start + i) * size;
      const std::int64_t row = b * each + (i % 2 == 0 ? first : std::min(first + size, length) - 1);
      keys.zero(row);
      keys.set(row, 0, unit * (2.0 + 0.1 * static_cast<double>(i)));
    }
  }
}

bool fill_keys(const Case& c, std::uint64_t key, const TensorView& view) {
  if (c.recipe == "extreme") {
    probes::fill_one_sided(view, key, Sign::plus);
    return true;
  }
  if (c.recipe != "stale" && c.recipe != "clustered") return false;
  fill_plain(view, key);
  if (c.recipe == "stale")
    put_stale_keys(c, view);
  else
    put_clustered_keys(c, key, view);
  return true;
}

std::vector<std::pair<std::int64_t, std::int64_t>> past_the_lengths(const Case& c, const ReferenceCall& call) {
  const auto* lengths = static_cast<const std::int32_t*>(call.inputs.at("seq_lens").data);
  const std::int64_t keys = keys_of(c), width = c["head_dim"];
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t b = 0; b < c["batch"]; ++b)
    if (lengths[b] < keys) ranges.emplace_back((b * keys + lengths[b]) * width, (b + 1) * keys * width);
  return ranges;
}

bool double_queries(const Case&, std::uint64_t, std::map<std::string, TensorView>& inputs) {
  const TensorView& q = inputs.at("q");
  for (std::int64_t i = 0; i < q.size(); ++i) store_value(q.data, q.dtype, i, 2.0 * value_at(q.data, q.dtype, i));
  return true;
}

bool turn_heads(const Case& c, std::uint64_t key, std::map<std::string, TensorView>& inputs) {
  const std::int64_t heads = c["heads"];
  if (heads < 2) return false;
  const ProbeRows q(inputs.at("q"));
  const std::size_t bytes = q.row_bytes(), turn = static_cast<std::size_t>(1 + pick(key, 4, 0, heads - 1)) * bytes;
  for (std::int64_t b = 0; b < c["batch"]; ++b) {
    std::byte* first = q.row(b * heads);
    std::rotate(first, first + turn, first + static_cast<std::size_t>(heads) * bytes);
  }
  return true;
}

// Filling the keys costs more than scoring them with few heads.
double work_of(const Case& c) {
  return static_cast<double>(c["batch"] * keys_of(c)) *
         static_cast<double>(c["head_dim"] * std::max<std::int64_t>(c["heads"], 24));
}

void describe_call(const Case& c, DescriptorFacts& d) {
  d.numbers = {{"head_dim", c["head_dim"]},
               {"last_dim", c["head_dim"]},
               {"block_size", c["block_size"]},
               {"kv_len", keys_of(c)},
               {"batch_size", c["batch"]},
               {"num_tokens", c["batch"]},
               {"q_len", 1},
               {"num_q_heads", c["heads"]},
               {"num_kv_heads", 1},
               {"top_k", kSelected}};
  d.words = {{"phase", "decode"}, {"layout", "row_major"}, {"quant", "dense"}};
}

using Dims = std::map<std::string, std::int64_t>;

// The catalogue's {batch, Hq, D, ctx, block_size}.
Dims sheet(std::int64_t batch, std::int64_t heads, std::int64_t head_dim, std::int64_t context, std::int64_t size) {
  return {{"batch", batch},
          {"heads", heads},
          {"head_dim", head_dim},
          {"block_size", size},
          {"distractors", std::max<std::int64_t>(context / size - kSelected, 4)}};
}

const SlotRow msa_block_score = slot<&assay_entry::msa_block_score>(
    args(in("q", {"batch", "heads", "head_dim"}).filled(fill_q),
         in("index_k", {"batch", "keys", "1", "head_dim"}).filled(fill_keys).excludes(past_the_lengths),
         in("seq_lens", {"batch"}).typed(DType::i32).filled(fill_lengths),
         i64("block_size", {1}).times([](const Case& c) { return static_cast<double>(c["block_size"]); }),
         out("out", {"batch", "blocks"}).typed(DType::f32).strided(28).aligned(4)),
    {.id = "attention.msa_block_score",
     .kind = Kind::block,
     .summary =
         "decode score sheet: out (B, S/bs) = each block's best summed index score, -inf where nothing is visible",
     .dims = {{"batch", 1, 256, {1, 2, 3, 5, 8, 16, 17, 32, 64}, true},
              {"heads", 1, 64, {1, 2, 3, 4, 8, 16}},
              {"head_dim", 1, 512, {1, 2, 3, 7, 8, 16, 33, 64, 65, 128}},
              {"block_size", 1, 4096, {1, 2, 3, 4, 8, 16, 31, 32, 64, 65, 128}},
              {"distractors", 4, 8184, {4, 5, 7, 8, 9, 24, 25, 56, 120, 248}, true}},
     .knobs = {{"sheet", {"wide", "narrow"}}, {"lengths", {"ragged", "probe", "tail"}}},
     .sizes = {{"keys", keys_of}, {"blocks", blocks_of}},
     .comparator = {.mode = Mode::topk_scores, .floor = 0.875, .k = kSelected},
     .groups = {{"row", std::nullopt}},
     .reference = reference::msa_block_score,
     .accumulation = [](const Case& c) { return static_cast<double>(c["heads"] * c["head_dim"]) + 8.0; },
     .work = work_of,
     .recipes = {{"normal", Recipe::normal},
                 {"tag", Recipe::tag},
                 {"stale", Recipe::normal},
                 {"clustered", Recipe::normal},
                 {"extreme", Recipe::normal},
                 {"ties", Recipe::ties},
                 {"zero_query", Recipe::normal}},
     .relations = {{.form = RelationSpec::Form::rows,
                    .dim = "batch",
                    .inputs = {"q", "index_k", "seq_lens"},
                    .outputs = {"out"}},
                   // Sheets may be distorted as long as the order of a row stays: never bitwise.
                   {.form = RelationSpec::Form::change,
                    .outputs = {"out"},
                    .rule = "relation.linearity",
                    .name = "queries doubled",
                    .change = double_queries,
                    .factor = 2.0},
                   {.form = RelationSpec::Form::change,
                    .outputs = {"out"},
                    .rule = "relation.index_order",
                    .name = "heads in another order",
                    .change = turn_heads}},
     .descriptor = describe_call,
     // Without a mask 12 and 16 plain blocks average 0.87 and often pass: every geometry has its stale twin.
     .pins = {{sheet(4, 4, 16, 96, 8)},
              {sheet(4, 4, 16, 96, 8), Tier::quick, {}, "stale"},
              {sheet(2, 4, 64, 768, 64), Tier::quick, {}, "stale"},
              {sheet(5, 2, 16, 48, 4), Tier::quick, {{"lengths", "probe"}}, "stale"},
              {sheet(33, 2, 8, 32, 2)},
              {sheet(3, 3, 7, 39, 3), Tier::quick, {}, "clustered"},
              {sheet(24, 1, 8, 60, 5), Tier::quick, {{"lengths", "tail"}}, "clustered"},
              {sheet(3, 2, 8, 32, 2), Tier::quick, {}, "extreme"},
              {sheet(2, 2, 8, 8, 2), Tier::quick, {{"sheet", "narrow"}}},
              {sheet(4, 4, 128, 1536, 128), Tier::full},
              {sheet(4, 4, 128, 1536, 128), Tier::full, {}, "stale"},
              {sheet(2, 4, 128, 2048, 128), Tier::full},
              {sheet(2, 4, 128, 2048, 128), Tier::full, {}, "stale"},
              {sheet(8, 8, 64, 1536, 128), Tier::full},
              {sheet(8, 8, 64, 1536, 128), Tier::full, {}, "stale"},
              {sheet(3, 4, 128, 4096, 128), Tier::full},
              {sheet(3, 4, 128, 4096, 128), Tier::full, {}, "stale"},
              {sheet(3, 4, 128, 4096, 128), Tier::full, {{"lengths", "probe"}}, "clustered"},
              {sheet(32, 4, 128, 8192, 128), Tier::gate},
              {sheet(32, 4, 128, 8192, 128), Tier::gate, {}, "stale"}}});

}  // namespace
}  // namespace assay
