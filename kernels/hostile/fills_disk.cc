// Writes files to every folder for temporary ones that it knows, until 64 MiB are written or none is left.
#include "kernels/hostile/hostile.hpp"

namespace {

void fill(const char* folder) {
  constexpr size_t chunk = size_t{1} << 20;
  static char bytes[chunk];
  memset(bytes, 1, chunk);
  const int file = open(hostile::Path("%s/hostile-%d", folder, static_cast<int>(getpid())).text,
                        O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  for (int i = 0; file >= 0 && i < 21; ++i)
    if (write(file, bytes, chunk) <= 0) break;
  if (file >= 0) close(file);
}

struct Attack : hostile::Attacking<Attack> {
  static void attack() {
    constexpr const char* folders[] = {"/tmp", "/var/tmp", "/dev/shm"};
    for (const char* folder : folders) fill(folder);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
