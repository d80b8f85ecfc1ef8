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

// How a tensor holds its rows: `outer` times all rows, each `bytes` long.
struct RowLayout {
  std::int64_t outer = 1;
  std::size_t bytes = 0;
};

RowLayout rows_in(const Placed& p, const std::string& dim) {
  RowLayout layout;
  layout.bytes = size_of(p.dtype);
  const auto& extents = p.spec->extents;
  const auto at = static_cast<std::size_t>(std::find(extents.begin(), extents.end(), dim) - extents.begin());
  if (p.shape.size() != extents.size()) {  // a lead knob spread the rows over other dims: the last one is no row
    layout.bytes *= static_cast<std::size_t>(p.shape.back());
    return layout;
  }
  for (std::size_t d = 0; d < p.shape.size(); ++d) {
    if (d < at) layout.outer *= p.shape[d];
    if (d > at) layout.bytes *= static_cast<std::size_t>(p.shape[d]);
  }
  return layout;
}

// Overwrites the row inputs of `to` with the rows of `from` that `rows` names; -1 keeps to's own values there.
void take_rows(Bench& bench, const RelationSpec& relation, Binding& to, const Binding& from,
               const std::vector<std::int64_t>& rows, std::int64_t from_rows) {
  for (std::size_t i = 0; i < to.tensors.size(); ++i) {
    const Placed& target = to.tensors[i];
    if (target.spec->kind != 'i') continue;
    const Tensor& source = from.tensors[i].values;
    if (!is_row_input(relation, target.spec->name)) {
      if (target.shape == from.tensors[i].shape) bench.set_values(to, i, source, from.tensors[i].others);  // they stay
      continue;
    }
    const RowLayout layout = rows_in(target, relation.dim);
    const auto taken = [&](const Tensor& own_values, const Tensor& source_values) {
      Tensor values(target.shape, target.dtype);
      auto* out = static_cast<std::byte*>(values.view().data);
      const auto* own = static_cast<const std::byte*>(own_values.view().data);
      const auto* in = static_cast<const std::byte*>(source_values.view().data);
      for (std::int64_t o = 0; o < layout.outer; ++o)
        for (std::size_t r = 0; r < rows.size(); ++r) {
          const std::size_t at = (static_cast<std::size_t>(o) * rows.size() + r) * layout.bytes;
          const std::byte* row = rows[r] < 0 ? own + at : in + static_cast<std::size_t>(o * from_rows + rows[r]) * layout.bytes;
          std::memcpy(out + at, row, layout.bytes);
        }
      return values;
    };
    std::vector<Tensor> others;
    for (std::size_t k = 0; k < target.others.size(); ++k)
      others.push_back(taken(target.others[k], from.tensors[i].others[k]));
    bench.set_values(to, i, taken(target.values, source), std::move(others));
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

// The base call's inputs with the relation's change; its own reference is that of the changed values.
bool changed_call(Bench& bench, const RelationSpec& relation, const Binding& base) {
  Binding& b = bench.bind(base.c, Placement::ordinary, 15);
  // Once a rank, with the same key: what the ranks share comes out the same each time, and the first counts.
  std::vector<std::vector<Tensor>> values(b.tensors.size());
  for (int rank = 0; rank < b.world(); ++rank) {
    std::map<std::string, TensorView> inputs;
    for (std::size_t i = 0; i < b.tensors.size(); ++i) {
      const Placed& p = b.tensors[i];
      if (p.spec->kind != 'i') continue;
      Tensor copy(p.shape, p.dtype);
      std::memcpy(copy.view().data, base.tensors[i].of(rank).view().data,
                  static_cast<std::size_t>(copy.size()) * size_of(p.dtype));
      inputs[p.spec->name] = copy.view();
      values[i].push_back(std::move(copy));
    }
    if (!relation.change(b.c, derive_key(b.c.seed, relation.name), inputs)) return true;
  }
  for (std::size_t i = 0; i < b.tensors.size(); ++i) {
    if (b.tensors[i].spec->kind != 'i') continue;
    std::vector<Tensor> others;
    if (b.tensors[i].spec->per_rank) others.assign(values[i].begin() + 1, values[i].end());
    bench.set_values(b, i, values[i].front(), std::move(others));
  }
  bench.push(b);
  return call_and_collect(bench, b, relation.name, {.relation = &relation});
}

// Every rank gets the next one's inputs: who contributes what is nothing but another order of the sum.
bool exchanged_call(Bench& bench, const Binding& base) {
  Binding& b = bench.bind(base.c, Placement::ordinary, 16);
  for (std::size_t i = 0; i < b.tensors.size(); ++i) {
    const Placed& p = base.tensors[i];
    if (p.spec->kind != 'i') continue;
    std::vector<Tensor> others;
    for (std::size_t k = 1; k <= p.others.size(); ++k) others.push_back(p.of(static_cast<int>((k + 1) % (p.others.size() + 1))));
    bench.set_values(b, i, p.others.empty() ? p.values : p.others.front(), std::move(others));
  }
  bench.push(b);
  return call_and_collect(bench, b, "ranks exchanged");
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

  if (c.world > 1 && !exchanged_call(bench, base)) return;
  for (const RelationSpec& relation : slot.relations) {
    if (relation.holds && !relation.holds(c)) continue;
    if (relation.form == RelationSpec::Form::change) {
      if (!changed_call(bench, relation, base)) return;
      continue;
    }
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
