// experts.hpp: routed experts for the host model: prepare, three launches, and members that a variant overrides.
//
// Promises: out[m] = sum over k of weight[m,k] * w2[e] . act(w13[e] . x[m]) for any rows, strides and float dtype; a
// row's bits do not depend on the rows beside it. Prepare copies w2 transposed and, of NVFP4, scales unswizzled; raw
// w13 is read until release. Scratch is the call's workspace: it cannot depend on sizes that only the weights know,
// so activations are made and used 16 channels at a time.
// Who uses it: fused_experts.cc, and kernels/faulty/moe.hpp, whose kernels are right but for one property.
//
//   struct Right : Experts<Right> { static float act(float gate, float up) { return silu(gate) * up; } };
//   variant.entry.fused_experts = Right::entry;
#pragma once

#include "kernels/host/rows.hpp"

namespace host_kernels {

constexpr int64_t channel_group = 16;  // also NVFP4's scale group
constexpr int64_t tile_rows = 8;       // rows of one expert that share the reading of its weights
constexpr uint32_t most_blocks = 16;   // of the launch whose blocks have scratch of their own

// What prepare returns; one allocation holds it and the arrays that it points to.
struct Layer {
  int64_t experts, hidden, inter;
  Cells cells;                  // of dense weights
  const void* w13;              // (E, 2I, H), raw
  void* w2;                     // (E, I, H): transposed, so that a channel's part of the output is one row
  float *scale13, *scale2;      // NVFP4: (E, 2I, H/16) and (E, I/16, H), outer scales included
  float *inverse13, *inverse2;  // NVFP4: one over the activation scales
};

struct ExpertsArguments {
  Layer layer;
  Rows x, out;
  Cells cells;  // of x and out
  const int32_t* ids;
  const float* weights;
  int64_t id_strides[2], weight_strides[2];
  int64_t tokens, places;
  int32_t *order, *spare, *place;  // slots sorted by expert, room to sort in, and where a slot has gone
  float *rows, *scratch;           // an output row a slot, in sorted order; each block's own buffers

  [[nodiscard]] int64_t slots() const { return tokens * places; }
  [[nodiscard]] int32_t id(int64_t slot) const {
    return ids[slot / places * id_strides[0] + slot % places * id_strides[1]];
  }
  [[nodiscard]] float weight(int64_t token, int64_t place_of_token) const {
    return weights[token * weight_strides[0] + place_of_token * weight_strides[1]];
  }
};

struct Tile {
  int64_t first, count, expert;
};

inline float silu(float x) {
  const float e = __builtin_expf(-__builtin_fabsf(x));
  return (x < 0 ? x * e : x) / (1.0f + e);
}
inline float swigluoai(float gate, float up) {
  constexpr float alpha = 1.702f, limit = 7.0f;
  const float g = gate < limit ? gate : limit, u = up < -limit ? -limit : up < limit ? up : limit;
  return silu(alpha * g) / alpha * (u + 1.0f);
}

inline float e4m3(uint8_t byte) {
  const uint32_t sign = (byte & 0x80u) << 24, magnitude = byte & 0x7fu;
  if (magnitude == 0x7fu) return float_of(sign | 0x7fc00000u);
  // 2^120 moves the exponent bias from 7 to 127, subnormals included.
  return float_of(sign | bits_of(float_of(magnitude << 20) * 0x1p120f));
}
constexpr float e2m1[16] = {0, 0.5f, 1, 1.5f, 2, 3, 4, 6, -0.0f, -0.5f, -1, -1.5f, -2, -3, -4, -6};

// Sixteen sums: the compiler keeps them in vectors, and rounding errors stay as small as those of short sums.
inline float dot(const float* a, const float* b, int64_t count) {
  float sums[16] = {};
  int64_t i = 0;
  for (; i + 16 <= count; i += 16)
    for (int lane = 0; lane < 16; ++lane) sums[lane] += a[i + lane] * b[i + lane];
  double sum = 0;
  for (const float lane : sums) sum += static_cast<double>(lane);
  for (; i < count; ++i) sum += static_cast<double>(a[i] * b[i]);
  return static_cast<float>(sum);
}

inline void convert(Cells cells, const void* from, int64_t step, int64_t count, float* to) {
  const auto each = [&](auto* cell) {
    for (int64_t i = 0; i < count; ++i) to[i] = to_float(cell[i * step]);
  };
  if (cells == Cells::f32) each(static_cast<const float*>(from));
  if (cells == Cells::f16) each(static_cast<const Half*>(from));
  if (cells == Cells::bf16) each(static_cast<const Bfloat*>(from));
}
inline int64_t bytes_of(Cells cells) { return cells == Cells::f32 ? 4 : 2; }

inline bool same_text(const char* a, const char* b) { return a != nullptr && __builtin_strcmp(a, b) == 0; }
inline int64_t round_up(int64_t value, int64_t step) { return (value + step - 1) / step * step; }
inline bool is_shape(const DLTensor* t, int64_t a, int64_t b, int64_t c) {
  return t != nullptr && t->ndim == 3 && t->shape[0] == a && t->shape[1] == b && t->shape[2] == c;
}

// Dense weights. Members in the order of use: prepare, then entry -> enqueue -> (route, experts -> tile, finish).
template <class Self>
struct Experts {
  using Right = Experts;
  static constexpr const char *form = "dense", *activation = "silu";

