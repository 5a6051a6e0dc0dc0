// Maximum likelihood for structural equation models wholly on shares: protocol `sealed` (methods.md
// 1).
//
// Ideal function   (moments on shares) -> to the receiver, the estimates and one bit: whether they
// are a
//                  stationary point. No moment, no likelihood and no iterate opens.
// Method           Fisher scoring on the discrepancy F = log|Sigma| + tr(S Sigma^-1) (+ mean term),
// a
//                  fixed number of steps. Everything is scaled by the sample's standard deviations
//                  d, which stay on shares: R = d Sigma d, so that inverses see correlations
//                  whatever the units. With B = (I - A)^-1 (a finite sum: A must be acyclic), U = d
//                  F B, V = d F B S B', every cell moves R by a b' + b a', a and b columns of U and
//                  V, and gradient and information are entries of the Gram matrices of U and V
//                  under R^-1 (stats/sem/objective.h). The information is scaled to a unit diagonal
//                  before it is inverted. Each step tries kStepSizes of the full step and 0 at once
//                  and takes the best on shares, so F never grows.
// Start            Public numbers in units of the secret standard deviations.
// Domain           Every variable's standard deviation is at least 2^-8 of its half-width.
// Precision        40 fraction bits; estimates agree with a fit in floating point far below 1e-4
// standard
//                  errors (tests).
// Revealed         To the receiver: the estimates, the bit. Nothing to others.
// Cost             Per step about p + k pivots of InvertDefinite one after the other: for 9
// variables and
//                  21 parameters some 640 rounds (`dealer`).
#pragma once

#include <Eigen/Core>
#include <string>
#include <vector>

#include "base/progress.h"
#include "mpc/engine.h"
#include "mpc/release_gate.h"
#include "stats/sem/parameter_table.h"
#include "stats/sem/ram.h"

namespace partita::methods::mle {

inline constexpr int kSealedBits = 40;
inline constexpr char kSealedEstimates[] = "estimates";
inline constexpr char kSealedConverged[] = "converged";

// One group's sample moments on shares at kSealedBits, of (y - centre) / half-width of every
// variable.
struct SealedSample {
  double n = 0;            // public
  mpc::Shared mean;        // p x 1; not used without a mean structure
  mpc::Shared covariance;  // p x p, divisor n
};

// The public part.
struct SealedModel {
  stats::RamModel ram;    // its units are those of the half-widths
  Eigen::VectorXd shift;  // centre / half-width, p: the mean structure is of y / half-width
  // Of every variable: the observed one whose standard deviation is its unit at the start; -1: 1.
  std::vector<int> unit_of;
  Eigen::VectorXd start;  // by parameter, in those units; of intercepts: of the sample's mean
  std::vector<int>
      opened;  // parameters that the receiver gets: all but moments of fixed.x covariates
  size_t path_length = 0;  // A^(path_length + 1) = 0
  size_t iterations = 30;
  double tolerance = 1e-6;  // of the gradient over the root of the information, per observation
  mpc::PartyIndex receiver = 0;
};

// centre, half_width: of the observed variables, public. Moments of fixed.x covariates are
// estimated along, which changes no other estimate. Throws kBadInput, with what to use instead, for
// models whose regressions form a circle, == constraints, and equal labels across variables of
// different half-widths.
SealedModel PrepareSealed(const stats::ParameterTable& table, const Eigen::VectorXd& centre,
                          const Eigen::VectorXd& half_width, size_t groups);

std::vector<mpc::Release> ReleasesOf(const SealedModel& model, const std::string& receiver);

struct SealedEstimates {
  bool converged = false;
  Eigen::VectorXd x;  // internal units of model.ram; empty but at the receiver
};

// Begins the phase "sealed fit".
SealedEstimates FitSealed(mpc::Engine& engine, const SealedModel& model,
                          const std::vector<SealedSample>& samples, Progress& progress);

}  // namespace partita::methods::mle
