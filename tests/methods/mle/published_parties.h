// Runs the published protocols in threads, on rows with given moments.
#pragma once

#include <gtest/gtest.h>

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <Eigen/QR>
#include <functional>
#include <random>
#include <string>
#include <vector>

#include "methods/mle/published/normal.h"
#include "stats/sem/linear_statistics.h"
#include "tests/net/parties.h"
#include "tests/paths.h"
#include "tests/stats/sem_reference.h"

namespace partita::methods::mle::published::testing {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;

inline MatrixXd NormalRows(Index n, Index p, unsigned seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  MatrixXd x(n, p);
  for (double& value : x.reshaped()) value = normal(random);
  return x;
}

// Rows whose sample mean and covariance (divisor n) are exactly these.
inline MatrixXd RowsWithMoments(const stats::GroupMoments& moments, unsigned seed) {
  const auto n = static_cast<Index>(moments.n);
  MatrixXd x = NormalRows(n, moments.mean.size(), seed);
  x.rowwise() -= x.colwise().mean();
  const Eigen::HouseholderQR<MatrixXd> qr(x);
  const MatrixXd q = qr.householderQ() * MatrixXd::Identity(n, x.cols());
  const MatrixXd root = moments.covariance.llt().matrixL();
  return (std::sqrt(moments.n) * q * root.transpose()).rowwise() + moments.mean.transpose();
}

// A distribution that fits nothing in particular.
inline NormalParameters SomeDistribution(Index p, unsigned seed) {
  const MatrixXd a = NormalRows(p, p, seed);
  NormalParameters out;
  out.mean = NormalRows(p, 1, seed + 1).col(0);
  out.covariance = MatrixXd::Identity(p, p) + a * a.transpose() / static_cast<double>(p);
  return out;
}

// A piece of rows [first, first + rows) of a group, and who has which columns.
struct Piece {
  size_t group = 0;
  Index first = 0, rows = 0;
  std::vector<BlockNode> nodes;
};

struct Setting {
  Layout layout;              // the last party is the centre
  std::vector<OwnRows> rows;  // by party
};

inline Setting MakeSetting(const std::vector<MatrixXd>& groups, const std::vector<Piece>& pieces) {
  Setting out;
  size_t parties = 0;
  for (const Piece& piece : pieces) {
    for (const BlockNode& node : piece.nodes) parties = std::max(parties, node.party + 1);
  }
  out.layout.centre = parties;
  out.layout.num_variables = groups.front().cols();
  out.rows.assign(parties + 1, OwnRows(pieces.size()));
  for (size_t b = 0; b < pieces.size(); ++b) {
    const Piece& piece = pieces[b];
    Block block;
    block.group = piece.group;
    block.rows = piece.rows;
    block.nodes = piece.nodes;
    out.layout.blocks.push_back(block);
    for (const BlockNode& node : piece.nodes) {
      const MatrixXd mine = groups[piece.group].middleRows(piece.first, piece.rows);
      out.rows[node.party][b] = mine(Eigen::all, node.columns);
    }
  }
  return out;
}

inline std::vector<Index> Range(Index begin, Index end) {
  std::vector<Index> out;
  for (Index i = begin; i < end; ++i) out.push_back(i);
  return out;
}

// Nodes 0.. hold so many columns each.
inline std::vector<BlockNode> Split(const std::vector<Index>& widths) {
  std::vector<BlockNode> nodes;
  Index at = 0;
  for (const Index width : widths) {
    BlockNode node;
    node.party = nodes.size();
    node.columns = Range(at, at + width);
    nodes.push_back(std::move(node));
    at += width;
  }
  return nodes;
}

struct Traffic {
  uint64_t bytes = 0;   // of all messages
  uint64_t rounds = 0;  // of the deepest party
};

// One thread per party, each with randomness of its own. An exception of a party fails the test.
inline Traffic RunThreads(
    size_t parties, uint8_t seed,
    const std::function<void(net::Channel& channel, crypto::RandomSource& random)>& party) {
  std::vector<std::vector<net::PhaseTraffic>> traffic(parties);
  std::vector<uint64_t> depth(parties);
  const auto errors = net::RunChannels(net::MemoryParties(parties), [&](net::Channel& channel) {
    crypto::Prg random = net::TestRandom(static_cast<uint8_t>(seed + channel.self()));
    try {
      party(channel, random);
    } catch (const Error& error) {
      channel.Abort(error);
      throw;
    }
    traffic[channel.self()] = channel.traffic();
    depth[channel.self()] = channel.depth();
  });
  EXPECT_EQ(net::Describe(errors), "");
  Traffic out;
  for (size_t i = 0; i < parties; ++i) {
    out.rounds = std::max(out.rounds, depth[i]);
    for (const net::PhaseTraffic& phase : traffic[i]) {
      for (const net::LinkTraffic& link : phase.links) out.bytes += link.bytes_sent;
    }
  }
  return out;
}

// sum_i (x_i - mean) covariance^-1 (x_i - mean)'.
inline double Quadratic(const MatrixXd& x, const NormalParameters& normal) {
  const MatrixXd e = x.rowwise() - normal.mean.transpose();
  return e.cwiseProduct(normal.covariance.llt().solve(e.transpose()).transpose()).sum();
}

// How much that can differ for rows whose cells differ by at most so much: with k = covariance^-1
// the difference is 2 (x - mean) k error' + error k error' for every row.
inline double QuadraticGap(const MatrixXd& x, const NormalParameters& normal, double cell_error) {
  const MatrixXd k = normal.covariance.inverse();
  const MatrixXd e = (x.rowwise() - normal.mean.transpose()) * k;
  const double rows = static_cast<double>(x.rows());
  return 2 * cell_error * e.cwiseAbs().sum() + rows * cell_error * cell_error * k.cwiseAbs().sum();
}

// In the ring a chain answers for rows whose cells are off by 2^-27 (their own rounding) and by
// 2^-26 for every node before (that of a conditional mean), which enter alike.
inline double RingGap(const MatrixXd& x, const NormalParameters& normal, size_t nodes) {
  return QuadraticGap(x, normal, (static_cast<double>(nodes) - 0.5) * 0x1p-26);
}

// Bounds that somebody might write down who knows the columns roughly.
inline stats::StatisticsScale RoughBounds(const std::vector<stats::GroupMoments>& moments) {
  const Index p = moments.front().mean.size();
  stats::StatisticsScale scale{VectorXd(p), VectorXd(p)};
  for (Index i = 0; i < p; ++i) {
    const double sd = std::sqrt(moments.front().covariance(i, i));
    scale.centre[i] = moments.front().mean[i] + (i % 2 == 0 ? 1.3 : -0.6) * sd;
    scale.half_width[i] = (4 + static_cast<double>(i % 3)) * sd;
  }
  return scale;
}

struct Reference {
  stats::testing::Json json;
  stats::ParameterTable table;
  std::vector<stats::GroupMoments> moments;
  std::vector<stats::testing::Json> rows;
};

inline Reference LoadReference(const std::string& name) {
  Reference out;
  out.json = stats::testing::ReadJson(FixturePath("references/sem/" + name + ".json"));
  out.table = stats::testing::TableOf(out.json);
  out.moments = stats::testing::SampleMoments(out.json);
  out.rows = stats::testing::KeptRows(out.json);
  return out;
}

}  // namespace partita::methods::mle::published::testing