  static float act(float gate, float up) { return silu(gate) * up; }

  // ---- prepare ----
  static assay_status prepare(const assay_call* call, const assay_moe_weights* w, void** prepared) {
    if (!same_text(w->form, Self::form) || !same_text(w->layout, "gate_up")) {
      return fail(call, ASSAY_UNSUPPORTED, "fused_experts: another form or layout of weights");
    }
    if (!same_text(w->activation, Self::activation)) {
      return fail(call, ASSAY_UNSUPPORTED, "fused_experts: another activation");
    }
    Layer layer{};
    layer.experts = w->num_experts;
    layer.hidden = w->hidden_size;
    layer.inter = w->intermediate;
    return Self::fill(call, *w, layer, prepared);
  }
  static assay_status release(const assay_call* call, void* prepared) { return call->host->release(prepared); }

  // One allocation: the layer, then arrays of these many bytes.
  template <size_t N>
  static assay_status allocate(const assay_call* call, const Layer& layer, const int64_t (&bytes)[N],
                               char* (&arrays)[N], void** prepared) {
    int64_t total = round_up(sizeof(Layer), 256);
    for (const int64_t each : bytes) total += round_up(each, 256);
    void* memory = nullptr;
    if (call->host->allocate(&memory, static_cast<size_t>(total)) != ASSAY_OK) {
      return fail(call, ASSAY_ERROR, "fused_experts: no memory for prepared weights");
    }
    *static_cast<Layer*>(memory) = layer;
    char* next = static_cast<char*>(memory) + round_up(sizeof(Layer), 256);
    for (size_t i = 0; i < N; ++i) {
      arrays[i] = next;
      next += round_up(bytes[i], 256);
    }
    *prepared = memory;
    return ASSAY_OK;
  }
  static assay_status fill(const assay_call* call, const assay_moe_weights& w, Layer layer, void** prepared) {
    const int64_t e = layer.experts, h = layer.hidden, i = layer.inter;
    if (!is_shape(w.w13, e, 2 * i, h) || !is_shape(w.w2, e, h, i)) {
      return fail(call, ASSAY_ERROR, "fused_experts: w13 is not (E,2I,H) or w2 not (E,H,I)");
    }
    layer.cells = cells_of(w.w13);
    if (layer.cells == Cells::other || layer.cells != cells_of(w.w2)) {
      return fail(call, ASSAY_UNSUPPORTED, "fused_experts: fp32, fp16 or bf16 weights");
    }
    layer.w13 = data_of<char>(w.w13);
    const int64_t bytes[] = {e * h * i * bytes_of(layer.cells)};
    char* arrays[1];
    if (const assay_status status = allocate(call, layer, bytes, arrays, prepared); status != ASSAY_OK) return status;
    Layer& made = *static_cast<Layer*>(*prepared);
    made.w2 = arrays[0];
    if (layer.cells == Cells::f32) {
      Self::transpose(data_of<float>(w.w2), reinterpret_cast<float*>(arrays[0]), layer);
    } else {
      Self::transpose(data_of<uint16_t>(w.w2), reinterpret_cast<uint16_t*>(arrays[0]), layer);
    }
    return ASSAY_OK;
  }
  template <class Cell>
  static void transpose(const Cell* from, Cell* to, const Layer& layer) {
    for (int64_t e = 0; e < layer.experts; ++e) {
      const Cell* matrix = from + e * layer.hidden * layer.inter;
      Cell* out = to + e * layer.hidden * layer.inter;
      for (int64_t h = 0; h < layer.hidden; ++h)
        for (int64_t i = 0; i < layer.inter; ++i) out[i * layer.hidden + h] = matrix[h * layer.inter + i];
    }
  }

