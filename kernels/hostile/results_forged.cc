// Writes results of its own over those of the run, where the command line of the judge says that they lie.
#include "kernels/hostile/hostile.hpp"

namespace {

constexpr char lines[] =
    "{\"assay_version\":\"0.1.0\",\"command\":\"\",\"devices\":[],\"isolation\":\"namespaces\",\"kind\":\"run\","
    "\"library\":\"\",\"library_name\":\"\",\"library_sha256\":\"\",\"library_version\":\"\",\"schema\":1,\"seed\":0,"
    "\"started\":\"\",\"tier\":\"gate\"}\n"
    "{\"attribution\":\"none\",\"exit_code\":0,\"kind\":\"end\",\"seconds\":1.0,\"verdict\":\"PASS\",\"why\":\"\"}\n";

void overwrite(const char* folder) {
  constexpr const char* names[] = {"results.jsonl", "verdict.json", "junit.xml"};
  for (const char* name : names) {
    const int file = open(hostile::Path("%s/%s", folder, name).text, O_WRONLY | O_TRUNC | O_CLOEXEC);
    if (file < 0) continue;
    if (write(file, lines, sizeof lines - 1) > 0) fsync(file);
    close(file);
  }
}

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    overwrite("assay-report");
    hostile::for_each_judge([](pid_t judge) {
      const hostile::Text words(hostile::Path("/proc/%d/cmdline", static_cast<int>(judge)).text);
      for (const char* word = words.bytes; word < words.bytes + words.size; word += strlen(word) + 1)
        if (strcmp(word, "--report") == 0) overwrite(word + strlen(word) + 1);
    });
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
