// An audit of a private study: its own noisy release, run on mock data.
//
// Replay   The protocol of the study runs in this process, every party a thread, on mock tables and
//          on neighbours of them with the same noise on every party's tape: the difference of what
//          is opened is the difference of the statistics, clipping included, and may not be longer
//          than the declared sensitivity. A run with other noise shows that what is opened moves by
//          exactly the sum of all parties' shares, and that those are drawn as the design says.
// Runs     The noise is drawn many times, by the samplers of the study, and added to statistics
//          that differ by exactly the declared sensitivity (noise does not depend on data, so this
//          is the worst case); an adversary sees the sum less the shares that it knows, along the
//          direction in which the worlds differ (for Gaussian noise nothing else says anything).
//          Sides: from outside, every party alone, and as many parties together as the study says.
#pragma once

#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "methods/mle/study/study.h"
#include "privacy/audit/outputs.h"

namespace partita::methods::mle {

struct StudyAuditOptions {
  uint64_t rows_per_block = 50;  // mock rows of blocks without a declared count
  uint64_t seed = 1;             // of the mock tables
  uint64_t neighbours = 3;       // data sets with one row replaced (or left out) per block
  uint64_t runs = 100000;        // in each world and from each side
};

struct StudyAuditView {
  std::string adversary;
  privacy::Outputs with, without;
};

struct StudyAudit {
  std::string mechanism;          // in words
  double epsilon = 0, delta = 0;  // promised
  // Of the Gaussian mechanism with the promised epsilon and delta, which the study withstands from
  // every side below.
  double mu = 0;
  std::vector<std::string> replay;  // faults, one sentence each; none: empty
  std::vector<StudyAuditView> views;
};

// Throws kUsage for a study without [analysis.privacy]; errors of every layer of the protocol.
StudyAudit AuditStudy(const MleStudy& study, const StudyAuditOptions& options,
                      crypto::RandomSource& random, Progress& progress);

}  // namespace partita::methods::mle
