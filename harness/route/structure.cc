#include "harness/route/structure.hpp"

#include <algorithm>

#include "harness/tensor/layout.hpp"

namespace assay {

std::optional<std::pair<std::int64_t, std::int64_t>> collapsed(const Extents& shape, const Extents& strides) {
  if (shape.size() < 2) return std::pair<std::int64_t, std::int64_t>{1, shape.empty() ? 0 : shape.back()};
  std::int64_t rows = 1, pitch = shape.back();
  bool first = true;
  for (std::size_t d = shape.size() - 1; d-- > 0;) {
    if (shape[d] == 1) continue;
    if (first) {
      pitch = strides[d];
      first = false;
    } else if (strides[d] != rows * pitch) {
      return std::nullopt;
    }
    rows *= shape[d];
  }
  return std::pair{rows, pitch};
}

Objection check_tensors(const SlotSpec& slot, DType run, const std::vector<PassedTensor>& tensors, RowForm form) {
  for (const PassedTensor& t : tensors) {
    const ArgumentSpec& a = slot.argument(t.name);
    if (t.dtype != a.dtype.value_or(run)) {
      return t.name + " is of dtype " + std::string(name_of(t.dtype)) + ", and the slot's is " +
             std::string(name_of(a.dtype.value_or(run)));
    }
    // Rows may be spread over more leading extents, or be one without any.
    const bool rows = slot.kind == Kind::op && a.extents.size() == 2;
    if (t.shape.size() != a.extents.size() && !(rows && !t.shape.empty())) {
      return t.name + " has rank " + std::to_string(t.shape.size()) + ", and the slot's has " +
             std::to_string(a.extents.size());
    }
    const bool empty = std::find(t.shape.begin(), t.shape.end(), 0) != t.shape.end();
    const bool laid_out =
        a.strided ? is_strided(t.shape, t.strides) : TensorView{nullptr, t.dtype, t.shape, t.strides}.contiguous();
    if (!empty && !laid_out) {
      return t.name + (a.strided ? " is no row-major view without holes between its columns" : " is not contiguous");
    }
    if (form == RowForm::sealed && t.shape.size() > a.extents.size() && !collapsed(t.shape, t.strides)) {
      return "the leading dimensions of " + t.name + " do not collapse to rows at one pitch";
    }
  }
  return std::nullopt;
}

Objection check_group(const GroupFacts& group) {
  if (!group.available) return "the call has no group";
  if (group.claimed_size && *group.claimed_size != group.size) {
    return "the layer says that its group has " + std::to_string(*group.claimed_size) + " ranks, and it has " +
           std::to_string(group.size);
  }
  if (group.role != GroupFacts::Role::tensor_parallel) return "the group's role is not tensor-parallel";
  if (group.size < 2 && !group.may_be_alone) return "the group has a single rank";
  if (group.ep_size != 1) return "expert parallelism of " + std::to_string(group.ep_size) + " is not modelled";
  if (group.defers_reduction) return "the layer defers its reduction";
  if (!group.eligible) return "this rank is not eligible";
  return std::nullopt;
}

Objection check_bucket(const BucketArena& arena, std::int64_t requests) {
  const auto bucket = std::lower_bound(arena.buckets.begin(), arena.buckets.end(), requests);
  if (requests < 1 || bucket == arena.buckets.end()) {
    return "no bucket holds " + std::to_string(requests) + " requests";
  }
  const std::int64_t padded = *bucket - requests;
  if (padded <= arena.most_padded) return std::nullopt;
  return "the bucket of " + std::to_string(*bucket) + " would have " + std::to_string(padded) +
         " padded rows, over the limit of " + std::to_string(arena.most_padded);
}

Admission admission(const SlotSpec& slot, GraphSafe graph_safe) noexcept {
  if (graph_safe == GraphSafe::yes) return Admission::admitted;
  if (slot.kind == Kind::op || slot.id == "attention.msa_prefill_block_score") return Admission::numerical_pass_at_best;
  return Admission::not_admitted;
}

}  // namespace assay
