// The whole machine once, with the right host library in a real worker: every drive, far rows, and a fault on the way.
#include "harness/drive/bench.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <cstring>

#include "harness/case/generate.hpp"
#include "harness/compare/comparators.hpp"
#include "harness/drive/arenas.hpp"
#include "harness/drive/drives.hpp"
#include "harness/tensor/philox.hpp"

namespace assay {
namespace {

void silu_reference(const ReferenceCall& call, ReferenceResult& result) {
  const TensorView& x = call.inputs.at("x");
  const Tensor values = to_f64(x);
  Extents shape = x.shape;
  shape.back() /= 2;
  const std::int64_t d = shape.back();
  Expected e{Tensor(shape, DType::f64), Tensor(shape, DType::f64)};
  for (std::int64_t i = 0; i < e.expected.size(); ++i) {
    const std::int64_t row = i / d, column = i % d;
    const double gate = values.values<double>()[row * 2 * d + column];
    const double other = values.values<double>()[row * 2 * d + d + column];
    e.expected.values<double>()[i] = gate / (1.0 + std::exp(-gate)) * other;
    e.magnitude.values<double>()[i] = std::abs(e.expected.values<double>()[i]);
  }
  result.outputs.push_back(std::move(e));
}

const SlotSpec& slot() {
  static const SlotSpec spec = [] {
    SlotSpec s;
    s.id = "activation.silu_and_mul";
    s.signature = "io";
    s.dims = {{"rows", 0, 512, {0, 1, 7, 33}}, {"d", 1, 512, {1, 7, 8, 64, 129}}};
    s.knobs = {{"lead", {"2d", "1d", "3d"}}};
    s.recipes = {{"normal", Recipe::normal}, {"tag", Recipe::tag}, {"zeros", Recipe::zeros}, {"ties", Recipe::ties}};
    s.relations = {{RelationSpec::Form::rows, "rows", {"x"}, {"out"}}};
    s.arguments = args(in("x", {"rows", "2*d"}).strided(16), out("out", {"rows", "d"}).strided(16).aligned(16)).specs;
    s.reference = Reference(&silu_reference);
    return s;
  }();
  return spec;
}

class BenchTest : public ::testing::Test {
 protected:
  BenchTest() { open(ASSAY_HOST_KERNELS, ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC); }

  void open(const std::string& library, std::uint32_t flags, bool hosted = false, Sharing sharing = Sharing::none) {
    BenchConfig config;
    config.hosted = hosted;
    config.sharing = [sharing](int) { return sharing; };
    config.worker.worker = ASSAY_WORKER;
    config.worker.library = library;
    bench_ = std::make_unique<Bench>(config, *memory_, references_);
    bench_->use(slot(), {0, "under test", flags});
  }

  Observation see(Drive drive, const Case& c) {
    Trial t;
    t.variant = "under test";
    t.part = {drive, {c}};
    if (cases_of(drive) == 2) t.part.cases.push_back(companion(slot(), c, drive, Tier::quick));
    return observe(*bench_, t, Tier::quick);
  }

  void expect_right_drives(int cases);

  Binding& bound(const Case& c) {
    header_ = {};
    header_.trial.part.cases = {c};
    bench_->begin_trial(header_);
    return bench_->bind(c);
  }

