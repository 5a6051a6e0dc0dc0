// What one party knows after its run of a study.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "data/repair.h"
#include "mpc/engine.h"
#include "mpc/release_gate.h"
#include "net/channel.h"
#include "report/result.h"
#include "run/ledger/run_ledger.h"
#include "run/method/study.h"
#include "study/approval/approval.h"
#include "study/plan/plan.h"

namespace partita::run {

// A disclosure check that ran before a release.
struct CheckOutcome {
  std::string analysis, variable, rule;
  bool passed = false;
  bool warning = false;  // did not stop the study
};

// Rows that an analysis used, of all parties.
struct UsedRows {
  std::string analysis;
  uint64_t rows = 0;
};

// A variable of the study and what the run told about it.
struct VariableSummary {
  std::string name, type, unit, held_by;
  std::optional<double> lower, upper;
  uint64_t num_rows = 0;           // behind mean and sd; 0: not known
  std::optional<double> mean, sd;  // over all groups, where the moments were opened
};

// Work between the phases of the channel.
struct LocalStep {
  std::string name;  // "read data", "row order", "connect", "fit"
  double seconds = 0;
};

// What an opening showed a party, in the order of the values; empty matrices where nothing.
struct Opening {
  std::string release_id;
  std::vector<mpc::IntMatrix> values;
};

struct PartyOutcome {
  std::string party;
  study::Plan plan;
  std::string agreement_hash, study_hash, plan_hash, run_id;  // hexadecimal
  std::vector<net::PhaseTraffic> traffic;
  std::vector<mpc::CountingReleaseGate::Count> releases;
  std::vector<std::string> corrected;  // parties whose wrong shares the engine corrected here
  std::vector<study::SignedApproval> approvals;  // of all parties, by channel index
  LedgerOutcome ledger;
  // Of a study with stored correlations: the package that was used up, and how many are left here.
  std::optional<uint64_t> package;
  uint64_t packages_left = 0;
  study::DisclosureSpec disclosure;  // the strictest of the study and all approvals
  std::vector<LocalStep> local_steps;
  int64_t started = 0;                     // of RunParty's first step, as NowUtc
  double seconds = 0;                      // from there to its last
  std::vector<CheckOutcome> checks;        // at computing parties
  OwnRows rows;                            // at holders, by their own columns
  bool is_private = false;                 // Study::IsPrivate
  data::RepairedCells repaired;            // at holders of a private study; for the owner only
  std::vector<VariableSummary> variables;  // at the receiver
  std::vector<UsedRows> used;              // where the result tells them
  // At the receiver, and where a release tells it.
  std::unique_ptr<const report::Result> result;
  // Interruptions took openings that the result was to be made from; at parties without one too.
  bool not_trained = false;
  // Of a rehearsal only (PartyInput::keep): what this party opened or saw opened, in order, and what
  // the method had after its protocol.
  std::vector<Opening> openings;
  std::unique_ptr<const MethodResult> protocol;
};

}  // namespace partita::run
