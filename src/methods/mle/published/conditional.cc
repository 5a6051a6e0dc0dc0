#include "methods/mle/published/conditional.h"

#include <Eigen/LU>

#include "methods/mle/published/chain.h"

namespace partita::methods::mle::published {
namespace {

// Algorithm 5, of one node: what the centre computes before anything is sent. Rows are
// observations, so that matrices stand to the right of them.
template <typename T>
struct NodeTerms {
  Matrix<T> precision;  // S_k^-1, S_k the covariance given nodes 1..k-1
  Matrix<T> forward;    // Sigma_k,k+ given nodes 1..k-1
  Matrix<T> c;          // C_k = S_k^-1 Sigma_k,k+
  Matrix<T> p;          // P_k
};

template <typename T>
constexpr int kChainBits = 2 * kWeightBits<T>;  // of C

template <typename T>
std::vector<NodeTerms<T>> CentralNodeInitiate(const Block& block, const ChainConditionals& chain,
                                              crypto::RandomSource& random) {
  std::vector<NodeTerms<T>> terms;
  for (const ConditionalCovariance& node : chain.nodes) {
    NodeTerms<T> next;
    next.precision = Encode<T>(node.precision, kWeightBits<T>);
    next.forward = Encode<T>(node.forward, kWeightBits<T>);
    next.c = next.precision * next.forward;
    next.p = DrawMask<T>(block.rows, node.precision.rows(), random);
    terms.push_back(std::move(next));
  }
  return terms;
}

// P_k+ : the masks of all nodes after k.
template <typename T>
Matrix<T> MasksAfter(const std::vector<NodeTerms<T>>& terms, size_t k) {
  Matrix<T> all(terms[k].p.rows(), terms[k].forward.cols());
  Eigen::Index at = 0;
  for (size_t j = k + 1; j < terms.size(); ++j) {
    all.middleCols(at, terms[j].p.cols()) = terms[j].p;
    at += terms[j].p.cols();
  }
  return all;
}

// Algorithm 8, B_k = mu~ + Sigma A1. In the ring mu~ is lifted to the bits of the product, and the
// masks P_k+ are replaced by fresh ones, which the next node and the centre then shorten.
template <typename T>
Matrix<T> CentralNodeAdjust(std::vector<NodeTerms<T>>& terms, size_t k, const Matrix<T>& noisy_mean,
                            const Matrix<T>& a1, crypto::RandomSource& random) {
  if constexpr (kChainBits<T> == 0) return noisy_mean + a1 * terms[k].forward;
  Matrix<T> fresh = DrawMask<T>(noisy_mean.rows(), noisy_mean.cols(), random);
  Matrix<T> b = (noisy_mean - MasksAfter(terms, k)) * PowerOfTwo<T>(kChainBits<T>) +
                a1 * terms[k].forward + fresh;
  Shorten(fresh, kChainBits<T>);
  Eigen::Index at = 0;
  for (size_t j = k + 1; j < terms.size(); ++j) {
    terms[j].p = fresh.middleCols(at, terms[j].p.cols());
    at += terms[j].p.cols();
  }
  return b;
}

// Algorithm 11, of one node: what takes P_k off the running total.
template <typename T>
T CentralNodeFinal(const NodeTerms<T>& node, const Matrix<T>& a1, const Matrix<T>& a2) {
  const Matrix<T>& p = node.p;
  return p.cwiseProduct(a1).sum() + p.cwiseProduct(a2).sum() +
         (p * node.precision).cwiseProduct(p).sum();
}

// Algorithms 6 and 7.
template <typename T>
struct NodeComputation {
  Matrix<T> r, q, a1, a2;
  T total = 0;  // noisy, with the running total
};

template <typename T>
NodeComputation<T> ExternalNodeCompute(const Matrix<T>& noisy_mean, const Matrix<T>& precision,
                                       const Matrix<T>& x, T running_total,
                                       crypto::RandomSource& random) {
  NodeComputation<T> out;
  out.r = DrawMask<T>(x.rows(), x.cols(), random);
  out.q = DrawMask<T>(x.rows(), x.cols(), random);
  const Matrix<T> e = x - noisy_mean;
  out.a1 = (e + out.r) * precision;
  const Matrix<T> minus = e - out.r;
  out.a2 = minus * precision + out.q;
  out.total = running_total + out.a1.cwiseProduct(minus).sum() +
              (out.r * precision).cwiseProduct(out.r).sum();
  return out;
}

// One block as the centre sees it.
template <typename T>
BlockAnswer AskBlock(net::Channel& channel, const Block& block, size_t number,
                     const NormalParameters& normal, crypto::RandomSource& random,
                     const CentreWatch<T>& watch) {
  const ChainConditionals chain = ConditionAlong(block, normal.covariance);
  std::vector<NodeTerms<T>> terms = CentralNodeInitiate<T>(block, chain, random);
  const size_t last = terms.size() - 1;
  const Matrix<T> mean =
      Encode<T>(ChainOrder(block, normal.mean).transpose().replicate(block.rows, 1), kDataBits<T>);
  const net::PartyIndex first = block.nodes.front().party;
  Matrix<T> noisy_mean = mean.rightCols(chain.nodes[0].forward.cols());  // of k+, by what is known
  noisy_mean += MasksAfter(terms, 0);
  const Matrix<T> own_mean = mean.leftCols(terms[0].p.cols());
  const Matrix<T> own_noisy = own_mean + terms[0].p;
  channel.Exchange({{To(first, terms[0].precision), To(first, own_noisy)}}, {});
  T removed = 0;
  Matrix<T> known_mean = own_mean;
  for (size_t k = 0; k <= last; ++k) {
    const net::PartyIndex node = block.nodes[k].party;
    Matrix<T> a1(block.rows, terms[k].p.cols()), a2 = a1;
    std::vector<net::Receive> receives = {From(node, a1), From(node, a2)};
    if (k > 0 && k < last) {
      noisy_mean.resize(block.rows, terms[k].forward.cols());
      receives.push_back(From(node, noisy_mean));
    }
    channel.Exchange({}, receives);
    if (watch) watch({number, k, terms[k].p, a1, terms[k].precision, known_mean});
    removed += CentralNodeFinal(terms[k], a1, a2);
    if (k == last) break;
    const Matrix<T> b = CentralNodeAdjust(terms, k, noisy_mean, a1, random);
    known_mean = noisy_mean.leftCols(terms[k + 1].p.cols());
    const net::PartyIndex next = block.nodes[k + 1].party;
    channel.Exchange({{To(next, terms[k + 1].precision), To(next, b), To(next, terms[k].c),
                       To(next, terms[k].p)}},
                     {});
  }
  // P_K goes to the first node last, because in the ring it is not there before.
  channel.Exchange({{To(first, terms[last].p)}}, {});
  Matrix<T> total(1, 1);
  channel.Exchange({}, {{From(first, total)}});
  total(0, 0) += removed;
  BlockAnswer answer;
  answer.group = block.group;
  answer.rows = static_cast<double>(block.rows);
  answer.quadratic = Decode(total, 2 * kDataBits<T> + kWeightBits<T>)(0, 0);
  std::vector<Eigen::MatrixXd> precision, c;
  for (const NodeTerms<T>& node : terms) {
    precision.push_back(Decode(node.precision, kWeightBits<T>));
    c.push_back(Decode(node.c, kChainBits<T>));
  }
  const Matrix<T> one_row = mean.topRows(1);
  Unchain(block, precision, c, Decode(one_row, kDataBits<T>).row(0), answer);
  return answer;
}

// One block as node k sees it.
template <typename T>
void AnswerBlock(net::Channel& channel, const Layout& layout, const Block& block, size_t number,
                 size_t k, const Eigen::MatrixXd& rows, crypto::RandomSource& random,
                 const NodeWatch<T>& watch) {
  const Eigen::Index n = block.rows, own = rows.cols();
  const size_t last = block.nodes.size() - 1;
  const Matrix<T> x = Encode<T>(rows, kDataBits<T>);
  Matrix<T> precision(own, own), noisy_mean(n, own), after_mask, after;
  Matrix<T> running(1, 1);
  running(0, 0) = 0;
  if (k == 0) {
    channel.Exchange({}, {{From(layout.centre, precision), From(layout.centre, noisy_mean)}});
  } else {
    const net::PartyIndex previous = block.nodes[k - 1].party;
    const auto before = static_cast<Eigen::Index>(block.nodes[k - 1].columns.size());
    const Eigen::Index width = ColumnsFrom(block, k);
    Matrix<T> b(n, width), c(before, width), p(n, before), r = p, q = p, m(n, width);
    std::vector<net::Receive> receives = {From(layout.centre, precision),
                                          From(layout.centre, b),
                                          From(layout.centre, c),
                                          From(layout.centre, p),
                                          From(previous, running),
                                          From(previous, r),
                                          From(previous, q)};
    if (k > 1) receives.push_back(From(previous, m));
    channel.Exchange({}, receives);
    if (watch) watch({number, k, p, r, running(0, 0)});
    // Algorithm 9.
    running(0, 0) -= p.cwiseProduct(q).sum();
    Matrix<T> conditional = b - (r - p) * c;
    if (k > 1) conditional -= m * PowerOfTwo<T>(kChainBits<T>);
    Shorten(conditional, kChainBits<T>);
    noisy_mean = conditional.leftCols(own);
    if (k < last) {
      after_mask = DrawMask<T>(n, width - own, random);  // M_k+1
      after = conditional.rightCols(width - own) + after_mask;
    }
  }
  NodeComputation<T> mine = ExternalNodeCompute(noisy_mean, precision, x, running(0, 0), random);
  Matrix<T> total(1, 1);
  total(0, 0) = mine.total;
  std::vector<net::Send> sends = {To(layout.centre, mine.a1), To(layout.centre, mine.a2)};
  if (k > 0 && k < last) sends.push_back(To(layout.centre, after));
  if (k < last) {
    const net::PartyIndex next = block.nodes[k + 1].party;
    sends.insert(sends.end(), {To(next, total), To(next, mine.r), To(next, mine.q)});
    if (k > 0) sends.push_back(To(next, after_mask));
  } else if (k > 0) {
    const net::PartyIndex first = block.nodes[0].party;
    sends.insert(sends.end(), {To(first, total), To(first, mine.q)});
  }
  channel.Exchange(sends, {});
  if (k > 0) return;
  // Algorithm 10, at the first node: P_K Q_K comes off.
  const auto width = static_cast<Eigen::Index>(block.nodes[last].columns.size());
  Matrix<T> p(n, width), q = mine.q;
  std::vector<net::Receive> receives = {From(layout.centre, p)};
  if (last > 0) {
    const net::PartyIndex from = block.nodes[last].party;
    q.resize(n, width);
    receives.insert(receives.end(), {From(from, total), From(from, q)});
  }
  channel.Exchange({}, receives);
  total(0, 0) -= p.cwiseProduct(q).sum();
  channel.Exchange({{To(layout.centre, total)}}, {});
}

}  // namespace

template <typename T>
Answer AskConditional(net::Channel& channel, const Layout& layout, const Question& question,
                      crypto::RandomSource& random, const CentreWatch<T>& watch) {
  Answer answer;
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const Block& block = layout.blocks[b];
    answer.push_back(AskBlock<T>(channel, block, b, question[block.group], random, watch));
  }
  return answer;
}

template <typename T>
void AnswerConditional(net::Channel& channel, const Layout& layout, const OwnRows& rows,
                       crypto::RandomSource& random, const NodeWatch<T>& watch) {
  for (size_t b = 0; b < layout.blocks.size(); ++b) {
    const Block& block = layout.blocks[b];
    for (size_t k = 0; k < block.nodes.size(); ++k) {
      if (block.nodes[k].party != channel.self()) continue;
      AnswerBlock<T>(channel, layout, block, b, k, rows[b], random, watch);
    }
  }
}

#define PARTITA_CONDITIONAL(T)                                                     \
  template Answer AskConditional<T>(net::Channel&, const Layout&, const Question&, \
                                    crypto::RandomSource&, const CentreWatch<T>&); \
  template void AnswerConditional<T>(net::Channel&, const Layout&, const OwnRows&, \
                                     crypto::RandomSource&, const NodeWatch<T>&);
PARTITA_CONDITIONAL(double)
PARTITA_CONDITIONAL(UInt128)
#undef PARTITA_CONDITIONAL

}  // namespace partita::methods::mle::published
