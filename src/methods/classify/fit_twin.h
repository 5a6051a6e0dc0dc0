// The fit of a classification in the clear, beside what its protocol opened: what a rehearsal
// compares. Rows of all parties in one place; it protects nobody.
#pragma once

#include <Eigen/Core>
#include <span>
#include <string>
#include <vector>

#include "methods/classify/classification.h"
#include "mpc/engine.h"
#include "run/party/outcome.h"
#include "run/rehearse/agreement.h"

namespace partita::methods::classify {

// Scaled rows to train on, by party.
using RowsByParty = std::vector<stats::erm::LevelRows>;

struct OpenedFit {
  const std::vector<run::Opening>& openings;  // of one party, which learns all
  const Eigen::MatrixXd& w;                   // ClassificationResult::w
};

// Adds what every protocol but `single-party` opens: noise, or the numbers themselves where there is
// none, and the coefficients that follow from what opened.
void CompareFit(const Classification& design, const std::string& analysis, const RowsByParty& rows,
                const OpenedFit& opened, run::Agreement& agreement);

// All entries, column by column.
std::span<const double> EntriesOf(const Eigen::MatrixXd& matrix);
// All parties' rows together.
stats::erm::LevelRows AllRowsOf(const RowsByParty& rows);
// Real numbers of the openings of a release, one vector each.
std::vector<Eigen::VectorXd> OpenedVectors(const std::vector<run::Opening>& openings,
                                           const std::string& release_id, int fraction_bits);

}  // namespace partita::methods::classify
