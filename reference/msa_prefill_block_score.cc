#include "reference/msa_prefill_block_score.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <stdexcept>
#include <vector>

#include "reference/borrow.hpp"

namespace assay::reference {
namespace {

constexpr double kInvisible = -std::numeric_limits<double>::infinity();

std::vector<std::int64_t> integers(const ReferenceCall& call, const char* name) {
  const at::Tensor list = borrow<at::Tensor>(call.inputs.at(name)).to(at::kCPU).contiguous();
  if (list.dim() != 1 || list.scalar_type() != at::kInt)
    throw std::invalid_argument(std::string("msa_prefill_block_score: ") + name + " is no int32 list");
  const auto* first = list.data_ptr<int>();
  return {first, first + list.numel()};
}

struct Request {
  std::int64_t first_row, rows, prefix, table_row, first_block, blocks;
};

struct Call {
  std::int64_t block_q, block_k, topk, init, local, all_blocks, heads;
  double scale;
  std::vector<Request> requests;

  explicit Call(const ReferenceCall& call) {
    const auto whole = [&](const char* name) { return static_cast<std::int64_t>(call.scalars.at(name)); };
    block_q = whole("block_size_q");
    block_k = whole("block_size_k");
    topk = whole("topk");
    init = whole("init_blocks");
    local = whole("local_blocks");
    all_blocks = whole("all_seqblock_q");
    scale = call.scalars.at("scale");
    heads = call.inputs.at("q").shape.at(1);
    const auto rows = integers(call, "slot_ids"), fences = integers(call, "cu_seqlens");
    const auto lengths = integers(call, "seq_lens"), prefixes = integers(call, "prefix_lens");
    const auto block_fences = integers(call, "cu_seqblocks_q");
    bool sound = block_q > 0 && block_k > 0 && topk > 0 && init + local <= topk && fences.size() == rows.size() + 1 &&
                 block_fences.size() == fences.size() && lengths.size() == rows.size() &&
                 prefixes.size() == rows.size() && block_fences.back() == all_blocks;
    for (std::size_t b = 0; sound && b < rows.size(); ++b) {
      const std::int64_t count = fences[b + 1] - fences[b], blocks = (count + block_q - 1) / block_q;
      sound = count >= 0 && lengths[b] == prefixes[b] + count && block_fences[b + 1] - block_fences[b] == blocks;
      requests.push_back({fences[b], count, prefixes[b], rows[b], block_fences[b], blocks});
    }
    if (!sound) throw std::invalid_argument("msa_prefill_block_score: the metadata contradict each other");
  }
  [[nodiscard]] std::int64_t anchor(const Request& r, std::int64_t j) const { return r.prefix + j * block_q; }
  [[nodiscard]] std::int64_t visible(const Request& r, std::int64_t j) const { return anchor(r, j) / block_k + 1; }
};

// (query blocks, heads, blocks), on the host. Keys that no anchor sees are not read.
at::Tensor scores_of(const Call& c, const Request& r, const at::Tensor& q, const at::Tensor& cache,
                     const at::Tensor& table, const at::Device& device) {
  const std::int64_t seen = c.anchor(r, r.blocks - 1) + 1, blocks = c.visible(r, r.blocks - 1), width = q.size(2);
  const at::Tensor slots = table.select(0, r.table_row).narrow(0, 0, seen).to(cache.device());
  const at::Tensor keys = widened(cache.index_select(0, slots), device);
  const at::Tensor anchors = widened(q.slice(0, r.first_row, r.first_row + r.rows, c.block_q), device);
  at::Tensor scores = anchors.reshape({r.blocks * c.heads, width}).mm(keys.t()).view({r.blocks, c.heads, seen});
  const auto counted = at::TensorOptions().dtype(at::kLong).device(device);
  const at::Tensor last = at::arange(r.blocks, counted).mul_(c.block_q).add_(r.prefix).view({r.blocks, 1, 1});
  scores.masked_fill_(at::arange(seen, counted).gt(last), kInvisible);
  if (c.block_k > 1)
    scores = at::constant_pad_nd(scores, {0, blocks * c.block_k - seen}, kInvisible)
                 .view({r.blocks, c.heads, blocks, c.block_k})
                 .amax(-1);
  return scores.mul_(c.scale).to(at::kCPU).contiguous();
}

// Places beyond the forced ones go to the best remaining blocks, equal ones to the lower id.
void select(const double* scores, std::int64_t visible, std::int64_t topk, const std::vector<std::int32_t>& forced,
            double* out) {
  std::vector<std::int64_t> rest;
  auto next = forced.begin();
  for (std::int64_t n = 0; n < visible; ++n)
    if (next != forced.end() && *next == n)
      ++next;
    else
      rest.push_back(n);
  const auto places = static_cast<std::ptrdiff_t>(std::min(topk, visible)) - static_cast<std::ptrdiff_t>(forced.size());
  std::partial_sort(rest.begin(), rest.begin() + places, rest.end(), [&](std::int64_t a, std::int64_t b) {
    return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
  });
  double* end = std::copy(rest.begin(), rest.begin() + places, std::copy(forced.begin(), forced.end(), out));
  std::sort(out, end);
  std::fill(end, out + topk, -1.0);
}

}  // namespace
}  // namespace assay::reference

