// Slots with weights, from prepare to release, against test_candidate/prepared_layers.cc: in a real worker, and in this
// process where calls of prepare and release are counted. Also what only such a slot has: integers, excluded cells.
#include <dlfcn.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>

#include "harness/case/generate.hpp"
#include "harness/compare/comparators.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

enum : std::uint32_t {
  kRight,
  kShares,
  kSetsEnvironment,
  kStartsThread,
  kHoards,
  kWritesWeights,
  kRefuses,
  kRefusesCalls,
  kMultipliesByGate
};

void layers_reference(const ReferenceCall& call, ReferenceResult& result) {
  const Tensor x = to_f64(call.inputs.at("x")), w13 = to_f64(call.inputs.at("w13")), w2 = to_f64(call.inputs.at("w2"));
  const Tensor gate = to_f64(call.inputs.at("gate"));
  const Extents& shape = x.view().shape;
  Expected e{Tensor(shape, DType::f64), Tensor(shape, DType::f64)};
  for (std::int64_t r = 0; r < shape[0]; ++r)
    for (std::int64_t k = 0; k < shape[1]; ++k) {
      if (gate.view().at<double>({r}) == 0) continue;
      const double product = x.view().at<double>({r, k}) * w13.view().at<double>({k});
      e.expected.view().at<double>({r, k}) = product + w2.view().at<double>({k});
      e.magnitude.view().at<double>({r, k}) = std::abs(product) + std::abs(w2.view().at<double>({k}));
    }
  result.outputs.push_back(std::move(e));
}

bool fill_gate(const Case&, std::uint64_t key, const TensorView& gate) {
  for (std::int64_t r = 0; r < gate.size(); ++r)
    gate.at<std::int32_t>({r}) = static_cast<std::int32_t>(mix64(key + static_cast<std::uint64_t>(r)) & 1);
  return true;
}

std::vector<std::pair<std::int64_t, std::int64_t>> rows_not_gated(const Case& c, const ReferenceCall& call) {
  std::vector<std::pair<std::int64_t, std::int64_t>> ranges;
  for (std::int64_t r = 0; r < c["rows"]; ++r)
    if (call.inputs.at("gate").at<std::int32_t>({r}) == 0) ranges.emplace_back(r * c["width"], (r + 1) * c["width"]);
  return ranges;
}

bool double_weights(const Case&, std::uint64_t, std::map<std::string, TensorView>& inputs) {
  for (const char* name : {"w13", "w2"})
    for (std::int64_t i = 0; i < inputs.at(name).size(); ++i) inputs.at(name).at<float>({i}) *= 2;
  return true;
}

const SlotSpec& slot() {
  static const SlotSpec spec = [] {
    SlotSpec s;
    s.id = "test.layers";
    s.signature = "iipo";
    s.dims = {{"rows", 0, 64, {0, 1, 7, 33}}, {"width", 1, 64, {1, 7, 8, 33}}};
    s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}};
    RelationSpec doubled;
    doubled.form = RelationSpec::Form::change;
    doubled.rule = "relation.linearity";
    doubled.name = "weights doubled";
    doubled.change = double_weights;
    doubled.factor = 2;
    doubled.exact = true;
    s.relations = {{RelationSpec::Form::rows, "rows", {"x", "gate"}, {"out"}}, doubled};
    s.arguments =
        args(in("x", {"rows", "width"}).excludes(rows_not_gated),
             in("gate", {"rows"}).typed(DType::i32).filled(fill_gate), prepared("layer"), out("out", {"rows", "width"}))
            .specs;
    // Dynamic, as a slot's author may have it: replays must leave them alone all the same.
    s.weights = {in("w13", {"width"}).spec, in("w2", {"width"}).plain().spec};
    s.weight_facts = [](const Case& c) { return WeightFacts{.hidden_size = c["width"], .top_k = 3}; };
    s.reference = Reference(&layers_reference);
    return s;
  }();
  return spec;
}

Case with(std::int64_t rows, std::int64_t width, std::uint64_t seed = 5) {
  Case c;
  c.dims = {{"rows", rows}, {"width", width}};
  c.seed = seed;
  repair(slot(), c);
  return c;
}

class PreparedDrive : public ::testing::Test {
 protected:
  PreparedDrive() { open(kRight); }

