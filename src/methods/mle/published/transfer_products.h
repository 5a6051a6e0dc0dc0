// Algorithm 3 of Snoke et al. 2018 (Lin & Karr 2010), for the cross products of two parties'
// columns: shares of X1' X2 by one 1-out-of-s oblivious transfer per row.
//
// FOR SIMULATION AND COMPARISON ONLY.
//
// Method            For every row, party 1 hides its values among s - 1 made-up rows and sends all
//                   s. Party 2 computes the products with its own row for each, minus a fresh
//                   epsilon, and party 1 gets the right one by oblivious transfer. Party 1's sum
//                   and party 2's sum of epsilons add to X1' X2 and go to the centre. The transfer
//                   is Naor & Pinkas's (STOC 1999): log2 s transfers of key pairs
//                   (mpc/ot/base_ot.h), candidate j masked by the keys of its bits.
// Numbers           Modulo 2^128, values in steps of 2^-26, epsilon uniform.
// Revealed          To party 2: every row of party 1, up to a choice out of s (in a second run on
//                   the same rows, or with any knowledge of what is plausible, without a choice;
//                   published/attacks). To the centre: X1' X2. To party 1: nothing.
// Cost              4 rounds; per row s (p1 + p1 p2) elements of 16 bytes and 64 log2 s bytes, and
//                   about 4 log2 s multiplications in the group.
#pragma once

#include <Eigen/Core>

#include "crypto/random.h"
#include "methods/mle/published/numbers.h"
#include "net/channel.h"

namespace partita::methods::mle::published {

struct TransferShape {
  Eigen::Index rows = 0, first_columns = 0, second_columns = 0;
  int choice_bits = 4;  // log2 s

  Eigen::Index candidates() const { return Eigen::Index{1} << choice_bits; }
};

// Both parties' shares of X1' X2 (p1 x p2) have 2 kDataBits bits. Made-up rows are normal with the
// means and standard deviations of party 1's own columns.
Matrix<UInt128> TransferAsFirst(net::Channel& channel, net::PartyIndex second,
                                const TransferShape& shape, const Eigen::MatrixXd& own,
                                crypto::RandomSource& random);
// sight: the candidates, s consecutive rows for every row of the data; filled if not null.
Matrix<UInt128> TransferAsSecond(net::Channel& channel, net::PartyIndex first,
                                 const TransferShape& shape, const Eigen::MatrixXd& own,
                                 crypto::RandomSource& random, Matrix<UInt128>* sight);

}  // namespace partita::methods::mle::published