  // ---- weights as rows of floats ----
  static void first_row(const Layer& l, int64_t expert, int64_t row, float* to) {
    const int64_t at = (expert * 2 * l.inter + row) * l.hidden;
    convert(l.cells, static_cast<const char*>(l.w13) + at * bytes_of(l.cells), 1, l.hidden, to);
  }
  static void second_row(const Layer& l, int64_t expert, int64_t channel, float* to) {
    const int64_t at = (expert * l.inter + channel) * l.hidden;
    convert(l.cells, static_cast<const char*>(l.w2) + at * bytes_of(l.cells), 1, l.hidden, to);
  }
  // Before a product: where a variant narrows activations. Groups of 16 from the row's start.
  static void narrow(const Layer&, int64_t, const float*, float*, int64_t) {}

  // ---- one call ----
  static assay_status workspace(const assay_call*, const DLTensor* const* tensors, uint32_t count, size_t* bytes) {
    if (count != 4) return ASSAY_ERROR;
    *bytes =
        static_cast<size_t>(Self::scratch_bytes(row_count(tensors[0]), columns_of(tensors[1]), columns_of(tensors[0])));
    return ASSAY_OK;
  }
  static int64_t table_bytes(int64_t slots) { return round_up(slots * 4, 256); }
  static int64_t block_cells(int64_t hidden) { return (tile_rows + 2) * hidden; }
  static int64_t scratch_bytes(int64_t tokens, int64_t places, int64_t hidden) {
    const int64_t slots = tokens * places;
    return 3 * table_bytes(slots) + round_up(slots * hidden * 4, 256) + most_blocks * block_cells(hidden) * 4;
  }
  static assay_status entry(const assay_call* call, assay_in x, assay_in topk_ids, assay_in topk_weights,
                            const void* prepared, assay_out out) {
    const auto* layer = static_cast<const Layer*>(prepared);
    ExpertsArguments a{};
    a.layer = *layer;
    a.tokens = row_count(x);
    a.places = columns_of(topk_ids);
    a.cells = cells_of(x);
    if (columns_of(x) != layer->hidden || columns_of(out) != layer->hidden || row_count(out) != a.tokens ||
        row_count(topk_ids) != a.tokens || row_count(topk_weights) != a.tokens ||
        columns_of(topk_weights) != a.places) {
      return fail(call, ASSAY_ERROR, "fused_experts: shapes do not fit the prepared weights");
    }
    if (a.cells == Cells::other || a.cells != cells_of(out)) {
      return fail(call, ASSAY_UNSUPPORTED, "fused_experts: fp32, fp16 or bf16 throughout");
    }
    if (a.tokens == 0 || a.places == 0 || layer->hidden == 0) return ASSAY_OK;
    a.x = rows_of(x);
    a.out = rows_of(out);
    a.ids = data_of<int32_t>(topk_ids);
    a.weights = data_of<float>(topk_weights);
    for (int dim = 0; dim < 2; ++dim) {
      a.id_strides[dim] = topk_ids->strides[dim];
      a.weight_strides[dim] = topk_weights->strides[dim];
    }
    if (static_cast<int64_t>(call->workspace_bytes) < Self::scratch_bytes(a.tokens, a.places, layer->hidden)) {
      return fail(call, ASSAY_ERROR, "fused_experts: less workspace than asked for");
    }
    char* memory = static_cast<char*>(call->workspace);
    const auto take = [&](int64_t bytes) {
      char* at = memory;
      memory += bytes;
      return at;
    };
    a.order = reinterpret_cast<int32_t*>(take(table_bytes(a.slots())));
    a.spare = reinterpret_cast<int32_t*>(take(table_bytes(a.slots())));
    a.place = reinterpret_cast<int32_t*>(take(table_bytes(a.slots())));
    a.rows = reinterpret_cast<float*>(take(round_up(a.slots() * layer->hidden * 4, 256)));
    a.scratch = reinterpret_cast<float*>(memory);
    return Self::enqueue(call, a);
  }
  static assay_status enqueue(const assay_call* call, const ExpertsArguments& a) {
    const auto launch = [&](assay_host_kernel kernel, uint32_t blocks) {
      return call->host->launch(call->host_stream, kernel, blocks, &a, sizeof a);
    };
    const uint32_t blocks = blocks_for(a.slots());
    if (launch(route_kernel, 1) != ASSAY_OK) return ASSAY_ERROR;
    if (launch(experts_kernel, blocks < most_blocks ? blocks : most_blocks) != ASSAY_OK) return ASSAY_ERROR;
    return launch(finish_kernel, blocks_for(a.tokens));
  }

