// What levels `iterates` and `sealed` open beside points: which columns are collinear; and at the end
// whether the fit converged, and if so what is told of it, on grids, else zeros.
#pragma once

#include <functional>
#include <optional>

#include "methods/glm/protocol.h"

namespace partita::methods::glm {

// Release `independence`. collinear: p x 1, 1 or 0, of SolveStep.
Collinear TellCollinear(mpc::Engine& engine, const Task& task, const mpc::Shared& collinear);

struct FitToTell {
  // 1 x 1: 1 or 0; made beside the rest.
  std::function<mpc::Shared(mpc::Engine&)> converged;
  mpc::Shared estimates;  // p x 1, at most mpc::kMostCoordinate; empty: they opened before
  mpc::Shared variances;  // p x 1: SE^2 / 2, of SolveStep
  FitTotals totals;       // at the last point; of a spec with totals
  // A row for each of spec.terms (wald.h), made beside the rest; of a spec with such terms.
  std::function<mpc::Shared(mpc::Engine&)> statistics = {};
  mpc::Shared risk = {};         // risk.h; empty: there are no groups
  mpc::Shared covariances = {};  // p x p, of SolveStep, of a spec with a covariance; else empty
};

// Release `fit`. Where it is not learned nothing. estimates: as they opened, if they do.
struct ToldFit {
  FittedModel model;
  Eigen::VectorXd estimates;
};
std::optional<ToldFit> TellFit(mpc::Engine& engine, const Task& task, const SharedTotals& totals,
                               const FitToTell& fit);

}  // namespace partita::methods::glm