  void open(std::uint32_t variant, bool in_process = false) {
    BenchConfig config;
    config.worker.worker = ASSAY_WORKER;
    config.worker.library = ASSAY_PREPARED_LAYERS;
    config.worker.in_process = in_process;
    bench_ = std::make_unique<Bench>(config, *memory_, references_);
    use(variant);
  }
  void use(std::uint32_t variant) {
    bench_->use(slot(), {variant, "variant " + std::to_string(variant), ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC});
  }

  Observation see(Drive drive, const Case& c) {
    Trial t;
    t.variant = bench_->variant().id;
    t.part = {drive, {c}};
    if (cases_of(drive) == 2) t.part.cases.push_back(companion(slot(), c, drive, Tier::quick));
    return observe(*bench_, t, Tier::quick);
  }

  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{"/nowhere"};  // the slot's reference is a function
  std::unique_ptr<Bench> bench_;
};

Comparison compared(const CallSeen& call) {
  return compare(slot().comparator, tolerance_for(call.c.dtype), call.outputs.at(0).actual.view(),
                 call.reference->outputs.at(0).expected.view());
}

const CallSeen& call_of(const Observation& seen, const std::string& label) {
  for (const CallSeen& call : seen.calls)
    if (call.label == label) return call;
  throw std::out_of_range("no call " + label);
}

void expect_right(const Observation& seen, const std::string& what) {
  ASSERT_FALSE(seen.fault) << what << ": " << seen.fault->text;
  ASSERT_FALSE(seen.failed_op) << what << ": " << name_of(*seen.failed_op) << ", " << seen.failed_text;
  EXPECT_FALSE(seen.calls.empty()) << what;
  EXPECT_EQ(seen.ran_at_capture + seen.late_write + seen.early_write, "") << what;
  for (const CallSeen& call : seen.calls) {
    EXPECT_EQ(call.inputs.size(), 2u) << "weights are no inputs of the call";
    for (const InputSeen& in : call.inputs) EXPECT_EQ(in.changed, 0u) << what << " " << call.label << " " << in.text;
    EXPECT_TRUE(call.outputs.at(0).canary.clean()) << what << " " << call.label;
    EXPECT_EQ(call.outputs.at(0).poison.count, 0) << what << " " << call.label;
    if (call.reference && call.outputs.at(0).actual.size() > 0) {
      EXPECT_TRUE(compared(call).passed) << what << " " << call.label << ": " << compared(call).reason;
    }
  }
  EXPECT_FALSE(seen.prepares.empty()) << what;
  EXPECT_EQ(seen.weights.size(), 2 * seen.prepares.size()) << what;
  for (const InputSeen& w : seen.weights) EXPECT_EQ(w.changed, 0u) << what << " " << w.spec->name << " " << w.text;
  for (const PrepareSeen& p : seen.prepares) EXPECT_EQ(p.surroundings, 0u) << what;
}

TEST_F(PreparedDrive, EveryDriveOfARightLibrarySeesNothingWrongInOneWorker) {
  for (int i = 0; i < 10; ++i) {
    const Case c = drawn_case(slot(), DType::f32, Tier::quick, 10 * i, mix64(static_cast<std::uint64_t>(i) + 1));
    for (std::size_t d = 0; d < kDrives; ++d) {
      const Drive drive = static_cast<Drive>(d);
      if (!fits(slot(), {drive, std::vector<Case>(cases_of(drive), c)})) continue;
      const Observation seen = see(drive, c);
      expect_right(seen, std::string(name_of(drive)) + " " + describe(c));
    }
  }
  EXPECT_EQ(bench_->workers_started(), 1u);
}

