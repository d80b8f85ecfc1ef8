// prefill_shape.hpp: the ragged batch of a block-score prefill call, a pure function of the case's dims and knobs.
//
// Promises: what all metadata tensors, scalars and extents of attention.msa_prefill_block_score agree on. Request b
// reads page-table row batch - b; row 0 belongs to nobody. Every row has a page more than the longest request.
// Who uses it: conformance/slots/msa_prefill_block_score.cc.
//
//   const PrefillShape s = prefill_shape(c);
//   s.anchor(b, j);                                  // position of query block j's first row
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "harness/case/case.hpp"

namespace assay {

struct PrefillShape {
  std::int64_t batch = 0, block_q = 1, block_k = 1;
  std::vector<std::int64_t> rows, prefix;            // query rows and cached keys of a request
  std::vector<std::int64_t> first_row, first_block;  // prefix sums: one entry more than requests
  std::int64_t longest_q = 0, longest_k = 0, most_blocks = 0, capacity = 0;

  [[nodiscard]] std::int64_t query_blocks(std::int64_t b) const { return first_block[at(b) + 1] - first_block[at(b)]; }
  [[nodiscard]] std::int64_t all_rows() const { return first_row.back(); }
  [[nodiscard]] std::int64_t all_blocks() const { return first_block.back(); }
  [[nodiscard]] std::int64_t anchor(std::int64_t b, std::int64_t j) const { return prefix[at(b)] + j * block_q; }
  [[nodiscard]] std::int64_t anchor_row(std::int64_t b, std::int64_t j) const { return first_row[at(b)] + j * block_q; }
  [[nodiscard]] std::int64_t visible(std::int64_t b, std::int64_t j) const { return anchor(b, j) / block_k + 1; }
  // Keys that some anchor of the request sees: all before this position.
  [[nodiscard]] std::int64_t seen(std::int64_t b) const {
    return query_blocks(b) == 0 ? 0 : anchor(b, query_blocks(b) - 1) + 1;
  }
  [[nodiscard]] std::int64_t table_row(std::int64_t b) const { return batch - b; }
  [[nodiscard]] std::int64_t slots() const { return (batch + 1) * capacity; }

  static std::size_t at(std::int64_t b) { return static_cast<std::size_t>(b); }
};

inline PrefillShape prefill_shape(const Case& c) {
  PrefillShape s;
  s.batch = c["batch"];
  s.block_q = c["block_q"];
  s.block_k = c["block_k"];
  s.first_row = s.first_block = {0};
  const std::int64_t q_len = c["q_len"], cached = c["prefix_blocks"] * s.block_k;
  const std::string& lengths = c.knobs.at("lengths");
  for (std::int64_t b = 0; b < s.batch; ++b) {
    std::int64_t rows = q_len, prefix = cached + 1;
    if (lengths == "ragged") {
      rows = std::max<std::int64_t>(1, q_len - b);
      prefix = std::max<std::int64_t>(0, cached + 1 - b);
    } else if (lengths == "mixed") {  // of 16: 16, 0, 1, 9; queries start on a block's first position
      const std::int64_t turns[] = {q_len, 0, 1, q_len * 9 / 16};
      rows = turns[b % 4];
      prefix = cached;
    }
    const std::int64_t blocks = (rows + s.block_q - 1) / s.block_q;
    s.rows.push_back(rows);
    s.prefix.push_back(prefix);
    s.first_row.push_back(s.first_row.back() + rows);
    s.first_block.push_back(s.first_block.back() + blocks);
    s.longest_q = std::max(s.longest_q, rows);
    s.longest_k = std::max(s.longest_k, prefix + rows);
    s.most_blocks = std::max(s.most_blocks, blocks);
  }
  s.capacity = ((s.longest_k + s.block_k - 1) / s.block_k + 1) * s.block_k;
  return s;
}

}  // namespace assay
