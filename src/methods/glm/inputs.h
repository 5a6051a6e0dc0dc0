// What holders share: their counts once, and at every point the sums of their rows.
//
// Cost      One input a call, of as many numbers as the structure has.
// Revealed  Nothing.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "methods/glm/task.h"
#include "mpc/engine.h"

namespace partita::methods::glm {

// own: at a holder; not used elsewhere. By holder, CountTables::total x 1.
std::vector<mpc::Shared> ShareCounts(mpc::Engine& engine, const Task& task, const OwnData& own);

// own as above; by holder 2 x 1: the sum of the weights and the largest one, each over the largest
// that there can be.
std::vector<mpc::Shared> ShareWeights(mpc::Engine& engine, const Task& task, const OwnData& own);

// A holder's rows as their sums at a point are made of them: with effects of sites those of
// stats/glm/sites.h.
stats::glm::Rows RowsAt(const Spec& spec, const stats::glm::Rows& rows,
                        const Eigen::VectorXd& point, const stats::glm::Limits& limits);

// Whether the standard errors have a dispersion: of the model, of a family that has one.
bool TakesDispersion(const Spec& spec);

// ridge_j of stats/glm/sums.h for so many rows: the same for every column but the intercept. Each
// holder adds that of its own rows to what it shares, which together is that of all.
Eigen::VectorXd RidgeOf(const Spec& spec, double rows);

// l_j of stats/glm/lasso.h for so many rows and a penalty of the study file: the same for every column but the
// intercept.
Eigen::VectorXd LassoOf(const Spec& spec, double rows, double penalty);

// Over all holders, in the units of the task (task.h).
struct SharedSums {
  mpc::Shared information;  // J, p x p
  mpc::Shared score;        // p x 1
  mpc::Shared pearson;      // 1 x 1; only of errors with a dispersion, and of its total
  mpc::Shared meat;         // p x p, divided like J; only of robust errors
  mpc::Shared clusters;     // sums of scores, not divided, in its place: sealed/clusters.h
  mpc::Shared third;        // firth.h; only with Firth's penalty, and not at the first point
  mpc::Shared outside;      // 1 x 1: rows beyond the limits; empty at the first point
  mpc::Shared fit;          // fit_numbers.h; only at the last point
  mpc::Shared squares;      // the same
};

// The first point: score is what the first point is J^-1 times.
SharedSums ShareFirst(mpc::Engine& engine, const Task& task, const OwnData& own);
// At a point that opened; last: with what the fit needs.
SharedSums ShareSums(mpc::Engine& engine, const Task& task, const OwnData& own,
                     const Eigen::VectorXd& point, bool last);

}  // namespace partita::methods::glm
