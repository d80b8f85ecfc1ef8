// variation_drive.cc: pairs of calls that differ by one known change: other rows beside a row, a split in two, a scalar.
#include <algorithm>
#include <cstring>
#include <numeric>

#include "harness/case/generate.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

bool is_row_input(const RelationSpec& relation, const std::string& name) {
  return std::find(relation.inputs.begin(), relation.inputs.end(), name) != relation.inputs.end();
}

// Overwrites the row inputs of `to` with the rows of `from` that `rows` names; -1 keeps to's own values there.
void take_rows(Bench& bench, const RelationSpec& relation, Binding& to, const Binding& from,
               const std::vector<std::int64_t>& rows, std::int64_t from_rows) {
  for (std::size_t i = 0; i < to.tensors.size(); ++i) {
    const Placed& target = to.tensors[i];
    if (target.spec->kind != 'i') continue;
    const Tensor& source = from.tensors[i].values;
    if (!is_row_input(relation, target.spec->name)) {
      if (target.shape == from.tensors[i].shape) bench.set_values(to, i, source);  // weights and the like stay
      continue;
    }
    Tensor values(target.shape, target.dtype);
    const std::size_t bytes = static_cast<std::size_t>(from_rows ? source.size() / from_rows : 0) * size_of(target.dtype);
    auto* out = static_cast<std::byte*>(values.view().data);
    const auto* own = static_cast<const std::byte*>(target.values.view().data);
    const auto* in = static_cast<const std::byte*>(source.view().data);
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::memcpy(out + r * bytes, rows[r] < 0 ? own + r * bytes : in + static_cast<std::size_t>(rows[r]) * bytes, bytes);
    bench.set_values(to, i, std::move(values));
  }
}

bool row_call(Bench& bench, const RelationSpec& relation, const Binding& base,
              std::vector<std::int64_t> rows, std::uint64_t salt, const std::string& label) {
  Case c = base.c;
  const std::int64_t from_rows = c[relation.dim];
  c.dims[relation.dim] = static_cast<std::int64_t>(rows.size());
  c.seed = derive_key(base.c.seed, "other rows", salt);
  repair(bench.slot(), c);
  if (c[relation.dim] != static_cast<std::int64_t>(rows.size())) return true;  // the slot does not allow that many
  Binding& b = bench.bind(c, Placement::ordinary, salt);
  take_rows(bench, relation, b, base, rows, from_rows);
  bench.push(b);
  return call_and_collect(bench, b, label, {.rows = std::move(rows)});
}

}  // namespace

void drive_variation(Bench& bench, Observation& seen) {
  const SlotSpec& slot = bench.slot();
  Case c = seen.trial.part.cases[0];
  c.far = false;  // the pairs must differ by one thing only
  repair(slot, c);
  Binding& base = bench.bind(c);
  bench.push(base);
  if (!call_and_collect(bench, base, "base")) return;

  for (const RelationSpec& relation : slot.relations) {
    const std::int64_t rows = c[relation.dim];
    if (rows < 2) continue;
    // A shorter batch in another order, every third row a stranger.
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    std::iota(order.begin(), order.end(), 0);
    std::uint64_t draw = derive_key(c.seed, "row order");
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[(draw = mix64(draw + i)) % i]);
    order.resize(static_cast<std::size_t>(std::max<std::int64_t>(1, rows - rows / 3)));
    for (std::size_t i = 2; i < order.size(); i += 3) order[i] = -1;
    if (!row_call(bench, relation, base, order, 11, "other rows beside")) return;
    std::vector<std::int64_t> head(static_cast<std::size_t>(rows / 2)), tail(static_cast<std::size_t>(rows - rows / 2));
    std::iota(head.begin(), head.end(), 0);
    std::iota(tail.begin(), tail.end(), rows / 2);
    if (!row_call(bench, relation, base, head, 12, "split, first part")) return;
    if (!row_call(bench, relation, base, tail, 13, "split, second part")) return;
  }

  for (const ArgumentSpec& a : slot.arguments) {
    if (a.choices.size() < 2) continue;
    for (const double value : {a.choices.back(), a.choices[a.choices.size() / 2]}) {
      if (value == c.scalars.at(a.name)) continue;
      Case changed = c;
      changed.scalars[a.name] = value;
      Binding& b = bench.bind(changed, Placement::ordinary, 14);
      bench.push(b);
      if (!call_and_collect(bench, b, a.name + " changed", {.changed_scalar = a.name})) return;
    }
  }
}

}  // namespace assay
