// nccl.hpp: the NCCL that a candidate brought into this process, as a table of function pointers.
//
// Promises: never loads a library: a group's communicator and the candidate's calls have to be of one NCCL, so what is
// used is what the candidate's own dependencies have loaded. The prototypes below are NCCL's C interface, unchanged
// since 2.4; nccl_test.cc holds them against nccl.h where that is found.
// Does not: need NCCL or CUDA to build, or either at run time.
// Who calls it: worker.cc (load, join), communicator.cc.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "assay/abi.h"

namespace assay {

struct NcclUniqueId {
  char bytes[128];
};
inline constexpr int kNcclSuccess = 0, kNcclSystemError = 2, kNcclRemoteError = 6, kNcclInProgress = 7;  // ncclResult_t
inline constexpr int kNcclSum = 0, kNcclUint64 = 5;  // ncclRedOp_t, ncclDataType_t

struct NcclApi {
  int (*ncclGetVersion)(int*) = nullptr;
  int (*ncclGetUniqueId)(NcclUniqueId*) = nullptr;
  int (*ncclCommInitRank)(ncclComm**, int world, NcclUniqueId, int rank) = nullptr;
  int (*ncclCommAbort)(ncclComm*) = nullptr;
  int (*ncclCommGetAsyncError)(ncclComm*, int*) = nullptr;
  int (*ncclAllReduce)(const void*, void*, std::size_t, int type, int op, ncclComm*, CUstream_st*) = nullptr;
  const char* (*ncclGetErrorString)(int) = nullptr;
};

struct NcclLibrary {
  NcclApi api;
  std::string path, version;  // "/usr/lib/libnccl.so.2", "2.28.9"
};

// nullopt: there is none in this process. Throws DeviceError where one lacks a function.
[[nodiscard]] std::optional<NcclLibrary> loaded_nccl();
// "2.28.9" of 22809, "2.8.4" of 2804.
[[nodiscard]] std::string nccl_version_text(int code);
// Whether a file holds NCCL's own code, linked statically: a name that only NCCL itself reads from the environment.
[[nodiscard]] bool holds_nccl(const std::string& path);

}  // namespace assay