  // Sorts slots by expert, stable, byte by byte: no table has the size of a number that only the weights know.
  static void route_kernel(const void* memory, uint32_t, uint32_t) {
    Self::route(*static_cast<const ExpertsArguments*>(memory));
  }
  static void route(const ExpertsArguments& a) {
    const int64_t slots = a.slots();
    int32_t *from = a.order, *to = a.spare;
    for (int64_t s = 0; s < slots; ++s) from[s] = static_cast<int32_t>(s);
    for (int shift = 0; (a.layer.experts - 1) >> shift > 0; shift += 8) {
      int64_t starts[257] = {};
      for (int64_t s = 0; s < slots; ++s) ++starts[(a.id(from[s]) >> shift & 255) + 1];
      for (int byte = 0; byte < 256; ++byte) starts[byte + 1] += starts[byte];
      for (int64_t s = 0; s < slots; ++s) to[starts[a.id(from[s]) >> shift & 255]++] = from[s];
      int32_t* const last = from;
      from = to;
      to = last;
    }
    if (from != a.order) __builtin_memcpy(a.order, from, static_cast<size_t>(slots) * sizeof(int32_t));
    for (int64_t p = 0; p < slots; ++p) a.place[a.order[p]] = static_cast<int32_t>(p);
  }

  static void experts_kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const ExpertsArguments*>(memory);
    const RowRange range = rows_of_block(a.slots(), block, blocks);
    float* buffers = a.scratch + block * block_cells(a.layer.hidden);
    for (Tile t{range.begin, 0, 0}; t.first < range.end; t.first += t.count) {
      t.expert = Self::expert_at(a, t.first);
      t.count = 1;
      while (t.count < tile_rows && t.first + t.count < range.end && Self::joins(a, t)) ++t.count;
      Self::tile(a, t, buffers);
    }
  }
  static int64_t expert_at(const ExpertsArguments& a, int64_t position) { return a.id(a.order[position]); }
  static bool joins(const ExpertsArguments& a, const Tile& t) {
    return Self::expert_at(a, t.first + t.count) == t.expert;
  }
  static int64_t token_at(const ExpertsArguments& a, int64_t position) { return a.order[position] / a.places; }

