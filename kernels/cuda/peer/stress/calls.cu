#include <algorithm>
#include <cmath>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "kernels/cuda/peer/stress/calls.hpp"

namespace stress {
namespace {

constexpr int kThreads = 256;
constexpr int kMostGrid = 1024;
constexpr std::int64_t kMostCells = std::int64_t{kMostRows} * (kMostColumns + 8) + 8;

__host__ __device__ float get(Type type, const void* data, std::int64_t cell) {
  if (type == Type::bf16) return __bfloat162float(static_cast<const __nv_bfloat16*>(data)[cell]);
  if (type == Type::fp16) return __half2float(static_cast<const __half*>(data)[cell]);
  return static_cast<const float*>(data)[cell];
}
__device__ void put(Type type, void* data, std::int64_t cell, float value) {
  if (type == Type::bf16) {
    static_cast<__nv_bfloat16*>(data)[cell] = __float2bfloat16_rn(value);
  } else if (type == Type::fp16) {
    static_cast<__half*>(data)[cell] = __float2half_rn(value);
  } else {
    static_cast<float*>(data)[cell] = value;
  }
}

struct FillArgs {
  Shape shape;
  std::uint64_t salt;
  int rank;
  View part, residual, norm, sum;
  void* weight;
  std::int32_t* map;
  float* scales;
};

// A block a row; of finalise, an entry of the map. What belongs to trimmed tokens is NaN.
__global__ void fill_kernel(FillArgs a) {
  const Shape& s = a.shape;
  const bool finalise = s.op == Op::finalise;
  const int entries = finalise ? s.tokens * s.places : s.rows;
  for (int i = static_cast<int>(blockIdx.x); i < entries; i += static_cast<int>(gridDim.x)) {
    const std::int64_t row = finalise ? map_entry(s, i) : i;
    const bool trimmed = finalise && i % s.tokens >= s.rows;
    for (int c = static_cast<int>(threadIdx.x); c < s.columns; c += kThreads)
      put(s.type, a.part.data, row * a.part.pitch + c,
          trimmed ? NAN : signed_cell(s, a.salt, kPart, a.rank, row * s.columns + c));
    if (finalise && threadIdx.x == 0) {
      const int token = i / s.places, place = i % s.places;
      a.map[i] = static_cast<std::int32_t>(row);
      a.scales[i] = token < s.rows ? scale_cell(s, a.salt, token, place) : NAN;
    }
  }
  for (int row = static_cast<int>(blockIdx.x); row < s.rows; row += static_cast<int>(gridDim.x)) {
    for (int c = static_cast<int>(threadIdx.x); c < s.columns; c += kThreads) {
      put(s.type, a.sum.data, row * a.sum.pitch + c, NAN);
      if (s.op == Op::all_reduce) continue;
      put(s.type, a.norm.data, row * a.norm.pitch + c, NAN);
      put(s.type, a.residual.data, row * a.residual.pitch + c,
          signed_cell(s, a.salt, kResidual, kReplicated, std::int64_t{row} * s.columns + c));
      if (row == 0) put(s.type, a.weight, c, weight_cell(s, a.salt, c));
    }
  }
}

struct CheckArgs {
  Shape shape;
  std::uint64_t salt;
  int world;
  View norm, sum;
  Findings* findings;
};

__device__ void judge(const CheckArgs& a, bool right, int output, int row, int column, float got, float expected) {
  if (right) return;
  atomicAdd(&a.findings->wrong, 1ull);
  if (atomicCAS(&a.findings->claimed, 0, 1) != 0) return;
  a.findings->shape = a.shape;
  a.findings->output = output;
  a.findings->row = row;
  a.findings->column = column;
  a.findings->got = got;
  a.findings->expected = expected;
}

__device__ std::uint64_t digest_of(float value, int output, int row, int column) {
  return mixed((static_cast<std::uint64_t>(__float_as_uint(value)) << 32) +
               mixed((static_cast<std::uint64_t>(output) << 60) + (static_cast<std::uint64_t>(row) << 24) +
                     static_cast<std::uint64_t>(column)));
}

// A block a row: exact sums, then the norm in float64 from the unrounded sums.
__global__ void check_kernel(CheckArgs a) {
  const Shape& s = a.shape;
  __shared__ double partial[kThreads];
  std::uint64_t digest = 0;
  for (int row = static_cast<int>(blockIdx.x); row < s.rows; row += static_cast<int>(gridDim.x)) {
    double squares = 0;
    for (int c = static_cast<int>(threadIdx.x); c < s.columns; c += kThreads) {
      const float sum = summed_cell(s, a.salt, a.world, row, c), expected = rounded(s.type, sum);
      const float got = get(s.type, a.sum.data, row * a.sum.pitch + c);
      judge(a, got == expected, 1, row, c, got, expected);
      digest += digest_of(got, 1, row, c);
      squares += static_cast<double>(sum) * sum;
    }
    if (s.op == Op::all_reduce) continue;
    __syncthreads();
    partial[threadIdx.x] = squares;
    __syncthreads();
    double total = 0;
    for (const double p : partial) total += p;
    const double scale = 1.0 / sqrt(total / s.columns + kEps);
    const double unit = s.type == Type::bf16 ? 0x1p-8 : s.type == Type::fp16 ? 0x1p-11 : 0x1p-17;
    for (int c = static_cast<int>(threadIdx.x); c < s.columns; c += kThreads) {
      const double expected = summed_cell(s, a.salt, a.world, row, c) * scale * weight_cell(s, a.salt, c);
      const float got = get(s.type, a.norm.data, row * a.norm.pitch + c);
      judge(a, fabs(got - expected) <= 1.02 * unit * fabs(expected) + 0x1p-24, 0, row, c, got,
            static_cast<float>(expected));
      digest += digest_of(got, 0, row, c);
    }
  }
  atomicAdd(&a.findings->digest, static_cast<unsigned long long>(digest));
  if (blockIdx.x == 0 && threadIdx.x == 0) atomicAdd(&a.findings->checked, 1ull);
}

__global__ void delay_kernel(unsigned microseconds) {
  for (unsigned i = 0; i < microseconds; ++i) __nanosleep(1000);
}

template <class T>
T* device_memory(std::int64_t cells) {
  void* memory = nullptr;
  require(cudaMalloc(&memory, static_cast<std::size_t>(cells) * sizeof(T)), "cudaMalloc");
  return static_cast<T*>(memory);
}

// A DLTensor with room for its extents.
struct Described {
  DLTensor tensor{};
  std::int64_t shape[2], strides[2];

