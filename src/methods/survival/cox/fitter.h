// Cox's partial likelihood of rows at several holders, maximised a step at a time, ties by Breslow or
// Efron.
//
// Ideal function   (every holder's rows) -> to everybody, whether counts and rows suffice; then, whether
//                  columns are collinear; then the points b_1 .. b_T, each number on a grid of its
//                  standard error: 2^-2, then 2^-4, the last, which are the estimates, that of the
//                  release rule. To the receiver, or to all where the study says so, whether the fit
//                  converged, the numbers of rows and of events; and if it converged standard errors
//                  on their own grid and, on an absolute one, the partial log-likelihood at 0 and at the
//                  estimates, the score test and Wald's, else zeros. Where they are asked for standard
//                  errors are robust (robust.h), or of clusters or late entries (units.h), and the number
//                  of clusters opens; and Wald's test is by these. Where they are asked for
//                  also the tests of proportional hazards (proportional.h), and whether they are valid, the concordance
//                  (concordance.h), and the cumulative hazard of each stratum that passes (baseline.h). Where
//                  the study asks for the covariance matrix of the estimates, it opens in the place of
//                  standard errors, in steps of the products of two grids (mpc/functions/covariance_grid.h).
// Checks           Of the rows with the event and without: every level of a factor or a stratum, every
//                  value of a 0/1 variable and every product of them that is 1: 0 or at least min_cell
//                  of each; with a covariance also what each two of these have together
//                  (data/model_columns.h), and where holders are strata these tables of each one's own rows,
//                  too; events, and rows without one, at least min_cell; all of this
//                  over all holders and over all but each one. Rows: min_rows, and as many as there are columns
//                  and ten more, or three times as many if that is more. By Efron: no cell of time
//                  has more events than the study file says. Clusters, where errors are of these: more
//                  than columns, and at least min_cell, also without each holder's own. Collinear: a variance inflation above
//                  10^6.
// Method           At every point b, which is public, b_0 = 0, each holder adds up over its rows at risk
//                  in each cell of time w, w x and w xx', w = e^(x'b) (rows.h), and shares these; d is
//                  the events of a cell. On shares r = 1 / S0, m = r S1, and
//
//                    U = sum of x over events - sum d m    I = sum d r S2 - sum d m m'
//                    log L = b' (sum of x over events) - sum d log S0
//
//                  the step by scoring_step.h, so that no sum of a cell opens: the difference of two of
//                  them is one person's x. By Efron each cell is taken apart into one term for each
//                  event that it may have (ties.h), and the above is over terms.
// Convergence      scoring_path.h; and no row has a predictor beyond kMostPredictor, and robust errors are
//                  within robust.h. Else more steps are
//                  needed, or there is no maximum (a covariate that orders the events).
// Error            S: 2^-41 for every row; r: 2^-52 absolute and 2^-40 relative; m: 2^-40; I: 2^-64 in
//                  units of 2^unit_bits.
// Revealed         Releases `disclosure`, `independence`, `iterates`, `estimates`, `fit`, as above and
//                  nothing else. Messages are the same whether it converges or not.
// Cost             T + 1 inputs of cells x (1 + p + p(p + 1)/2) numbers for each holder, and as often
//                  Reciprocal of a number for each cell, p products with a cut for each cell, two Gram
//                  products over the cells, SolveStep and release_grid.h; beside the first and the last
//                  step Log of a number for each cell. By Efron ties.h, terms in the place of cells, the
//                  inputs twice, and a product with a cut for each of their numbers and term. Of robust
//                  errors once what robust.h says.
// Timing           constant in shares; not in shapes and bounds (public). Not run by tests/ctime.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "methods/survival/cox/baseline.h"
#include "methods/survival/cox/concordance.h"
#include "methods/survival/cox/proportional.h"
#include "methods/survival/cox/units.h"
#include "mpc/functions/covariance_grid.h"
#include "mpc/functions/scoring_path.h"
#include "run/method/row_holder.h"

namespace partita::methods::survival {

inline constexpr char kCoxDisclosure[] = "disclosure", kIndependence[] = "independence",
                      kIterates[] = "iterates", kEstimatesRelease[] = "estimates",
                      kFitRelease[] = "fit";
inline constexpr int kFirstGridBits = 2, kPathGridBits = 4;
// log L at 0 and at the estimates, score test, Wald's (of robust errors by their covariance, kNoTest where
// that is singular); then, where they are asked for, the tests of proportional hazards, of each column
// and of all, and concordance.h.
inline constexpr size_t kCoxTotals = 4;
inline constexpr uint64_t kMostCoxRows = uint64_t{1} << 22;

struct CoxTask {
  CoxSpec spec;
  std::vector<run::RowHolder> holders;  // each party once
  std::vector<size_t> table_sizes;      // of CoxTables
  CoxCells cells;
  int grid_bits = 6;
  mpc::PartyIndex to = 0;       // the receiver, or mpc::kEverybody
  std::vector<uint64_t> units;  // units.h; empty: sums by cell are enough (robust.h)