  static void tile(const ExpertsArguments& a, const Tile& t, float* buffers) {
    const Layer& l = a.layer;
    const int64_t hidden = l.hidden;
    float *x = buffers, *gate = x + tile_rows * hidden, *up = gate + hidden;
    for (int64_t r = 0; r < t.count; ++r) {
      const int64_t token = Self::token_at(a, t.first + r);
      const char* row = static_cast<const char*>(a.x.data) + a.x.offset(token) * bytes_of(a.cells);
      convert(a.cells, row, a.x.step, hidden, x + r * hidden);
      Self::narrow(l, t.expert, l.inverse13, x + r * hidden, hidden);
      __builtin_memset(a.rows + (t.first + r) * hidden, 0, static_cast<size_t>(hidden) * sizeof(float));
    }
    for (int64_t first = 0; first < l.inter; first += channel_group) {
      const int64_t count = l.inter - first < channel_group ? l.inter - first : channel_group;
      float acts[tile_rows][channel_group];
      for (int64_t c = 0; c < count; ++c) {
        Self::first_row(l, t.expert, first + c, gate);
        Self::first_row(l, t.expert, l.inter + first + c, up);
        for (int64_t r = 0; r < t.count; ++r)
          acts[r][c] = Self::act(dot(x + r * hidden, gate, hidden), dot(x + r * hidden, up, hidden));
      }
      for (int64_t r = 0; r < t.count; ++r) Self::narrow(l, t.expert, l.inverse2, acts[r], count);
      for (int64_t c = 0; c < count; ++c) {
        Self::second_row(l, t.expert, first + c, gate);
        for (int64_t r = 0; r < t.count; ++r) {
          float* row = a.rows + (t.first + r) * hidden;
          const float scale = acts[r][c];
          for (int64_t h = 0; h < hidden; ++h) row[h] += scale * gate[h];
        }
      }
    }
  }

  static void finish_kernel(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const ExpertsArguments*>(memory);
    const RowRange range = rows_of_block(a.tokens, block, blocks);
    for (int64_t token = range.begin; token < range.end; ++token) Self::finish(a, token);
  }
  static float share(const ExpertsArguments& a, int64_t token, int64_t k) { return a.weight(token, k); }
  static const float* row_of(const ExpertsArguments& a, int64_t token, int64_t k) {
    return a.rows + a.place[token * a.places + k] * a.layer.hidden;
  }
  static void finish(const ExpertsArguments& a, int64_t token) {
    for (int64_t h = 0; h < a.layer.hidden; ++h) {
      float sum = 0;
      for (int64_t k = 0; k < a.places; ++k) sum += Self::share(a, token, k) * Self::row_of(a, token, k)[h];
      Self::put(a, token, h, sum);
    }
  }
  static void put(const ExpertsArguments& a, int64_t token, int64_t h, float value) {
    const int64_t at = a.out.offset(token) + h * a.out.step;
    if (a.cells == Cells::f32) store(static_cast<float*>(a.out.data)[at], value);
    if (a.cells == Cells::f16) store(static_cast<Half*>(a.out.data)[at], value);
    if (a.cells == Cells::bf16) store(static_cast<Bfloat*>(a.out.data)[at], value);
  }
};

// The same from NVFP4 weights, dequantised in float as they are read.
template <class Self>
struct Nvfp4Experts : Experts<Self> {
  using Right = Nvfp4Experts;
  static constexpr const char *form = "nvfp4_layer", *activation = "swigluoai";

  static float act(float gate, float up) { return swigluoai(gate, up); }

