/* assay/abi.h: the narrow waist between the harness and a candidate library.
 *
 * Promises: C11 and C++11, no dependency but DLPack (vendored beside this file), nothing to link.
 * Who uses it: kernel authors. A candidate exports one symbol, assay_get_library, and fills in one
 * assay_variant for each kernel that it offers.
 *
 *   static assay_status run(const assay_call *call, assay_in x, assay_out out) { ...launch on call's stream... }
 *   static const assay_variant v = {.size = sizeof v, .device_type = kDLCPU, .slot = "activation.silu_and_mul",
 *                                   .id = "mine", .entry = {.silu_and_mul = run}};
 *   static const assay_variant *const all[] = {&v};
 *   static const assay_library library = {sizeof library, ASSAY_ABI_VERSION, "mine", "1.0", all, 1};
 *   const assay_library *assay_get_library(uint32_t v) { return v == ASSAY_ABI_VERSION ? &library : 0; }
 *
 * Every tensor is described by a DLTensor: byte_offset is 0, strides (in elements) are always set, extents and
 * strides are int64. bf16 is {kDLBfloat, 16, 1}; E4M3 and E2M1 travel as uint8. Inputs are read-only memory.
 * Entries enqueue their work on the one stream in assay_call and return; the status is never model output.
 *
 * Growth: structs carry their size first and grow only at the end; arrays go by pointer. Zero-initialise what
 * you do not set. Slots' contracts: README.md, `assay explain`, conformance/slots/.
 */
#ifndef ASSAY_ABI_H
#define ASSAY_ABI_H

#include <stddef.h>
#include <stdint.h>

#include "assay/dlpack.h"

