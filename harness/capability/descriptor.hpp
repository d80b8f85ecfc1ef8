// harness/capability/descriptor.hpp: the call descriptor, the facts of one call that routing and evidence may rest on.
//
// Promises: immutable; canonical field names and values; dtype, architecture and graph_mode always present; one text
// and one digest (routing-and-targets.md 2, DR-1 to DR-9). A fact that the builder's caller cannot establish is left
// out: there is no null and no "unknown". Not promised: that the facts are true. The caller reads them off the objects
// that are really passed (extents, the supplied group, the stream), never the environment (DR-7), and without touching
// device memory (DR-8).
// Who calls it: slot files (through the builder), match(), results, receipts.
//
//   DescriptorBuilder b;
//   b.dtype("bf16").architecture("sm_90").graph_mode("eager").num_tokens(33).last_dim(5760);
//   b.build().encode();   // {"architecture":"sm90","dtype":"bfloat16","graph_mode":"eager",...}
#pragma once

#include <concepts>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "harness/capability/supply.hpp"
#include "harness/capability/vocabulary.hpp"

namespace assay {

// A defect of the harness's own binding, never of a candidate.
class DescriptorError : public std::runtime_error {
 public:
  DescriptorError(std::string rule, std::string field, const std::string& sentence)
      : std::runtime_error(rule + ": " + sentence), rule_(std::move(rule)), field_(std::move(field)) {}
  [[nodiscard]] const std::string& rule() const noexcept { return rule_; }    // "DR-5"
  [[nodiscard]] const std::string& field() const noexcept { return field_; }  // canonical where it has a canonical name

 private:
  std::string rule_, field_;
};

using Facts = std::map<std::string, FactValue, std::less<>>;

class Descriptor {
 public:
  [[nodiscard]] const Facts& fields() const noexcept { return fields_; }
  [[nodiscard]] const FactValue* find(std::string_view canonical) const;  // NULL: not known
  [[nodiscard]] std::string encode() const;                               // canonical JSON text
  [[nodiscard]] std::string digest() const;                               // of domain assay.call-descriptor
  bool operator==(const Descriptor&) const = default;

 private:
  friend class DescriptorBuilder;
  explicit Descriptor(Facts fields) : fields_(std::move(fields)) {}
  Facts fields_;
};

// Every setter throws DescriptorError. Equal values for one field are accepted once, different ones refused (DR-5).
class DescriptorBuilder {
 public:
  DescriptorBuilder& set(std::string_view field, std::string_view text);
  template <std::integral T>
  requires(!std::same_as<T, bool>) DescriptorBuilder& set(std::string_view field, T value) {
    return std::in_range<std::int64_t>(value) ? put(field, FactValue(static_cast<std::int64_t>(value)))
                                              : out_of_range(field);
  }
  template <std::same_as<bool> T>
  DescriptorBuilder& set(std::string_view field, T value) {
    return put(field, FactValue(value));
  }
  template <std::same_as<double> T>
  DescriptorBuilder& set(std::string_view field, T value) {
    return put_real(field, value);
  }

  DescriptorBuilder& alignment(std::int64_t v) { return set("alignment", v); }
  DescriptorBuilder& batch_size(std::int64_t v) { return set("batch_size", v); }
  DescriptorBuilder& block_size(std::int64_t v) { return set("block_size", v); }
  DescriptorBuilder& ep_size(std::int64_t v) { return set("ep_size", v); }
  DescriptorBuilder& exp_tokens(std::int64_t v) { return set("exp_tokens", v); }
  DescriptorBuilder& head_dim(std::int64_t v) { return set("head_dim", v); }
  DescriptorBuilder& hidden_dim(std::int64_t v) { return set("hidden_dim", v); }
  DescriptorBuilder& init_blocks(std::int64_t v) { return set("init_blocks", v); }
  DescriptorBuilder& intermediate_dim(std::int64_t v) { return set("intermediate_dim", v); }
  DescriptorBuilder& kv_len(std::int64_t v) { return set("kv_len", v); }
  DescriptorBuilder& last_dim(std::int64_t v) { return set("last_dim", v); }
  DescriptorBuilder& local_blocks(std::int64_t v) { return set("local_blocks", v); }
  DescriptorBuilder& num_experts(std::int64_t v) { return set("num_experts", v); }
  DescriptorBuilder& num_kv_heads(std::int64_t v) { return set("num_kv_heads", v); }
  DescriptorBuilder& num_q_heads(std::int64_t v) { return set("num_q_heads", v); }
  DescriptorBuilder& num_tokens(std::int64_t v) { return set("num_tokens", v); }
  DescriptorBuilder& page_size(std::int64_t v) { return set("page_size", v); }
  DescriptorBuilder& q_block_size(std::int64_t v) { return set("q_block_size", v); }
  DescriptorBuilder& q_len(std::int64_t v) { return set("q_len", v); }
  DescriptorBuilder& top_k(std::int64_t v) { return set("top_k", v); }
  DescriptorBuilder& tp_size(std::int64_t v) { return set("tp_size", v); }
  DescriptorBuilder& world_size(std::int64_t v) { return set("world_size", v); }
  DescriptorBuilder& architecture(std::string_view v) { return set("architecture", v); }
  DescriptorBuilder& dtype(std::string_view v) { return set("dtype", v); }
  DescriptorBuilder& graph_mode(std::string_view v) { return set("graph_mode", v); }
  DescriptorBuilder& layout(std::string_view v) { return set("layout", v); }
  DescriptorBuilder& model(std::string_view v) { return set("model", v); }
  DescriptorBuilder& phase(std::string_view v) { return set("phase", v); }
  DescriptorBuilder& quant(std::string_view v) { return set("quant", v); }
  DescriptorBuilder& runtime(std::string_view v) { return set("runtime", v); }

  [[nodiscard]] Descriptor build() const;  // DR-9

 private:
  DescriptorBuilder& put(std::string_view field, FactValue value);
  DescriptorBuilder& put_real(std::string_view field, double value);
  [[noreturn]] DescriptorBuilder& out_of_range(std::string_view field);
  Facts fields_;
};

// Reads what encode() wrote, or any spelling that folds to it. Throws JsonError for text that is not strict JSON,
// DescriptorError for the rest.
[[nodiscard]] Descriptor decode_descriptor(std::string_view text);

enum class RowForm { library, sealed };  // a C library's variant, or a row of a sealed artifact

// DR-10: the descriptor holds exactly what the slot's binding supplies, with its fixed values and equal fields.
void require_supply(const Descriptor&, const SlotSupply&, RowForm);

}  // namespace assay