  // Where the scale of row r and group g lies among an expert's bytes; `padded` is the padded number of groups.
  static int64_t swizzled(int64_t r, int64_t g, int64_t padded) {
    return (r / 128 * (padded / 4) + g / 4) * 512 + r % 32 * 16 + r % 128 / 32 * 4 + g % 4;
  }
  static int64_t expert_pitch(int64_t rows, int64_t groups) { return round_up(rows, 128) * round_up(groups, 4); }
  static float outer(const float* alphas, const float* inverse, int64_t expert) {
    return alphas[expert] * inverse[expert];
  }
  static uint32_t code(const uint8_t* row, int64_t element) { return row[element / 2] >> (element % 2 * 4) & 15u; }

  static assay_status fill(const assay_call* call, const assay_moe_weights& w, Layer layer, void** prepared) {
    const int64_t e = layer.experts, h = layer.hidden, i = layer.inter;
    const int64_t groups13 = h / channel_group, groups2 = i / channel_group;
    if (h % channel_group != 0 || i % channel_group != 0 || w.group_size != channel_group) {
      return fail(call, ASSAY_ERROR, "fused_experts: NVFP4 needs whole groups of 16");
    }
    if (!is_shape(w.w13, e, 2 * i, h / 2) || !is_shape(w.w2, e, h, i / 2) ||
        !is_shape(w.w13_scale, e, round_up(2 * i, 128), round_up(groups13, 4)) ||
        !is_shape(w.w2_scale, e, round_up(h, 128), round_up(groups2, 4)) || w.g1_alphas == nullptr ||
        w.g2_alphas == nullptr || w.a1_inv == nullptr || w.a2_inv == nullptr) {
      return fail(call, ASSAY_ERROR, "fused_experts: not the tagged view");
    }
    layer.w13 = data_of<char>(w.w13);
    const int64_t bytes[] = {e * i * h / 2, e * 2 * i * groups13 * 4, e * groups2 * h * 4, e * 4, e * 4};
    char* arrays[5];
    if (const assay_status status = Self::allocate(call, layer, bytes, arrays, prepared); status != ASSAY_OK) {
      return status;
    }
    Layer& l = *static_cast<Layer*>(*prepared);
    l.w2 = arrays[0];
    l.scale13 = reinterpret_cast<float*>(arrays[1]);
    l.scale2 = reinterpret_cast<float*>(arrays[2]);
    l.inverse13 = reinterpret_cast<float*>(arrays[3]);
    l.inverse2 = reinterpret_cast<float*>(arrays[4]);
    for (int64_t x = 0; x < e; ++x) {
      l.inverse13[x] = data_of<float>(w.a1_inv)[x];
      l.inverse2[x] = data_of<float>(w.a2_inv)[x];
      const uint8_t* scales = data_of<uint8_t>(w.w13_scale) + x * Self::expert_pitch(2 * i, groups13);
      const float outer13 = Self::outer(data_of<float>(w.g1_alphas), l.inverse13, x);
      for (int64_t r = 0; r < 2 * i; ++r)
        for (int64_t g = 0; g < groups13; ++g)
          l.scale13[(x * 2 * i + r) * groups13 + g] =
              e4m3(scales[Self::swizzled(r, g, round_up(groups13, 4))]) * outer13;
      scales = data_of<uint8_t>(w.w2_scale) + x * Self::expert_pitch(h, groups2);
      const float outer2 = Self::outer(data_of<float>(w.g2_alphas), l.inverse2, x);
      for (int64_t r = 0; r < h; ++r)
        for (int64_t g = 0; g < groups2; ++g)
          l.scale2[(x * groups2 + g) * h + r] = e4m3(scales[Self::swizzled(r, g, round_up(groups2, 4))]) * outer2;
      transpose_codes(data_of<uint8_t>(w.w2) + x * h * i / 2, static_cast<uint8_t*>(l.w2) + x * h * i / 2, h, i);
    }
    return ASSAY_OK;
  }
  // Bytes (H, I/2) with pairs along I become bytes (I, H/2) with pairs along H.
  static void transpose_codes(const uint8_t* from, uint8_t* to, int64_t hidden, int64_t inter) {
    for (int64_t h = 0; h < hidden; h += 2)
      for (int64_t i = 0; i < inter; ++i)
        to[(i * hidden + h) / 2] =
            static_cast<uint8_t>(Self::code(from + h * inter / 2, i) | Self::code(from + (h + 1) * inter / 2, i) << 4);
  }