TEST_F(PreparedDrive, TwoLayersAreCalledBesideAndAfterEachOther) {
  const Observation seen = see(Drive::prepared, with(4, 8));
  expect_right(seen, "prepared");
  std::vector<std::string> labels;
  for (const CallSeen& call : seen.calls) labels.push_back(call.label);
  EXPECT_EQ(labels, (std::vector<std::string>{"layer A", "layer A again", "layer B", "layer A beside B",
                                              "layer A after B was released"}));
  EXPECT_EQ(seen.prepares.size(), 2u);
  for (const PrepareSeen& p : seen.prepares) {
    EXPECT_EQ(p.raw_bytes, 2 * 8 * 4);
    EXPECT_GE(p.device_bytes, p.raw_bytes) << "the copy that prepare made";
    EXPECT_LT(p.device_bytes, 4096);
    EXPECT_LT(p.host_bytes, 1 << 20);
  }
  const auto differ = [&](const char* x, const char* y) {
    const Tensor& a = call_of(seen, x).outputs[0].actual;
    return std::memcmp(a.view().data, call_of(seen, y).outputs[0].actual.view().data, 4 * 8 * sizeof(float)) != 0;
  };
  EXPECT_TRUE(differ("layer A", "layer A again")) << "fresh inputs";
  EXPECT_TRUE(differ("layer A", "layer B")) << "other weights";
}

TEST_F(PreparedDrive, ALayerThatTakesAnothersPlaceShowsOnceThereAreTwo) {
  open(kShares);
  const Observation seen = see(Drive::prepared, with(8, 8));
  EXPECT_TRUE(compared(call_of(seen, "layer A again")).passed);
  EXPECT_TRUE(compared(call_of(seen, "layer B")).passed);
  EXPECT_FALSE(compared(call_of(seen, "layer A beside B")).passed);
}

TEST_F(PreparedDrive, WhatPrepareLeavesBehindIsSeen) {
  open(kSetsEnvironment);
  Observation seen = see(Drive::prepared, with(2, 3));
  ASSERT_EQ(seen.prepares.size(), 2u) << (seen.fault ? seen.fault->text : seen.failed_text);
  for (const PrepareSeen& p : seen.prepares) EXPECT_EQ(p.surroundings, static_cast<std::uint32_t>(kEnvironment));
  open(kStartsThread);
  seen = see(Drive::prepared, with(2, 3));
  ASSERT_EQ(seen.prepares.size(), 2u) << (seen.fault ? seen.fault->text : seen.failed_text);
  for (const PrepareSeen& p : seen.prepares) EXPECT_EQ(p.surroundings, static_cast<std::uint32_t>(kThreads));
  open(kHoards);
  seen = see(Drive::prepared, with(2, 3));
  ASSERT_EQ(seen.prepares.size(), 2u) << (seen.fault ? seen.fault->text : seen.failed_text);
  for (const PrepareSeen& p : seen.prepares) {
    EXPECT_EQ(p.surroundings, 0u);
    EXPECT_GE(p.host_bytes, 8 << 20);
  }
}

TEST_F(PreparedDrive, WritingRawWeightsFaultsInPrepare) {
  open(kWritesWeights);
  const Observation seen = see(Drive::eager, with(2, 3));
  ASSERT_TRUE(seen.fault);
  EXPECT_EQ(name_of(seen.fault->verdict), "FAIL") << seen.fault->text;
  EXPECT_EQ(name_of(seen.fault->phase), "prepare") << seen.fault->text;
  EXPECT_EQ(seen.failed_label, "prepare");
  EXPECT_TRUE(seen.calls.empty());
}

TEST_F(PreparedDrive, ARefusedPrepareIsAFailedStepAndTheWorkerLivesOn) {
  open(kRefuses);
  const Observation seen = see(Drive::eager, with(2, 3));
  EXPECT_FALSE(seen.fault);
  ASSERT_TRUE(seen.failed_op);
  EXPECT_EQ(*seen.failed_op, Op::prepare);
  EXPECT_EQ(seen.failed_code, StepCode::entry_failed);
  EXPECT_EQ(seen.failed_text, "prepare returned status 2 no room for another layer");
  EXPECT_TRUE(seen.prepares.empty());
  use(kRight);
  expect_right(see(Drive::eager, with(2, 3)), "after a refusal");
  EXPECT_EQ(bench_->workers_started(), 1u);
}

