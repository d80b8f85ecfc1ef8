// Overlap is decided exactly: by brute force over every call of a small universe, and on sets in any order.
#include "harness/route/variant_set.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <nlohmann/json.hpp>

#include "harness/case/rapid_test.hpp"
#include "harness/route/selection.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

using nlohmann::json;

class Draw {
 public:
  explicit Draw(std::uint64_t key) : key_(key) {}
  int below(int n) { return static_cast<int>(mix64(key_ += 0x9E3779B97F4A7C15ULL) % static_cast<std::uint64_t>(n)); }

 private:
  std::uint64_t key_;
};

// The universe: two counts with the values 0 to 6 and one more for all above, and three words with a few tokens each.
// Bit 15 stands for a fact that the call does not have.
constexpr int kCounts = 2, kFields = 5;
constexpr std::array<const char*, kFields> kNames = {"num_tokens", "last_dim", "dtype", "architecture", "graph_mode"};
constexpr std::array<std::array<const char*, 3>, 3> kTokens = {
    {{"bfloat16", "float16", "float32"}, {"sm90", "sm100", "cpu"}, {"eager", "cuda_graph", nullptr}}};
constexpr std::uint32_t kAbsent = 1u << 15u, kAnyCount = 0xFFu | kAbsent;

int tokens_of(int field) { return kTokens[static_cast<std::size_t>(field - kCounts)][2] ? 3 : 2; }
std::uint32_t anything(int field) {
  return field < kCounts ? kAnyCount : (1u << static_cast<unsigned>(tokens_of(field))) - 1u;
}

// A declaration, and what it accepts: written down twice, as text for the parser and as sets for the brute force.
struct Declared {
  json capabilities = json::object();
  GraphSafe graph_safe = GraphSafe::yes;
  std::array<std::uint32_t, kFields> accepts{};
};

Declared draw_declaration(Draw& draw) {
  Declared d;
  for (int f = 0; f < kFields; ++f) {
    std::uint32_t& set = d.accepts[static_cast<std::size_t>(f)];
    set = anything(f);
    if (draw.below(2)) continue;
    json spec;
    set = 0;
    if (f < kCounts && draw.below(2)) {
      const int lo = draw.below(7), hi = lo + draw.below(7 - lo);
      const int form = draw.below(3);
      if (form != 1) spec["min"] = lo;
      if (form != 0) spec["max"] = hi;
      for (int v = 0; v < 8; ++v)
        if ((form == 1 || v >= lo) && (form == 0 || v <= hi)) set |= 1u << static_cast<unsigned>(v);
    } else {
      const int values = f < kCounts ? 7 : tokens_of(f), listed = 1 + draw.below(3);
      spec = json::array();
      for (int i = 0; i < listed; ++i) {
        const int v = draw.below(values);
        set |= 1u << static_cast<unsigned>(v);
        if (f < kCounts)
          spec.push_back(v);
        else
          spec.push_back(kTokens[static_cast<std::size_t>(f - kCounts)][static_cast<std::size_t>(v)]);
      }
      if (listed == 1 && draw.below(2)) spec = json{{"exact", spec[0]}};
    }
    d.capabilities[kNames[static_cast<std::size_t>(f)]] = spec;
  }
  // Without graph safety only eager calls are left; a domain that names captured ones alone would be empty.
  if (draw.below(4) == 0 && (d.accepts[4] & 1u)) {
    d.graph_safe = GraphSafe::no;
    d.accepts[4] = 1u;
  }
  return d;
}

Domain parsed(const Declared& d) {
  return parse_domain(d.capabilities.dump(), {*supply_of("norm.rmsnorm")}, d.graph_safe);
}

// Whether some call of the universe is accepted by all; the mandatory facts are always there.
template <class... D>
bool some_call(const D&... all) {
  int values = 0;
  for (std::uint32_t a = 1; a <= kAbsent; a <<= 1u) {
    for (std::uint32_t b = 1; b <= kAbsent; b <<= 1u) {
      for (std::uint32_t c = 1; c <= 4; c <<= 1u) {
        for (std::uint32_t d = 1; d <= 4; d <<= 1u) {
          for (std::uint32_t e = 1; e <= 2; e <<= 1u) {
            values += (... && ((all.accepts[0] & a) && (all.accepts[1] & b) && (all.accepts[2] & c) &&
                               (all.accepts[3] & d) && (all.accepts[4] & e)));
          }
        }
      }
    }
  }
  return values > 0;
}

