// reduction.cuh: rows that every rank has a part of, summed over the ranks of a group, and what becomes of the sum, in
// one kernel.
//
// Promises: fp32 sums in rank order, so all ranks, both forms below and every split of a batch give the same bits. Rows
// of 1 to kMaxColumns cells at any address and stride; 16-byte accesses where they start on 16 bytes. A row is the work
// of one block. In one shot, up to kOneShotRows rows, every rank adds up whole rows; in two shots, each adds up its
// share of every row and collects the others'. With two ranks the second moves no less than the first; one rule for all
// worlds is kept because it is the simplest that all ranks agree on.
// Who uses it: the .cu files beside it. Source makes a rank's part of a row in groups of `kCells`, Sink takes the sum:
//
//   struct Source { using Wire = BF16; template <int kCells> __device__ void part(row, first, columns, cells) const; };
//   struct Sink { using Cell = BF16; using Share = F32; template <class Sums> __device__ void take(row, columns, sums);
//   }; return reduce(call, peers, source, sink, rows, columns);
#pragma once

#include "kernels/cuda/peer/channel.cuh"
#include "kernels/cuda/rows.cuh"

namespace assay_cuda {

constexpr int kMaxColumns = 8192;
constexpr int kMaxRowThreads = 1024;
constexpr std::int64_t kOneShotRows = 47;
constexpr int kWarpLanes = 32;

// Cells of one group: what a thread handles at once. 16 bytes of the sink's type.
template <class Sink>
constexpr int kSinkGroup = kGroup<typename Sink::Cell>;

// Groups of a row that one thread holds.
template <class Sink>
constexpr int kHeldGroups = kMaxColumns / kSinkGroup<Sink> / kMaxRowThreads;

// kCells cells that lie together on a 16-byte boundary.
template <class T, int kCells>
__device__ void load_whole(const typename T::Cell* from, typename T::Cell (&to)[kCells]) {
  static_assert(sizeof to % sizeof(uint4) == 0);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof to / sizeof(uint4)); ++i) {
    const uint4 raw = reinterpret_cast<const uint4*>(from)[i];
    memcpy(reinterpret_cast<char*>(to) + i * sizeof raw, &raw, sizeof raw);
  }
}
template <class T, int kCells>
__device__ void store_whole(typename T::Cell* to, const typename T::Cell (&from)[kCells]) {
  static_assert(sizeof from % sizeof(uint4) == 0);
#pragma unroll
  for (int i = 0; i < static_cast<int>(sizeof from / sizeof(uint4)); ++i) {
    uint4 raw;
    memcpy(&raw, reinterpret_cast<const char*>(from) + i * sizeof raw, sizeof raw);
    reinterpret_cast<uint4*>(to)[i] = raw;
  }
}

// A tensor's rows, as a kernel reads or writes them: cells [first, first + kCells) of a row, those past its end as
// zero.
struct RowCells {
  Rows rows;
  bool aligned;

  template <class T, int kCells>
  __device__ void load(std::int64_t row, int first, int columns, typename T::Cell (&to)[kCells]) const {
    const auto* from = reinterpret_cast<const typename T::Cell*>(rows.data) + rows.start(row);
    if (aligned && first + kCells <= columns) return load_whole<T>(from + first, to);
#pragma unroll
    for (int i = 0; i < kCells; ++i)
      to[i] = first + i < columns ? from[(first + i) * rows.column_step] : T::narrow(0.0f);
  }
  template <class T, int kCells>
  __device__ void store(std::int64_t row, int first, int columns, const typename T::Cell (&from)[kCells]) const {
    auto* to = reinterpret_cast<typename T::Cell*>(rows.data) + rows.start(row);
    if (aligned && first + kCells <= columns) return store_whole<T>(to + first, from);
#pragma unroll
    for (int i = 0; i < kCells; ++i) {
      if (first + i < columns) to[(first + i) * rows.column_step] = from[i];
    }
  }
};

template <class Source, class Sink>
struct ReductionArgs {
  Peers peers;
  Source source;
  Sink sink;
  std::int64_t rows;
  int columns;
  int turn_rows;  // of one block in one turn: as many as an area holds
};

template <class Source, class Sink, bool kTwoShot>
class Reduction {
 public:
  using Args = ReductionArgs<Source, Sink>;

  __device__ explicit Reduction(const Args& args)
      : args_(args),
        channel_(args.peers, static_cast<int>(blockIdx.x)),
        groups_((args.columns + kCells - 1) / kCells),
        share_((groups_ + args.peers.world - 1) / args.peers.world) {}

  __device__ void run() {
    for (std::int64_t first = blockIdx.x; first < args_.rows; first += std::int64_t{gridDim.x} * args_.turn_rows) {
      const std::int64_t left = (args_.rows - first + gridDim.x - 1) / gridDim.x;
      const int rows = static_cast<int>(left < args_.turn_rows ? left : args_.turn_rows);
      publish(first, rows);
      if (kTwoShot) {
        channel_.meet_for_shares();
        add_share(rows);
      }
      channel_.meet_for_results();
      for (int i = 0; i < rows; ++i)
        args_.sink.take(first + std::int64_t{i} * gridDim.x, args_.columns,
                        [&](int group, float(&to)[kCells]) { result(cell(i, group), group, to); });
      channel_.end_turn();
    }
    channel_.close();
  }

