// reports/junit.hpp: results as JUnit XML for CI systems.
//
// Promises: a test suite a slot and device, a test case a rule, variant and dtype. FAIL is a <failure>, NO_DECISION and
// VACUOUS are <error>, NOT_APPLICABLE and WAIVED are <skipped>. There is a <failure> or an <error> exactly where
// conclude() is not PASS: where no rule line says why (killed, interrupted, nothing judged), the case "run" does.
// Well-formed XML 1.0 whatever the records hold: control characters removed, ill-formed UTF-8 replaced.
// Not promised: times of single cases; trials are shared between rules.
// Who calls it: assay check --junit, assay report.
//
//   std::ofstream("junit.xml") << junit_xml(read_results("results.jsonl"));
#pragma once

#include <string>

#include "harness/result/records.hpp"

namespace assay {

[[nodiscard]] std::string junit_xml(const RunResults&);

}  // namespace assay
