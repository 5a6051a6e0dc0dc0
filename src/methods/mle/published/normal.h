// What the published protocols are asked and what they answer.
#pragma once

#include <Eigen/Core>
#include <vector>

#include "net/channel.h"

namespace partita::methods::mle::published {

// A normal distribution, in the units of the rows.
struct NormalParameters {
  Eigen::VectorXd mean;
  Eigen::MatrixXd covariance;
};

// A party's place in a block.
struct BlockNode {
  net::PartyIndex party = 0;
  std::vector<Eigen::Index> columns;  // indices into the variables of the model
};

// Rows that the same parties hold; with several nodes, each holds some columns of them ("vertical
// subroutine", section 4.3).
struct Block {
  size_t group = 0;  // of the model
  Eigen::Index rows = 0;
  std::vector<BlockNode> nodes;  // in the order of the chain
};

// Everybody knows it. The central node holds no rows.
struct Layout {
  net::PartyIndex centre = 0;
  Eigen::Index num_variables = 0;
  std::vector<Block> blocks;
};

// sum_i (x_i - mean) precision (x_i - mean)' over the rows of a block, for the very mean and
// precision that are given: those asked for, up to the rounding of a protocol.
struct BlockAnswer {
  size_t group = 0;
  double rows = 0;
  double quadratic = 0;
  Eigen::VectorXd mean;
  Eigen::MatrixXd precision;
};

// -2 LL without its constants, at one distribution for each group: an answer for every block, or
// for every group where blocks are added up.
using Question = std::vector<NormalParameters>;
using Answer = std::vector<BlockAnswer>;

// A party's rows: by block, its columns in the order of BlockNode::columns; empty where it has no
// part.
using OwnRows = std::vector<Eigen::MatrixXd>;

// Throws kUsage unless every block has rows, holds every variable exactly once (naming the variable
// that is missing or held twice), names parties of the channel, none of them the centre, and no
// party twice.
void CheckLayout(const Layout& layout, size_t num_parties);

size_t NumGroups(const Layout& layout);
double RowsOf(const Layout& layout, size_t group);

// The node of a party in a block; null if it has no part.
const BlockNode* NodeOf(const Block& block, net::PartyIndex party);

}  // namespace partita::methods::mle::published