  static void first_row(const Layer& l, int64_t expert, int64_t row, float* to) {
    const int64_t at = expert * 2 * l.inter + row;
    const uint8_t* codes = static_cast<const uint8_t*>(l.w13) + at * l.hidden / 2;
    const float* scales = l.scale13 + at * (l.hidden / channel_group);
    for (int64_t h = 0; h < l.hidden; ++h) to[h] = e2m1[Self::code(codes, h)] * scales[h / channel_group];
  }
  static void second_row(const Layer& l, int64_t expert, int64_t channel, float* to) {
    const uint8_t* codes = static_cast<const uint8_t*>(l.w2) + (expert * l.inter + channel) * l.hidden / 2;
    const float* scales = l.scale2 + (expert * (l.inter / channel_group) + channel / channel_group) * l.hidden;
    for (int64_t h = 0; h < l.hidden; h += 2) {
      to[h] = e2m1[codes[h / 2] & 15u] * scales[h];
      to[h + 1] = e2m1[codes[h / 2] >> 4] * scales[h + 1];
    }
  }
};

// The dense form with MiniMax-M3's activation.
template <class Self>
struct M3Experts : Experts<Self> {
  using Right = M3Experts;
  static constexpr const char* activation = "swigluoai";
  static float act(float gate, float up) { return swigluoai(gate, up); }
};

// Rounds a magnitude to E2M1; ties go to even, as hardware has it.
inline float round_e2m1(float m) {
  const float step = m < 2.0f ? 0.5f : m < 4.0f ? 1.0f : 2.0f;
  const float rounded = __builtin_rintf(m / step) * step;
  return rounded < 6.0f ? rounded : 6.0f;
}
// Rounds a non-negative scale to E4M3: three bits behind the leading one, steps of 2^-9 under 2^-6.
inline float round_e4m3(float s) {
  if (s >= 448.0f) return 448.0f;
  if (s < 0x1p-6f) return __builtin_rintf(s * 0x1p9f) * 0x1p-9f;
  const uint32_t bits = bits_of(s);
  return float_of((bits + 0x7ffffu + (bits >> 20 & 1u)) & 0xfff00000u);
}

// NVFP4 weights and activations that are narrowed to four bits before either product.
template <class Self>
struct NarrowNvfp4Experts : Nvfp4Experts<Self> {
  using Right = NarrowNvfp4Experts;
  static void narrow(const Layer&, int64_t expert, const float* inverse, float* row, int64_t count) {
    for (int64_t first = 0; first < count; first += channel_group) {
      float* group = row + first;
      float most = 0;
      for (int64_t i = 0; i < channel_group; ++i) {
        const float m = __builtin_fabsf(group[i]);
        most = m > most ? m : most;
      }
      const float scale = round_e4m3(most * inverse[expert] / 6.0f) / inverse[expert];
      for (int64_t i = 0; i < channel_group; ++i) {
        const float m = scale > 0 ? round_e2m1(__builtin_fabsf(group[i]) / scale) * scale : 0.0f;
        group[i] = __builtin_copysignf(m, group[i]);
      }
    }
  }
};

// A variant with everything of Kernel but its entry, whose type is the slot's.
template <class Kernel>
constexpr assay_variant with_weights(assay_variant variant) {
  variant.workspace = Kernel::workspace;
  variant.prepare = Kernel::prepare;
  variant.release = Kernel::release;
  return variant;
}

}  // namespace host_kernels
