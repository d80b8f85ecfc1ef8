// Wrong on its stream; a thread that stays behind writes the right values a moment later, when a reader might still see
// them.
#include <pthread.h>
#include <semaphore.h>

#include "kernels/hostile/hostile.hpp"

namespace {

using hostile::SiluArguments;

SiluArguments job;
sem_t wanted;

struct Attack : hostile::Silu<Attack> {
  static void* repair(void*) {
    for (;;) {
      sem_wait(&wanted);
      const SiluArguments a = job;
      usleep(50);
      for (int64_t row = 0; row < a.rows; ++row)
        for (int64_t column = 0; column < a.width; ++column)
          a.out.set(row, column, faulty::Silu<Attack>::activate(a.x.get(row, column)) * a.x.get(row, a.width + column));
    }
  }
  static void kernel_and_repair(const void* memory, uint32_t block, uint32_t blocks) {
    kernel(memory, block, blocks);
    job = *static_cast<const SiluArguments*>(memory);
    sem_post(&wanted);
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static pthread_t thread;
    if (!thread) {
      sem_init(&wanted, 0, 0);
      if (pthread_create(&thread, nullptr, repair, nullptr) != 0) return ASSAY_ERROR;
    }
    return faulty::launch(call, call->host_stream, kernel_and_repair, host_kernels::blocks_for(a.rows), a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
