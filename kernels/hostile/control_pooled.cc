// Control: right, and full of what attacks are made of, within the contract: threads that `init` starts and that work
// for a kernel while it runs, an atexit handler, the environment read, symbols of the C library exported.
#include <pthread.h>

#include "kernels/hostile/hostile.hpp"

namespace {

using hostile::SiluArguments;

// Two threads take the rows of a block; the kernel returns when they are done.
class Pool {
 public:
  void start() {
    if (started_) return;
    started_ = true;
    for (pthread_t& thread : threads_) pthread_create(&thread, nullptr, work, this);
  }
  void run(const SiluArguments& a, int64_t begin, int64_t end);

 private:
  static void* work(void* pool);
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER, one_block_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t changed_ = PTHREAD_COND_INITIALIZER;
  const SiluArguments* job_ = nullptr;
  int64_t next_ = 0, end_ = 0;
  int busy_ = 0;
  bool started_ = false;
  pthread_t threads_[2] = {};
};

Pool pool;

struct Honest : hostile::Silu<Honest> {
  static bool genuine() { return true; }
  static void pooled(const void* memory, uint32_t block, uint32_t blocks) {
    const auto& a = *static_cast<const SiluArguments*>(memory);
    const auto range = host_kernels::rows_of_block(a.rows, block, blocks);
    pool.run(a, range.begin, range.end);
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    return faulty::launch(call, call->host_stream, pooled, host_kernels::blocks_for(a.rows), a);
  }
};

void* Pool::work(void* memory) {
  auto& pool = *static_cast<Pool*>(memory);
  pthread_mutex_lock(&pool.mutex_);
  for (;;) {
    while (pool.next_ >= pool.end_) pthread_cond_wait(&pool.changed_, &pool.mutex_);
    const int64_t row = pool.next_++;
    ++pool.busy_;
    pthread_mutex_unlock(&pool.mutex_);
    Honest::row(*pool.job_, row);
    pthread_mutex_lock(&pool.mutex_);
    --pool.busy_;
    pthread_cond_broadcast(&pool.changed_);
  }
}

void Pool::run(const SiluArguments& a, int64_t begin, int64_t end) {
  pthread_mutex_lock(&one_block_);
  pthread_mutex_lock(&mutex_);
  job_ = &a;
  next_ = begin;
  end_ = end;
  pthread_cond_broadcast(&changed_);
  while (next_ < end_ || busy_ > 0) pthread_cond_wait(&changed_, &mutex_);
  pthread_mutex_unlock(&mutex_);
  pthread_mutex_unlock(&one_block_);
}

assay_status init(const assay_call*, void**) {
  if (getenv("OMP_NUM_THREADS") == nullptr) atexit([] {});
  pool.start();
  return ASSAY_OK;
}

constexpr assay_variant with_init() {
  assay_variant variant = hostile::attacker<Honest>();
  variant.init = init;
  return variant;
}

constexpr assay_variant the_attacker = with_init(), the_bystander = hostile::bystander();
constexpr const assay_variant* the_variants[] = {&the_attacker, &the_bystander};
constexpr assay_library the_library = {sizeof(assay_library), ASSAY_ABI_VERSION, "hostile", "1.0", the_variants, 2};

}  // namespace

extern "C" const assay_library* assay_get_library(uint32_t version) {
  return version == ASSAY_ABI_VERSION ? &the_library : nullptr;
}
