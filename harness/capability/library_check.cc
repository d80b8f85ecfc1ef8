#include "harness/capability/library_check.hpp"

#include <algorithm>
#include <array>

#include "harness/case/json.hpp"

namespace assay {
namespace {

constexpr std::uint32_t known_flags = ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC | ASSAY_SERIAL;
constexpr std::size_t variants_per_slot = 32;  // PE-16
// Structs grow by a few fields at a time; beyond this, size is not a size but what happened to be in memory.
constexpr std::uint32_t credible_size = 4096;

bool is_id(std::string_view id) {
  return !id.empty() && std::all_of(id.begin(), id.end(), [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '.' || c == '_' ||
           c == '-';
  });
}

std::string fault_text(TextFault fault, std::size_t limit) {
  switch (fault) {
    case TextFault::too_long:
      return "is longer than " + std::to_string(limit) + " bytes; end it with a NUL or shorten it";
    case TextFault::over_total:
      return "brings the table over " + std::to_string(table_total_limit) + " bytes of text; shorten the capabilities";
    default:
      return "is not printable UTF-8 text; check that it points to a string that outlives the call";
  }
}

class Validator {
 public:
  Validator(const LibraryDescription& library, const SlotCatalogueView& slots) : library_(library), slots_(slots) {}

  LoadReport run() {
    if (table_is_sound()) {
      for (std::uint32_t i = 0; i < library_.variants.size(); ++i) {
        if (const auto& slot = library_.variants[i].slot.value) rows_of_[*slot].push_back(i);
      }
      for (std::uint32_t i = 0; i < library_.variants.size(); ++i) check(i);
      check_slots();
    }
    return std::move(report_);
  }

 private:
  void table_error(LoadCode code, const std::string& sentence, const std::string& predicate = {}) {
    report_.errors.push_back({code, std::nullopt, predicate, sentence});
  }

  bool table_is_sound() {
    const std::string ours = std::to_string(ASSAY_ABI_VERSION);
    if (!library_.present) {
      table_error(LoadCode::no_table, "assay_get_library(" + ours + ") returned NULL: the library does not serve ABI " +
                                          "version " + ours + "; build it against this assay/abi.h");
    } else if (!library_.complete && (library_.size < 8 || library_.abi_version == ASSAY_ABI_VERSION)) {
      table_error(LoadCode::table_size, "the table's size is " + std::to_string(library_.size) +
                                            ", too small for an assay_library; set it to sizeof(assay_library)");
    } else if (library_.abi_version != ASSAY_ABI_VERSION) {
      table_error(LoadCode::abi_version, "the table is of ABI version " + std::to_string(library_.abi_version) +
                                             " and this harness speaks version " + ours +
                                             "; build the library against this assay/abi.h");
    } else if (library_.size > credible_size) {
      table_error(LoadCode::table_size, "the table's size is " + std::to_string(library_.size) +
                                            ", which is no struct's; set it to sizeof(assay_library)");
    } else if (!library_.has_variants || library_.variant_count == 0) {
      table_error(LoadCode::no_variants,
                  "the table offers no variant; point variants at an array of assay_variant "
                  "pointers and set variant_count to its length");
    } else if (library_.variant_count > table_variant_limit) {
      table_error(LoadCode::too_many_variants, "the table counts " + std::to_string(library_.variant_count) +
                                                   " variants, over the limit of " +
                                                   std::to_string(table_variant_limit) + "; check variant_count");
    } else {
      const std::array<std::pair<const char*, const TableText*>, 2> texts = {
          {{"name", &library_.name}, {"version", &library_.version}}};
      for (const auto& [what, text] : texts) {
        if (text->fault == TextFault::none) continue;
        table_error(LoadCode::bad_text,
                    std::string("the table's ") + what + ' ' + fault_text(text->fault, table_text_limit));
      }
      return true;
    }
    return false;
  }

  std::string named(std::uint32_t index) const {
    const VariantDescription& v = library_.variants[index];
    std::string name = "variant " + std::to_string(index);
    if (v.slot.value) name += " (" + shown(*v.slot.value) + (v.id.value ? ", id " + shown(*v.id.value) : "") + ")";
    return name;
  }