void assay_reference_msa_prefill_block_score(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const Call c(call);
  const at::Tensor q = borrow<at::Tensor>(call.inputs.at("q"));
  const at::Tensor cache = borrow<at::Tensor>(call.inputs.at("index_k_cache"));
  const at::Tensor table = borrow<at::Tensor>(call.inputs.at("req_to_token"));
  if (q.dim() != 3 || cache.dim() != 3 || cache.size(1) != 1 || cache.size(2) != q.size(2) || table.dim() != 2)
    throw std::invalid_argument("msa_prefill_block_score: q (TQ,Hq,D), index_k_cache (N,1,D), req_to_token (R,C)");
  auto selection = std::make_shared<assay::Selection>();
  double work = 0;
  for (const Request& r : c.requests) {
    if (r.blocks == 0) continue;
    selection->width = std::max(selection->width, c.visible(r, r.blocks - 1));
    work += static_cast<double>(r.blocks * c.heads * q.size(2)) * static_cast<double>(c.anchor(r, r.blocks - 1) + 1);
  }
  const auto device = compute_device<at::Device>(work);
  const std::int64_t rows = c.heads * c.all_blocks;
  selection->scores.assign(static_cast<std::size_t>(rows * selection->width), 0.0);
  selection->visible.assign(static_cast<std::size_t>(rows), 0);
  selection->forced.resize(static_cast<std::size_t>(rows));
  at::Tensor ids = at::empty({c.heads, c.all_blocks, c.topk}, at::kDouble);
  const at::Tensor keys = cache.squeeze(1);
  for (const Request& r : c.requests) {
    if (r.blocks == 0) continue;
    const at::Tensor scores = scores_of(c, r, q, keys, table, device);
    const auto* from = scores.data_ptr<double>();
    for (std::int64_t j = 0; j < r.blocks; ++j)
      for (std::int64_t h = 0; h < c.heads; ++h) {
        const std::int64_t row = h * c.all_blocks + r.first_block + j, visible = c.visible(r, j);
        const auto at = static_cast<std::size_t>(row);
        std::copy_n(from + (j * c.heads + h) * scores.size(2), visible,
                    selection->scores.begin() + static_cast<std::ptrdiff_t>(row * selection->width));
        selection->visible[at] = visible;
        for (std::int64_t n = 0; n < visible; ++n)
          if (n < c.init || n >= visible - c.local) selection->forced[at].push_back(static_cast<std::int32_t>(n));
        select(selection->scores.data() + row * selection->width, visible, c.topk, selection->forced[at],
               ids.data_ptr<double>() + row * c.topk);
      }
  }
  result.outputs.push_back({adopt(ids), adopt(ids.abs()), {}, std::move(selection)});
}
