#include "conformance/assay_bench/library_under_test.hpp"

#include <filesystem>

namespace assay {

std::string file_beside(const char* name) {
  const auto path = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  return std::filesystem::exists(path) ? path.string() : "";
}

std::string library_under_test(DeviceType device) {
  return file_beside(device == DeviceType::cuda ? "libassay_cuda_kernels.so" : "libassay_host_kernels.so");
}

}  // namespace assay
