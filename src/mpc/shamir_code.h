// Shamir's sharings as Reed-Solomon codewords: interpolation, dealing, and decoding with faults.
//
// Party i of n holds f(i + 1) of a polynomial f of degree at most d whose value at 0 is the secret
// (Shamir, CACM 1979); in GF(2^k) the point i + 1 is the element with that bit pattern. The n
// shares are a codeword of distance n - d (McEliece & Sarwate, CACM 1981): with e of them wrong the
// secret is found if 2 e <= n - d - 1, and up to n - d - 1 wrong ones are noticed. F is a
// PrimeField or a BinaryField.
//
// Timing  of coefficients they follow from points (public). DecodeVarTime is NOT constant in the
//         shares: it is for entries of an opening whose shares disagree, which stops the run or is
//         told to everybody.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "mpc/shape.h"

namespace partita::mpc {

// The most passive parties among n that can be tolerated: the largest t < n / 2.
constexpr size_t ShamirThreshold(size_t num_parties) { return (num_parties - 1) / 2; }

// Wrong shares that openings correct: as many as there may be faulty parties, if these are fewer
// than a third.
constexpr size_t CorrectedErrors(size_t num_parties, size_t threshold) {
  return 3 * threshold < num_parties ? threshold : 0;
}

// The point of a party.
template <typename F>
constexpr typename F::Word PointOf(PartyIndex party) {
  const PartyIndex point = party + 1;
  return static_cast<typename F::Word>(point);
}

// c with f(at) = sum of c_i f(points[i]) for every f of degree below the number of points. Throws
// kUsage for a point 0, which is the secret's, and for one that occurs twice.
template <typename F>
std::vector<typename F::Word> LagrangeAt(std::span<const typename F::Word> points,
                                         typename F::Word at);

// How a dealer's t random elements and its secret determine all shares: the random ones are the
// shares of the t parties after it, so only the others' shares have to be sent.
template <typename F>
class Dealing {
 public:
  using Word = typename F::Word;
  Dealing(size_t num_parties, size_t threshold, PartyIndex dealer);

  // The t parties whose shares are random, in order.
  const std::vector<PartyIndex>& random() const { return random_; }
  // The parties that a share is sent to, in order.
  const std::vector<PartyIndex>& sent() const { return sent_; }
  // Of the share of a party that is not in random(): by the secret, then by the random shares.
  const std::vector<Word>& coefficients(PartyIndex party) const { return coefficients_[party]; }

 private:
  std::vector<PartyIndex> random_, sent_;
  std::vector<std::vector<Word>> coefficients_;
};

template <typename F>
class ShareDecoder {
 public:
  using Word = typename F::Word;
  // Accepts up to max_errors wrong shares, at most (n - degree - 1) / 2 (kUsage beyond). Then up to
  // n - degree - 1 - max_errors are noticed for sure.
  ShareDecoder(size_t num_parties, size_t degree, size_t max_errors);

  size_t num_parties() const { return points_.size(); }
  size_t degree() const { return degree_; }
  size_t max_errors() const { return max_errors_; }

  // The secret by the shares of the first degree + 1 parties.
  const std::vector<Word>& secret() const { return secret_; }
  // The share of party degree + 1 + i by the same.
  const std::vector<Word>& expected(size_t i) const { return expected_[i]; }

  struct Decoded {
    Word secret{};
    std::vector<PartyIndex> wrong;  // whose shares are not on the polynomial
  };
  // Shares of all parties. Empty: more than max_errors of them are wrong. Gao, "A new algorithm for
  // decoding Reed-Solomon codes" (2003). Time depends on the shares.
  std::optional<Decoded> DecodeVarTime(std::span<const Word> shares) const;

 private:
  size_t degree_, max_errors_;
  std::vector<Word> points_, secret_;
  std::vector<std::vector<Word>> expected_;
};

}  // namespace partita::mpc
