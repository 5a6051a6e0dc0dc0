// What a sealed fit computes at one theta: the implied moments, their inverse and the discrepancy.
//
// Everything that is inverted is scaled by the sample's standard deviations d (of the first group),
// which stay on shares: R = d^-1 Sigma d^-1. With B = (I - A)^-1, a finite sum because A is
// acyclic, Sigma = F B S B' F'.
#pragma once

#include <span>
#include <vector>

#include "methods/mle/sealed_model.h"
#include "methods/mle/sealed_sample.h"
#include "mpc/engine.h"

namespace partita::methods::mle {

// The problem, with the scaled sample.
struct SealedProblem {
  mpc::Engine& engine;
  const SealedModel& model;
  const std::vector<SealedSample>& samples;

  size_t observed() const { return static_cast<size_t>(model.ram.num_observed); }
  size_t variables() const { return static_cast<size_t>(model.ram.num_variables); }
  size_t parameters() const { return static_cast<size_t>(model.ram.num_parameters); }
  bool means() const { return model.ram.meanstructure; }

  mpc::Shared sd = {}, inverse_sd = {};  // p x 1
  mpc::Shared outer = {};                // p x p, the products of the latter
  std::vector<mpc::Shared> scaled = {};  // covariances times outer, by group
};

SealedProblem ScaleProblem(mpc::Engine& engine, const SealedModel& model,
                           const std::vector<SealedSample>& samples);

// Of y / half-width, p x 1.
mpc::Shared SampleMean(const SealedProblem& problem, size_t group);

// Everything of one group at one theta.
struct GroupAt {
  mpc::Shared regression, covariance, mean;  // A, S, M
  mpc::Shared b;                             // B = (I - A)^-1
  mpc::Shared bs, full;                      // B S, B S B'
  mpc::Shared eta;                           // B M, v x 1
  mpc::Shared r;                             // p x p
  mpc::Shared distance;                      // (ybar - mu) / d, p x 1
  mpc::Shared inverse;                       // R^-1
  mpc::Shared usable;                        // 1 or 0, no fraction bits: R is within its bound
};

struct SealedPoint {
  mpc::Shared theta;  // k x 1
  // F = log|R| + tr(S R^-1) + distance' R^-1 distance, averaged over the rows; kWorst where an R is
  // no covariance. 1 x 1.
  mpc::Shared value;
  std::vector<GroupAt> groups;
};

// Fills in all but theta; all points and groups in the same rounds.
void Evaluate(const SealedProblem& problem, std::vector<SealedPoint>& points);

// sum_g n_g / n x_g of every list of one row for each group; one round of products and one cut for
// all lists, nothing with one group.
std::vector<mpc::Shared> OverGroups(const SealedProblem& problem,
                                    const std::vector<std::vector<mpc::Shared>>& lists,
                                    double bound);

}  // namespace partita::methods::mle
