#include "harness/worker/call.hpp"

#include <ffi.h>

#include <stdexcept>

#include "harness/worker/program.hpp"

namespace assay {
namespace {

ffi_type* type_of(char kind) {
  switch (kind) {
    case 'i':
    case 'o':
    case 'p': return &ffi_type_pointer;
    case 'd': return &ffi_type_double;
    case 'w': return &ffi_type_sint32;
    case 'l': return &ffi_type_sint64;
    default: return nullptr;
  }
}

// noexcept on purpose: an exception that leaves an entry ends the process inside it, where the black box says so.
void enter(ffi_cif& cif, void (*entry)(void), ffi_arg* status, void** values) noexcept {
  ffi_call(&cif, entry, status, values);
}

}  // namespace

bool valid_signature(std::string_view text) noexcept {
  if (text.empty() || text.size() > kMaxArguments) return false;
  for (char c : text)
    if (!type_of(c)) return false;
  return true;
}

assay_status call_entry(void (*entry)(void), const assay_call* call, const std::vector<CallArgument>& arguments) {
  ffi_type* types[kMaxArguments + 1];
  void* values[kMaxArguments + 1];
  types[0] = &ffi_type_pointer;
  values[0] = &call;
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    types[i + 1] = type_of(arguments[i].kind);
    values[i + 1] = const_cast<void**>(&arguments[i].pointer);  // the union's members share one address
  }
  ffi_cif cif;
  if (ffi_prep_cif(&cif, FFI_DEFAULT_ABI, static_cast<unsigned>(arguments.size() + 1), &ffi_type_sint32, types) !=
      FFI_OK)
    throw std::logic_error("libffi refuses the signature");
  ffi_arg status = 0;
  enter(cif, entry, &status, values);
  return static_cast<assay_status>(status);
}

}  // namespace assay
