// examiner.hpp: runs every rule over the generated cases of one unit (slot, variant, device, dtype), sharing runs.
// A part of a unit runs every parts-th of its cases in the domain; all parts draw the same ones.
//
// Promises: an observation is made once and judged by every selected rule that reads its drive; no tensor outlives its
// trial. A rule that failed is shrunk by one of the parts, and again where that failure was flaky, with what other
// rules' failures shrank to tried first. Each trial's line is written before the next trial begins.
// Who calls it: shard.cc (one GoogleTest case a unit and rule), fault_matrix/detection.cc.
#pragma once

#include <map>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "assay/rule.hpp"
#include "conformance/boundaries.hpp"
#include "conformance/candidate.hpp"
#include "conformance/claims.hpp"
#include "conformance/effort.hpp"
#include "harness/drive/bench.hpp"
#include "harness/result/records.hpp"
#include "harness/result/waivers.hpp"
#include "harness/result/writer.hpp"

namespace assay {

struct Unit {
  const CandidateVariant* variant = nullptr;
  DType dtype = DType::f32;
  int ranks = 1;                           // of a collective
  int part = 0, parts = 1;                 // of its cases: several judges may share them
  int variants = 1;                        // of the slot that the run judges, this one among them
};

struct ExaminerConfig {
  Tier tier = Tier::quick;
  std::uint64_t seed = 0;
  std::vector<const RuleSpec*> rules;      // selected
  std::string trial_folder;                // where shrunk trials are written; empty: nowhere
  std::string corpus;                      // folder of counterexamples; empty: none
  std::string program = "assay";           // as the user called it
  std::string replay_suffix;               // " --library ./lib.so"
  std::string architecture = "cpu";
  const Waivers* waivers = nullptr;        // none; outlives the examiner
  Claims* claims = nullptr;                // of the judges that share units; none; outlives the examiner
};

class Examiner {
 public:
  Examiner(ExaminerConfig, Bench&, ResultWriter&);
  ~Examiner();

  // The property of one rule on one unit; writes its rule line, and a failure line where it fails.
  RuleRecord examine(const Unit&, const RuleSpec&);
  // Once a unit, after its last rule.
  void finish(const Unit&);

 private:
  struct UnitState;
  struct Finding;

  UnitState& state_of(const Unit&);
  [[nodiscard]] bool inside(const Unit&, const Case&, bool captured) const;
  [[nodiscard]] BoundaryQuestion question_of(const Unit&) const;
  void draw_cases(const Unit&, UnitState&) const;
  void observe_corpus(const Unit&, UnitState&);
  void observe_boundaries(const Unit&, UnitState&);
  bool consider(const Unit&, UnitState&, const std::string& key, const Case&, const RuleSpec&);
  void take_up(const Unit&);
  [[nodiscard]] static bool owes(const UnitState&, Drive);
  void observe_case(const Unit&, UnitState&, const Case&);
  Observation observe_trial(const Unit&, UnitState&, const Trial&);
  void record(const Unit&, UnitState&, const Observation&, double ms);
  FailureRecord shrink(const Unit&, UnitState&, const RuleSpec&, const Finding&);
  std::vector<Trial> corpus_of(const Unit&);

  ExaminerConfig config_;
  Bench& bench_;
  ResultWriter& writer_;
  const CandidateVariant* taken_up_ = nullptr;  // whose workers the bench's are
  int wary_ = 0;
  std::map<std::string, std::unique_ptr<UnitState>> units_;
};

[[nodiscard]] Subject subject_of(const Unit&);
// What tells one unit's subject, without its rule, from another's.
[[nodiscard]] std::string key_of(const Subject&);
// The trials of a corpus folder, by name; none where there is no folder.
[[nodiscard]] std::vector<std::string> corpus_files(const std::string& folder);

}  // namespace assay
