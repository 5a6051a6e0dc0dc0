// What a sealed fit has at one theta: what the model implies, and the inverses that belong to it.
//
// Samples           One of each group; of incomplete rows one of each pattern of observed variables
//                   (sealed_patterns.h), of which rows and columns of the group's R count. All of
//                   them go through the same rounds.
//
// Everything that is inverted is scaled by the sample's standard deviations d (of the first group;
// of incomplete rows those over all rows that have the variable), which stay on shares: R = d^-1
// Sigma d^-1. With B = (I - A)^-1, a finite sum because A is acyclic, Sigma = F B S B' F'.
#pragma once

#include <vector>

#include "methods/mle/sealed/model.h"
#include "methods/mle/sealed/sample.h"
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
  // The variables of a sample.
  std::vector<size_t> ObservedOf(size_t sample) const;
  // The same for a task that has its own engine (mpc/together.h).
  SealedProblem On(mpc::Engine& other) const {
    return {other, model, samples, mean, sd, inverse_sd, outer, scaled};
  }

  mpc::Shared mean = {};                 // of y / half-width, where intercepts start; p x 1
  mpc::Shared sd = {}, inverse_sd = {};  // p x 1
  mpc::Shared outer = {};                // p x p, the products of the latter
  std::vector<mpc::Shared> scaled = {};  // covariances times outer, by sample
};

SealedProblem ScaleProblem(mpc::Engine& engine, const SealedModel& model,
                           const std::vector<SealedSample>& samples);

// Of y / half-width, k x 1.
mpc::Shared SampleMean(const SealedProblem& problem, size_t sample);

// Everything of one group at one theta.
struct GroupAt {
  mpc::Shared regression, covariance, mean;  // A, S, M
  mpc::Shared b;                             // B = (I - A)^-1
  mpc::Shared full;                          // B S B'
  mpc::Shared eta;                           // B M, v x 1
  mpc::Shared r;                             // p x p
  mpc::Shared vectors;                       // [U V] of derivative.h, p x 2v
  std::vector<mpc::Shared> paths = {};       // I + A, I + A + A^2, ...: the last is B
};

// And of one sample of k variables.
struct SampleAt {
  mpc::Shared r;         // k x k, of the group's
  mpc::Shared distance;  // (ybar - mu) / d, k x 1; of a model with means
  mpc::Shared spread;    // its product with itself, k x k
  mpc::Shared inverse;   // R^-1, or near it
};

struct SealedPoint {
  mpc::Shared theta;  // k x 1
  std::vector<GroupAt> groups;
  std::vector<SampleAt> samples;
};

// Fills in what the model implies: all but theta and inverses; all points and samples in the same rounds, three products with their cuts and one more for every path longer
// than 1. Where theta is within its box and every sum of paths within kLargestPath, so that it is
// as it should be, B S B' and distances have not left the ring either.
void Imply(const SealedProblem& problem, std::vector<SealedPoint>& points);

// Of a sample about the implied mean, in units of d, k x k: S + spread.
mpc::Shared SecondMoment(const SealedProblem& problem, const SampleAt& at, size_t sample);

// sum_s n_s / n x_s of every list of one row for each sample; one round of products and one cut for
// all lists, nothing with one sample.
std::vector<mpc::Shared> OverSamples(const SealedProblem& problem,
                                     const std::vector<std::vector<mpc::Shared>>& lists,
                                     double bound);

}  // namespace partita::methods::mle
