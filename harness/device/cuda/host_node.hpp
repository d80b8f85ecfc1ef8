// host_node.hpp: whose a host callback in a captured graph is.
//
// NCCL puts one there itself where ranks have no memory in common (several ranks on one GPU, several nodes): it wakes
// the thread that moves the bytes. That is the transport of a group's communicator, and no candidate's work.
// Who calls it: cuda_device.cc.
#pragma once

namespace assay::cuda {

// Whether a function is of the libnccl.so.2 in this process. Never loads it.
[[nodiscard]] bool is_nccl_code(const void* function) noexcept;

}  // namespace assay::cuda
