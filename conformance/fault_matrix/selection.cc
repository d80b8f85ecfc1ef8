#include "conformance/fault_matrix/selection.hpp"

#include <cstdio>
#include <filesystem>

#include "harness/device/memory.hpp"

namespace assay {

bool Selection::takes(std::size_t index) const {
  int part = 0, parts = 0;
  char more = 0;
  if (std::sscanf(shard_.c_str(), "%d/%d%c", &part, &parts, &more) != 2 || part < 0 || part >= parts)
    throw BadTable("--shard takes i/n with i from 0 to n - 1, not " + shard_);
  return index % static_cast<std::size_t>(parts) == static_cast<std::size_t>(part);
}

void add_options(CLI::App& app, Selection& s) {
  app.add_option("--device", s.device, "host or cuda")->check(CLI::IsMember({"host", "cuda"}))->capture_default_str();
  app.add_option("--stems", s.stems_, "only these libraries, separated by commas")->delimiter(',');
  app.add_option("--shard", s.shard_, "i/n: every n-th library or seed, from the i-th on")->capture_default_str();
}

std::string library_of(const std::string& folder, const std::string& stem, const std::string& target) {
  const std::string library = folder + "/" + stem + ".so";
  if (!std::filesystem::exists(library))
    throw BadTable("there is no " + library + "; build the target " + target + ", or name a --folder");
  return library;
}

bool has_device(const Selection& s, const char* program) {
  if (s.device == "host") return true;
  try {
    (void)make_cuda_memory(0);
    return true;
  } catch (const DeviceError& error) {
    std::fprintf(stderr, "%s: nothing was tried: %s\n", program, error.what());
    return false;
  }
}

}  // namespace assay