 private:
  using Wire = typename Source::Wire;
  using Share = typename Sink::Share;
  static constexpr int kCells = kSinkGroup<Sink>;
  static constexpr int kAtOnce = 4;  // loads from peers in flight

  // Where a group lies in an area. Rows are padded to whole groups there.
  __device__ int cell(int row, int group) const { return (row * groups_ + group) * kCells; }

  __device__ void publish(std::int64_t first, int rows) {
    auto* const wire = channel_.template wire<typename Wire::Cell>(args_.peers.rank);
    for (int i = 0; i < rows; ++i) {
      for (int group = static_cast<int>(threadIdx.x); group < groups_; group += static_cast<int>(blockDim.x)) {
        typename Wire::Cell cells[kCells];
        args_.source.template part<kCells>(first + std::int64_t{i} * gridDim.x, group * kCells, args_.columns, cells);
        store_whole<Wire>(wire + cell(i, group), cells);
      }
    }
  }

  __device__ void add_share(int rows) {
    const int begin = args_.peers.rank * share_;
    const int width = min(groups_ - begin, share_);  // none where there are fewer groups than ranks
    auto* const sums = channel_.template sums<typename Share::Cell>(args_.peers.rank);
    for (int i = static_cast<int>(threadIdx.x); i < rows * width; i += static_cast<int>(blockDim.x)) {
      const int at = cell(i / width, begin + i % width);
      float sum[kCells];
      add_up(at, sum);
      typename Share::Cell cells[kCells];
#pragma unroll
      for (int c = 0; c < kCells; ++c) cells[c] = Share::narrow(sum[c]);
      store_whole<Share>(sums + at, cells);
    }
  }

  __device__ void result(int at, int group, float (&to)[kCells]) const {
    if (!kTwoShot) return add_up(at, to);
    typename Share::Cell cells[kCells];
    load_whole<Share>(channel_.template sums<typename Share::Cell>(group / share_) + at, cells);
#pragma unroll
    for (int c = 0; c < kCells; ++c) to[c] = Share::widen(cells[c]);
  }

  __device__ void add_up(int at, float (&sum)[kCells]) const {
#pragma unroll
    for (int base = 0; base < kMaxWorld; base += kAtOnce) {
      if (base >= args_.peers.world) return;
      typename Wire::Cell parts[kAtOnce][kCells];
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        if (base + r < args_.peers.world)
          load_whole<Wire>(channel_.template wire<typename Wire::Cell>(base + r) + at, parts[r]);
      }
#pragma unroll
      for (int r = 0; r < kAtOnce; ++r) {
        if (base + r >= args_.peers.world) return;
#pragma unroll
        for (int c = 0; c < kCells; ++c) {
          const float part = Wire::widen(parts[r][c]);
          sum[c] = base + r == 0 ? part : sum[c] + part;
        }
      }
    }
  }

  const Args& args_;
  Channel channel_;
  const int groups_, share_;  // of a row; of a rank
};

template <class Source, class Sink, bool kTwoShot>
__global__ void __launch_bounds__(kMaxRowThreads, 1)
    reduction_kernel(const __grid_constant__ ReductionArgs<Source, Sink> args) {
  Reduction<Source, Sink, kTwoShot>(args).run();
}

template <class Source, class Sink>
cudaError_t preload_reduction() {
  const cudaError_t error = preload(reduction_kernel<Source, Sink, false>);
  return error == cudaSuccess ? preload(reduction_kernel<Source, Sink, true>) : error;
}

// Rows and columns are equal on all ranks, and nothing else decides how many blocks there are and what they do.
template <class Source, class Sink>
assay_status reduce(const assay_call* call, const Peers& peers, const Source& source, const Sink& sink,
                    std::int64_t rows, std::int64_t columns) {
  if (rows == 0 || columns == 0) return ASSAY_OK;
  if (columns > kMaxColumns) return fail(call, ASSAY_UNSUPPORTED, "rows of more than 8192 cells");
  const int cells = kSinkGroup<Sink>, groups = (static_cast<int>(columns) + cells - 1) / cells;
  const int widest = static_cast<int>(sizeof(float));
  const int turn_rows = static_cast<int>(kAreaBytes) / (groups * cells * widest);
  int threads = (groups + kWarpLanes - 1) / kWarpLanes * kWarpLanes;
  if (threads > kMaxRowThreads) threads = kMaxRowThreads;
  const auto blocks = static_cast<unsigned>(rows < peers.channels ? rows : peers.channels);
  const ReductionArgs<Source, Sink> args{peers, source, sink, rows, static_cast<int>(columns), turn_rows};
  return launch(call,
                rows > kOneShotRows ? reduction_kernel<Source, Sink, true> : reduction_kernel<Source, Sink, false>,
                dim3(blocks), dim3(static_cast<unsigned>(threads)), args);
}

}  // namespace assay_cuda
