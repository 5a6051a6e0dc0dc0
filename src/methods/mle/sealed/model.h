// The public side of a sealed fit: the model in units of the half-widths, its start, and what
// opens.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "mpc/engine.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"

namespace partita::methods::mle {

struct SealedModel {
  stats::ParameterTable table;  // with the moments of fixed.x covariates as parameters like others
  stats::RamModel ram;          // of it; its units are those of the half-widths
  Eigen::VectorXd shift;        // centre / half-width, p: the mean structure is of y / half-width
  // Of every variable: the observed one whose standard deviation is its unit at the start; -1: 1.
  std::vector<int> unit_of;
  Eigen::VectorXd start;  // by parameter, in those units; of intercepts: of the sample's mean
  // Parameters that the receiver gets: all but moments of fixed.x covariates.
  std::vector<int> opened;
  std::vector<size_t> covariates;  // exogenous observed variables, fixed.x or not
  size_t path_length = 0;          // A^(path_length + 1) = 0
  size_t iterations = 12;
  size_t scoring_steps = 2;  // the first of them; the others are Newton's
  double tolerance = 1e-6;   // of the gradient over the root of the information, per observation
};

// centre, half_width: of the observed variables, public. Moments of fixed.x covariates are
// estimated along, which changes no other estimate. Throws kBadInput, with what to use instead, for
// models whose regressions form a circle, == constraints, and equal labels across variables of
// different half-widths.
SealedModel PrepareSealed(const stats::ParameterTable& table, const Eigen::VectorXd& centre,
                          const Eigen::VectorXd& half_width);

}  // namespace partita::methods::mle