  void error(std::uint32_t index, LoadCode code, const std::string& why, const std::string& predicate = {}) {
    report_.errors.push_back({code, index, predicate, named(index) + ": " + why});
  }

  void check(std::uint32_t index) {
    const VariantDescription& v = library_.variants[index];
    if (!v.present) return error(index, LoadCode::null_variant, "is a NULL pointer; check variant_count");
    if (!v.complete || v.size > credible_size) {
      return error(index, LoadCode::table_size,
                   "its size is " + std::to_string(v.size) +
                       (v.complete ? ", which is no struct's" : ", which ends " + std::string("before entry")) +
                       "; set it to sizeof(assay_variant)");
    }
    const std::size_t before = report_.errors.size();
    check_texts(index, v);
    if (v.slot.fault == TextFault::none) {
      if (!v.slot.value) {
        error(index, LoadCode::unknown_slot, "its slot is NULL; name the slot that the kernel is for");
      } else if (const auto slot = slots_.find(*v.slot.value); slot != slots_.end() && slot->second.in_this_build) {
        check_against(index, v, slot->second);
      } else if (slot != slots_.end() || supply_of(*v.slot.value)) {
        report_.skipped.push_back({index, *v.slot.value,
                                   named(index) + ": skipped, this build of assay has no tests "
                                                  "for the slot; `assay list slots` names those it has"});
        return;
      } else {
        error(index, LoadCode::unknown_slot,
              "there is no such slot; `assay list slots` names those of this build, a slot "
              "of another project needs that project's program");
      }
    }
    check_own(index, v);
    if (report_.errors.size() != before) return;
    report_.accepted.push_back({index, *v.slot.value, v.id.value.value_or("default"), std::move(domain_)});
  }

  void check_texts(std::uint32_t index, const VariantDescription& v) {
    const std::array<std::pair<const char*, const TableText*>, 4> texts = {
        {{"slot", &v.slot}, {"id", &v.id}, {"signature", &v.signature}, {"capabilities", &v.capabilities}}};
    for (const auto& [what, text] : texts) {
      if (text->fault == TextFault::none) continue;
      const bool long_text = text == &v.capabilities;
      error(index, LoadCode::bad_text,
            std::string("its ") + what + ' ' +
                fault_text(text->fault, long_text ? table_capabilities_limit : table_text_limit));
    }
  }

  // What needs no slot to be judged.
  void check_own(std::uint32_t index, const VariantDescription& v) {
    if (v.device_type != kDLCPU && v.device_type != kDLCUDA) {
      error(index, LoadCode::unknown_device,
            "its device_type is " + std::to_string(v.device_type) + "; set it to kDLCPU (1) or kDLCUDA (2)");
    }
    if ((v.flags & ~known_flags) != 0) {
      error(index, LoadCode::unknown_flag,
            "its flags are " + std::to_string(v.flags) +
                ", with bits that ABI version 1 does not define; combine ASSAY_GRAPH_SAFE, ASSAY_DETERMINISTIC and "
                "ASSAY_SERIAL only");
    }
    if (!v.has_entry) {
      error(index, LoadCode::null_entry,
            "its entry is NULL; set the member of entry that is named after the slot, or "
            ".any = ASSAY_ANY(type, f)");
    }
    if (v.id.value && !is_id(*v.id.value)) {
      error(index, LoadCode::bad_id, "its id may hold only letters, digits, '.', '_' and '-'; rename it");
    }
    const auto rows = v.slot.value ? rows_of_.find(*v.slot.value) : rows_of_.end();
    if (rows == rows_of_.end()) return;
    if (!v.id.value && v.id.fault == TextFault::none && rows->second.size() > 1) {
      error(index, LoadCode::bad_id, "its id is NULL and the slot has other variants; give each an id of its own");
    }
    for (const std::uint32_t other : rows->second) {
      if (other >= index) break;
      if (v.id.value && library_.variants[other].id.value == v.id.value) {
        error(index, LoadCode::duplicate_id,
              "variant " + std::to_string(other) + " of the slot has the same id; give each an id of its own");
        break;
      }
    }
  }

