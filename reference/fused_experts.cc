#include "reference/fused_experts.hpp"

#include <ATen/ATen.h>

#include <algorithm>
#include <array>
#include <map>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "harness/tensor/nvfp4.hpp"
#include "reference/borrow.hpp"

namespace assay::reference {
namespace {

constexpr double swiglu_alpha = 1.702, swiglu_limit = 7.0;
constexpr std::int64_t most_batch_cells = 8 << 20;  // of one batch's larger weight matrix in float64

struct Place {
  std::int64_t expert, row, order;  // order: of the routing weight, row-major
};

// Experts that are computed together, each with as many rows as the busiest of them.
struct Batch {
  std::vector<std::int64_t> experts, rows;
  std::vector<double> weights;  // 0 in rows that are only there to fill up
};

struct Routing {
  std::int64_t tokens = 0, places = 0, experts = 0;
  std::vector<std::vector<Place>> of_expert;  // the busiest first, those without tokens left out
  RowGroups groups{"expert", 0, {}};
};

Routing read_routing(const TensorView& ids, std::int64_t experts) {
  Routing r{
      ids.shape[0], ids.shape[1], experts, std::vector<std::vector<Place>>(static_cast<std::size_t>(experts)), {}};
  r.groups = {"expert", experts, {}};
  for (std::int64_t m = 0; m < r.tokens; ++m)
    for (std::int64_t k = 0; k < r.places; ++k) {
      const std::int64_t e = ids.at<std::int32_t>({m, k});
      if (e < 0 || e >= experts) throw std::invalid_argument("fused_experts: an id is no expert");
      r.of_expert[static_cast<std::size_t>(e)].push_back({e, m, m * r.places + k});
      if (k == 0) r.groups.of_row.push_back(static_cast<std::uint32_t>(e));
    }
  std::erase_if(r.of_expert, [](const auto& places) { return places.empty(); });
  std::stable_sort(r.of_expert.begin(), r.of_expert.end(),
                   [](const auto& a, const auto& b) { return a.size() > b.size(); });
  return r;
}

// Neighbours in size share a batch as long as at most half of its rows only fill up.
std::vector<Batch> batches_of(const Routing& routing, const TensorView& weights, std::int64_t expert_cells) {
  std::vector<Batch> list;
  std::size_t rows = 0;
  for (const auto& places : routing.of_expert) {
    const bool fits = !list.empty() && 2 * places.size() >= rows &&
                      static_cast<std::int64_t>(list.back().experts.size() + 1) * expert_cells <= most_batch_cells;
    if (!fits) {
      list.emplace_back();
      rows = places.size();
    }
    Batch& batch = list.back();
    batch.experts.push_back(places.front().expert);
    for (std::size_t i = 0; i < rows; ++i) {
      const bool real = i < places.size();
      batch.rows.push_back(real ? places[i].row : 0);
      const std::int64_t order = real ? places[i].order : 0;
      batch.weights.push_back(real ? weights.at<float>({order / routing.places, order % routing.places}) : 0.0);
    }
  }
  return list;
}

at::Tensor dense(const TensorView& weight, const std::vector<std::int64_t>& experts, const at::Device& device) {
  const at::Tensor all = borrow<at::Tensor>(weight);
  if (experts.size() == 1) return widened(all.narrow(0, experts.front(), 1), device);
  return widened(all.index_select(0, at::tensor(experts, at::kLong)), device);
}

// Both E2M1 values of each byte.
std::array<std::array<float, 2>, 256> value_pairs() {
  std::array<std::array<float, 2>, 256> table{};
  for (std::uint32_t byte = 0; byte < 256; ++byte)
    table[byte] = {nvfp4::decode_e2m1(byte & 15U), nvfp4::decode_e2m1(byte >> 4)};
  return table;
}

// Where each group's scale lies, on the device; experts of one layer ask for the same two grids again and again.
const at::Tensor& scale_order(const nvfp4::ScaleGrid& grid, const at::Device& device) {
  static std::map<std::pair<std::int64_t, std::int64_t>, at::Tensor> known;
  if (known.size() > 8) known.clear();
  at::Tensor& order = known[{grid.rows, grid.cols}];
  if (!order.defined()) {
    at::Tensor made = at::empty({grid.rows * grid.cols}, at::kLong);
    auto* out = made.data_ptr<std::int64_t>();
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (std::int64_t g = 0; g < grid.cols; ++g) *out++ = grid.offset(r, g);
    order = made.to(device);
  }
  return order;
}

// Value by value on the CPU; by tables on a GPU, which a quarter of the bytes have to reach. Without the outer scale.
at::Tensor decoded(const TensorView& packed, const TensorView& scales, const nvfp4::ScaleGrid& grid,
                   const std::vector<std::int64_t>& experts, const at::Device& device) {
  static const auto pairs = value_pairs();
  const std::int64_t rows = packed.shape[1], bytes = packed.shape[2];
  const auto count = static_cast<std::int64_t>(experts.size());
  if (device.is_cuda()) {
    at::Tensor scale_values = at::empty({256}, at::kFloat);
    for (std::uint32_t byte = 0; byte < 256; ++byte)
      scale_values.data_ptr<float>()[byte] = nvfp4::decode_e4m3(static_cast<std::uint8_t>(byte));
    const auto codes = [&](const TensorView& view) {
      const at::Tensor all = borrow<at::Tensor>(view).view({packed.shape[0], -1});
      const at::Tensor own = count == 1 ? all.narrow(0, experts.front(), 1)
                                        : all.index_select(0, at::tensor(experts, at::kLong));
      return own.to(device).to(at::kInt);
    };
    const at::Tensor table = at::from_blob(const_cast<float*>(pairs.front().data()), {256, 2}, at::kFloat).to(device);
    const at::Tensor values = table.index_select(0, codes(packed).view(-1));
    const at::Tensor own = codes(scales).index_select(1, scale_order(grid, device));
    const at::Tensor group = scale_values.to(device).index_select(0, own.reshape(-1));
    return values.view({count, rows, grid.cols, nvfp4::group_size})
        .mul(group.view({count, rows, grid.cols, 1}))
        .view({count, rows, 2 * bytes});
  }
  at::Tensor values = at::empty({count, rows, 2 * bytes}, at::kFloat);
  float* out = values.data_ptr<float>();
  for (std::int64_t i = 0; i < count * rows; ++i) {
    const std::int64_t e = experts[static_cast<std::size_t>(i / rows)], r = i % rows;
    const std::uint8_t* from = static_cast<const std::uint8_t*>(packed.data) + (e * rows + r) * bytes;
    const std::uint8_t* scale = static_cast<const std::uint8_t*>(scales.data) + e * grid.bytes();
    float* to = out + i * 2 * bytes;
    for (std::int64_t g = 0; g < grid.cols; ++g) {
      const float s = nvfp4::decode_e4m3(scale[grid.offset(r, g)]);
      for (std::int64_t k = g * nvfp4::group_bytes; k < (g + 1) * nvfp4::group_bytes; ++k) {
        to[2 * k] = pairs[from[k]][0] * s;
        to[2 * k + 1] = pairs[from[k]][1] * s;
      }
    }
  }
  return values;
}

// E2M1 times E4M3 is exact in float; the outer scale is not, and is applied in float64.
at::Tensor dequantised(const TensorView& packed, const TensorView& scales, const TensorView& alphas,
                       const TensorView& inverse, const std::vector<std::int64_t>& experts, const at::Device& device) {
  if (!packed.contiguous() || !scales.contiguous()) throw std::invalid_argument("NVFP4 weights are contiguous");
  const std::int64_t cols = 2 * packed.shape[2];
  const nvfp4::ScaleGrid grid{packed.shape[1], cols / nvfp4::group_size};
  if (cols % nvfp4::group_size != 0 || scales.size() != packed.shape[0] * grid.bytes())
    throw std::invalid_argument("NVFP4: whole groups of 16, and a padded scale for each");
  at::Tensor outer = at::empty({static_cast<std::int64_t>(experts.size()), 1, 1}, at::kDouble);
  for (std::size_t i = 0; i < experts.size(); ++i) {
    const Extents e = {experts[i]};
    outer.data_ptr<double>()[i] = static_cast<double>(alphas.at<float>(e)) * inverse.at<float>(e);
  }
  return decoded(packed, scales, grid, experts, device).to(device).to(at::kDouble).mul_(outer.to(device));
}

// The activation as a product: SiLU of the gate times the up half, or M3's clamped forms of both.
struct Activation {
  at::Tensor gate, up;
};

Activation activated(const at::Tensor& f, bool m3) {
  const std::int64_t inter = f.size(-1) / 2;
  at::Tensor gate = f.narrow(-1, 0, inter), up = f.narrow(-1, inter, inter);
  if (!m3) return {gate.sigmoid().mul_(gate), up};
  gate = gate.clamp_max(swiglu_limit);
  return {gate.mul(swiglu_alpha).sigmoid_().mul_(gate), up.clamp(-swiglu_limit, swiglu_limit).add_(1)};
}

// What the activation's magnitude owes to sums in float that cancel: its change for an error of one unit of the
// absolute terms in both halves. The slope of x * sigmoid(x) is at most 1.1.
at::Tensor cancelled(const Activation& act, const at::Tensor& absolute_terms) {
  const std::int64_t inter = absolute_terms.size(-1) / 2;
  return act.up.abs().mul_(absolute_terms.narrow(-1, 0, inter)).mul_(1.1) +
         act.gate.abs().mul_(absolute_terms.narrow(-1, inter, inter));
}

}  // namespace
}  // namespace assay::reference

