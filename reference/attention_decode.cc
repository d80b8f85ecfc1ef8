#include "reference/attention_decode.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <span>
#include <stdexcept>
#include <vector>

#include "reference/borrow.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t most_cells = 1 << 22;  // gathered at once

struct Metadata {
  at::Tensor table, lengths, rows, selected;

  explicit Metadata(const ReferenceCall& call)
      : table(ints(call, "req_to_token")),
        lengths(ints(call, "seq_lens")),
        rows(ints(call, "req_pool_indices")),
        selected(ints(call, "topk_idx")) {
    if (table.dim() != 2 || lengths.dim() != 1 || rows.sizes() != lengths.sizes() || selected.dim() != 3 ||
        selected.size(1) != lengths.size(0))
      throw std::invalid_argument("attention.decode: tables are (R,C), (B), (B) and (Hkv,B,K)");
  }
  static at::Tensor ints(const ReferenceCall& call, const char* name) {
    const at::Tensor t = borrow<at::Tensor>(call.inputs.at(name));
    if (t.scalar_type() != at::kInt) throw std::invalid_argument("attention.decode: tables are int32");
    return t.cpu().contiguous();
  }
  [[nodiscard]] std::int64_t batch() const { return lengths.size(0); }
  [[nodiscard]] static std::int64_t in_range(std::int64_t value, std::int64_t end, const char* what) {
    if (value < 0 || value >= end) throw std::invalid_argument(std::string("attention.decode: ") + what);
    return value;
  }
};

// The rows of the caches, as (slot, head), that one request attends for one key/value head.
std::vector<std::int64_t> attended(const Metadata& m, std::int64_t head, std::int64_t request, std::int64_t block_size,
                                   std::int64_t slots, std::int64_t heads) {
  const std::int64_t capacity = m.table.size(1), width = m.selected.size(2);
  const std::int64_t length =
      Metadata::in_range(m.lengths.data_ptr<int>()[request], capacity + 1, "a length is in [0, C]");
  const std::int64_t row =
      Metadata::in_range(m.rows.data_ptr<int>()[request], m.table.size(0), "a request's row is in [0, R)");
  const int* table = m.table.data_ptr<int>() + row * capacity;
  std::vector<std::int64_t> result;
  for (std::int64_t i = 0; i < width; ++i) {
    const std::int64_t block = m.selected.data_ptr<int>()[(head * m.batch() + request) * width + i];
    if (block < 0) continue;
    for (std::int64_t p = block * block_size; p < std::min(length, (block + 1) * block_size); ++p)
      result.push_back(Metadata::in_range(table[p], slots, "a cache slot is in [0, N)") * heads + head);
  }
  return result;
}

// A request and key/value head that attends anything; `pair` is request * heads + head.
struct Attending {
  std::int64_t pair;
  std::vector<std::int64_t> rows;
};

at::Tensor on(const at::Device& device, const std::vector<std::int64_t>& values) {
  return at::tensor(at::ArrayRef<std::int64_t>(values), at::kLong).to(device);
}

}  // namespace
}  // namespace assay::reference

void assay_reference_attention_decode(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const at::Tensor q = borrow<at::Tensor>(call.inputs.at("q"));
  const at::Tensor k = borrow<at::Tensor>(call.inputs.at("k_cache"));
  const at::Tensor v = borrow<at::Tensor>(call.inputs.at("v_cache"));
  const Metadata m(call);
  const auto block_size = static_cast<std::int64_t>(call.scalars.at("block_size"));
  if (q.dim() != 3 || k.dim() != 3 || k.sizes() != v.sizes() || q.size(2) != k.size(2) || k.size(1) == 0 ||
      q.size(1) % k.size(1) != 0 || m.selected.size(0) != k.size(1) || m.batch() != q.size(0) || block_size < 1)
    throw std::invalid_argument(
        "attention.decode: q is (B,Hq,D), the caches "
        "are (N,Hkv,D), Hkv divides Hq");
  const std::int64_t heads = k.size(1), group = q.size(1) / heads, d = q.size(2);

  std::vector<Attending> pairs;
  std::int64_t longest = 0, total = 0;
  for (std::int64_t b = 0; b < m.batch(); ++b)
    for (std::int64_t j = 0; j < heads; ++j) {
      Attending pair{b * heads + j, attended(m, j, b, block_size, k.size(0), heads)};
      if (pair.rows.empty()) continue;
      longest = std::max(longest, static_cast<std::int64_t>(pair.rows.size()));
      total += static_cast<std::int64_t>(pair.rows.size());
      pairs.push_back(std::move(pair));
    }

  const at::Device device =
      compute_device<at::Device>(2.0 * static_cast<double>(total) * static_cast<double>(group * d));
  const at::TensorOptions options = at::TensorOptions().dtype(at::kDouble).device(device);
  at::Tensor out = at::zeros({m.batch() * heads, group, d}, options), magnitude = at::zeros_like(out);
  const at::Tensor queries = q.to(device).reshape({m.batch() * heads, group, d});
  const at::Tensor keys = k.to(device).reshape({-1, d}), values = v.to(device).reshape({-1, d});
  const std::int64_t chunk = std::max<std::int64_t>(1, most_cells / std::max<std::int64_t>(1, longest * d));
  for (std::size_t first = 0; first < pairs.size(); first += static_cast<std::size_t>(chunk)) {
    const auto part = std::span(pairs).subspan(first, std::min(static_cast<std::size_t>(chunk), pairs.size() - first));
    const auto count = static_cast<std::int64_t>(part.size());
    std::int64_t width = 0;
    for (const Attending& pair : part) width = std::max(width, static_cast<std::int64_t>(pair.rows.size()));
    std::vector<std::int64_t> which, rows;
    at::Tensor bias = at::zeros({count, 1, width}, at::kDouble);
    for (const Attending& pair : part) {
      const auto own = static_cast<std::int64_t>(pair.rows.size());
      rows.insert(rows.end(), pair.rows.begin(), pair.rows.end());
      // What fills a shorter list up is a row that is attended anyway, with weight zero: never a cell that must not be.
      rows.insert(rows.end(), static_cast<std::size_t>(width - own), pair.rows.front());
      std::fill_n(bias.data_ptr<double>() + static_cast<std::int64_t>(which.size()) * width + own, width - own,
                  -std::numeric_limits<double>::infinity());
      which.push_back(pair.pair);
    }
    const at::Tensor at_pairs = on(device, which), at_rows = on(device, rows);
    const auto gather = [&](const at::Tensor& cache) {
      return cache.index_select(0, at_rows).to(at::kDouble).view({count, width, d});
    };
    const at::Tensor weights = queries.index_select(0, at_pairs)
                                   .to(at::kDouble)
                                   .bmm(gather(keys).transpose(1, 2))
                                   .mul_(call.scalars.at("sm_scale"))
                                   .add_(bias.to(device))
                                   .softmax(-1);
    at::Tensor gathered = gather(values);
    out.index_copy_(0, at_pairs, weights.bmm(gathered));
    magnitude.index_copy_(0, at_pairs, weights.bmm(gathered.abs_()));
  }
  result.outputs.push_back({adopt(out.view(q.sizes())), adopt(magnitude.view(q.sizes()))});
}
