// The secure protocol as one more way to compute the noisy sums of an experiment
// (stats/mixture/experiment.h): every process of its engine is a thread of this program, connected
// in memory, and runs the step that a study runs (methods/mixture/step.h).
#pragma once

#include "methods/mixture/run.h"
#include "stats/mixture/experiment.h"

namespace partita::papers {

// "dealer", "replicated" (a third party without columns) or "ot"; columns at parties 0 and 1.
// Batches of the experiment must have at most plan.max_batch rows.
//
// The noise is what the arm's source gives to every other arm, so that runs differ by arithmetic
// only; it enters at party 0 as a whole, where a study's parties would each add a share. Layout and
// rows must outlive the arm. Whatever fails in one thread is thrown by the sum.
stats::mixture::Arm SecureArm(const std::string& engine, const stats::mixture::Layout& layout,
                              const stats::mixture::Rows& rows,
                              const methods::mixture::RunPlan& plan);

// The plan of such an arm. Throws as PlanRun.
methods::mixture::RunPlan SecureArmPlan(const stats::mixture::Layout& layout, uint32_t num_rows,
                                        const stats::mixture::ExperimentOptions& options);

}  // namespace partita::papers
