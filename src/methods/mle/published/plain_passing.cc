#include "methods/mle/published/plain_passing.h"

#include <Eigen/Cholesky>

#include "methods/mle/published/chain.h"
#include "methods/mle/published/numbers.h"

namespace partita::methods::mle::published {
namespace {

using Doubles = Matrix<double>;

// Node k of one block. What arrives is conditional on nodes 1..k-1: the covariance and the means
// (one row at the first node, one per observation later) of the columns of nodes k..K.
void AnswerBlock(net::Channel& channel, const Layout& layout, size_t b, size_t k,
                 const Eigen::MatrixXd& x, const PlainWatch& watch) {
  const Block& block = layout.blocks[b];
  const Eigen::Index own = x.cols(), width = ColumnsFrom(block, k), later = width - own;
  const net::PartyIndex previous = k == 0 ? layout.centre : block.nodes[k - 1].party;
  Doubles covariance(width, width), mean(k == 0 ? 1 : block.rows, width), running(1, 1);
  running(0, 0) = 0;
  std::vector<net::Receive> receives = {From(previous, covariance), From(previous, mean)};
  if (k > 0) receives.push_back(From(previous, running));
  channel.Exchange({}, receives);
  if (k == 0) {
    mean = Doubles(mean.replicate(block.rows, 1));
  } else if (watch) {
    const Eigen::MatrixXd seen = mean;
    watch({b, k, seen});
  }
  const Eigen::LLT<Eigen::MatrixXd> factor(covariance.topLeftCorner(own, own));
  const Eigen::MatrixXd e = x - mean.leftCols(own);
  running(0, 0) += e.cwiseProduct(factor.solve(e.transpose()).transpose()).sum();
  if (later == 0) {
    channel.Exchange({{To(layout.centre, running)}}, {});
    return;
  }
  const Eigen::MatrixXd forward = covariance.topRightCorner(own, later);
  const Eigen::MatrixXd c = factor.solve(forward);
  const Doubles covariance_after =
      covariance.bottomRightCorner(later, later) - forward.transpose() * c;
  const Doubles mean_after = mean.rightCols(later) + e * c;
  const net::PartyIndex next = block.nodes[k + 1].party;
  channel.Exchange({{To(next, covariance_after), To(next, mean_after), To(next, running)}}, {});
}

}  // namespace

Answer AskPlainly(net::Channel& channel, const Layout& layout, const Question& question) {
  Answer answer;
  for (const Block& block : layout.blocks) {
    const NormalParameters& normal = question[block.group];
    const ChainConditionals chain = ConditionAlong(block, normal.covariance);  // checks it
    std::vector<Eigen::Index> order;
    for (const BlockNode& node : block.nodes) {
      order.insert(order.end(), node.columns.begin(), node.columns.end());
    }
    const Doubles covariance = normal.covariance(order, order);
    const Doubles mean = normal.mean(order).transpose();
    const net::PartyIndex first = block.nodes.front().party;
    channel.Exchange({{To(first, covariance), To(first, mean)}}, {});
    Doubles total(1, 1);
    channel.Exchange({}, {{From(block.nodes.back().party, total)}});
    BlockAnswer next;
    next.group = block.group;
    next.rows = static_cast<double>(block.rows);
    next.quadratic = total(0, 0);
    std::vector<Eigen::MatrixXd> precision, c;
    for (const ConditionalCovariance& node : chain.nodes) {
      precision.push_back(node.precision);
      c.push_back(node.precision * node.forward);
    }
    Unchain(block, precision, c, normal.mean(order), next);
    answer.push_back(std::move(next));
  }
  return answer;
}

void AnswerPlainly(net::Channel& channel, const Layout& layout, const OwnRows& rows,
                   const PlainWatch& watch) {
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const Block& block = layout.blocks[b];
    for (size_t k = 0; k < block.nodes.size(); ++k) {
      if (block.nodes[k].party == channel.self()) {
        AnswerBlock(channel, layout, b, k, rows[b], watch);
      }
    }
  }
}

}  // namespace partita::methods::mle::published
