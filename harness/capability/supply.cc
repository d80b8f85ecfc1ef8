#include "harness/capability/supply.hpp"

#include <algorithm>
#include <stdexcept>

#include "harness/case/json.hpp"

namespace assay {
namespace {

SuppliedField number(std::string_view name, std::int64_t value) { return {std::string(name), FactValue(value), false}; }
SuppliedField token(std::string_view name, std::string_view value) {
  return {std::string(name), FactValue(std::string(value)), false};
}

std::vector<SuppliedField> operator+(std::vector<SuppliedField> fields, std::vector<SuppliedField> more) {
  fields.insert(fields.end(), more.begin(), more.end());
  return fields;
}

std::vector<SuppliedField> names(std::initializer_list<std::string_view> list) {
  std::vector<SuppliedField> fields;
  for (const std::string_view name : list) fields.push_back({std::string(name), std::nullopt, false});
  return fields;
}

std::vector<SlotSupply> build_matrix() {
  const std::map<std::string, ScalarType, std::less<>> eps = {{"scalar.eps", ScalarType::f64}};
  const auto topology = names({"tp_size", "world_size"});
  const auto op = names({"num_tokens", "last_dim"}) + topology;
  const auto moe =
      names({"num_tokens", "hidden_dim", "last_dim", "intermediate_dim", "num_experts", "top_k", "quant"}) + topology +
      std::vector<SuppliedField>{{"model", std::nullopt, true}};
  const auto reduce = names({"num_tokens", "hidden_dim", "last_dim"}) + topology +
                      std::vector{token("layout", "row_major"), token("quant", "dense")};

  std::vector<SlotSupply> matrix;
  matrix.push_back({.slot = "activation.silu_and_mul", .fields = op, .equal = {}, .scalars = {}});
  matrix.push_back({.slot = "norm.rmsnorm", .fields = op, .equal = {}, .scalars = eps});
  matrix.push_back(
      {.slot = "attention.sdpa",
       .fields = names({"num_tokens", "q_len", "kv_len", "num_q_heads", "num_kv_heads", "head_dim", "last_dim"}) +
                 topology +
                 std::vector{token("phase", "prefill"), token("layout", "row_major"), token("quant", "dense")},
       .equal = {{"num_tokens", "q_len"}, {"head_dim", "last_dim"}},
       .scalars = {{"scalar.sm_scale", ScalarType::f64}, {"scalar.causal", ScalarType::boolean}}});
  matrix.push_back({.slot = "attention.decode",
                    .fields = names({"batch_size", "num_tokens", "kv_len", "top_k", "block_size", "page_size",
                                     "num_q_heads", "num_kv_heads", "head_dim", "last_dim", "model"}) +
                              topology +
                              std::vector{number("q_len", 1), token("layout", "paged_nhd"), token("phase", "decode"),
                                          token("quant", "dense")},
                    .equal = {{"batch_size", "num_tokens"}, {"head_dim", "last_dim"}},
                    .scalars = {{"scalar.sm_scale", ScalarType::f64}}});
  matrix.push_back(
      {.slot = "attention.msa_block_score",
       .fields = names({"batch_size", "num_tokens", "kv_len", "block_size", "num_q_heads", "head_dim", "last_dim"}) +
                 topology +
                 std::vector{number("q_len", 1), number("num_kv_heads", 1), number("top_k", 8),
                             token("phase", "decode"), token("layout", "row_major"), token("quant", "dense")},
       .equal = {{"batch_size", "num_tokens"}, {"head_dim", "last_dim"}},
       .scalars = {}});
  matrix.push_back(
      {.slot = "attention.msa_prefill_block_score",
       .fields = names({"batch_size", "num_tokens", "q_len", "kv_len", "num_q_heads", "head_dim", "last_dim",
                        "block_size", "page_size", "q_block_size", "top_k", "init_blocks", "local_blocks", "model"}) +
                 topology +
                 std::vector{number("num_kv_heads", 1), token("phase", "prefill"), token("layout", "paged"),
                             token("quant", "dense")},
       .equal = {{"head_dim", "last_dim"}, {"block_size", "page_size"}},
       .scalars = {}});
  matrix.push_back({.slot = "moe.fused_experts",
                    .fields = moe + std::vector{token("layout", "routed_moe")},
                    .equal = {{"hidden_dim", "last_dim"}},
                    .scalars = {},
                    .prepares = true});
  matrix.push_back({.slot = "moe.fused_experts_reduce",
                    .fields = moe + std::vector{token("layout", "row_major"), number("ep_size", 1)},
                    .equal = {{"hidden_dim", "last_dim"}, {"tp_size", "world_size"}},
                    .scalars = {},
                    .prepares = true,
                    .collective = true});
  const std::vector<std::pair<std::string, std::string>> one_group = {{"hidden_dim", "last_dim"},
                                                                      {"tp_size", "world_size"}};
  matrix.push_back(
      {.slot = "collective.all_reduce", .fields = reduce, .equal = one_group, .scalars = {}, .collective = true});
  matrix.push_back({.slot = "collective.ar_residual_rmsnorm",
                    .fields = reduce,
                    .equal = one_group,
                    .scalars = eps,
                    .collective = true});
  matrix.push_back({.slot = "collective.moe_finalize_ar_rmsnorm",
                    .fields = reduce + names({"exp_tokens", "top_k"}) + std::vector{number("ep_size", 1)},
                    .equal = one_group,
                    .scalars = eps,
                    .collective = true});
  return matrix;
}

const std::vector<SlotSupply>& matrix() {
  static const std::vector<SlotSupply> table = build_matrix();
  return table;
}

}  // namespace

bool SlotSupply::supplies(std::string_view canonical) const {
  const auto required = mandatory_fields();
  return std::find(required.begin(), required.end(), canonical) != required.end() ||
         std::any_of(fields.begin(), fields.end(), [&](const SuppliedField& f) { return f.name == canonical; });
}

SlotSupply SlotSupply::with(std::string_view field) const {
  const std::string name = fold_field(field);
  const auto kind = kind_of_field(name);
  if (!kind || *kind == FieldKind::scalar) {
    throw std::invalid_argument(slot + ": " + shown(field) + " is not a field of the vocabulary");
  }
  if (collective && name == "alignment") {
    throw std::invalid_argument(slot + ": alignment is rank-local, a collective's binding never supplies it");
  }
  SlotSupply more = *this;
  const auto known =
      std::find_if(more.fields.begin(), more.fields.end(), [&](const auto& f) { return f.name == name; });
  if (known != more.fields.end()) {
    known->optional = false;
  } else if (!supplies(name)) {
    more.fields.push_back({name, std::nullopt, false});
  }
  return more;
}

const SlotSupply* supply_of(std::string_view slot) {
  for (const SlotSupply& row : matrix()) {
    if (row.slot == slot) return &row;
  }
  return nullptr;
}

std::span<const SlotSupply> supply_matrix() { return matrix(); }

SlotSupply make_supply(std::string_view slot, std::initializer_list<std::string_view> fields) {
  SlotSupply supply{.slot = std::string(slot), .fields = {}, .equal = {}, .scalars = {}};
  for (const std::string_view field : fields) {
    if (supply.supplies(fold_field(field))) {
      throw std::invalid_argument(supply.slot + ": " + shown(field) + " is supplied twice");
    }
    supply = supply.with(field);
  }
  return supply;
}

}  // namespace assay
