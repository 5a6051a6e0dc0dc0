// Fisher scoring of rows at several holders where the sums of all holders open to the receiver.
//
// Ideal function   (every holder's rows) -> to everybody, whether counts and rows suffice, which columns
//                  are collinear, and the points b_0 .. b_T at 40 bits after the point; to the
//                  receiver, or to all where the study says so, at every point the sums of all
//                  holders with all their digits: score, information, deviance and what else
//                  fit_numbers.h and robust errors need; and numbers of rows, events and clusters, with
//                  risk groups those of risk.h, which are of the last point, whether or not it is a
//                  maximum.
// Checks           counts.h, with more rows (RowsDetermined). Collinear: as protocol.h.
// Method           The receiver computes each point in the clear: a step of Fisher scoring, or, where
//                  the deviance rose, half of the last step. Who follows the protocol sends no other
//                  point: a free choice of points would isolate rows. All steps are made, so that
//                  messages tell nothing.
// Convergence      The last deviances differ by less than 1e-8 (D + 0.1), as for R's glm, the next
//                  step is below 1e-6 standard errors, and no row is beyond the limits.
// Lasso            A step is the least of the quadratic model with the penalty (stats/glm/lasso.h), and the
//                  deviance that may not rise has it in. Penalties follow each other from the largest
//                  on, each with as many steps from the point of the one before; all of this in the
//                  clear at the receiver. The estimates are the point with the least BIC.
// Error            Sums: 2^-54 of public scales, deviances 2^-30. Coefficients and standard errors
//                  1e-6 of themselves, deviances 1e-8.
// Revealed         Releases `disclosure`, `first-sums`, `independence`, `sums`, `iterates`, `fit`, as above and
//                  nothing else. From two points' sums the table of discrete covariates follows
//                  (tests/methods/glm/aggregates_test.cc); so all have to accept that.
// Cost             T + 2 inputs of the holders and as many of the receiver, each opened once.
#pragma once

#include "methods/glm/protocol.h"

namespace partita::methods::glm {

inline constexpr char kFirstRelease[] = "first-sums", kSumsRelease[] = "sums";

// Rows of continuous covariates that the sums determine in principle, up to their order: T (p + 3) / 2
// for T points, for so many equations there are for the p numbers of a row; with those of a smaller
// model. Numbers of risk groups are equations, too. Not counted are the second matrix of robust errors,
// further equations of a row with several outcomes' parameters, the first sums, and that of frequencies
// copies are compared with it: the plan says so (plan.cc).
uint64_t RowsDetermined(const Task& task);

uint64_t NumFirstSums(const Task& task);  // numbers of release `first-sums`
uint64_t NumSums(const Task& task);       // of each opening of release `sums`
uint64_t NumFitCounts(const Task& task);  // of release `fit`

// One process's part. Called like Fitter.
class AggregateFitter {
 public:
  // own: at a holder; not used elsewhere. Must outlive this. receiver: who computes the points.
  // min_cell: of risk groups.
  AggregateFitter(mpc::Engine& engine, const Task& task, const OwnData& own, SharedTotals totals,
                  mpc::PartyIndex receiver, uint64_t min_cell);

  Collinear First();
  void OpenPoint(int point);
  Fitted Finish();

 private:
  // Of all holders in the units of the rows; nothing where they are not learned.
  struct OpenedSums {
    Eigen::VectorXd score;
    Eigen::MatrixXd information, meat;
    double pearson = 0, squares = 0;
    double rows = 0;     // with a penalty
    double penalty = 0;  // of the point, on the scale of deviances
    uint64_t outside = 0;
    std::vector<double> fit;
  };
  struct OpenedFirst {
    Eigen::VectorXd weighted;
    Eigen::MatrixXd information;
  };
  std::optional<OpenedFirst> OpenFirst(const SharedSums& sums);
  std::optional<OpenedSums> Open(const SharedSums& sums);
  // The receiver's numbers, opened to all.
  Eigen::VectorXd Publish(const std::string& release, const Eigen::VectorXd& numbers);
  void Move(const OpenedSums& sums);
  double Penalty(const Eigen::VectorXd& point, double rows) const;
  Eigen::VectorXd NextFrom(const Eigen::VectorXd& point, const OpenedSums& sums) const;
  double PenaltyOfNow() const;  // of a lasso
  void EndPenalty();
  void ChooseLasso(FittedModel& model);

  mpc::Engine& engine_;
  const Task& task_;
  const OwnData& own_;
  const SharedTotals totals_;
  const mpc::PartyIndex receiver_;
  const uint64_t min_cell_;
  Fitted fitted_;
  // At who learns the sums: the best point with its sums, the next one, and whether it is a maximum.
  Eigen::VectorXd at_, best_, next_;
  std::optional<OpenedSums> best_sums_;
  bool settled_ = false;
  int moves_ = 0;
  // Of a lasso, of the penalties that have had their steps.
  std::vector<LassoCandidate> candidates_;
  std::vector<OpenedSums> candidate_sums_;
};

}  // namespace partita::methods::glm