TEST(Disjointness, AgreesWithBruteForceOn100000Pairs) {
  const auto start = std::chrono::steady_clock::now();
  Draw draw(20);
  int overlapping = 0;
  for (int i = 0; i < 100000; ++i) {
    const Declared a = draw_declaration(draw), b = draw_declaration(draw);
    const Domain x = parsed(a), y = parsed(b);
    const bool together = some_call(a, b);
    ASSERT_EQ(disjoint(x, y), !together) << a.capabilities << " and " << b.capabilities;
    const auto call = witness(x, y);
    ASSERT_EQ(call.has_value(), together);
    if (!call) continue;
    ++overlapping;
    ASSERT_TRUE(match(x, call_with(*call)).accepted()) << a.capabilities << " and " << b.capabilities;
    ASSERT_TRUE(match(y, call_with(*call)).accepted()) << a.capabilities << " and " << b.capabilities;
  }
  EXPECT_GT(overlapping, 20000);
  EXPECT_LT(overlapping, 80000);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(30));
}

// The wrong decisions that the brute force has to catch: each is a way in which domains are compared in a hurry.
TEST(Disjointness, BruteForceCatchesEveryShortcut) {
  const auto touching_ends_are_apart = [](const Domain& a, const Domain& b) {
    for (const auto& [field, set] : a.fields) {
      const auto other = b.fields.find(field);
      if (other == b.fields.end() || set.allowed || other->second.allowed) continue;
      if (set.hi && other->second.lo && *set.hi <= *other->second.lo) return true;
      if (set.lo && other->second.hi && *other->second.hi <= *set.lo) return true;
    }
    return disjoint(a, b);
  };
  const auto other_fields_separate = [](const Domain& a, const Domain& b) {
    for (const auto& entry : a.fields)
      if (!b.fields.contains(entry.first)) return true;
    return disjoint(a, b);
  };
  const auto lists_beside_ranges_overlap = [](const Domain& a, const Domain& b) {
    for (const auto& [field, set] : a.fields) {
      const auto other = b.fields.find(field);
      if (other != b.fields.end() && set.allowed && !other->second.allowed) return false;
    }
    return disjoint(a, b);
  };
  const auto first_field_decides = [](const Domain& a, const Domain& b) {
    for (const auto& [field, set] : a.fields) {
      const auto other = b.fields.find(field);
      if (other != b.fields.end()) return intersect(set, other->second).empty();
    }
    return false;
  };
  const std::vector<std::function<bool(const Domain&, const Domain&)>> shortcuts = {
      touching_ends_are_apart, other_fields_separate, lists_beside_ranges_overlap, first_field_decides};
  for (std::size_t s = 0; s < shortcuts.size(); ++s) {
    Draw draw(21);
    bool caught = false;
    for (int i = 0; i < 1000 && !caught; ++i) {
      const Declared a = draw_declaration(draw), b = draw_declaration(draw);
      caught = shortcuts[s](parsed(a), parsed(b)) == some_call(a, b);
    }
    EXPECT_TRUE(caught) << "shortcut " << s;
  }
}

Descriptor draw_call(Draw& draw, std::array<std::uint32_t, kFields>& bits) {
  DescriptorBuilder b;
  for (int f = 0; f < kFields; ++f) {
    const std::string name = kNames[static_cast<std::size_t>(f)];
    const int v = draw.below(f < kCounts ? 9 : tokens_of(f));
    bits[static_cast<std::size_t>(f)] = f < kCounts && v == 8 ? kAbsent : 1u << static_cast<unsigned>(v);
    if (f >= kCounts)
      b.set(name, kTokens[static_cast<std::size_t>(f - kCounts)][static_cast<std::size_t>(v)]);
    else if (v < 8)
      b.set(name, v == 7 ? 1000000 : v);
  }
  return b.build();
}

