#include "conformance/installation.hpp"

#include <filesystem>
#include <initializer_list>

namespace assay {
namespace {

std::string find(std::initializer_list<const char*> places, const char* name) {
  const std::filesystem::path folder = std::filesystem::path(own_path()).parent_path();
  for (const char* place : places)
    if (const auto path = (folder / place / name).lexically_normal(); std::filesystem::exists(path)) return path;
  return (folder / name).string();
}

}  // namespace

std::string own_path() { return std::filesystem::read_symlink("/proc/self/exe").string(); }
std::string worker_path() { return find({".", "../libexec/assay"}, "assay-worker"); }
std::string reference_path() { return find({".", "../lib/assay"}, "libassay_reference.so"); }

}  // namespace assay
