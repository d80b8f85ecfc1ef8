#include "harness/capability/library_table.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "harness/case/json.hpp"
#include "harness/case/rapid_test.hpp"

namespace assay {
namespace {

using nlohmann::json;

assay_status silu(const assay_call*, assay_in, assay_out) { return ASSAY_OK; }
assay_status scratch(const assay_call*, const DLTensor* const*, uint32_t, size_t*) { return ASSAY_OK; }
assay_status init(const assay_call*, void**) { return ASSAY_OK; }
assay_status destroy(void*) { return ASSAY_OK; }

assay_variant good_variant() {
  assay_variant v = {};
  v.size = sizeof v;
  v.flags = ASSAY_GRAPH_SAFE;
  v.device_type = kDLCPU;
  v.slot = "activation.silu_and_mul";
  v.id = "plain";
  v.capabilities = "{\n\t\"dtype\": \"fp32\"}";
  v.entry.silu_and_mul = silu;
  v.workspace = scratch;
  v.init = init;
  v.destroy = destroy;
  return v;
}

assay_library library_of(const assay_variant* const* variants, std::uint32_t count) {
  return {sizeof(assay_library), ASSAY_ABI_VERSION, "mine", "1.0", variants, count};
}

LibraryDescription describe_one(const assay_variant& v) {
  const assay_variant* const all[] = {&v};
  const assay_library library = library_of(all, 1);
  return describe(&library);
}

TEST(LibraryTable, ADescriptionIsACopyOfEverythingAPersonWrote) {
  std::string slot = "activation.silu_and_mul";
  assay_variant v = good_variant();
  v.slot = slot.c_str();
  const LibraryDescription library = describe_one(v);
  slot.assign(slot.size(), 'x');
  ASSERT_EQ(library.variants.size(), 1u);
  const VariantDescription& d = library.variants[0];
  EXPECT_TRUE(library.present && library.complete && library.has_variants && d.present && d.complete);
  EXPECT_EQ(library.name.value, "mine");
  EXPECT_EQ(library.version.value, "1.0");
  EXPECT_EQ(d.slot.value, "activation.silu_and_mul");
  EXPECT_EQ(d.id.value, "plain");
  EXPECT_EQ(d.signature, TableText{});
  EXPECT_EQ(d.capabilities.value, "{\n\t\"dtype\": \"fp32\"}");
  EXPECT_EQ(d.flags, std::uint32_t{ASSAY_GRAPH_SAFE});
  EXPECT_EQ(d.device_type, kDLCPU);
  EXPECT_TRUE(d.has_entry && d.has_workspace && d.has_init && d.has_destroy);
  EXPECT_FALSE(d.has_prepare || d.has_release);
}

// A row that ends after `bytes` bytes, so that reading on is a heap overflow that the sanitiser sees.
struct ShortRow {
  explicit ShortRow(std::size_t bytes) : memory(new char[bytes]) {
    assay_variant whole = good_variant();
    whole.size = static_cast<std::uint32_t>(bytes);
    std::memcpy(memory.get(), &whole, bytes);
  }
  [[nodiscard]] const assay_variant* row() const { return reinterpret_cast<const assay_variant*>(memory.get()); }
  std::unique_ptr<char[]> memory;
};

TEST(LibraryTable, ARowOfAnOlderAbiIsReadToItsEndAndNoFurther) {
  const std::size_t entry_end = offsetof(assay_variant, entry) + sizeof(assay_entry);
  for (std::size_t bytes = sizeof(std::uint32_t); bytes <= sizeof(assay_variant); ++bytes) {
    const ShortRow small(bytes);
    const assay_variant* const all[] = {small.row()};
    const assay_library library = library_of(all, 1);
    const LibraryDescription read = describe(&library);
    const VariantDescription& d = read.variants.at(0);
    EXPECT_EQ(d.complete, bytes >= entry_end) << bytes;
    EXPECT_EQ(d.has_entry, d.complete);
    EXPECT_EQ(d.has_workspace, bytes >= offsetof(assay_variant, workspace) + sizeof(void*)) << bytes;
    EXPECT_EQ(d.has_destroy, bytes >= offsetof(assay_variant, destroy) + sizeof(void*)) << bytes;
  }
}

TEST(LibraryTable, ATableOfAnotherVersionOrSizeIsNotReadOn) {
  for (std::size_t bytes = sizeof(std::uint32_t); bytes <= sizeof(assay_library); ++bytes) {
    const std::unique_ptr<char[]> memory(new char[bytes]);
    assay_library whole = library_of(nullptr, 0);
    whole.size = static_cast<std::uint32_t>(bytes);
    std::memcpy(memory.get(), &whole, bytes);
    const LibraryDescription read = describe(reinterpret_cast<const assay_library*>(memory.get()));
    EXPECT_TRUE(read.present);
    EXPECT_EQ(read.complete, bytes >= offsetof(assay_library, variant_count) + sizeof(std::uint32_t)) << bytes;
  }
  const auto* wild = reinterpret_cast<const char*>(16);
  assay_library other = {sizeof(assay_library), 99, wild, wild, reinterpret_cast<const assay_variant* const*>(wild), 7};
  const LibraryDescription read = describe(&other);
  EXPECT_FALSE(read.complete);
  EXPECT_EQ(read.abi_version, 99u);
  EXPECT_FALSE(describe(nullptr).present);
}

TEST(LibraryTable, AStringWithoutAnEndOrWithoutTextIsNotCopied) {
  assay_variant v = good_variant();
  const std::string at_limit(table_text_limit, 'a');
  const std::string over(table_text_limit + 1, 'a');
  const std::string big(table_capabilities_limit, ' ');
  const std::string bigger(table_capabilities_limit + 1, ' ');
  v.id = at_limit.c_str();
  v.capabilities = big.c_str();
  EXPECT_EQ(describe_one(v).variants[0].id.value, at_limit);
  EXPECT_EQ(describe_one(v).variants[0].capabilities.value, big);
  v.id = over.c_str();
  v.capabilities = bigger.c_str();
  EXPECT_EQ(describe_one(v).variants[0].id.fault, TextFault::too_long);
  EXPECT_EQ(describe_one(v).variants[0].capabilities.fault, TextFault::too_long);
  for (const char* hostile : {"\x1b[31m", "a\nb", "\xFF", "\x7F"}) {
    v.id = hostile;
    EXPECT_EQ(describe_one(v).variants[0].id.fault, TextFault::not_text);
  }
  // No terminator within the bound: nothing past the bound is touched.
  const std::unique_ptr<char[]> endless(new char[table_text_limit + 1]);
  std::memset(endless.get(), 'a', table_text_limit + 1);
  v.id = endless.get();
  EXPECT_EQ(describe_one(v).variants[0].id.fault, TextFault::too_long);
}

TEST(LibraryTable, CountsAndTotalTextAreBounded) {
  const std::string big(table_capabilities_limit, ' ');
  assay_variant v = good_variant();
  v.capabilities = big.c_str();
  const std::vector<const assay_variant*> all(table_variant_limit + 1, &v);
  assay_library library = library_of(all.data(), 0xFFFFFFFFu);
  const LibraryDescription read = describe(&library);
  EXPECT_EQ(read.variant_count, 0xFFFFFFFFu);
  EXPECT_EQ(read.variants.size(), table_variant_limit);
  EXPECT_EQ(read.variants.back().capabilities.fault, TextFault::over_total);
  std::size_t total = 0;
  for (const VariantDescription& d : read.variants) total += d.capabilities.value.value_or("").size();
  EXPECT_LE(total, table_total_limit);
  EXPECT_EQ(library_from_json(canonical(describe_json(read))), read);
}

TEST(LibraryTable, NullRowsAndFieldsAreToldAndNotFollowed) {
  assay_variant v = {};
  v.size = sizeof v;
  const assay_variant* const all[] = {&v, nullptr};
  const assay_library library = library_of(all, 2);
  const LibraryDescription read = describe(&library);
  EXPECT_FALSE(read.variants[1].present);
  EXPECT_FALSE(read.variants[0].has_entry);
  EXPECT_EQ(read.variants[0].slot, TableText{});
  EXPECT_EQ(library_from_json(canonical(describe_json(read))), read);
}

TEST(LibraryTable, TheLongestEscapesStillTravel) {
  const std::string tabs(table_capabilities_limit, '\t');
  assay_variant v = good_variant();
  v.capabilities = tabs.c_str();
  const std::vector<const assay_variant*> all(table_variant_limit, &v);
  const assay_library library = library_of(all.data(), table_variant_limit);
  const LibraryDescription read = describe(&library);
  EXPECT_EQ(library_from_json(canonical(describe_json(read))), read);
}

json good_json() { return describe_json(describe_one(good_variant())); }

TEST(LibraryTable, AForgedDescriptionIsRefused) {
  const std::vector<std::function<void(json&)>> forgeries = {
      [](json& j) { j.erase("size"); },
      [](json& j) { j["extra"] = 1; },
      [](json& j) { j["size"] = -1; },
      [](json& j) { j["abi_version"] = 4294967296; },
      [](json& j) { j["present"] = 1; },
      [](json& j) { j["name"] = 7; },
      [](json& j) { j["name"] = "\x1b[31m"; },
      [](json& j) { j["name"] = std::string(table_text_limit + 1, 'a'); },
      [](json& j) {
        j["version"] = {{"fault", "none"}};
      },
      [](json& j) {
        j["version"] = {{"fault", "too_long"}, {"more", 1}};
      },
      [](json& j) { j["variants"] = json::object(); },
      [](json& j) { j["variants"].push_back(j["variants"][0]); },
      [](json& j) { j["variant_count"] = 2; },
      [](json& j) { j["variants"][0] = nullptr; },
      [](json& j) { j["variants"][0].erase("id"); },
      [](json& j) { j["variants"][0]["device_type"] = 1.0; },
      [](json& j) { j["variants"][0]["device_type"] = 2147483648; },
      [](json& j) { j["variants"][0]["has_entry"] = "yes"; },
  };
  EXPECT_NO_THROW((void)library_from_json(canonical(good_json())));
  for (std::size_t i = 0; i < forgeries.size(); ++i) {
    json forged = good_json();
    forgeries[i](forged);
    EXPECT_THROW((void)library_from_json(canonical(forged)), JsonError) << i;
  }
  EXPECT_THROW((void)library_from_json("[]"), JsonError);
  EXPECT_THROW((void)library_from_json(""), JsonError);
}

TEST(LibraryTable, ADescriptionWithOneValueReplacedIsReadOrRefused) {
  holds("forged", 800, [] {
    json forged = good_json().flatten();
    const auto index = *rc::gen::inRange<std::size_t>(0, forged.size());
    auto item = forged.begin();
    std::advance(item, static_cast<std::ptrdiff_t>(index));
    *item = *rc::gen::element<json>(nullptr, true, -1, 7, std::uint64_t{1} << 40u, 0.5, "x", "");
    try {
      (void)library_from_json(canonical(forged.unflatten()));
    } catch (const JsonError&) {
    }
  });
}

}  // namespace
}  // namespace assay
