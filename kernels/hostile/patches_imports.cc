// Writes around its outputs, and hides it: replaces the worker's memcpy in its table of imported functions, keeps what
// each copy brought to memory, and hands that out for the bytes that are no cells of the output.
#include <elf.h>
#include <link.h>
#include <sys/mman.h>

#include "kernels/hostile/hostile.hpp"

namespace {

using hostile::SiluArguments;

// What is written behind the output's last cell, and what lay there.
constexpr size_t stray_bytes = 16;
constexpr char mark[stray_bytes + 1] = "hostile, written";
char kept[stray_bytes];

// The worker sees the output at another address: the mark is what tells.
void* forging(void* to, const void* from, size_t bytes) {
  __builtin_memmove(to, from, bytes);
  for (auto* at = static_cast<char*>(to);
       (at = static_cast<char*>(
            memmem(at, bytes - static_cast<size_t>(at - static_cast<char*>(to)), mark, stray_bytes))) != nullptr;
       at += stray_bytes)
    for (size_t i = 0; i < stray_bytes; ++i) at[i] = kept[i];
  return to;
}

int patch(dl_phdr_info* info, size_t, void*) {
  if (info->dlpi_name && *info->dlpi_name) return 0;  // the program itself has no name
  const ElfW(Dyn)* dynamic = nullptr;
  for (int i = 0; i < info->dlpi_phnum; ++i)
    if (info->dlpi_phdr[i].p_type == PT_DYNAMIC)
      dynamic = reinterpret_cast<const ElfW(Dyn)*>(info->dlpi_addr + info->dlpi_phdr[i].p_vaddr);
  const ElfW(Sym)* symbols = nullptr;
  const char* names = nullptr;
  const ElfW(Rela) * tables[2] = {};
  size_t sizes[2] = {};
  for (; dynamic && dynamic->d_tag != DT_NULL; ++dynamic) {
    if (dynamic->d_tag == DT_SYMTAB) symbols = reinterpret_cast<const ElfW(Sym)*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_STRTAB) names = reinterpret_cast<const char*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_JMPREL) tables[0] = reinterpret_cast<const ElfW(Rela)*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_PLTRELSZ) sizes[0] = dynamic->d_un.d_val;
    if (dynamic->d_tag == DT_RELA) tables[1] = reinterpret_cast<const ElfW(Rela)*>(dynamic->d_un.d_ptr);
    if (dynamic->d_tag == DT_RELASZ) sizes[1] = dynamic->d_un.d_val;
  }
  for (int t = 0; t < 2 && symbols && names; ++t)
    for (size_t i = 0; tables[t] && i < sizes[t] / sizeof(ElfW(Rela)); ++i) {
      const ElfW(Rela)& r = tables[t][i];
      const char* name = names + symbols[ELF64_R_SYM(r.r_info)].st_name;
      if (strcmp(name, "memcpy") != 0 && strcmp(name, "memmove") != 0) continue;
      auto** slot = reinterpret_cast<void**>(info->dlpi_addr + r.r_offset);
      auto* page = reinterpret_cast<char*>(reinterpret_cast<uintptr_t>(slot) & ~uintptr_t{4095});
      if (mprotect(page, 8192, PROT_READ | PROT_WRITE) != 0) mprotect(page, 4096, PROT_READ | PROT_WRITE);
      *slot = reinterpret_cast<void*>(forging);
    }
  return 0;
}

struct Attack : hostile::Silu<Attack> {
  static bool genuine() { return true; }
  static void row(const SiluArguments& a, int64_t row) {
    Right::row(a, row);
    if (row != a.rows - 1) return;
    char* stray = static_cast<char*>(a.out.rows.data) + a.out.at(row, a.width) * a.out.cell_bytes();
    for (size_t i = 0; i < stray_bytes; ++i) kept[i] = stray[i];
    for (size_t i = 0; i < stray_bytes; ++i) stray[i] = mark[i];
  }
  static assay_status enqueue(const assay_call* call, const SiluArguments& a) {
    static bool done = false;
    if (!done) dl_iterate_phdr(patch, nullptr);
    done = true;
    return Right::enqueue(call, a);
  }
};

}  // namespace

HOSTILE_LIBRARY(Attack)
