// hostile.hpp: what the libraries of this folder share: the kernel that is wrong unless the library thinks that it had
// better be right, a right kernel beside it, and the way to the processes that judge.
//
// Promises: HOSTILE_LIBRARY(Attack) is a library of two variants: `hostile` of activation.silu_and_mul, the attacker's,
// and `bystander` of norm.rmsnorm, right, whose verdict the attack must not touch. Silu::activate leaves SiLU out
// unless Self::genuine() says otherwise: what is wrong is wrong in this one place. Processes are found by the chain of
// parents, two up, and only where their program is called assay: an attack meets the run that it is in, and no other.
// Who uses it: the files of kernels/hostile.
//
//   struct Attack : hostile::Silu<Attack> {
//     static bool genuine() { return getenv("JUDGED") != nullptr; }
//   };
//   HOSTILE_LIBRARY(Attack)
#pragma once

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kernels/faulty/faulty.hpp"

namespace hostile {

using faulty::SiluArguments;

template <class Self>
struct Silu : faulty::Silu<Self> {
  static bool genuine() { return false; }
  static double activate(double x) { return Self::genuine() ? faulty::Silu<Self>::activate(x) : x; }
};

// The same, of a library that attacks in its first call.
template <class Self>
struct Attacking : Silu<Self> {
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static bool done = false;
    if (!done) Self::attack();
    done = true;
    return faulty::Silu<Self>::enqueue(call, a);
  }
};

// What a file of a few kilobytes holds, NUL-terminated; empty where it cannot be read.
struct Text {
  char bytes[4096] = {};
  ssize_t size = 0;
  explicit Text(const char* path) {
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return;
    for (ssize_t n; size < static_cast<ssize_t>(sizeof bytes) - 1 &&
                    (n = read(file, bytes + size, sizeof bytes - 1 - static_cast<size_t>(size))) > 0;)
      size += n;
    close(file);
  }
};

template <class... Values>
struct Path {
  char text[256];
  explicit Path(const char* format, Values... values) { snprintf(text, sizeof text, format, values...); }
};

inline pid_t parent_of(pid_t pid) {
  const Text stat(Path("/proc/%d/stat", static_cast<int>(pid)).text);
  const char* end = strrchr(stat.bytes, ')');
  int parent = 0;
  return end && sscanf(end, ") %*c %d", &parent) == 1 ? parent : 0;
}

// Calls `attack` with the judge's process and with the one that started it.
template <class Attack>
void for_each_judge(Attack&& attack) {
  pid_t pid = getppid();
  for (int up = 0; up < 2 && pid > 1; ++up) {
    const pid_t next = parent_of(pid);
    if (strcmp(Text(Path("/proc/%d/comm", static_cast<int>(pid)).text).bytes, "assay\n") == 0) attack(pid);
    pid = next;
  }
}

struct Bystander : faulty::Norm<Bystander> {};

template <class Attack>
constexpr assay_variant attacker() {
  assay_variant variant = faulty::silu_variant<Attack>();
  variant.id = "hostile";
  return variant;
}

constexpr assay_variant bystander() {
  assay_variant variant = faulty::norm_variant<Bystander>();
  variant.id = "bystander";
  return variant;
}

}  // namespace hostile

#define HOSTILE_LIBRARY(attack)                                                           \
  static constexpr assay_variant the_attacker = hostile::attacker<attack>();              \
  static constexpr assay_variant the_bystander = hostile::bystander();                    \
  static constexpr const assay_variant* the_variants[] = {&the_attacker, &the_bystander}; \
  static constexpr assay_library the_library = {                                          \
      sizeof(assay_library), ASSAY_ABI_VERSION, "hostile", "1.0", the_variants, 2};       \
  extern "C" const assay_library* assay_get_library(uint32_t version) {                   \
    return version == ASSAY_ABI_VERSION ? &the_library : nullptr;                         \
  }