  uint64_t max_rows() const { return run::MostRows(holders); }
  size_t num_terms() const { return cells.count() * spec.most_ties; }
  size_t num_totals() const {
    return kCoxTotals + (spec.proportional ? spec.columns.size() + 1 : 0) +
           (spec.concordance ? 1 : 0);
  }
  // Standard errors, or covariances.
  uint64_t num_errors() const {
    return spec.covariance ? mpc::NumCovariances(spec.columns.size()) : spec.columns.size();
  }
  // Numbers of kFitRelease.
  uint64_t num_of_fit() const {
    return 3 + (spec.clustered() ? 1 : 0) + spec.columns.size() + num_errors() + num_totals() +
           (spec.proportional ? 1 : 0) + (spec.report.empty() ? 0 : cells.strata) +
           2 * num_hazards();
  }
  // Of the baseline.
  uint64_t num_hazards() const { return cells.strata * spec.report.size(); }
  size_t num_columns() const { return spec.columns.size(); }
  int GridBitsOf(int point) const;  // 1 .. spec.steps: the last
};

uint64_t LeastCoxRows(const CoxTask& task, uint64_t min_rows);
uint64_t NumCoxChecks(const CoxTask& task);
std::string CoxClustersRule(const CoxTask& task, uint64_t min_cell);
// Ends the rule of a table: of whose own rows it holds, too.
std::string CoxOwnRowsText(const CoxTask& task);
// Of each unit and cell of units.h.
inline constexpr uint64_t kMostUnitSums = uint64_t{1} << 22;
inline uint64_t NumOfUnit(const CoxTask& task) {
  return 1 + (task.num_columns() + 1) * (task.spec.most_ties > 1 ? 2 : 1);
}

struct CoxAnswers {
  std::vector<bool> tables;
  bool clusters = true, outcome = true, rows = true, ties = true;
};

struct CoxModel {
  bool converged = false;
  uint64_t rows = 0, events = 0, clusters = 0;
  Eigen::VectorXd standard_errors, steps;  // of scaled columns; steps of their grids
  Eigen::MatrixXd covariance;  // of a spec with one, on the products of `steps`; else empty
  bool proportional = false;   // these tests are among the totals
  std::vector<double> totals;
  // Of the cumulative hazard at the middles of the bounds, by stratum; then by stratum and report time
  // its logarithm and the step of the grid; step 0: withheld, or no event until then.
  std::vector<bool> shows_hazard;
  std::vector<double> log_hazards, hazard_steps;
};
struct CoxFitted {
  std::vector<Eigen::VectorXd> points;  // that opened, of scaled columns
  Eigen::VectorXd estimate_steps;
  std::optional<CoxModel> model;  // where it is learned
};

// One process's part. Called in this order; `point` counts from 1 to spec.steps.
class CoxFitter {
 public:
  // own: at a holder; not used elsewhere. Must outlive this.
  CoxFitter(mpc::Engine& engine, const CoxTask& task, const CoxRows& own);

  void ShareCounts();
  // Empty where engine.self() is empty.
  std::optional<CoxAnswers> Check(uint64_t min_rows, uint64_t min_cell);
  // Columns that follow from those before them; at the dealer and on the plan engine none.
  std::vector<size_t> First();
  void OpenPoint(int point);
  CoxFitted Finish();

 private:
  bool HoldsRows() const;
  mpc::Shared Total(const std::vector<mpc::Shared>& inputs, size_t each, size_t place);
  bool ByEfron() const { return task_.spec.most_ties > 1; }
  mpc::SharedBits FewTies();
  mpc::SharedBits NoSmallStratum(uint64_t min_cell);
  void TimeEvents();
  mpc::Shared ShareSums(const Eigen::VectorXd& point);
  void SumAt(const Eigen::VectorXd& point);
  mpc::ScoringSums Sums() const;
  // point: that is to open next, or none.
  void Solve(mpc::Engine& engine, std::optional<int> point);
  RobustErrors FindRobustErrors(const mpc::Shared& holds);
  mpc::Shared LogLikelihood(mpc::Engine& engine);
  mpc::Shared FindConcordance();
  mpc::Shared ScoreTest();
  mpc::Shared WaldTest(mpc::Engine& engine);

  mpc::Engine& engine_;
  const CoxTask& task_;
  const CoxRows& own_;
  double most_ = 1;  // rows
  int unit_bits_ = 1;

  std::vector<mpc::Shared> counts_;         // by holder
  mpc::Shared rows_, num_events_;           // 1 x 1
  mpc::Shared clusters_;                    // 1 x 1, where errors are of these
  mpc::Shared events_, event_sums_;         // terms x 1, p x 1
  mpc::Shared gone_;                        // ties.h
  mpc::Shared timed_sums_;                  // p x 1
  std::vector<mpc::Shared> hazard_counts_;  // by holder
  uint64_t min_cell_ = 0;
  // Of the last point: the events times g and times g^2, terms x 1.
  std::vector<mpc::Shared> weights_;
  TimedSums timed_;
  mpc::Shared at_risk_;  // S0
  CoxTerms terms_;
  mpc::Shared score_, information_;  // U; I at kInformationBits - unit_bits_
  mpc::Shared outside_;              // 1 x 1
  mpc::Shared failures_, null_likelihood_, score_test_;
  mpc::SolvedStep solved_;
  Eigen::VectorXd at_;
  CoxFitted fitted_;
};

}  // namespace partita::methods::survival