  Described(const assay_call& call, void* data, DLDataType type, std::int64_t rows, std::int64_t columns,
            std::int64_t pitch, int rank = 2) {
    shape[0] = rank == 2 ? rows : columns;
    shape[1] = columns;
    strides[0] = rank == 2 ? pitch : 1;
    strides[1] = 1;
    tensor.data = data;
    tensor.device = call.device;
    tensor.ndim = rank;
    tensor.dtype = type;
    tensor.shape = shape;
    tensor.strides = strides;
  }
  Described(const Described&) = delete;
  Described& operator=(const Described&) = delete;
};

}  // namespace

void require(cudaError_t error, const char* what) {
  if (error != cudaSuccess) throw std::runtime_error(std::string(what) + ": " + cudaGetErrorString(error));
}

void delay(unsigned microseconds, cudaStream_t stream) { delay_kernel<<<1, 1, 0, stream>>>(microseconds); }

std::string name_of(const Shape& s) {
  const char* const ops[] = {"all_reduce", "ar_residual_rmsnorm", "moe_finalize_ar_rmsnorm"};
  const char* const types[] = {"bf16", "fp16", "fp32"};
  std::string name = std::string(ops[static_cast<int>(s.op)]) + " " + types[static_cast<int>(s.type)] + " " +
                     std::to_string(s.rows) + "x" + std::to_string(s.columns);
  if (s.op == Op::finalise) name += " T_exp=" + std::to_string(s.tokens) + " K=" + std::to_string(s.places);
  return name;
}

CallBuffers::CallBuffers()
    : part_memory_(device_memory<char>(4 * std::max(kMostCells, kMostPartCells + 8 * kMostColumns))),
      residual_memory_(device_memory<char>(4 * kMostCells)),
      weight_memory_(device_memory<char>(std::int64_t{4} * kMostColumns)),
      norm_memory_(device_memory<char>(4 * kMostCells)),
      sum_memory_(device_memory<char>(4 * kMostCells)),
      map_(device_memory<std::int32_t>(kMostPartCells)),
      scales_(device_memory<float>(kMostPartCells)) {}

void CallBuffers::lay_out(const Shape& shape, std::uint64_t layout) {
  shape_ = shape;
  const auto place = [&](char* memory, bool padded) {
    const std::uint64_t draw = mixed(++layout);
    const std::int64_t lead = draw % 3 == 0 ? draw / 16 % 8 : 0, gap = padded && draw / 4 % 3 == 0 ? draw / 256 % 9 : 0;
    return View{memory + lead * bytes_of(shape.type), shape.columns + gap};
  };
  part_ = place(part_memory_, shape.op != Op::finalise);  // kMostPartCells has no room for gaps
  residual_ = place(residual_memory_, true);
  norm_ = place(norm_memory_, true);
  sum_ = place(sum_memory_, true);
}

void CallBuffers::fill(std::uint64_t salt, int rank, cudaStream_t stream) const {
  const FillArgs args{shape_, salt, rank, part_, residual_, norm_, sum_, weight_memory_, map_, scales_};
  const int entries = shape_.op == Op::finalise ? shape_.tokens * shape_.places : shape_.rows;
  fill_kernel<<<std::min(std::max(entries, shape_.rows), kMostGrid), kThreads, 0, stream>>>(args);
  require(cudaGetLastError(), "filling");
}

void CallBuffers::check(std::uint64_t salt, int world, Findings* findings, cudaStream_t stream) const {
  check_kernel<<<std::min(shape_.rows, kMostGrid), kThreads, 0, stream>>>(
      CheckArgs{shape_, salt, world, norm_, sum_, findings});
  require(cudaGetLastError(), "checking");
}

std::int64_t CallBuffers::wrong_by_host(std::uint64_t salt, int world) const {
  const std::int64_t cells = (shape_.rows - 1) * sum_.pitch + shape_.columns;
  std::vector<char> copy(static_cast<std::size_t>(cells * bytes_of(shape_.type)));
  require(cudaMemcpy(copy.data(), sum_.data, copy.size(), cudaMemcpyDeviceToHost), "copying a sum");
  std::int64_t wrong = 0;
  for (int row = 0; row < shape_.rows; ++row) {
    for (int c = 0; c < shape_.columns; ++c) {
      const float expected = rounded(shape_.type, summed_cell(shape_, salt, world, row, c));
      if (!(get(shape_.type, copy.data(), row * sum_.pitch + c) == expected)) ++wrong;
    }
  }
  return wrong;
}

assay_status CallBuffers::call(const assay_variant& variant, const assay_call& call) const {
  const DLDataType types[] = {{kDLBfloat, 16, 1}, {kDLFloat, 16, 1}, {kDLFloat, 32, 1}};
  const DLDataType type = types[static_cast<int>(shape_.type)];
  const std::int64_t rows = shape_.rows, columns = shape_.columns;
  const std::int64_t entries = std::int64_t{shape_.tokens} * shape_.places;
  const Described part(call, part_.data, type, shape_.op == Op::finalise ? entries : rows, columns, part_.pitch);
  Described sum(call, sum_.data, type, rows, columns, sum_.pitch);
  if (shape_.op == Op::all_reduce) return variant.entry.all_reduce(&call, &part.tensor, &sum.tensor);
  const Described residual(call, residual_.data, type, rows, columns, residual_.pitch);
  const Described weight(call, weight_memory_, type, 1, columns, columns, 1);
  Described norm(call, norm_.data, type, rows, columns, norm_.pitch);
  if (shape_.op == Op::norm)
    return variant.entry.ar_residual_rmsnorm(&call, &part.tensor, &residual.tensor, &weight.tensor, kEps, &norm.tensor,
                                             &sum.tensor);
  const Described map(call, map_, {kDLInt, 32, 1}, 1, entries, entries, 1);
  const Described scales(call, scales_, {kDLFloat, 32, 1}, shape_.tokens, shape_.places, shape_.places);
  return variant.entry.moe_finalize_ar_rmsnorm(&call, &part.tensor, &map.tensor, &scales.tensor, &residual.tensor,
                                               &weight.tensor, kEps, &norm.tensor, &sum.tensor);
}

}  // namespace stress
