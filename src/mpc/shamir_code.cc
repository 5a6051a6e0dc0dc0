#include "mpc/shamir_code.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "mpc/binary_field.h"
#include "mpc/prime_field.h"

namespace partita::mpc {
namespace {

// A polynomial by its coefficients, the constant one first, without leading zeros.
template <typename F>
using Polynomial = std::vector<typename F::Word>;

template <typename F>
void Trim(Polynomial<F>& p) {
  while (!p.empty() && p.back() == 0) p.pop_back();
}

template <typename F>
Polynomial<F> Times(const Polynomial<F>& a, const Polynomial<F>& b) {
  if (a.empty() || b.empty()) return {};
  Polynomial<F> product(a.size() + b.size() - 1);
  for (size_t i = 0; i < a.size(); ++i) {
    for (size_t j = 0; j < b.size(); ++j) {
      product[i + j] = F::Add(product[i + j], F::Mul(a[i], b[j]));
    }
  }
  Trim<F>(product);
  return product;
}

template <typename F>
Polynomial<F> Minus(Polynomial<F> a, const Polynomial<F>& b) {
  a.resize(std::max(a.size(), b.size()));
  for (size_t i = 0; i < b.size(); ++i) a[i] = F::Sub(a[i], b[i]);
  Trim<F>(a);
  return a;
}

// Quotient and remainder.
template <typename F>
std::pair<Polynomial<F>, Polynomial<F>> Divide(Polynomial<F> a, const Polynomial<F>& b) {
  Polynomial<F> quotient(a.size() < b.size() ? 0 : a.size() - b.size() + 1);
  const auto inverse = F::Inverse(b.back());
  for (size_t i = quotient.size(); i-- > 0;) {
    quotient[i] = F::Mul(a[i + b.size() - 1], inverse);
    for (size_t j = 0; j < b.size(); ++j) {
      a[i + j] = F::Sub(a[i + j], F::Mul(quotient[i], b[j]));
    }
  }
  Trim<F>(quotient);
  Trim<F>(a);
  return {quotient, a};
}

template <typename F>
typename F::Word Evaluate(const Polynomial<F>& p, typename F::Word at) {
  typename F::Word value = 0;
  for (size_t i = p.size(); i-- > 0;) value = F::Add(F::Mul(value, at), p[i]);
  return value;
}

// The polynomial through (points[i], values[i]), by Newton's differences.
template <typename F>
Polynomial<F> Interpolate(std::span<const typename F::Word> points,
                          std::span<const typename F::Word> values) {
  Polynomial<F> result, basis = {1};
  for (size_t i = 0; i < points.size(); ++i) {
    const auto missing = F::Sub(values[i], Evaluate<F>(result, points[i]));
    const auto factor = F::Mul(missing, F::Inverse(Evaluate<F>(basis, points[i])));
    result.resize(std::max(result.size(), basis.size()));
    for (size_t j = 0; j < basis.size(); ++j) {
      result[j] = F::Add(result[j], F::Mul(factor, basis[j]));
    }
    basis = Times<F>(basis, {F::Neg(points[i]), 1});
  }
  Trim<F>(result);
  return result;
}

// Without the checks of LagrangeAt: the points differ, and one may be 0.
template <typename F>
std::vector<typename F::Word> Lagrange(std::span<const typename F::Word> points,
                                       typename F::Word at) {
  using Word = typename F::Word;
  std::vector<Word> coefficients;
  for (size_t i = 0; i < points.size(); ++i) {
    Word numerator = 1, denominator = 1;
    for (size_t j = 0; j < points.size(); ++j) {
      if (j == i) continue;
      numerator = F::Mul(numerator, F::Sub(at, points[j]));
      denominator = F::Mul(denominator, F::Sub(points[i], points[j]));
    }
    coefficients.push_back(F::Mul(numerator, F::Inverse(denominator)));
  }
  return coefficients;
}

}  // namespace

template <typename F>
std::vector<typename F::Word> LagrangeAt(std::span<const typename F::Word> points,
                                         typename F::Word at) {
  for (size_t i = 0; i < points.size(); ++i) {
    if (points[i] == 0) {
      throw Error(ErrorCode::kUsage, "a share's point is 0, where the secret is",
                  "number the parties from 1");
    }
    if (std::find(points.begin(), points.begin() + static_cast<ptrdiff_t>(i), points[i]) !=
        points.begin() + static_cast<ptrdiff_t>(i)) {
      throw Error(ErrorCode::kUsage, "two shares have the same point",
                  "every party has a point of its own");
    }
  }
  return Lagrange<F>(points, at);
}

template <typename F>
Dealing<F>::Dealing(size_t num_parties, size_t threshold, PartyIndex dealer)
    : coefficients_(num_parties) {
  for (size_t i = 1; i <= threshold; ++i) random_.push_back((dealer + i) % num_parties);
  for (size_t i = threshold + 1; i < num_parties; ++i) {
    sent_.push_back((dealer + i) % num_parties);
  }
  // The secret's point is 0.
  std::vector<Word> points = {0};
  for (PartyIndex party : random_) points.push_back(PointOf<F>(party));
  for (PartyIndex party = 0; party < num_parties; ++party) {
    if (std::find(random_.begin(), random_.end(), party) != random_.end()) continue;
    coefficients_[party] = Lagrange<F>(points, PointOf<F>(party));
  }
}

template <typename F>
ShareDecoder<F>::ShareDecoder(size_t num_parties, size_t degree, size_t max_errors)
    : degree_(degree), max_errors_(max_errors) {
  if (degree >= num_parties || 2 * max_errors > num_parties - degree - 1) {
    throw Error(ErrorCode::kUsage, "so many wrong shares cannot be corrected",
                "use more parties or a lower threshold");
  }
  for (PartyIndex party = 0; party < num_parties; ++party) {
    points_.push_back(PointOf<F>(party));
  }
  const auto first = std::span<const Word>(points_).first(degree + 1);
  secret_ = LagrangeAt<F>(first, 0);
  for (size_t i = degree + 1; i < num_parties; ++i) {
    expected_.push_back(LagrangeAt<F>(first, points_[i]));
  }
}

template <typename F>
auto ShareDecoder<F>::DecodeVarTime(std::span<const Word> shares) const -> std::optional<Decoded> {
  const size_t n = points_.size();
  // Extended Euclid on prod (x - point) and the interpolation of all shares, until the remainder's
  // degree is below (n + degree + 1) / 2; with v the cofactor of the latter, f = remainder / v.
  Polynomial<F> older = {1};
  for (Word point : points_) older = Times<F>(older, {F::Neg(point), 1});
  Polynomial<F> newer = Interpolate<F>(points_, shares);
  Polynomial<F> older_v, newer_v = {1};
  while (!newer.empty() && 2 * (newer.size() - 1) >= n + degree_ + 1) {
    auto [quotient, remainder] = Divide<F>(std::move(older), newer);
    Polynomial<F> v = Minus<F>(std::move(older_v), Times<F>(quotient, newer_v));
    older = std::exchange(newer, std::move(remainder));
    older_v = std::exchange(newer_v, std::move(v));
  }
  auto [polynomial, rest] = Divide<F>(newer, newer_v);
  if (!rest.empty() || polynomial.size() > degree_ + 1) return {};
  Decoded decoded;
  decoded.secret = polynomial.empty() ? Word{0} : polynomial[0];
  for (PartyIndex party = 0; party < n; ++party) {
    if (Evaluate<F>(polynomial, points_[party]) != shares[party]) decoded.wrong.push_back(party);
  }
  if (decoded.wrong.size() > max_errors_) return {};
  return decoded;
}

#define PARTITA_INSTANTIATE(F)                                                    \
  template std::vector<F::Word> LagrangeAt<F>(std::span<const F::Word>, F::Word); \
  template class Dealing<F>;                                                      \
  template class ShareDecoder<F>;
PARTITA_INSTANTIATE(Field127)
PARTITA_INSTANTIATE(Field5)
PARTITA_INSTANTIATE(Field7)
PARTITA_INSTANTIATE(Field11)
PARTITA_INSTANTIATE(FieldOf5Bits)
PARTITA_INSTANTIATE(FieldOf7Bits)
PARTITA_INSTANTIATE(BinaryField<2>)
PARTITA_INSTANTIATE(BinaryField<3>)
PARTITA_INSTANTIATE(BinaryField<4>)
#undef PARTITA_INSTANTIATE

}  // namespace partita::mpc