  Observation header_;
  std::unique_ptr<MemoryDomain> memory_ = make_host_memory();
  ReferenceModule references_{"/nowhere"};  // the slot's reference is a function
  std::unique_ptr<Bench> bench_;
};

void expect_right(const Observation& seen, const std::string& what) {
  ASSERT_FALSE(seen.fault) << what << ": " << seen.fault->text;
  ASSERT_FALSE(seen.failed_op) << what << ": " << name_of(*seen.failed_op) << ", " << seen.failed_text;
  EXPECT_FALSE(seen.calls.empty()) << what;
  EXPECT_EQ(seen.ran_at_capture + seen.late_write + seen.early_write, "") << what;
  for (const CallSeen& call : seen.calls) {
    EXPECT_EQ(call.binding, 0u);
    for (const InputSeen& in : call.inputs) EXPECT_EQ(in.changed, 0u) << what << " " << call.label << " " << in.text;
    for (std::size_t i = 0; i < call.outputs.size(); ++i) {
      const OutputSeen& out = call.outputs[i];
      EXPECT_TRUE(out.canary.clean()) << what << " " << call.label << " " << out.canary.text;
      EXPECT_EQ(out.poison.count, 0) << what << " " << call.label;
      if (!call.reference || out.actual.size() == 0) continue;
      const Comparison c = compare(slot().comparator, tolerance_for(call.c.dtype), out.actual.view(),
                                   call.reference->outputs[i].expected.view());
      EXPECT_TRUE(c.passed) << what << " " << call.label << ": " << c.reason;
    }
  }
  for (const CallSeen& call : seen.bystanders) {
    for (const InputSeen& in : call.inputs) EXPECT_EQ(in.changed, 0u) << what << " " << call.label;
    for (const OutputSeen& out : call.outputs) EXPECT_TRUE(out.canary.clean()) << what << " " << call.label;
  }
}

void BenchTest::expect_right_drives(int cases) {
  for (int i = 0; i < cases; ++i) {
    const DType dtype = std::array{DType::f32, DType::f16, DType::bf16}[static_cast<std::size_t>(i) % 3];
    const Case c = drawn_case(slot(), dtype, Tier::quick, 8 * i, mix64(static_cast<std::uint64_t>(i) + 1));
    for (std::size_t d = 0; d < kDrives; ++d) {
      const Drive drive = static_cast<Drive>(d);
      if (!fits(slot(), {drive, std::vector<Case>(cases_of(drive), c)})) continue;
      const Observation seen = see(drive, c);
      expect_right(seen, std::string(name_of(drive)) + " " + describe(c));
      EXPECT_EQ(seen.captured, captures(drive) || drive == Drive::endurance);
    }
  }
  EXPECT_EQ(bench_->workers_started(), 1u);
}

TEST_F(BenchTest, EveryDriveOfARightLibrarySeesNothingWrongInOneWorker) { expect_right_drives(12); }

TEST_F(BenchTest, MemoryThatTheWorkerHostsIsSeenByEveryDriveAsLentMemoryIs) {
  open(ASSAY_HOST_KERNELS, ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, true);
  expect_right_drives(6);
}

TEST_F(BenchTest, FarRowsAreReadAndWrittenBeyondThirtyTwoBits) {
  Case c;
  c.dtype = DType::f32;
  c.dims = {{"rows", 4}, {"d", 33}};
  c.far = true;
  repair(slot(), c);
  ASSERT_TRUE(c.far);
  for (const bool hosted : {false, true}) {
    open(ASSAY_HOST_KERNELS, ASSAY_GRAPH_SAFE | ASSAY_DETERMINISTIC, hosted);
    for (const Drive drive : {Drive::eager, Drive::two_poisons, Drive::guard_pages, Drive::garbage,
                              Drive::late_producer, Drive::capture_replay})
      expect_right(see(drive, c), std::string(name_of(drive)) + (hosted ? " far, hosted" : " far"));
  }
  const Binding& b = bound(c);
  for (const Placed& p : b.tensors) {
    EXPECT_EQ(p.pieces.size(), 4u);
    EXPECT_GT(p.strides[0], std::int64_t{1} << 31) << "an offset in 32 bits cannot reach row 1";
  }
}

TEST_F(BenchTest, TwoPoisonsLeaveTwoDifferentTraces) {
  Case c;
  c.dims = {{"rows", 3}, {"d", 8}};
  repair(slot(), c);
  const Observation seen = see(Drive::two_poisons, c);
  ASSERT_EQ(seen.calls.size(), 2u);
  EXPECT_NE(seen.calls[0].outputs[0].poison_bits, seen.calls[1].outputs[0].poison_bits);
}

TEST_F(BenchTest, EveryLaterVersionOfADynamicInputDiffersFromTheFirst) {
  // One cell has few values to choose from: versions must differ all the same.
  SlotSpec tiny = slot();
  tiny.arguments = args(in("x", {"rows", "d"}), out("out", {"rows", "d"})).specs;
  bench_->use(tiny, {0, "tiny", 0});
  for (std::uint64_t key = 0; key < 3000; ++key) {
    Case c;
    c.dims = {{"rows", 1}, {"d", 1}};
    c.recipe = tiny.recipes[key % tiny.recipes.size()].name;
    c.seed = mix64(key) >> 16;
    repair(tiny, c);
    Binding& b = bound(c);
    const float base = b.named("x").values.values<float>()[0];
    for (const std::uint64_t version : {1, 2, 77}) {
      bench_->set_version(b, 0, version);
      EXPECT_NE(base, b.named("x").values.values<float>()[0]) << describe(c) << " version " << version;
    }
    bench_->set_version(b, 0, 0);
    EXPECT_EQ(base, b.named("x").values.values<float>()[0]);
  }
}

#ifdef ASSAY_FAULTY  // absent from asan builds
TEST_F(BenchTest, InputsThatTheWorkerHostsAreReadOnlyToTheCandidate) {
  Case c;
  c.dims = {{"rows", 3}, {"d", 8}};
  repair(slot(), c);
  for (const bool hosted : {false, true}) {
    open(std::string(ASSAY_FAULTY) + "/silu_writes_input.so", ASSAY_GRAPH_SAFE, hosted);
    const Observation seen = see(Drive::eager, c);
    ASSERT_TRUE(seen.fault);
    EXPECT_EQ(name_of(seen.fault->reason), "device_fault") << seen.fault->text;
    EXPECT_EQ(seen.fault->arena, static_cast<int>(kInputs));
  }
}


// Where ranks share a device a trial has more than one program: none follows one that failed.
TEST_F(BenchTest, AFailedStepOfManyReplaysIsNotFollowedByOthers) {
  for (const Sharing sharing : {Sharing::none, Sharing::by_turns, Sharing::under_mps}) {
    open(std::string(ASSAY_FAULTY) + "/silu_error_status.so", ASSAY_GRAPH_SAFE, false, sharing);
    Case c;
    c.dims = {{"rows", 2}, {"d", 4}};
    repair(slot(), c);
    const Observation seen = see(Drive::many_replays, c);
    EXPECT_EQ(seen.failed_code, StepCode::entry_failed) << seen.failed_text;
    EXPECT_EQ(seen.failed_label, "warm-up");
    EXPECT_TRUE(seen.usage.empty());
  }
}

TEST_F(BenchTest, AfterAFaultTheNextTrialRunsInAFreshWorker) {
  open(std::string(ASSAY_FAULTY) + "/silu_segfaults_in_entry.so", ASSAY_GRAPH_SAFE);
  Case bad, good;
  bad.dims = {{"rows", 8}, {"d", 64}};
  good.dims = {{"rows", 2}, {"d", 4}};
  repair(slot(), bad);
  repair(slot(), good);
  for (std::uint64_t round = 1; round <= 3; ++round) {
    expect_right(see(Drive::eager, good), "before");
    EXPECT_EQ(bench_->workers_started(), round);
    const Observation seen = see(Drive::eager, bad);
    ASSERT_TRUE(seen.fault);
    EXPECT_EQ(name_of(seen.fault->reason), "crash");
    EXPECT_EQ(seen.failed_label, "call");
    EXPECT_TRUE(seen.calls.empty());
  }
}

TEST_F(BenchTest, AHistoryThatEndsTheWorkerIsTheFailure) {
  open(std::string(ASSAY_FAULTY) + "/silu_segfaults_in_entry.so", ASSAY_GRAPH_SAFE);
  Case bad, good;
  bad.dims = {{"rows", 8}, {"d", 64}};
  good.dims = {{"rows", 2}, {"d", 4}};
  repair(slot(), bad);
  repair(slot(), good);
  Trial t;
  t.history = {{Drive::eager, {bad}}};
  t.part = {Drive::eager, {good}};
  const Observation seen = observe(*bench_, t, Tier::quick);
  ASSERT_TRUE(seen.fault);
  EXPECT_EQ(seen.trial, t) << "the trial that is reported is the whole one";
}

#endif  // ASSAY_FAULTY

}  // namespace
}  // namespace assay