TEST_F(PreparedDrive, ExcludedCellsAreSpoiledTwiceAndTheReferenceStays) {
  Case c = with(6, 5);
  Observation seen = see(Drive::garbage, c);
  expect_right(seen, "garbage");
  ASSERT_EQ(seen.calls.size(), 4u) << "a half of the rows is gated off";
  EXPECT_EQ(seen.calls[2].label, "NaN in what is excluded");
  EXPECT_EQ(seen.calls[3].label, "large values in what is excluded");
  open(kMultipliesByGate);  // NaN * 0
  seen = see(Drive::garbage, c);
  ASSERT_EQ(seen.calls.size(), 4u);
  EXPECT_TRUE(compared(seen.calls[0]).passed);
  EXPECT_FALSE(compared(seen.calls[2]).passed);
  c.dims["rows"] = 0;
  EXPECT_EQ(see(Drive::garbage, c).calls.size(), 2u) << "nothing to spoil";
}

TEST_F(PreparedDrive, AKnownChangeReachesWeightsAndReference) {
  const Observation seen = see(Drive::variation, with(6, 5));
  expect_right(seen, "variation");
  const CallSeen &base = seen.calls.front(), &doubled = seen.calls.back();
  ASSERT_NE(doubled.relation, nullptr);
  EXPECT_EQ(doubled.relation->name, "weights doubled");
  for (std::size_t i = 0; i < 30; ++i) {
    EXPECT_EQ(doubled.outputs[0].actual.values<float>()[i], 2 * base.outputs[0].actual.values<float>()[i]);
    EXPECT_EQ(doubled.reference->outputs[0].expected.values<double>()[i],
              2 * base.reference->outputs[0].expected.values<double>()[i]);
  }
}

// The worker's thread is one of ours here, and the candidate's counters can be read.
class CountedPrepares : public PreparedDrive {
 protected:
  CountedPrepares() {
    library_ = dlopen(ASSAY_PREPARED_LAYERS, RTLD_NOW | RTLD_LOCAL);
    prepares_ = static_cast<std::atomic<int>*>(dlsym(library_, "assay_test_prepares"));
    releases_ = static_cast<std::atomic<int>*>(dlsym(library_, "assay_test_releases"));
    open(kRight, true);
  }
  ~CountedPrepares() override {
    bench_.reset();
    dlclose(library_);
  }

  void* library_ = nullptr;
  std::atomic<int>*prepares_ = nullptr, *releases_ = nullptr;
};

TEST_F(CountedPrepares, OnePrepareABindingAndOneReleaseEach) {
  const Case c = with(5, 6);
  for (std::size_t d = 0; d < kDrives; ++d) {
    const Drive drive = static_cast<Drive>(d);
    if (!fits(bench_->slot(), {drive, std::vector<Case>(cases_of(drive), c)})) continue;
    const int prepares = *prepares_, releases = *releases_;
    const Observation seen = see(drive, c);
    ASSERT_FALSE(seen.failed_op) << name_of(drive) << ": " << seen.failed_text;
    EXPECT_GT(seen.prepares.size(), 0u) << name_of(drive);
    EXPECT_LE(seen.prepares.size(), seen.calls.size() + seen.bystanders.size() + 1) << name_of(drive);
    EXPECT_EQ(*prepares_ - prepares, static_cast<int>(seen.prepares.size())) << name_of(drive);
    EXPECT_EQ(*releases_ - releases, static_cast<int>(seen.prepares.size())) << name_of(drive);
  }
  const int prepares = *prepares_;
  (void)see(Drive::eager, c);
  EXPECT_EQ(*prepares_ - prepares, 1);
  (void)see(Drive::repeat_under_load, c);
  EXPECT_EQ(*prepares_ - prepares, 2) << "eight calls, one prepare";
}

TEST_F(CountedPrepares, WhatAFailedTrialLeftIsReleasedBeforeTheNext) {
  const int before = *prepares_ - *releases_;
  // The last two end while a stream is held, which a release must not wait for.
  for (const Drive drive : {Drive::eager, Drive::held_stream, Drive::late_producer}) {
    use(kRefusesCalls);
    const Observation seen = see(drive, with(2, 3));
    ASSERT_TRUE(seen.failed_op) << name_of(drive);
    EXPECT_EQ(*seen.failed_op, Op::call) << name_of(drive) << ": " << seen.failed_text;
    EXPECT_EQ(*prepares_ - *releases_, before + 1) << name_of(drive);
    use(kRight);
    expect_right(see(Drive::eager, with(2, 3)), "after a failed trial");
    EXPECT_EQ(*prepares_ - *releases_, before) << name_of(drive);
  }
}

}  // namespace
}  // namespace assay
