// faulty.hpp: the right kernels of the two op slots in a form in which one property can be broken in a few lines.
//
// Promises: with nothing overridden, FAULTY_SILU and FAULTY_NORM make a library that is as right as kernels/host, on
// every layout and dtype, declared GRAPH_SAFE and DETERMINISTIC. Slower than kernels/host: cells are read one by one.
// Who uses it: the files of kernels/faulty. Each overrides the member that its fault breaks, by name, through Self.
//
//   struct Fault : faulty::Silu<Fault> {
//     static double activate(double x) { return x; }   // no SiLU
//   };
//   FAULTY_SILU(Fault)
#pragma once

#include "assay/abi.h"
#include "kernels/host/rows.hpp"

namespace faulty {

using host_kernels::Cells;
using host_kernels::fail;
using host_kernels::Rows;

// A tensor in an argument block: rows, a cell type and values as float64.
struct Grid {
  Rows rows;
  Cells cells;

  [[nodiscard]] int64_t at(int64_t row, int64_t column) const { return rows.offset(row) + column * rows.step; }
  [[nodiscard]] double load(int64_t element) const {
    using namespace host_kernels;
    if (cells == Cells::f32) return static_cast<const float*>(rows.data)[element];
    if (cells == Cells::f16) return to_float(static_cast<const Half*>(rows.data)[element]);
    return to_float(static_cast<const Bfloat*>(rows.data)[element]);
  }
  void store(int64_t element, double value) const {
    using namespace host_kernels;
    const auto rounded = static_cast<float>(value);
    if (cells == Cells::f32) host_kernels::store(static_cast<float*>(rows.data)[element], rounded);
    if (cells == Cells::f16) host_kernels::store(static_cast<Half*>(rows.data)[element], rounded);
    if (cells == Cells::bf16) host_kernels::store(static_cast<Bfloat*>(rows.data)[element], rounded);
  }
  [[nodiscard]] double get(int64_t row, int64_t column) const { return load(at(row, column)); }
  void set(int64_t row, int64_t column, double value) const { store(at(row, column), value); }
  [[nodiscard]] int64_t cell_bytes() const { return cells == Cells::f32 ? 4 : 2; }
};

inline Grid grid_of(const DLTensor* tensor) { return {host_kernels::rows_of(tensor), host_kernels::cells_of(tensor)}; }

// The value rounded to the grid's cells and back: what a kernel sees that keeps intermediates in 16 bits.
inline double rounded(const Grid& like, double value) {
  Grid one{};
  float room = 0;
  one.rows.data = &room;
  one.cells = like.cells;
  one.store(0, value);
  return one.load(0);
}

template <class Arguments>
assay_status launch(const assay_call* call, assay_host_stream* stream, assay_host_kernel kernel, uint32_t blocks,
                    const Arguments& arguments) {
  return call->host->launch(stream, kernel, blocks, &arguments, sizeof arguments);
}

// Launches numbered by their entry calls. A kernel cannot ask whether a graph replays it, but the second run of one
// launch can only be a replay.
template <class Arguments>
struct Ticketed : Arguments {
  uint64_t ticket;
};

class Tickets {
 public:
  uint64_t issue() {
    const uint64_t ticket = ++issued_;
    blocks_run_[ticket % remembered] = 0;
    return ticket;
  }
  // 0 in an eager call and in the first replay, then 1, 2, ... Called exactly once by each block.
  uint32_t run_of(uint64_t ticket, uint32_t blocks) {
    return __atomic_fetch_add(&blocks_run_[ticket % remembered], 1u, __ATOMIC_RELAXED) / blocks;
  }

