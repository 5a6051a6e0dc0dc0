// Algorithm 1 of Snoke et al. 2018 (Karr, Lin, Sanil & Reiter 2009): X1' X2 for two parties, by an
// orthonormal matrix Z with Z' X1 = 0.
//
// FOR SIMULATION AND COMPARISON ONLY.
//
// Method            Party 1 sends Z (n x a), party 2 sends W = (I - Z Z') X2, party 1 computes
//                   X1' W = X1' X2.
// Revealed          To party 1: (n - a) linear constraints on every column of X2, the projection W
//                   of X2 itself; whoever knows a rows of X2 beside has all of it. To party 2: a
//                   constraints on every column of X1. With a = n p2 / (p1 + p2) both learn the
//                   same number of constraints, n p1 p2 / (p1 + p2), out of n p1 and n p2: between
//                   two parties with as many columns each, half of the data. No choice of a makes
//                   both small.
// Cost              2 rounds; n a + n p2 doubles.
#pragma once

#include <Eigen/Core>

#include "crypto/random.h"
#include "net/channel.h"

namespace partita::methods::mle::published {

// What the two parties learn, counted in linear constraints on the other's numbers.
struct MatmulLeakage {
  Eigen::Index rows = 0, first_columns = 0, second_columns = 0;
  Eigen::Index null_columns = 0;  // a

  Eigen::Index OnSecond() const { return (rows - null_columns) * second_columns; }
  Eigen::Index OnFirst() const { return null_columns * first_columns; }
};
// With a that makes both equal, as nearly as possible, at least 1 and at most n - p1. Throws
// kBadInput where n <= p1: there is no Z.
MatmulLeakage PlanMatmul(Eigen::Index rows, Eigen::Index first_columns,
                         Eigen::Index second_columns);

// What party 1 sees.
struct MatmulSight {
  Eigen::MatrixXd z, w;
};

// At party 1, with its columns; X1' X2. sight: filled if not null.
Eigen::MatrixXd MultiplyAsFirst(net::Channel& channel, net::PartyIndex second,
                                const MatmulLeakage& plan, const Eigen::MatrixXd& own,
                                crypto::RandomSource& random, MatmulSight* sight);
// At party 2.
void MultiplyAsSecond(net::Channel& channel, net::PartyIndex first, const MatmulLeakage& plan,
                      const Eigen::MatrixXd& own);

}  // namespace partita::methods::mle::published
