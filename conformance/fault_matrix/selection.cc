#include "conformance/fault_matrix/selection.hpp"

#include <cstdio>
#include <filesystem>

#include "harness/device/memory.hpp"

namespace assay {

void add_options(CLI::App& app, Selection& s) {
  const auto shard = [&s](const std::string& text) {
    char more = 0;
    if (std::sscanf(text.c_str(), "%zu/%zu%c", &s.part, &s.parts, &more) != 2 || s.part >= s.parts)
      throw CLI::ValidationError("--shard", "takes i/n with i from 0 to n - 1, not " + text);
  };
  app.add_option("--device", s.device, "host or cuda")->check(CLI::IsMember({"host", "cuda"}))->capture_default_str();
  app.add_option("--stems", s.stems, "only these libraries, separated by commas")->delimiter(',');
  app.add_option_function<std::string>("--shard", shard, "i/n: every n-th library or seed, from the i-th on");
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
