// Sharings as codewords: interpolation, dealing, and every number of lies against the table of what
// a Reed-Solomon code corrects and notices.
#include "mpc/shamir_code.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "base/error.h"
#include "mpc/binary_field.h"
#include "mpc/prime_field.h"

namespace partita::mpc::shamir_code_test {
namespace {

template <typename F>
typename F::Word Random(std::mt19937_64& random) {
  if constexpr (requires { F::kModulus; }) {
    return F::Reduce((static_cast<UInt128>(random()) << 64) | random());
  } else {
    return static_cast<uint8_t>(random() % F::kOrder);
  }
}

// A random polynomial of at most that degree at all points; the secret first.
template <typename F>
std::vector<typename F::Word> Codeword(std::mt19937_64& random, size_t n, size_t degree) {
  std::vector<typename F::Word> coefficients(degree + 1), values;
  for (auto& c : coefficients) c = Random<F>(random);
  for (size_t x = 0; x <= n; ++x) {
    typename F::Word value = 0;
    for (size_t i = degree + 1; i-- > 0;) {
      value = F::Add(F::Mul(value, static_cast<typename F::Word>(x)), coefficients[i]);
    }
    values.push_back(value);
  }
  return values;
}

template <typename F>
class ShamirCodeTest : public ::testing::Test {};
using Fields = ::testing::Types<Field127, Field11, FieldOf7Bits, BinaryField<3>, BinaryField<4>>;
TYPED_TEST_SUITE(ShamirCodeTest, Fields);

TYPED_TEST(ShamirCodeTest, LagrangeInterpolates) {
  using F = TypeParam;
  std::mt19937_64 random(1);
  for (size_t degree = 0; degree < 5; ++degree) {
    const auto values = Codeword<F>(random, 7, degree);
    std::vector<typename F::Word> points = {7, 2, 5, 1, 3};
    points.resize(degree + 1);
    for (size_t at : {0, 4, 6, 2}) {
      const auto c = LagrangeAt<F>(points, static_cast<typename F::Word>(at));
      typename F::Word sum = 0;
      for (size_t i = 0; i < points.size(); ++i) {
        sum = F::Add(sum, F::Mul(c[i], values[static_cast<size_t>(points[i])]));
      }
      EXPECT_TRUE(sum == values[at]);
    }
  }
}

TYPED_TEST(ShamirCodeTest, ThePointOfTheSecretAndAPointTwiceAreRefused) {
  using F = TypeParam;
  for (std::vector<typename F::Word> points :
       {std::vector<typename F::Word>{1, 0, 2}, {0}, {3, 1, 3}, {2, 2}}) {
    try {
      LagrangeAt<F>(points, 5);
      ADD_FAILURE() << "accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUsage);
    }
  }
}

// Every t shares of a dealing are a bijection of the random ones for each secret, and all shares
// are on one polynomial of degree t with the secret at 0.
TYPED_TEST(ShamirCodeTest, DealingSharesTheSecret) {
  using F = TypeParam;
  std::mt19937_64 random(2);
  for (size_t n = 3; n <= 7; ++n) {
    const size_t t = ShamirThreshold(n);
    for (PartyIndex dealer = 0; dealer < n; ++dealer) {
      const Dealing<F> dealing(n, t, dealer);
      EXPECT_EQ(dealing.random().size(), t);
      EXPECT_EQ(dealing.sent().size(), n - 1 - t);
      const auto secret = Random<F>(random);
      std::vector<typename F::Word> shares(n), tape(t);
      for (size_t i = 0; i < t; ++i) shares[dealing.random()[i]] = tape[i] = Random<F>(random);
      std::vector<PartyIndex> computed = dealing.sent();
      computed.push_back(dealer);
      for (PartyIndex party : computed) {
        const auto& c = dealing.coefficients(party);
        ASSERT_EQ(c.size(), t + 1);
        auto share = F::Mul(c[0], secret);
        for (size_t i = 0; i < t; ++i) share = F::Add(share, F::Mul(c[i + 1], tape[i]));
        shares[party] = share;
      }
      const auto decoded = ShareDecoder<F>(n, t, 0).DecodeVarTime(shares);
      ASSERT_TRUE(decoded) << n << " parties, dealer " << dealer;
      EXPECT_TRUE(decoded->secret == secret);
    }
  }
}

// The table of what an opening promises: n, degree, noticed, corrected.
struct Row {
  size_t n, degree, noticed, corrected;
};
constexpr Row kTable[] = {{3, 1, 1, 0}, {3, 2, 0, 0}, {4, 1, 2, 1}, {4, 2, 1, 0},
                          {5, 1, 3, 1}, {5, 2, 2, 1}, {5, 4, 0, 0}, {7, 2, 4, 2},
                          {7, 4, 2, 1}, {7, 3, 3, 1}, {7, 6, 0, 0}};

std::vector<PartyIndex> Liars(std::mt19937_64& random, size_t n, size_t count) {
  std::vector<PartyIndex> all(n);
  for (size_t i = 0; i < n; ++i) all[i] = i;
  std::shuffle(all.begin(), all.end(), random);
  all.resize(count);
  std::sort(all.begin(), all.end());
  return all;
}

// What a decoder does with a word that has `liars` wrong shares, chosen at random or so that as
// many shares as possible agree with another polynomial.
enum class Outcome { kRight, kNoticed, kWrong };
template <typename F>
Outcome Open(std::mt19937_64& random, const Row& row, size_t max_errors, size_t num_liars,
             bool together) {
  const auto truth = Codeword<F>(random, row.n, row.degree);
  std::vector<typename F::Word> shares(truth.begin() + 1, truth.end());
  const auto liars = Liars(random, row.n, num_liars);
  // Liars who act together add a codeword that vanishes at up to `degree` of the honest parties.
  std::vector<typename F::Word> shift(row.n, 1);
  size_t zeros = 0;
  for (PartyIndex honest = 0; honest < row.n && zeros < row.degree; ++honest) {
    if (std::find(liars.begin(), liars.end(), honest) != liars.end()) continue;
    ++zeros;
    for (PartyIndex i = 0; i < row.n; ++i) {
      shift[i] = F::Mul(shift[i], F::Sub(PointOf<F>(i), PointOf<F>(honest)));
    }
  }
  for (PartyIndex liar : liars) {
    typename F::Word lie = shift[liar];
    while (!together && lie == shift[liar]) lie = Random<F>(random);
    if (lie == 0) lie = 1;
    shares[liar] = F::Add(shares[liar], lie);
  }
  const auto decoded = ShareDecoder<F>(row.n, row.degree, max_errors).DecodeVarTime(shares);
  if (!decoded) return Outcome::kNoticed;
  return decoded->secret == truth[0] && decoded->wrong == liars ? Outcome::kRight : Outcome::kWrong;
}

TYPED_TEST(ShamirCodeTest, EveryNumberOfLiesAgainstTheTable) {
  using F = TypeParam;
  std::mt19937_64 random(4);
  for (const Row& row : kTable) {
    for (const size_t max_errors : {size_t{0}, row.corrected}) {
      for (size_t liars = 0; liars <= row.n; ++liars) {
        for (int trial = 0; trial < 40; ++trial) {
          const bool together = trial % 2 == 0;
          const Outcome outcome = Open<F>(random, row, max_errors, liars, together);
          const auto what = [&] {
            return ::testing::Message() << row.n << " parties, degree " << row.degree
                                        << ", corrects " << max_errors << ", lies " << liars;
          };
          if (liars <= max_errors) {
            EXPECT_EQ(outcome, Outcome::kRight) << what();
          } else if (liars <= row.noticed - max_errors) {
            EXPECT_EQ(outcome, Outcome::kNoticed) << what();
          } else if (together && liars == row.noticed - max_errors + 1) {
            // The table is sharp: one more, acting together, can be believed.
            EXPECT_EQ(outcome, Outcome::kWrong) << what();
          }
        }
      }
    }
  }
}

TYPED_TEST(ShamirCodeTest, MoreThanTheCodeCorrectsCannotBeAskedFor) {
  using F = TypeParam;
  for (const Row& row : kTable) {
    EXPECT_EQ(row.noticed, row.n - row.degree - 1);
    EXPECT_NO_THROW(ShareDecoder<F>(row.n, row.degree, row.corrected));
    EXPECT_THROW(ShareDecoder<F>(row.n, row.degree, row.corrected + 1), Error);
  }
  EXPECT_THROW(ShareDecoder<F>(3, 3, 0), Error);
}

// A leading coefficient that is never 0 would tell one secret from the other: t shares of a dealing
// take all values equally often, counted.
TEST(ShamirCodeTest, SharesOfTwoPartiesOfFiveAreUniform) {
  using F = Field7;
  const Dealing<F> dealing(5, 2, 1);
  for (const auto& [a, b] : {std::pair<size_t, size_t>{0, 4}, {0, 2}, {2, 3}, {3, 4}}) {
    for (uint8_t secret = 0; secret < 7; ++secret) {
      std::map<std::pair<int, int>, int> seen;
      for (uint8_t r0 = 0; r0 < 7; ++r0) {
        for (uint8_t r1 = 0; r1 < 7; ++r1) {
          auto share = [&](PartyIndex party) -> int {
            if (party == dealing.random()[0]) return r0;
            if (party == dealing.random()[1]) return r1;
            const auto& c = dealing.coefficients(party);
            return F::Add(F::Mul(c[0], secret), F::Add(F::Mul(c[1], r0), F::Mul(c[2], r1)));
          };
          ++seen[{share(a), share(b)}];
        }
      }
      EXPECT_EQ(seen.size(), 49u);
    }
  }
}

}  // namespace
}  // namespace partita::mpc::shamir_code_test