void assay_reference_fused_experts(const assay::ReferenceCall& call, assay::ReferenceResult& result) {
  using namespace assay;
  using namespace assay::reference;
  const c10::InferenceMode no_autograd;
  const std::string& profile = call.knobs.at("profile");
  const bool nvfp4 = profile == "m3_nvfp4", m3 = profile != "generic";
  const TensorView &ids = call.inputs.at("topk_ids"), &weights = call.inputs.at("topk_weights");
  const TensorView& w13 = call.inputs.at(nvfp4 ? "w13_weight" : "w13");
  const TensorView& w2 = call.inputs.at(nvfp4 ? "w2_weight" : "w2");
  const std::int64_t tokens = call.inputs.at("x").shape[0], hidden = call.inputs.at("x").shape[1];
  const std::int64_t inter = w13.shape[1] / 2, cells = 2 * inter * hidden;
  if (ids.shape.size() != 2 || ids.shape != weights.shape || ids.shape[0] != tokens || w2.shape[1] != hidden)
    throw std::invalid_argument("fused_experts: shapes do not fit each other");

  // Sums before the activation are kept in float by everyone: next to 16-bit outputs their rounding is nothing.
  const bool single = call.inputs.at("x").dtype == DType::f32;
  const Routing routing = read_routing(ids, w13.shape[0]);
  const auto device = compute_device<at::Device>(1.5 * static_cast<double>(cells * tokens * routing.places));
  const at::Tensor x = widened(borrow<at::Tensor>(call.inputs.at("x")), device);
  at::Tensor out = at::zeros({tokens, hidden}, x.options()), magnitude = at::zeros_like(out);
  for (const Batch& batch : batches_of(routing, weights, cells)) {
    const auto experts = static_cast<std::int64_t>(batch.experts.size());
    const auto rows = static_cast<std::int64_t>(batch.rows.size()) / experts;
    const at::Tensor index = at::tensor(batch.rows, at::kLong).to(device);
    const at::Tensor share = at::tensor(batch.weights, at::kDouble).to(device).view({experts, rows, 1});
    const at::Tensor first = nvfp4 ? dequantised(w13, call.inputs.at("w13_weight_scale"), call.inputs.at("g1_alphas"),
                                                 call.inputs.at("w13_input_scale_quant"), batch.experts, device)
                                   : dense(w13, batch.experts, device);
    const at::Tensor rows_of_x = x.index_select(0, index).view({experts, rows, hidden});
    const Activation halves = activated(rows_of_x.bmm(first.transpose(1, 2)), m3);
    const at::Tensor act = halves.gate.mul(halves.up).mul_(share);
    at::Tensor size = act.abs();
    if (single) size += cancelled(halves, rows_of_x.abs().bmm(first.abs().transpose(1, 2))).mul_(share.abs());
    const at::Tensor second = nvfp4 ? dequantised(w2, call.inputs.at("w2_weight_scale"), call.inputs.at("g2_alphas"),
                                                  call.inputs.at("w2_input_scale_quant"), batch.experts, device)
                                    : dense(w2, batch.experts, device);
    out.index_add_(0, index, act.bmm(second.transpose(1, 2)).view({-1, hidden}));
    magnitude.index_add_(0, index, size.bmm(second.abs().transpose(1, 2)).view({-1, hidden}));
  }
  Expected expected{adopt(out), adopt(magnitude), {}, {}};
  expected.groups.push_back(routing.groups);
  result.outputs.push_back(std::move(expected));
}
