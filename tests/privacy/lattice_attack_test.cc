// The attack behind the release rule (privacy/release_rule.h): from the coefficients and the
// log-likelihood of a logistic regression on 0/1 covariates, how many rows have each combination
// of them.
//
// Unknown are whole numbers: n_k rows of pattern k, and s_j = (X'y)_j. At the maximum
//   sum_k n_k mu_k x_kj = s_j for every j,   sum_j s_j b_j - sum_k n_k log(1 + exp(eta_k)) = logL,
// linear in them with weights that the coefficients tell. Each double is worth 40 to 50 bits, so
// that lattice reduction (LLL) finds the only small solution: Lagarias & Odlyzko 1985.
#include <fplll/fplll.h>
#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "privacy/release_rule.h"

namespace partita::privacy::lattice_attack_test {
namespace {

using Vector = Eigen::Matrix<long double, Eigen::Dynamic, 1>;
using Matrix = Eigen::Matrix<long double, Eigen::Dynamic, Eigen::Dynamic>;

// Patterns of `covariates` 0/1 columns beside an intercept.
Matrix Patterns(int covariates) {
  const int patterns = 1 << covariates;
  Matrix x(patterns, covariates + 1);
  for (int k = 0; k < patterns; ++k) {
    x(k, 0) = 1;
    for (int j = 0; j < covariates; ++j) x(k, j + 1) = (k >> j) & 1;
  }
  return x;
}

struct Rows {
  Matrix x;
  std::vector<int> n;  // by pattern
  Vector xy;           // X'y
};

Rows DrawRows(int covariates, int num_rows, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform;
  Rows rows{Patterns(covariates), std::vector<int>(size_t{1} << covariates),
            Vector::Zero(covariates + 1)};
  std::vector<double> share(covariates);
  Vector b(covariates + 1);
  for (double& s : share) s = 0.25 + 0.5 * uniform(random);
  for (long double& c : b) c = 2 * uniform(random) - 1;
  for (int i = 0; i < num_rows; ++i) {
    int k = 0;
    for (int j = 0; j < covariates; ++j) k += (uniform(random) < share[j] ? 1 : 0) << j;
    ++rows.n[k];
    const long double eta = rows.x.row(k).dot(b);
    if (uniform(random) < 1 / (1 + std::exp(-eta))) rows.xy += rows.x.row(k).transpose();
  }
  return rows;
}

struct Opened {
  std::vector<double> b, se;
  double log_likelihood = 0;
};

Opened Fit(const Rows& rows) {
  const Eigen::Index p = rows.x.cols();
  Vector b = Vector::Zero(p);
  Matrix information;
  for (int step = 0; step < 40; ++step) {
    Vector score = rows.xy;
    information = Matrix::Zero(p, p);
    for (Eigen::Index k = 0; k < rows.x.rows(); ++k) {
      const Vector x = rows.x.row(k);
      const long double mu = 1 / (1 + std::exp(-x.dot(b)));
      score -= rows.n[k] * mu * x;
      information += rows.n[k] * mu * (1 - mu) * x * x.transpose();
    }
    b += information.ldlt().solve(score);
  }
  const Matrix covariance = information.ldlt().solve(Matrix::Identity(p, p));
  long double value = rows.xy.dot(b);
  for (Eigen::Index k = 0; k < rows.x.rows(); ++k)
    value -= rows.n[k] * std::log1p(std::exp(rows.x.row(k).dot(b)));
  Opened opened;
  for (Eigen::Index j = 0; j < p; ++j) {
    opened.b.push_back(static_cast<double>(b(j)));
    opened.se.push_back(static_cast<double>(std::sqrt(covariance(j, j))));
  }
  opened.log_likelihood = static_cast<double>(value);
  return opened;
}

Opened Rounded(Opened opened, int grid_bits) {
  for (size_t j = 0; j < opened.b.size(); ++j)
    opened.b[j] = OnGrid(opened.b[j], GridExponent(opened.se[j], grid_bits));
  opened.log_likelihood = OnGrid(opened.log_likelihood, -grid_bits);
  return opened;
}

// Entries of what is short: the rows of a pattern less their mean, and this, once.
constexpr int kMark = 3;
// The number of rows is known: no combination may miss it.
constexpr double kRowsWeight = 0x1p20;

// Candidates for the table: the short vectors of the lattice whose last equation is met. weight:
// how sharp the equations are.
std::vector<std::vector<int>> Attack(const Matrix& x, int num_rows, const Opened& opened,
                                     double weight, int block_size) {
  const int patterns = static_cast<int>(x.rows()), p = static_cast<int>(x.cols());
  const int mean = num_rows / patterns;
  const int first = patterns + 1;  // of the equations
  fplll::ZZ_mat<mpz_t> basis;
  basis.gen_zero(patterns + p + 1, first + p + 2);
  const auto set = [&](int row, int column, long double value) {
    mpz_set_d(basis[row][column].get_data(), std::round(static_cast<double>(value)));
  };
  for (int k = 0; k < patterns; ++k) {
    long double eta = 0;
    for (int j = 0; j < p; ++j) eta += x(k, j) * opened.b[j];
    set(k, k, 1);
    for (int j = 0; j < p; ++j) set(k, first + j, weight * x(k, j) / (1 + std::exp(-eta)));
    set(k, first + p, -weight * std::log1p(std::exp(eta)));
    set(k, first + p + 1, kRowsWeight);
  }
  for (int j = 0; j < p; ++j) {
    set(patterns + j, first + j, -weight);
    set(patterns + j, first + p, weight * opened.b[j]);
  }
  const int last = patterns + p;
  for (int k = 0; k < patterns; ++k) set(last, k, -mean);
  set(last, patterns, kMark);
  set(last, first + p, -weight * opened.log_likelihood);
  set(last, first + p + 1, -kRowsWeight * num_rows);

  const int status =
      block_size > 0 ? fplll::bkz_reduction(basis, block_size) : fplll::lll_reduction(basis);
  EXPECT_EQ(status, static_cast<int>(fplll::RED_SUCCESS));
  std::vector<std::vector<int>> found;
  for (int row = 0; row < basis.get_rows(); ++row) {
    const long mark = basis[row][patterns].get_si();
    if (mark != kMark && mark != -kMark) continue;
    std::vector<int> table;
    for (int k = 0; k < patterns; ++k)
      table.push_back(static_cast<int>(basis[row][k].get_si() * mark / kMark) + mean);
    found.push_back(std::move(table));
  }
  return found;
}

constexpr int kBlockSize = 20;

// With every sharpness that the equations can have, as an attacker would try. grid_bits 0: doubles.
bool Recovers(int covariates, int num_rows, uint64_t seed, int grid_bits) {
  const Rows rows = DrawRows(covariates, num_rows, seed);
  const Opened exact = Fit(rows);
  const Opened opened = grid_bits > 0 ? Rounded(exact, grid_bits) : exact;
  const int sharpest = grid_bits > 0 ? 16 : 36, bluntest = grid_bits > 0 ? 0 : 36;
  for (int bits = bluntest; bits <= sharpest; bits += 2) {
    for (const int block_size : {0, kBlockSize}) {
      const auto found = Attack(rows.x, num_rows, opened, std::ldexp(1.0, bits), block_size);
      if (std::find(found.begin(), found.end(), rows.n) != found.end()) return true;
    }
  }
  return false;
}

constexpr uint64_t kTables = 10;

// The usual last lines of a regression, in doubles, are the table.
TEST(LatticeAttack, FindsEveryTableFromDoubles) {
  for (uint64_t seed = 1; seed <= kTables; ++seed) EXPECT_TRUE(Recovers(4, 100, seed, 0)) << seed;
}

TEST(LatticeAttack, FindsNoTableFromTheGrid) {
  for (uint64_t seed = 1; seed <= kTables; ++seed) {
    EXPECT_FALSE(Recovers(4, 100, seed, kDefaultGridBits)) << seed;
  }
}

// Estimates, standard errors and the log-likelihood, as the plan counts them.
uint64_t OpenedBits(int covariates, int grid_bits) {
  return WholeBitsUp(NumberBits(2 * (covariates + 1) + 1, grid_bits));
}

// What the rule lets pass the attack does not find, and what the attack finds does not pass.
TEST(LatticeAttack, AgreesWithTheRule) {
  size_t passed = 0, found = 0, found_on_a_grid = 0;
  for (const int covariates : {2, 3, 4}) {
    for (const int num_rows : {60, 100, 300, 1000, 3000}) {
      for (const int grid_bits : {kCoarsestGridBits, kDefaultGridBits, 0}) {
        const uint64_t table = WholeBitsDown(TableBits(num_rows, covariates));
        const bool passes = Passes(OpenedBits(covariates, grid_bits), table);
        for (uint64_t seed = 1; seed <= 4; ++seed) {
          const bool recovered = Recovers(covariates, num_rows, seed, grid_bits);
          EXPECT_FALSE(passes && recovered)
              << covariates << " covariates, " << num_rows << " rows, grid 2^-" << grid_bits;
          passed += passes ? 1 : 0;
          found += recovered ? 1 : 0;
          found_on_a_grid += recovered && grid_bits > 0 ? 1 : 0;
          EXPECT_TRUE(recovered || grid_bits > 0) << covariates << " " << num_rows;
        }
      }
    }
  }
  // Not for want of cases: some pass, and rounding alone protects nobody.
  EXPECT_GT(passed, 0u);
  EXPECT_GT(found_on_a_grid, 0u);
  RecordProperty("passed", static_cast<int>(passed));
  RecordProperty("found", static_cast<int>(found));
  RecordProperty("found_on_a_grid", static_cast<int>(found_on_a_grid));
}

}  // namespace
}  // namespace partita::privacy::lattice_attack_test
