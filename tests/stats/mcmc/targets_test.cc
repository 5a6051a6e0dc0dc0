#include "stats/mcmc/targets.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

#include "base/error.h"
#include "stats/mcmc/chains.h"
#include "tests/stats/blr/random.h"

namespace partita::stats::mcmc::targets_test {
namespace {

using Eigen::MatrixXd;
using Eigen::VectorXd;

struct Table {
  MatrixXd x{12, 3};
  VectorXd normal{12}, binary{12}, count{12}, time{12}, event{12};
};

Table MakeTable() {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  Table t;
  for (Eigen::Index i = 0; i < 12; ++i) {
    t.x.row(i) << 1, normal(random), normal(random);
    t.normal(i) = normal(random);
    t.binary(i) = static_cast<double>(random() % 2);
    t.count(i) = static_cast<double>(random() % 6);
    t.time(i) = static_cast<double>(1 + random() % 5);  // with ties
    t.event(i) = random() % 3 == 0 ? 0 : 1;
  }
  return t;
}

// Differences of two parameter vectors, by the densities as textbooks write them.
TEST(Targets, EqualTheDensitiesOfTextbooks) {
  const Table t = MakeTable();
  MatrixXd thetas(4, 2);
  thetas << 0.3, -0.2, 0.5, 1.1, -0.7, 0.1, 0.2, -0.4;
  const auto difference = [&](const LocalTarget& target) {
    const VectorXd values =
        target.LogLikelihood(thetas.topRows(static_cast<Eigen::Index>(target.dimension())));
    return values(0) - values(1);
  };
  const auto textbook = [&](auto&& log_density) {
    double sum[2] = {0, 0};
    for (int c = 0; c < 2; ++c) {
      for (Eigen::Index i = 0; i < 12; ++i) {
        sum[c] += log_density(i, t.x.row(i).dot(thetas.col(c).head(3)), thetas(3, c));
      }
    }
    return sum[0] - sum[1];
  };
  EXPECT_NEAR(difference(*LinearTarget(t.x, t.normal)),
              textbook([&](Eigen::Index i, double m, double s) {
                const double z = (t.normal(i) - m) / std::exp(s);
                return -0.5 * z * z - std::log(std::exp(s) * std::sqrt(2 * M_PI));
              }),
              1e-12);
  EXPECT_NEAR(difference(*LogisticTarget(t.x, t.binary)),
              textbook([&](Eigen::Index i, double m, double) {
                const double p = 1 / (1 + std::exp(-m));
                return std::log(t.binary(i) == 1 ? p : 1 - p);
              }),
              1e-12);
  EXPECT_NEAR(difference(*PoissonTarget(t.x, t.count)),
              textbook([&](Eigen::Index i, double m, double) {
                return t.count(i) * m - std::exp(m) - std::lgamma(t.count(i) + 1);
              }),
              1e-12);
  EXPECT_NEAR(difference(*NegativeBinomialTarget(t.x, t.count)),
              textbook([&](Eigen::Index i, double m, double s) {
                const double size = std::exp(s), p = size / (size + std::exp(m));
                return std::lgamma(t.count(i) + size) - std::lgamma(size) -
                       std::lgamma(t.count(i) + 1) + size * std::log(p) +
                       t.count(i) * std::log1p(-p);
              }),
              1e-11);
  EXPECT_NEAR(difference(*WeibullTarget({t.x, t.time, t.event})),
              textbook([&](Eigen::Index i, double m, double s) {
                // Shape 1/sigma, scale e^m.
                const double shape = std::exp(-s), ratio = t.time(i) / std::exp(m);
                return t.event(i) * (std::log(shape) - m + (shape - 1) * std::log(ratio)) -
                       std::pow(ratio, shape);
              }),
              1e-12);
}

// Efron's partial likelihood written as products over risk sets.
TEST(Targets, CoxIsThePartialLikelihood) {
  const Table t = MakeTable();
  const MatrixXd x = t.x.rightCols(2);
  MatrixXd thetas(2, 3);
  thetas << 0, 0.4, -1.5, 0, -0.3, 2;
  const VectorXd values = CoxTarget({x, t.time, t.event})->LogLikelihood(thetas);
  for (Eigen::Index c = 0; c < 3; ++c) {
    double expected = 0;
    for (double time = 1; time <= 5; ++time) {
      double at_risk = 0, tied = 0, events = 0;
      for (Eigen::Index i = 0; i < 12; ++i) {
        const double weight = std::exp(x.row(i).dot(thetas.col(c)));
        if (t.time(i) >= time) at_risk += weight;
        if (t.time(i) == time && t.event(i) == 1) {
          tied += weight;
          expected += std::log(weight);
          events += 1;
        }
      }
      for (double l = 0; l < events; ++l) expected -= std::log(at_risk - l / events * tied);
    }
    EXPECT_NEAR(values(c), expected, 1e-12);
  }
}

TEST(Targets, PartsAddUpAndGroupsHaveTheirOwnMean) {
  const Table t = MakeTable();
  MatrixXd thetas = MatrixXd::Random(4, 5);
  const VectorXd whole = NegativeBinomialTarget(t.x, t.count)->LogLikelihood(thetas);
  const VectorXd first =
      NegativeBinomialTarget(t.x.topRows(5), t.count.head(5))->LogLikelihood(thetas);
  const VectorXd rest =
      NegativeBinomialTarget(t.x.bottomRows(7), t.count.tail(7))->LogLikelihood(thetas);
  EXPECT_LT((first + rest - whole).norm(), 1e-11);
}

TEST(Targets, BadTablesAreRefused) {
  Table t = MakeTable();
  t.binary(4) = 2;
  EXPECT_THROW(LogisticTarget(t.x, t.binary), Error);
  t.count(3) = 1.5;
  EXPECT_THROW(PoissonTarget(t.x, t.count), Error);
  t.count(3) = -1;
  EXPECT_THROW(NegativeBinomialTarget(t.x, t.count), Error);
  t.time(0) = 0;
  EXPECT_THROW(WeibullTarget({t.x, t.time, t.event}), Error);
  EXPECT_THROW(LinearTarget(t.x, t.normal.head(11)), Error);
  t.x(2, 1) = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THROW(LinearTarget(t.x, t.normal), Error);

  const auto own = OwnTarget(1, [](const VectorXd& theta) { return std::log(theta(0)); });
  Differences differences(*own);
  EXPECT_THROW(differences.Of(MatrixXd::Constant(1, 1, 1), {MatrixXd::Constant(1, 1, -2)}), Error);
  // A chain cannot begin where the likelihood is 0.
  Differences elsewhere(*own);
  EXPECT_THROW(elsewhere.Of(MatrixXd::Zero(1, 1), {MatrixXd::Constant(1, 1, 1)}), Error);
}

// A block's questions are those of all chains of single decisions through it.
TEST(Blocks, QuestionsAreThoseOfEveryPath) {
  const auto own =
      OwnTarget(2, [](const VectorXd& theta) { return -theta.squaredNorm() + theta(0); });
  const MatrixXd start = MatrixXd::Random(2, 3);
  std::vector<MatrixXd> steps;
  for (int k = 0; k < 4; ++k) steps.emplace_back(MatrixXd::Random(2, 3));
  Differences block(*own);
  const MatrixXd together = block.Of(start, steps);
  ASSERT_EQ(together.rows(), 15);
  for (unsigned path = 0; path < 16; ++path) {
    Differences single(*own);
    MatrixXd current = start;
    std::vector<bool> bits;
    for (size_t k = 0; k < 4; ++k) {
      const MatrixXd alone = single.Of(current, {steps[k]});
      const auto question = static_cast<Eigen::Index>(QuestionAfter(bits));
      for (Eigen::Index c = 0; c < 3; ++c) EXPECT_EQ(alone(0, c), together(question, c));
      bits.push_back((path >> k & 1) != 0);
      single.Replace({std::vector<bool>(3, bits.back())});
      if (bits.back()) current += steps[k];
    }
  }
}

// One decision at a time or several: the same chain, because proposals do not depend on the state.
TEST(Blocks, SpeculationDoesNotChangeTheChain) {
  const auto own = OwnTarget(2, [](const VectorXd& theta) { return -theta.squaredNorm(); });
  ChainOptions options;
  options.chains = 3;
  options.warmup = 0;
  options.draws = 60;
  std::vector<Draws> all;
  for (const size_t speculation : {1, 3, 5}) {
    options.speculation = speculation;
    Differences differences(*own);
    // Thresholds by decision and chain, so that every order of asking meets the same ones.
    size_t t = 0;
    const Decide decide = [&](const MatrixXd& current, const std::vector<MatrixXd>& steps) {
      const MatrixXd asked = differences.Of(current, steps);
      std::vector<std::vector<bool>> accepted(steps.size(), std::vector<bool>(3));
      for (size_t c = 0; c < 3; ++c) {
        std::vector<bool> bits;
        for (size_t k = 0; k < steps.size(); ++k) {
          blr::TestRandom random(1000 * (t + k) + c);
          const double v = DecisionVariate(Acceptance::kBarker, blr::Variates(random).Uniform());
          const auto question = static_cast<Eigen::Index>(QuestionAfter(bits));
          bits.push_back(asked(question, static_cast<Eigen::Index>(c)) + v >= 0);
          accepted[k][c] = bits.back();
        }
      }
      t += steps.size();
      differences.Replace(accepted);
      return accepted;
    };
    blr::TestRandom common(3);
    SilentProgress progress;
    all.push_back(RunChains(MatrixXd::Zero(2, 3), options, decide, common, progress));
  }
  EXPECT_GT(all[0].acceptance_rate, 0.1);
  for (size_t c = 0; c < 3; ++c) {
    EXPECT_EQ(all[0].chains[c], all[1].chains[c]);
    EXPECT_EQ(all[0].chains[c], all[2].chains[c]);
  }
  options.speculation = 7;
  blr::TestRandom common(3);
  SilentProgress progress;
  EXPECT_THROW(RunChains(MatrixXd::Zero(2, 3), options, {}, common, progress), Error);
}

TEST(Priors, AreReadWrittenAndProper) {
  for (const char* text :
       {"normal(0, 2.5)", "student_t(3, 0, 2.5)", "cauchy(-1, 0.5)", "exponential(2)", "flat"}) {
    EXPECT_EQ(PriorText(ParsePrior(text)), text);
  }
  for (const char* text : {"", "normal", "normal(0)", "normal(0, 0)", "normal(0, -1)",
                           "normal(0, x)", "normal(0, 1", "student_t(0, 0, 1)", "exponential(0)",
                           "beta(1, 1)", "normal(0, inf)", "normal(0, 1, 2)"}) {
    EXPECT_THROW(ParsePrior(text), Error) << text;
  }
  // d/dx of the log density of log S, S exponential with rate 2: 1 - 2 e^x.
  const Prior prior = ParsePrior("exponential(2)");
  const double slope = (LogPrior(prior, 0.3 + 1e-6) - LogPrior(prior, 0.3 - 1e-6)) / 2e-6;
  EXPECT_NEAR(slope, 1 - 2 * std::exp(0.3), 1e-6);
}

// 40000 draws: means within 6 standard errors (false alarm 2e-9 each).
TEST(Priors, DrawsFollowThem) {
  blr::TestRandom random(4);
  blr::Variates variates(random);
  const auto mean = [&](const char* text, auto&& of) {
    const Prior prior = ParsePrior(text);
    double sum = 0;
    for (int i = 0; i < 40000; ++i) sum += of(Draw(prior, variates));
    return sum / 40000;
  };
  EXPECT_NEAR(mean("normal(2, 3)", [](double x) { return x; }), 2, 6 * 3 / 200.0);
  EXPECT_NEAR(mean("exponential(4)", [](double x) { return std::exp(x); }), 0.25, 6 * 0.25 / 200);
  EXPECT_NEAR(mean("cauchy(1, 2)", [](double x) { return x < 3 ? 1.0 : 0.0; }), 0.75,
              6 * 0.5 / 200);
  EXPECT_NEAR(mean("student_t(5, 1, 2)", [](double x) { return x < 1 ? 1.0 : 0.0; }), 0.5,
              6 * 0.5 / 200);
  EXPECT_THROW(Draw(ParsePrior("flat"), variates), Error);
}

}  // namespace
}  // namespace partita::stats::mcmc::targets_test
