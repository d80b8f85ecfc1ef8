// harness/tensor/fill.hpp: the values of a float tensor as a pure function of a plan and a position.
//
// Promises: fill_value gives the same bits on host and GPU: integers until one exact scaling, no libm, nothing that
// FMA contraction or flush-to-zero could change. Its value, rounded once to the tensor's dtype, is the stored value.
// fill_tensor does that for a whole host tensor, about 5 ns a value (denormal and gate_extreme: 20). Row = all leading
// dimensions flattened, column = last dimension. Not promised: that a recipe is informative for a slot; the null-output
// check (harness/compare) decides that. Who calls it: harness/drive (inputs), the CUDA fill kernel, slot authors'
// fills.
//
//   FillPlan plan{.recipe = Recipe::spike, .dtype = DType::bf16, .key = derive_key(seed, "x")};
//   fill_tensor(view, plan);
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "assay/tensor.hpp"
#include "harness/tensor/half.hpp"
#include "harness/tensor/host_device.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {

// Base values are (b0+b1+b2+b3-510)/128 of the bytes of one Philox word: mean 0, deviation 1.15, within +-4.
enum class Recipe : std::uint32_t {
  normal,         // base values
  tag,            // k/8, |k| <= 126, never 0: names its row and column (mod 251); parameter = rank or call
  spike,          // one +-100 a row (parameter: another height), the others base/512
  zero_row,       // about a quarter of the rows zero, at least one, which may be the first; the rest base
  zeros,          // +0
  constant,       // 1
  one_hot,        // one 1 a row
  denormal,       // around and below the dtype's least normal number; ignores scale
  large,          // base values; the slot gives the scale
  cancellation,   // pairs +64 + base, -64 (parameter: another height): sums are the small residues
  sorted,         // -4 to 4 along the row, ascending in even rows, descending in odd ones
  clustered,      // an eighth of the row, contiguous, holds 8 to 12; the rest base/4
  ties,           // only -1, 0, 0.5 and 1
  negative_zero,  // a quarter -0, a quarter +0, the rest base
  gate_extreme,   // first half of the row: a quarter of {0, -0, +-1e-4, +-20, +-88, +-1e4}, unscaled, whose partner
                  // in the second half is in [-1, 1]; the rest base
  row_scale,      // base times 4^(row mod 7)
};

[[nodiscard]] std::span<const Recipe> all_recipes() noexcept;  // in enumerator order
[[nodiscard]] std::string_view name_of(Recipe) noexcept;       // "normal", "tag", ...
[[nodiscard]] Recipe recipe_from(std::string_view name);       // throws std::invalid_argument

struct FillPlan {
  Recipe recipe = Recipe::normal;
  DType dtype = DType::f32;    // of the tensor; only denormal looks at it
  std::uint64_t key = 0;       // derive_key(...)
  double scale = 1.0;          // positive; used with 10 significant bits, so that every product is exact
  std::int64_t parameter = 0;  // the recipe's own, 0 = its default
};

