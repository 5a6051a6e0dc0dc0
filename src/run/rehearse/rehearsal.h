// A rehearsal: the study as it will run, on made-up rows, beside the same computation in the clear.
//
// The run is the deployed code from study file to result, all parties as threads. What it opened,
// and what it made of that, is compared with the plaintext twin of its method on the same rows
// pooled (Study::Compare), and its messages with the plan. No table of anybody is read, no approval
// is asked for, and no ledger is touched.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "data/mock.h"
#include "run/method/study.h"
#include "run/rehearse/agreement.h"
#include "run/simulate/simulate.h"

namespace partita::run {

struct RehearsalOptions {
  // Of blocks without a declared count; empty: 200, more where min_rows asks for them.
  std::optional<uint64_t> rows_per_block;
  uint64_t seed = 1;         // of the rows
  double min_digits = 6;     // asked of every number that is not random
  uint64_t max_steps = 200;  // of a method that iterates: it is rehearsed with no more
};

// A rehearsal without a fault fails with this probability at most, for all its random numbers.
inline constexpr double kFalseAlarm = 1e-6;

// What Study::Compare has to compare.
struct RehearsedRun {
  data::MockStudy mock;
  std::vector<PartyEnd> ends;  // by channel index, each with an outcome

  const PartyOutcome& outcome(size_t party) const { return *ends[party].outcome; }
};

// Rows of the pooled table that a party holds, ascending.
std::vector<size_t> PooledRowsOf(const Study& study, const RehearsedRun& run, size_t party);
// These rows of a table.
data::Table TakeRows(const data::Table& table, const std::vector<size_t>& rows);

struct CostTotals {
  uint64_t rounds = 0, messages = 0, bytes = 0;
};

// Whether phases and links carried what the plan says.
struct CostAgreement {
  CostTotals planned, counted;
  MessagesPlanned plan = MessagesPlanned::kExactly;
  bool agree = false;
};

struct Rehearsal {
  uint64_t rows = 0;
  std::vector<std::string> shortened;  // whole sentences: what is rehearsed with fewer steps
  Agreement agreement;
  CostAgreement costs;
  double run_seconds = 0, plain_seconds = 0;

  bool converged() const { return agreement.run_converged && agreement.plain_converged; }
  // Over what is exact; kAllDigits where nothing is.
  double lowest_digits() const;
  // Over what is random, by the number of comparisons: below kFalseAlarm without a fault with
  // probability kFalseAlarm at most. 1 where nothing is random.
  double p_value() const;
  bool passed(double min_digits) const;
};

// Errors of every layer; the cause if a party fails. The tables are in a temporary folder that is
// removed.
Rehearsal Rehearse(const Study& study, const RehearsalOptions& options, Progress& progress);

// Its parts. The first runs the study as it is.
RehearsedRun RunOnMockRows(const Study& study, const RehearsalOptions& options, Progress& progress);
CostAgreement CompareCosts(const Study& study, const std::vector<PartyEnd>& ends);

}  // namespace partita::run
