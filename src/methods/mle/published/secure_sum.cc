#include "methods/mle/published/secure_sum.h"

#include <Eigen/Cholesky>
#include <Eigen/LU>
#include <algorithm>
#include <set>
#include <type_traits>

#include "base/error.h"

namespace partita::methods::mle::published {
namespace {

using Doubles = Matrix<double>;

// The ring of nodes, and the groups, in order.
std::vector<net::PartyIndex> RingOf(const Layout& layout) {
  std::set<net::PartyIndex> nodes;
  for (const Block& block : layout.blocks) nodes.insert(block.nodes.front().party);
  return {nodes.begin(), nodes.end()};
}

// Of all rows that this party has of a group.
double OwnQuadratic(const Layout& layout, const OwnRows& rows, size_t group, net::PartyIndex self,
                    const Doubles& mean, const Doubles& covariance) {
  const Eigen::LLT<Eigen::MatrixXd> factor{Eigen::MatrixXd(covariance)};
  double sum = 0;
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const Block& block = layout.blocks[b];
    if (block.group != group || block.nodes.front().party != self) continue;
    Eigen::MatrixXd e(rows[b].rows(), rows[b].cols());
    const std::vector<Eigen::Index>& columns = block.nodes.front().columns;
    for (size_t j = 0; j < columns.size(); ++j) {
      e.col(columns[j]) = rows[b].col(static_cast<Eigen::Index>(j)).array() - mean(0, columns[j]);
    }
    sum += e.cwiseProduct(factor.solve(e.transpose()).transpose()).sum();
  }
  return sum;
}

}  // namespace

void CheckSumLayout(const Layout& layout) {
  const bool whole = std::all_of(layout.blocks.begin(), layout.blocks.end(),
                                 [](const Block& block) { return block.nodes.size() == 1; });
  if (!whole || RingOf(layout).size() < 3) {
    throw Error(ErrorCode::kUsage,
                "protocol 'secure-sum' needs three holders or more, each of whole rows",
                "use 'conditional' where columns are split");
  }
}

template <typename T>
Answer AskForSum(net::Channel& channel, const Layout& layout, const Question& question) {
  const std::vector<net::PartyIndex> ring = RingOf(layout);
  Answer answer;
  for (const NormalParameters& normal : question) {
    const Doubles mean = normal.mean.transpose(), covariance = normal.covariance;
    std::vector<net::Send> sends;
    for (const net::PartyIndex node : ring) {
      sends.insert(sends.end(), {To(node, mean), To(node, covariance)});
    }
    channel.Exchange(sends, {});
    Matrix<T> total(1, 1);
    channel.Exchange({}, {{From(ring.front(), total)}});
    BlockAnswer sum;
    sum.group = answer.size();
    sum.rows = RowsOf(layout, sum.group);
    sum.quadratic = Decode(total, std::is_same_v<T, UInt128> ? kSumBits : 0)(0, 0);
    sum.mean = normal.mean;
    sum.precision = normal.covariance.inverse();
    answer.push_back(std::move(sum));
  }
  return answer;
}

template <typename T>
void AnswerSum(net::Channel& channel, const Layout& layout, const OwnRows& rows,
               crypto::RandomSource& random, const SumWatch<T>& watch) {
  const std::vector<net::PartyIndex> ring = RingOf(layout);
  const auto place = std::find(ring.begin(), ring.end(), channel.self()) - ring.begin();
  const auto size = static_cast<ptrdiff_t>(ring.size());
  const net::PartyIndex next = ring[static_cast<size_t>((place + 1) % size)];
  const net::PartyIndex previous = ring[static_cast<size_t>((place + size - 1) % size)];
  for (size_t group = 0; group < NumGroups(layout); ++group) {
    Doubles mean(1, layout.num_variables), covariance(layout.num_variables, layout.num_variables);
    channel.Exchange({}, {{From(layout.centre, mean), From(layout.centre, covariance)}});
    Eigen::MatrixXd own(1, 1);
    own(0, 0) = OwnQuadratic(layout, rows, group, channel.self(), mean, covariance);
    const Matrix<T> part = Encode<T>(own, std::is_same_v<T, UInt128> ? kSumBits : 0);
    Matrix<T> received(1, 1), sent = part;
    if (place == 0) {
      const Matrix<T> mask = DrawMask<T>(1, 1, random);
      sent += mask;
      channel.Exchange({{To(next, sent)}}, {});
      channel.Exchange({}, {{From(previous, received)}});
      if (watch) watch({received(0, 0), sent(0, 0)});
      received -= mask;
      channel.Exchange({{To(layout.centre, received)}}, {});
    } else {
      channel.Exchange({}, {{From(previous, received)}});
      sent += received;
      if (watch) watch({received(0, 0), sent(0, 0)});
      channel.Exchange({{To(next, sent)}}, {});
    }
  }
}

#define PARTITA_SECURE_SUM(T)                                                                     \
  template Answer AskForSum<T>(net::Channel&, const Layout&, const Question&);                    \
  template void AnswerSum<T>(net::Channel&, const Layout&, const OwnRows&, crypto::RandomSource&, \
                             const SumWatch<T>&);
PARTITA_SECURE_SUM(double)
PARTITA_SECURE_SUM(UInt128)
#undef PARTITA_SECURE_SUM

}  // namespace partita::methods::mle::published