  void check_against(std::uint32_t index, const VariantDescription& v, const SlotFacts& slot) {
    const bool in_union = supply_of(*v.slot.value) != nullptr;
    if (v.signature.value && *v.signature.value != slot.signature) {
      error(index, LoadCode::signature_mismatch,
            "its signature is " + shown(*v.signature.value) + " and the slot's is " + shown(slot.signature) +
                "; build against the slot's own header and set the text it gives");
    } else if (!v.signature.value && v.signature.fault == TextFault::none && !in_union) {
      error(index, LoadCode::signature_mismatch,
            "its signature is NULL and the slot is not in assay/abi.h; set it to " + shown(slot.signature));
    }
    if (slot.supply.prepares && !(v.has_prepare && v.has_release)) {
      const std::string missing = v.has_prepare ? "release is" : v.has_release ? "prepare is" : "both are";
      error(index, LoadCode::prepare_missing, "the slot needs prepare and release and " + missing + " NULL; set both");
    }
    if (!slot.supply.prepares && (v.has_prepare || v.has_release)) {
      error(index, LoadCode::prepare_superfluous,
            v.has_prepare ? "the slot takes no prepare and prepare is set; leave prepare and release NULL"
                          : "the slot takes no prepare and release is set; leave prepare and release NULL");
    }
    domain_ = {};
    if (v.capabilities.fault != TextFault::none) return;
    try {
      const GraphSafe graph_safe = (v.flags & ASSAY_GRAPH_SAFE) != 0 ? GraphSafe::yes : GraphSafe::no;
      const auto& text = v.capabilities.value;
      domain_ = parse_domain(text ? std::optional<std::string_view>(*text) : std::nullopt, {slot.supply}, graph_safe);
    } catch (const PredicateError& refused) {
      error(index, LoadCode::bad_capabilities,
            std::string("its capabilities are refused (") + refused.what() +
                "); mend them, or set NULL to accept every call of the slot",
            refused.id());
    }
  }

  void check_slots() {
    for (const auto& [slot, rows] : rows_of_) {
      if (rows.size() <= variants_per_slot) continue;
      table_error(LoadCode::too_many_variants,
                  "slot " + shown(slot) + " has " + std::to_string(rows.size()) + " variants, over the limit of " +
                      std::to_string(variants_per_slot) + " (PE-16); merge variants or widen their domains",
                  "PE-16");
    }
  }

  const LibraryDescription& library_;
  const SlotCatalogueView& slots_;
  std::map<std::string, std::vector<std::uint32_t>, std::less<>> rows_of_;
  Domain domain_;
  LoadReport report_;
};

}  // namespace

std::string_view name_of(LoadCode code) noexcept {
  switch (code) {
    case LoadCode::no_table:
      return "no_table";
    case LoadCode::abi_version:
      return "abi_version";
    case LoadCode::table_size:
      return "table_size";
    case LoadCode::no_variants:
      return "no_variants";
    case LoadCode::too_many_variants:
      return "too_many_variants";
    case LoadCode::null_variant:
      return "null_variant";
    case LoadCode::bad_text:
      return "bad_text";
    case LoadCode::unknown_slot:
      return "unknown_slot";
    case LoadCode::unknown_device:
      return "unknown_device";
    case LoadCode::unknown_flag:
      return "unknown_flag";
    case LoadCode::bad_id:
      return "bad_id";
    case LoadCode::duplicate_id:
      return "duplicate_id";
    case LoadCode::null_entry:
      return "null_entry";
    case LoadCode::signature_mismatch:
      return "signature_mismatch";
    case LoadCode::prepare_missing:
      return "prepare_missing";
    case LoadCode::prepare_superfluous:
      return "prepare_superfluous";
    case LoadCode::bad_capabilities:
      return "bad_capabilities";
  }
  return "unknown";
}

LoadReport validate(const LibraryDescription& library, const SlotCatalogueView& slots) {
  return Validator(library, slots).run();
}

}  // namespace assay
