// The same with ptrace: stops the judge, changes what it grades by, lets it go on.
#include <sys/ptrace.h>
#include <sys/wait.h>

#include "kernels/hostile/memory.hpp"

namespace {

struct Attack : hostile::Generous<Attack> {
  static void attack() {
    hostile::for_each_judge([](pid_t judge) {
      if (ptrace(PTRACE_SEIZE, judge, nullptr, nullptr) != 0) return;
      if (ptrace(PTRACE_INTERRUPT, judge, nullptr, nullptr) == 0) {
        waitpid(judge, nullptr, __WALL);
        hostile::for_each_tolerance(judge, [&](uintptr_t at, double becomes) {
          long word;
          memcpy(&word, &becomes, sizeof word);
          ptrace(PTRACE_POKEDATA, judge, reinterpret_cast<void*>(at), reinterpret_cast<void*>(word));
        });
      }
      ptrace(PTRACE_DETACH, judge, nullptr, nullptr);
    });
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