 private:
  static constexpr uint64_t remembered = 256;
  uint64_t issued_ = 0;
  uint32_t blocks_run_[remembered] = {};
};

// Rows that a library's static memory has room for. Calls with more rows take the right path.
constexpr int64_t static_rows = 65536;

struct SiluArguments {
  Grid x, out;
  int64_t rows, width;  // width is d
};

// Members in the order of a call: entry -> enqueue -> (kernel -> row -> cell -> activate).
template <class Self>
struct Silu {
  using Right = Silu;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in x, assay_out out) {
    const int64_t rows = host_kernels::row_count(x), width = host_kernels::columns_of(out);
    if (rows == 0 || width == 0) return ASSAY_OK;
    return Self::enqueue(call, SiluArguments{grid_of(x), grid_of(out), rows, width});
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    return launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), a);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const SiluArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) Self::row(a, row);
  }
  static void row(const SiluArguments& a, int64_t row) {
    for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, Self::cell(a, row, column));
  }
  static double cell(const SiluArguments& a, int64_t row, int64_t column) {
    return Self::activate(a.x.get(row, column)) * a.x.get(row, a.width + column);
  }
  static double activate(double x) { return x / (1.0 + __builtin_exp(-x)); }
};

struct NormArguments {
  Grid x, weight, out;
  int64_t rows, width;
  double eps;
};

// Members in the order of a call: entry -> enqueue -> (kernel -> row -> scale -> sum, and cell).
template <class Self>
struct Norm {
  using Right = Norm;
  static constexpr uint32_t flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC;

  static assay_status entry(const assay_call* call, assay_in x, assay_in weight, assay_out out, double eps) {
    const int64_t rows = host_kernels::row_count(x), width = host_kernels::columns_of(x);
    if (rows == 0 || width == 0) return ASSAY_OK;
    return Self::enqueue(call, NormArguments{grid_of(x), grid_of(weight), grid_of(out), rows, width, eps});
  }
  static assay_status enqueue(const assay_call* call, const NormArguments& a) {
    return launch(call, call->host_stream, kernel, host_kernels::blocks_for(a.rows), a);
  }
  static void kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const NormArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    for (int64_t row = range.begin; row < range.end; ++row) Self::row(a, row);
  }
  static void row(const NormArguments& a, int64_t row) {
    const double scale = Self::scale(a, row);
    for (int64_t column = 0; column < a.width; ++column) a.out.set(row, column, Self::cell(a, row, column, scale));
  }
  static double scale(const NormArguments& a, int64_t row) {
    return 1.0 / __builtin_sqrt(Self::sum(a, row) / static_cast<double>(a.width) + a.eps);
  }
  static double sum(const NormArguments& a, int64_t row) {
    double sum = 0;
    for (int64_t column = 0; column < a.width; ++column) sum += a.x.get(row, column) * a.x.get(row, column);
    return sum;
  }
  static double cell(const NormArguments& a, int64_t row, int64_t column, double scale) {
    return a.x.get(row, column) * scale * a.weight.get(0, column);
  }
};

constexpr assay_variant variant_of(const char* slot, uint32_t flags) {
  assay_variant variant{};
  variant.size = sizeof variant;
  variant.flags = flags;
  variant.device_type = kDLCPU;
  variant.slot = slot;
  variant.id = "faulty";
  return variant;
}

template <class Fault>
constexpr assay_variant silu_variant() {
  assay_variant variant = variant_of("activation.silu_and_mul", Fault::flags);
  variant.entry.silu_and_mul = Fault::entry;
  if constexpr (requires { &Fault::workspace; }) variant.workspace = &Fault::workspace;
  return variant;
}

template <class Fault>
constexpr assay_variant norm_variant() {
  assay_variant variant = variant_of("norm.rmsnorm", Fault::flags);
  variant.entry.rmsnorm = Fault::entry;
  if constexpr (requires { &Fault::workspace; }) variant.workspace = &Fault::workspace;
  return variant;
}

}  // namespace faulty

#define FAULTY_SILU(fault) FAULTY_LIBRARY(faulty::silu_variant<fault>())
#define FAULTY_NORM(fault) FAULTY_LIBRARY(faulty::norm_variant<fault>())
#define FAULTY_LIBRARY(variant_value)                                              \
  static constexpr assay_variant the_variant = variant_value;                      \
  static constexpr const assay_variant* the_variants[] = {&the_variant};           \
  static constexpr assay_library the_library = {                                   \
      sizeof(assay_library), ASSAY_ABI_VERSION, "faulty", "1.0", the_variants, 1}; \
  extern "C" const assay_library* assay_get_library(uint32_t version) {            \
    return version == ASSAY_ABI_VERSION ? &the_library : nullptr;                  \
  }