TEST(VariantSets, SelectWhatBruteForceSelectsInAnyOrder) {
  holds("a registered set has at most one answer, whatever its order", 300, [](std::uint64_t key) {
    Draw draw(key);
    std::vector<std::pair<std::string, Declared>> kept;
    VariantSet set("norm.rmsnorm");
    for (int i = 0; i < 8; ++i) {
      const Declared d = draw_declaration(draw);
      const bool clash = std::any_of(kept.begin(), kept.end(), [&](const auto& k) { return some_call(k.second, d); });
      const std::string id = "v" + std::to_string(i);
      bool refused = false;
      try {
        set.add(id, parsed(d));
      } catch (const RegistrationError& error) {
        refused = true;
        RC_ASSERT(error.rule() == "VR-3");
      }
      RC_ASSERT(refused == clash);
      if (!refused) kept.emplace_back(id, d);
    }
    VariantSet reversed("norm.rmsnorm");
    for (auto k = kept.rbegin(); k != kept.rend(); ++k) reversed.add(k->first, parsed(k->second));
    for (int i = 0; i < 50; ++i) {
      std::array<std::uint32_t, kFields> bits{};
      const Descriptor call = draw_call(draw, bits);
      std::string expected;
      int accepting = 0;
      for (const auto& [id, d] : kept) {
        bool accepts = true;
        for (std::size_t f = 0; f < kFields; ++f) accepts = accepts && (d.accepts[f] & bits[f]);
        accepting += accepts;
        if (accepts) expected = id;
      }
      RC_ASSERT(accepting <= 1);
      for (const VariantSet* s : {&set, &reversed}) {
        const RouteDecision decision = decide({true, s}, {.describe = [&] { return call; }});
        RC_ASSERT(decision.selected() == (accepting == 1));
        RC_ASSERT(decision.variant == expected);
        RC_ASSERT(decision.selected() || decision.refused.size() == kept.size());
      }
    }
  });
}

TEST(VariantSets, AFactThatMayBeAbsentSeparates) {
  FieldDomain silent;
  silent.or_absent = true;
  silent.allowed.emplace();
  Domain unnamed, named;
  unnamed.restrict_to("model", silent);
  named.restrict_to(
      "model", parse_domain(R"({"model": "M3"})", {*supply_of("attention.decode")}, GraphSafe::yes).fields.at("model"));
  EXPECT_TRUE(disjoint(unnamed, named));
  EXPECT_FALSE(disjoint(unnamed, unnamed));
  EXPECT_TRUE(witness(unnamed, unnamed)->empty());
  EXPECT_TRUE(match(unnamed, call_with({})).accepted());
  EXPECT_FALSE(match(unnamed, call_with({{"model", FactValue(std::string("M3"))}})).accepted());
  EXPECT_FALSE(match(named, call_with({})).accepted());
}

TEST(VariantSets, AnEmptyDomainIsRefused) {
  Domain nothing;
  FieldDomain two, three;
  two.allowed = std::vector<FactValue>{FactValue(std::int64_t{2})};
  three.lo = 3;
  nothing.restrict_to("num_tokens", two);
  nothing.restrict_to("num_tokens", three);
  VariantSet set("norm.rmsnorm");
  try {
    set.add("a", nothing);
    FAIL() << "accepted";
  } catch (const RegistrationError& error) {
    EXPECT_EQ(error.rule(), "VR-2");
    EXPECT_NE(std::string(error.what()).find("num_tokens"), std::string::npos) << error.what();
  }
  EXPECT_TRUE(set.variants().empty());
}

TEST(VariantSets, AnOverlapNamesBothAndACall) {
  const auto domain = [](const char* text) { return parse_domain(text, {*supply_of("norm.rmsnorm")}, GraphSafe::yes); };
  const auto found = overlaps({{"small", domain(R"({"num_tokens": {"max": 64}})")},
                               {"wide", domain(R"({"last_dim": {"min": 4096}, "num_tokens": {"min": 64}})")},
                               {"all", domain("{}")}});
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0].text(), "small and wide both accept a call with last_dim=4096, num_tokens=64");
  EXPECT_EQ(found[1].text(), "small and all both accept a call with num_tokens=0");
  const auto same = overlaps({{"a", domain("{}")}, {"b", domain("{}")}});
  ASSERT_EQ(same.size(), 1u);
  EXPECT_EQ(same[0].text(), "a and b both accept every call");
}

}  // namespace
}  // namespace assay
