#include "methods/mle/published/chain.h"

#include <Eigen/Cholesky>

#include "base/error.h"

namespace partita::methods::mle::published {
namespace {

std::vector<Eigen::Index> Order(const Block& block) {
  std::vector<Eigen::Index> order;
  for (const BlockNode& node : block.nodes) {
    order.insert(order.end(), node.columns.begin(), node.columns.end());
  }
  return order;
}

}  // namespace

ChainConditionals ConditionAlong(const Block& block, const Eigen::MatrixXd& covariance) {
  const std::vector<Eigen::Index> order = Order(block);
  Eigen::MatrixXd rest = covariance(order, order);
  ChainConditionals chain;
  for (const BlockNode& node : block.nodes) {
    const auto own = static_cast<Eigen::Index>(node.columns.size());
    const Eigen::Index after = rest.rows() - own;
    ConditionalCovariance next;
    next.covariance = rest.topLeftCorner(own, own);
    next.forward = rest.topRightCorner(own, after);
    const Eigen::LLT<Eigen::MatrixXd> factor(next.covariance);
    if (factor.info() != Eigen::Success) {
      throw Error(ErrorCode::kBadInput, "the covariance asked about is not positive definite",
                  "give the model other start values");
    }
    const Eigen::MatrixXd inverse = factor.solve(Eigen::MatrixXd::Identity(own, own));
    next.precision = (inverse + inverse.transpose()) / 2;
    next.after = rest.bottomRightCorner(after, after);
    // Eigen does not solve for no columns.
    if (after > 0) next.after -= next.forward.transpose() * factor.solve(next.forward);
    rest = next.after;
    chain.nodes.push_back(std::move(next));
  }
  return chain;
}

Eigen::Index ColumnsFrom(const Block& block, size_t k) {
  Eigen::Index columns = 0;
  for (size_t j = k; j < block.nodes.size(); ++j) {
    columns += static_cast<Eigen::Index>(block.nodes[j].columns.size());
  }
  return columns;
}

Eigen::VectorXd ChainOrder(const Block& block, const Eigen::VectorXd& values) {
  return values(Order(block));
}

// Residuals d of the chain are linear in x - mean: d_k = (x - mean)_k - sum_j<k d_j c_jk, so
// d = (x - mean) U, and sum_k d_k S_k^-1 d_k' = (x - mean) U diag(S_k^-1) U' (x - mean)'.
void Unchain(const Block& block, const std::vector<Eigen::MatrixXd>& precision,
             const std::vector<Eigen::MatrixXd>& c, const Eigen::VectorXd& mean,
             BlockAnswer& answer) {
  const std::vector<Eigen::Index> order = Order(block);
  const auto p = static_cast<Eigen::Index>(order.size());
  Eigen::MatrixXd u = Eigen::MatrixXd::Identity(p, p), joint = Eigen::MatrixXd::Zero(p, p);
  Eigen::Index at = 0;
  for (size_t k = 0; k < precision.size(); ++k) {
    const Eigen::Index own = precision[k].rows(), end = at + own;
    u.rightCols(p - end) -= u.middleCols(at, own) * c[k];
    joint += u.middleCols(at, own) * precision[k] * u.middleCols(at, own).transpose();
    at = end;
  }
  answer.mean.resize(p);
  answer.precision.resize(p, p);
  answer.mean(order) = mean;
  answer.precision(order, order) = joint;
}

}  // namespace partita::methods::mle::published
