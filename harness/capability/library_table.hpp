// harness/capability/library_table.hpp: a candidate's table as plain data.
//
// Promises: describe() reads no field that the table's own `size` does not cover, no string past its bound and no more
// variants than the limit; what it returns holds no pointer into the candidate. It judges nothing: library_check.hpp
// does, in the judge. Not promised: that a wild pointer in the table is survived; describe() runs in the worker, and
// the black box says load_crash. library_from_json() trusts nothing that the worker wrote.
// Who calls it: describe, describe_json, read_variant in the worker; library_from_json in the judge.
//
//   nlohmann::json reply = describe_json(describe(table));                          // worker
//   LibraryDescription library = library_from_json(canonical(reply));              // judge
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "assay/abi.h"

namespace assay {

inline constexpr std::size_t table_text_limit = 4u << 10u;           // bytes of a name
inline constexpr std::size_t table_capabilities_limit = 64u << 10u;  // bytes of capabilities
inline constexpr std::size_t table_total_limit = 1u << 20u;          // bytes of all texts
inline constexpr std::uint32_t table_variant_limit = 512;

// A string of the table. Names are printable UTF-8; capabilities may hold white space.
enum class TextFault { none, too_long, not_text, over_total };
struct TableText {
  std::optional<std::string> value;  // nullopt: NULL in the table, or fault
  TextFault fault = TextFault::none;
  bool operator==(const TableText&) const = default;
};

struct VariantDescription {
  bool present = false;  // false: a NULL pointer in the table
  std::uint32_t size = 0;
  bool complete = false;  // size covers everything up to and with entry; otherwise nothing below was read
  std::uint32_t flags = 0;
  std::int32_t device_type = 0;
  TableText slot, id, signature, capabilities;
  bool has_entry = false, has_workspace = false, has_init = false, has_destroy = false, has_prepare = false,
       has_release = false;
  bool operator==(const VariantDescription&) const = default;
};

struct LibraryDescription {
  bool present = false;  // false: assay_get_library returned NULL
  std::uint32_t size = 0, abi_version = 0;
  bool complete = false;  // size and abi_version are ours; otherwise nothing below was read
  TableText name, version;
  std::uint32_t variant_count = 0;  // as the table says; variants holds at most table_variant_limit
  bool has_variants = false;        // the array is not NULL
  std::vector<VariantDescription> variants;
  bool operator==(const LibraryDescription&) const = default;
};

[[nodiscard]] LibraryDescription describe(const assay_library*);

// A row with every field that its size does not cover zeroed. Precondition: size covers entry (VariantDescription::
// complete). An older library's row ends before the newer fields: never read the original past its size.
[[nodiscard]] assay_variant read_variant(const assay_variant&);

[[nodiscard]] nlohmann::json describe_json(const LibraryDescription&);
// Throws JsonError: not strict JSON, a key too many or too few, a wrong type, a bound exceeded.
[[nodiscard]] LibraryDescription library_from_json(std::string_view text);

}  // namespace assay