namespace fill {

// Independent streams of one key.
enum class Stream : std::uint32_t { cell, row, gate };

ASSAY_HD inline PhiloxBlock draw(std::uint64_t key, Stream stream, std::int64_t row, std::int64_t quad) {
  const auto r = static_cast<std::uint64_t>(row);
  const auto q = static_cast<std::uint64_t>(quad);
  return philox(
      {{static_cast<std::uint32_t>(q), static_cast<std::uint32_t>(stream) | (static_cast<std::uint32_t>(q >> 32) << 8),
        static_cast<std::uint32_t>(r), static_cast<std::uint32_t>(r >> 32)}},
      key);
}

ASSAY_HD inline std::int32_t base_of(std::uint32_t word) {
  const std::uint32_t pairs = (word & 0x00ff00ffU) + ((word >> 8) & 0x00ff00ffU);
  return static_cast<std::int32_t>((pairs & 0xffffU) + (pairs >> 16)) - 510;
}

// What one row's cells share.
struct Row {
  std::int64_t special = -1;  // spike, one_hot: the column; clustered: first column of the run; tag: row's offset
  float unit = 0;             // multiplies the cell's integer
  bool zero = false;
};

// Ten significant bits: times the cells' integers, fourteen bits at most, it is exact in float.
ASSAY_HD inline float exact_unit(double scale) {
  return half::float_of((half::bits_of(static_cast<float>(scale)) + 0x2000U) & 0xffffc000U);
}

ASSAY_HD inline Row row_of(const FillPlan& plan, std::int64_t row, std::int64_t rows, std::int64_t cols) {
  Row result;
  const float unit = exact_unit(plan.scale);
  result.unit = unit * 0.0078125F;
  switch (plan.recipe) {
    case Recipe::spike:
    case Recipe::one_hot:
    case Recipe::clustered: {
      const std::uint64_t pick = draw(plan.key, Stream::row, row, 0).word[0];
      const std::int64_t places = plan.recipe == Recipe::clustered ? cols - cols / 8 : cols;
      result.special = static_cast<std::int64_t>(pick * static_cast<std::uint64_t>(places > 0 ? places : 1) >> 32);
      if (plan.recipe == Recipe::spike) result.unit = unit * 0x1p-16F;
      if (plan.recipe == Recipe::one_hot) result.unit = unit;
      break;
    }
    case Recipe::zero_row: {
      const std::uint64_t pick = draw(plan.key, Stream::row, 0, 1).word[0];
      const auto zero = static_cast<std::int64_t>(pick * static_cast<std::uint64_t>(rows > 0 ? rows : 1) >> 32);
      const bool spared = row == (zero + 1) % (rows > 0 ? rows : 1);  // not all rows are zero, where there are two
      result.zero = row == zero || (!spared && (draw(plan.key, Stream::row, row, 0).word[0] & 3U) == 0U);
      break;
    }
    case Recipe::tag: {
      result.special = (row % 251 * 37 + static_cast<std::int64_t>(plan.key % 251) + plan.parameter % 251 * 101) % 251;
      if (result.special < 0) result.special += 251;
      result.unit = unit * 0.125F;
      break;
    }
    case Recipe::row_scale:
      result.unit *= static_cast<float>(1 << (2 * (row % 7)));
      break;
    case Recipe::constant:
    case Recipe::ties:
      result.unit = unit;
      break;
    default:
      break;
  }
  return result;
}

// m * 2^e exactly, subnormals included, by integers alone: flush-to-zero modes cannot touch it.
ASSAY_HD inline float scaled_integer(std::int32_t m, std::int32_t e) {
  const std::uint32_t sign = m < 0 ? 0x80000000U : 0U;
  const auto magnitude = static_cast<std::uint32_t>(m < 0 ? -m : m);
  if (magnitude == 0U) return 0.0F;
  std::int32_t top = 0;
  while ((magnitude >> top) > 1U) ++top;
  if (top + e < -126) return half::float_of(sign | (magnitude << (e + 149)));
  const std::uint32_t fraction = (magnitude << (23 - top)) & 0x7fffffU;
  return half::float_of(sign | (static_cast<std::uint32_t>(top + e + 127) << 23) | fraction);
}

ASSAY_HD inline float gate_value(std::uint32_t choice) {
  switch (choice) {
    case 0:
      return 0.0F;
    case 1:
      return half::float_of(0x80000000U);
    case 2:
      return 1e-4F;
    case 3:
      return -1e-4F;
    case 4:
      return 20.0F;
    case 5:
      return -20.0F;
    case 6:
      return 88.0F;
    case 7:
      return -88.0F;
    case 8:
      return 1e4F;
    default:
      return -1e4F;
  }
}

// The value of one cell; `word` is this cell's word of Stream::cell.
ASSAY_HD inline float cell_of(const FillPlan& plan, const Row& row, std::uint32_t word, std::int64_t r,
                              std::int64_t col, std::int64_t cols) {
  switch (plan.recipe) {
    case Recipe::normal:
    case Recipe::large:
    case Recipe::row_scale:
      return static_cast<float>(base_of(word)) * row.unit;
    case Recipe::tag: {
      const auto k = static_cast<std::int32_t>((row.special + col % 251 * 11) % 251);
      return static_cast<float>(k < 125 ? k - 125 : k - 124) * row.unit;
    }
    case Recipe::spike: {
      if (col != row.special) return static_cast<float>(base_of(word)) * row.unit;
      const auto height = static_cast<float>((plan.parameter == 0 ? 100 : plan.parameter) * 65536);
      return ((word & 1U) != 0U ? -height : height) * row.unit;
    }
    case Recipe::zero_row:
      return row.zero ? 0.0F : static_cast<float>(base_of(word)) * row.unit;
    case Recipe::zeros:
      return 0.0F;
    case Recipe::constant:
      return row.unit;
    case Recipe::one_hot:
      return col == row.special ? row.unit : 0.0F;
    case Recipe::denormal: {
      const std::int32_t least = plan.dtype == DType::f16 ? -24 : plan.dtype == DType::bf16 ? -133 : -149;
      const std::int32_t coarse = plan.dtype == DType::f16 ? 4 : plan.dtype == DType::bf16 ? 2 : 17;
      return scaled_integer(base_of(word), least + ((word & 1U) != 0U ? coarse : 0));
    }
    case Recipe::cancellation: {
      const auto height = static_cast<std::int32_t>(plan.parameter == 0 ? 64 : plan.parameter) * 128;
      return static_cast<float>(col % 2 == 0 ? height + base_of(word) : -height) * row.unit;
    }
    case Recipe::sorted: {
      const std::int64_t place = r % 2 == 0 ? col : cols - 1 - col;
      return static_cast<float>(place * 1020 / (cols > 1 ? cols - 1 : 1) - 510) * row.unit;
    }
    case Recipe::clustered: {
      const std::int64_t place = col - row.special;
      const std::int64_t length = cols / 8 > 0 ? cols / 8 : 1;
      if (place < 0 || place >= length) return static_cast<float>(base_of(word)) * row.unit * 0.25F;
      return static_cast<float>(1024 + (place < 32 ? place : 32) * 16) * row.unit;
    }
    case Recipe::ties: {
      const float steps[4] = {-1.0F, 0.0F, 0.5F, 1.0F};
      return steps[word & 3U] * row.unit;
    }
    case Recipe::negative_zero:
      if ((word & 2U) != 0U) return static_cast<float>(base_of(word)) * row.unit;
      return half::float_of((word & 1U) << 31);
    case Recipe::gate_extreme: {
      const std::int64_t half_cols = cols / 2;
      if (col >= 2 * half_cols) return static_cast<float>(base_of(word)) * row.unit;
      const std::int64_t gate = col < half_cols ? col : col - half_cols;
      const std::uint32_t choice = draw(plan.key, Stream::gate, r, gate >> 2).word[gate & 3];
      if ((choice & 3U) != 0U) return static_cast<float>(base_of(word)) * row.unit;
      if (col < half_cols) return gate_value((choice >> 2) % 10U);
      return static_cast<float>(base_of(word)) * 0x1p-9F;
    }
  }
  return 0.0F;
}

}  // namespace fill

// The value before it is rounded to the dtype. 0 <= row < rows, 0 <= col < cols.
ASSAY_HD inline float fill_value(const FillPlan& plan, std::int64_t row, std::int64_t col, std::int64_t rows,
                                 std::int64_t cols) {
  const PhiloxBlock block = fill::draw(plan.key, fill::Stream::cell, row, col >> 2);
  return fill::cell_of(plan, fill::row_of(plan, row, rows, cols), block.word[col & 3], row, col, cols);
}

// Fills every logical cell of a host tensor; integer dtypes truncate. Throws std::invalid_argument for other devices
// and for a scale that is not positive and finite.
void fill_tensor(const TensorView& host, const FillPlan& plan);

}  // namespace assay
