#include "reference/msa_block_score.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <vector>

#include "reference/borrow.hpp"

namespace assay::reference {
namespace {

// Keys in float64 are four times their stored size: so many values at once.
constexpr std::int64_t kSliceCells = 1 << 22;

at::Tensor best_of_blocks(const at::Tensor& scores, std::int64_t block) {
  if (block == 1) return scores;
  return scores.view({scores.size(0), scores.size(1) / block, block}).amax(-1);
}

}  // namespace
}  // namespace assay::reference

void assay_reference_msa_block_score(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const at::Tensor q = borrow<at::Tensor>(call.inputs.at("q"));
  const at::Tensor keys = borrow<at::Tensor>(call.inputs.at("index_k"));
  const at::Tensor lengths = borrow<at::Tensor>(call.inputs.at("seq_lens"));
  const auto block = static_cast<std::int64_t>(call.scalars.at("block_size"));
  if (q.dim() != 3 || keys.dim() != 4 || lengths.dim() != 1 || keys.size(2) != 1 || keys.size(0) != q.size(0) ||
      lengths.size(0) != q.size(0) || keys.size(3) != q.size(2) || block < 1 || keys.size(1) % block != 0)
    throw std::invalid_argument(
        "msa_block_score: q (B,Hq,D), index_k (B,S,1,D), seq_lens (B), S a multiple of a block");
  const std::int64_t batch = q.size(0), length = keys.size(1), width = keys.size(3);
  const auto device = compute_device<at::Device>(static_cast<double>(batch * length) * static_cast<double>(width));
  const at::Tensor queries = widened(q, device);
  const at::Tensor sums = queries.sum(1).unsqueeze(-1), bounds = queries.abs().sum(1).unsqueeze(-1);
  const at::Tensor invisible =
      at::arange(length, at::TensorOptions().dtype(at::kInt).device(device)).ge(lengths.to(device).unsqueeze(-1));
  std::vector<at::Tensor> sheets, magnitudes;
  const std::int64_t rows = std::max<std::int64_t>(1, kSliceCells / std::max<std::int64_t>(1, length * width));
  for (std::int64_t first = 0; first < batch; first += rows) {
    const std::int64_t count = std::min(rows, batch - first);
    const at::Tensor here = widened(keys.narrow(0, first, count).squeeze(2), device);
    const at::Tensor hidden = invisible.narrow(0, first, count);
    at::Tensor scores = here.bmm(sums.narrow(0, first, count)).squeeze(-1);
    scores.masked_fill_(hidden, -std::numeric_limits<double>::infinity());
    sheets.push_back(best_of_blocks(scores, block));
    at::Tensor sizes = here.abs().bmm(bounds.narrow(0, first, count)).squeeze(-1);
    sizes.masked_fill_(hidden, 0.0);
    magnitudes.push_back(best_of_blocks(sizes, block));
  }
  if (sheets.size() == 1)
    result.outputs.push_back({adopt(sheets[0]), adopt(magnitudes[0])});
  else
    result.outputs.push_back({adopt(at::cat(sheets)), adopt(at::cat(magnitudes))});
}