#ifdef __cplusplus
extern "C" {
#endif

#define ASSAY_ABI_VERSION 1u

/* A status is an int32_t and not an enum: its width must not depend on compiler flags. */
typedef int32_t assay_status;
#define ASSAY_OK 0
#define ASSAY_UNSUPPORTED 1 /* inside the declared domain this is a failure */
#define ASSAY_ERROR 2

/* Two types, so that a swapped input and output does not compile. The descriptor is a copy made for the call;
 * it is compared byte for byte afterwards and dies when the entry returns. */
typedef const DLTensor *assay_in;
typedef DLTensor *assay_out;

/* ---- the host device model: what CUDA's driver is on a GPU (harness/device/host/README.md) ---- */

typedef struct assay_host_stream assay_host_stream;
typedef struct assay_host_event assay_host_event;
/* Runs block `block` of `blocks`, in any order. `args` is the model's copy of the launch's argument block. */
typedef void (*assay_host_kernel)(const void *args, uint32_t block, uint32_t blocks);

typedef struct assay_host_api {
  uint32_t size;
  /* Queues blocks >= 1 runs of the kernel; zero blocks is an error. A NULL stream is the legacy stream: it runs
   * at once, during capture too. */
  assay_status (*launch)(assay_host_stream *, assay_host_kernel, uint32_t blocks, const void *args, size_t bytes);
  assay_status (*stream_create)(assay_host_stream **);
  assay_status (*stream_destroy)(assay_host_stream *);
  assay_status (*event_create)(assay_host_event **);
  assay_status (*event_destroy)(assay_host_event *);
  assay_status (*event_record)(assay_host_event *, assay_host_stream *);
  assay_status (*stream_wait)(assay_host_stream *, assay_host_event *);
  /* In capture these three return ASSAY_ERROR and invalidate the capture. release drains all streams first. */
  assay_status (*synchronize)(assay_host_stream *);
  assay_status (*allocate)(void **, size_t bytes);
  assay_status (*release)(void *);
} assay_host_api;

/* ---- groups: the exact distributed scope of a collective call ---- */

struct assay_group;
typedef struct assay_group_api {
  uint32_t size;
  /* In init only; blocking; called by all ranks. all receives world_size * bytes, in rank order. */
  assay_status (*exchange)(const struct assay_group *, const void *mine, void *all, size_t bytes);
  /* In init only; blocking; peers[world_size] receives every rank's block of zeroed symmetric memory. */
  assay_status (*symmetric)(const struct assay_group *, size_t bytes, void **peers);
  /* Host device only; ordered on the stream; may be captured. */
  assay_status (*all_reduce_sum)(const struct assay_group *, assay_host_stream *, assay_in, assay_out);
  assay_status (*all_gather)(const struct assay_group *, assay_host_stream *, assay_in, assay_out);
} assay_group_api;

struct ncclComm;
typedef struct assay_group {
  uint32_t size;
  int32_t rank, world_size;
  uint64_t id; /* equal on all members; differs between two groups of one size */
  struct ncclComm *nccl; /* an ncclComm_t; NULL on the host device */
  const assay_group_api *api;
} assay_group;

/* ---- one call ---- */

struct CUstream_st;
typedef struct assay_call {
  uint32_t size;
  DLDevice device;
  struct CUstream_st *cuda_stream; /* a cudaStream_t; exactly one of the two streams is set */
  assay_host_stream *host_stream;
  const assay_host_api *host; /* NULL on CUDA */
  const assay_group *group;   /* NULL outside collective slots and in prepare */
  void *state;                /* what init stored; NULL in prepare and without init */
  void *workspace;            /* scratch as asked for: 256-byte aligned, poisoned, dead once the stream passes the call */
  size_t workspace_bytes;
  char *error; /* room for one line for people; never evidence */
  size_t error_bytes;
} assay_call;

/* Weights of the two MoE slots. form "dense": w13 (E,2I,H) and w2 (E,H,I); "nvfp4_layer": all of them. Unused
 * tensors are NULL. */
typedef struct assay_moe_weights {
  uint32_t size;
  const char *form;
  assay_in w13, w2, w13_scale, w2_scale, g1_alphas, g2_alphas, a1_inv, a2_inv;
  int64_t num_experts, hidden_size, intermediate, group_size, top_k, fused_shared_experts, tp_size, ep_size, ep_rank;
  const char *activation, *layout;
} assay_moe_weights;

/* ---- entries: assay_call first, then the slot's arguments in the slot's exact order ---- */

typedef union assay_entry {
  /* activation.silu_and_mul: x (..., 2d), out (..., d); out = silu(x[:d]) * x[d:] */
  assay_status (*silu_and_mul)(const assay_call *, assay_in x, assay_out out);
  /* norm.rmsnorm: x, out (..., H), weight (H); out = x * (mean(x^2) + eps)^-1/2 * weight */
  assay_status (*rmsnorm)(const assay_call *, assay_in x, assay_in weight, assay_out out, double eps);
  /* attention.sdpa: q, out (T,Hq,D), k, v (S,Hkv,D); causal is 0 or 1 */
  assay_status (*attention)(const assay_call *, assay_in q, assay_in k, assay_in v, assay_out out, double sm_scale,
                            int32_t causal);
  /* attention.decode: q, out (B,Hq,D), caches (N,Hkv,D), req_to_token (R,C), topk_idx (Hkv,B,K) */
  assay_status (*attention_decode)(const assay_call *, assay_in q, assay_in k_cache, assay_in v_cache,
                                   assay_in req_to_token, assay_in seq_lens, assay_in req_pool_indices,
                                   assay_in topk_idx, assay_out out, double sm_scale, int64_t block_size);
  /* attention.msa_block_score: q (B,Hq,D), index_k (B,S,1,D), out fp32 (B,S/block_size) */
  assay_status (*msa_block_score)(const assay_call *, assay_in q, assay_in index_k, assay_in seq_lens,
                                  int64_t block_size, assay_out out);
  /* attention.msa_prefill_block_score: q (TQ,Hq,D), index_k_cache (N,1,D), out_topk int32 (Hq,all_seqblock_q,topk) */
  assay_status (*msa_prefill_block_score)(const assay_call *, assay_in q, assay_in index_k_cache,
                                          assay_in req_to_token, assay_in slot_ids, assay_in cu_seqlens,
                                          assay_in seq_lens, assay_in prefix_lens, int64_t max_seqlen_q,
                                          int64_t max_seqlen_k, int64_t block_size_q, int64_t block_size_k,
                                          int64_t topk, int64_t init_blocks, int64_t local_blocks, double scale,
                                          assay_in cu_seqblocks_q, int64_t max_seqblock_q, int64_t all_seqblock_q,
                                          assay_out out_topk);
  /* moe.fused_experts: x, out (M,H), topk_ids, topk_weights (M,K); prepared is what prepare stored */
  assay_status (*fused_experts)(const assay_call *, assay_in x, assay_in topk_ids, assay_in topk_weights,
                                const void *prepared, assay_out out);
  /* moe.fused_experts_reduce: the same, summed over the call's group */
  assay_status (*fused_experts_reduce)(const assay_call *, assay_in x, assay_in topk_ids, assay_in topk_weights,
                                       const void *prepared, assay_out out);
  /* collective.all_reduce: x, out (M,H) */
  assay_status (*all_reduce)(const assay_call *, assay_in x, assay_out out);
  /* collective.ar_residual_rmsnorm: out_residual = sum_group(x) + residual; out_norm = rmsnorm(out_residual) */
  assay_status (*ar_residual_rmsnorm)(const assay_call *, assay_in x, assay_in residual, assay_in weight, double eps,
                                      assay_out out_norm, assay_out out_residual);
  /* collective.moe_finalize_ar_rmsnorm: gemm_out (T_exp*K,H), row_map (T_exp*K), scales (T_exp,K) */
  assay_status (*moe_finalize_ar_rmsnorm)(const assay_call *, assay_in gemm_out, assay_in row_map, assay_in scales,
                                          assay_in residual, assay_in weight, double eps, assay_out out_norm,
                                          assay_out out_residual);
  /* A slot outside this header: .entry = {.any = ASSAY_ANY(gelu_fn, f)} with .signature set. */
  void (*any)(void);
} assay_entry;

/* Checks f against the slot's own function type, in C and in C++. */
#ifdef __cplusplus
#define ASSAY_ANY(type, f) reinterpret_cast<void (*)(void)>(static_cast<type>(f))
#else
#define ASSAY_ANY(type, f) ((void (*)(void))_Generic(&(f), type: &(f)))
#endif

enum {
  ASSAY_GRAPH_SAFE = 1,    /* may be captured and replayed; proven by graph.* */
  ASSAY_DETERMINISTIC = 2, /* same inputs, same bytes; proven by relation.repeatable */
  ASSAY_SERIAL = 4         /* must not run on two streams at once; exempt from stream.concurrent */
};

typedef struct assay_variant {
  uint32_t size, flags;
  int32_t device_type; /* kDLCPU or kDLCUDA */
  const char *slot, *id;
  const char *signature;    /* NULL for members of the union; else one letter an argument: i assay_in, o assay_out,
                               p const void *, d double, w int32_t, l int64_t. Checked against the slot's at load. */
  const char *capabilities; /* JSON text: field -> predicate; NULL accepts every call of the slot */
  assay_entry entry;
  /* Optional. Bytes of scratch for a call with these tensors, in argument order, inputs and outputs alike. */
  assay_status (*workspace)(const assay_call *, const DLTensor *const *tensors, uint32_t count, size_t *bytes);
  /* Optional. Once per device and group, by all ranks, before prepare and before any capture. */
  assay_status (*init)(const assay_call *, void **state);
  assay_status (*destroy)(void *state);
  /* The two MoE slots only, and there both are required. */
  assay_status (*prepare)(const assay_call *, const assay_moe_weights *, void **prepared);
  assay_status (*release)(const assay_call *, void *prepared);
} assay_variant;

typedef struct assay_library {
  uint32_t size, abi_version;
  const char *name, *version;
  const assay_variant *const *variants;
  uint32_t variant_count;
} assay_library;

#if defined(_WIN32)
#define ASSAY_EXPORT __declspec(dllexport)
#else
#define ASSAY_EXPORT __attribute__((visibility("default")))
#endif

/* The one exported symbol. NULL says that the library cannot serve this ABI version. */
ASSAY_EXPORT const assay_library *assay_get_library(uint32_t harness_abi_version);

#ifdef __cplusplus
} /* extern "C" */
#endif
#endif /* ASSAY_ABI_H */
