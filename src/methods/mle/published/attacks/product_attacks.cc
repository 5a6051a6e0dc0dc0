#include "methods/mle/published/attacks/product_attacks.h"

#include <Eigen/QR>
#include <set>

namespace partita::methods::mle::published {

using Eigen::Index;

Index ConstraintsOnSecond(const MatmulSight& sight) {
  const Index n = sight.z.rows();
  const Eigen::MatrixXd seen = Eigen::MatrixXd::Identity(n, n) - sight.z * sight.z.transpose();
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(seen);
  qr.setThreshold(1e-9);
  return qr.rank();
}

Eigen::MatrixXd CompleteSecond(const MatmulSight& sight, const std::vector<Index>& places,
                               const Eigen::MatrixXd& known) {
  const Eigen::MatrixXd z = sight.z(places, Eigen::all), w = sight.w(places, Eigen::all);
  const Eigen::MatrixXd c = z.colPivHouseholderQr().solve(known - w);
  return sight.w + sight.z * c;
}

MatchedRows MatchCandidates(const Matrix<UInt128>& first, const Matrix<UInt128>& second,
                            Index rows) {
  const Index s = first.rows() / rows;
  MatchedRows out{Eigen::MatrixXd::Zero(rows, first.cols()), 0};
  for (Index i = 0; i < rows; ++i) {
    std::set<std::vector<UInt128>> seen;
    const auto row = [](const Matrix<UInt128>& from, Index r) {
      return std::vector<UInt128>(from.row(r).begin(), from.row(r).end());
    };
    for (Index j = 0; j < s; ++j) seen.insert(row(first, i * s + j));
    std::vector<Index> matches;
    for (Index j = 0; j < s; ++j) {
      if (seen.count(row(second, i * s + j)) > 0) matches.push_back(i * s + j);
    }
    if (matches.size() != 1) continue;
    const Matrix<UInt128> match = second.row(matches.front());
    out.rows.row(i) = Decode(match, kDataBits<UInt128>);
    ++out.found;
  }
  return out;
}

}  // namespace partita::methods::mle::published
