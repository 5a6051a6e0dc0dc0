// What the parties of the published protocols can work out, with the numbers of
// tests/references/secure_mle_leakage.json; and that `sealed` gives the same attacks nothing.
#include <Eigen/Eigenvalues>
#include <Eigen/SVD>
#include <algorithm>
#include <cmath>
#include <random>

#include "methods/mle/published/attacks/mask_attack.h"
#include "methods/mle/published/attacks/moment_attack.h"
#include "methods/mle/published/attacks/product_attacks.h"
#include "methods/mle/published/attacks/row_attack.h"
#include "methods/mle/published/conditional.h"
#include "methods/mle/published/secure_matmul.h"
#include "methods/mle/published/secure_sum.h"
#include "methods/mle/published/transfer_products.h"
#include "stats/sem/objective.h"
#include "tests/methods/mle/published_parties.h"
#include "tests/methods/mle/sealed_references.h"
#include "tests/mpc/two_worlds.h"

namespace partita::methods::mle::published::published_attacks_test {
namespace {

using stats::testing::Json;
using testing::Index;
using testing::MatrixXd;
using testing::Piece;
using testing::Setting;
using testing::VectorXd;

// Thetas around the estimates, 25 % relative jitter, as distributions of y.
class Family {
 public:
  explicit Family(const testing::Reference& reference)
      : model_(stats::BuildRamModel(reference.table, reference.moments)),
        x_(VectorXd::Zero(model_.num_parameters)) {
    SilentProgress progress;
    const stats::SemFit fit = stats::FitSem(reference.table, reference.moments, {}, progress);
    for (size_t r = 0; r < reference.table.rows.size(); ++r) {
      const int k = model_.row_parameter[r];
      if (k >= 0) x_[k] = fit.estimates[r].estimate / model_.parameter_unit[k];
    }
  }
  NormalParameters AtEstimates() const { return At(x_); }
  // The next theta with a positive definite covariance.
  NormalParameters Draw() {
    std::normal_distribution<double> jitter(0, 0.25);
    for (;;) {
      VectorXd x = x_;
      for (double& value : x) value *= 1 + jitter(random_);
      NormalParameters normal = At(x);
      if (normal.covariance.llt().info() == Eigen::Success) return normal;
    }
  }

 private:
  NormalParameters At(const VectorXd& x) const {
    const stats::ImpliedMoments implied = stats::Imply(model_, x).front();
    const VectorXd unit = model_.variable_unit.head(model_.num_observed);
    const Index p = model_.num_observed;
    return {unit.cwiseProduct(implied.mean.head(p)),
            unit.asDiagonal() * implied.covariance.topLeftCorner(p, p) * unit.asDiagonal()};
  }

  stats::RamModel model_;
  VectorXd x_;
  std::mt19937_64 random_{3};
};

Json Leakage() {
  return stats::testing::ReadJson(FixturePath("references/secure_mle_leakage.json"));
}

class MomentAttack : public ::testing::TestWithParam<std::string> {};

// How far solved moments may be off (as RelativeError counts) if the answers, divided by n, are off
// by errors of this length: in whitened coordinates least squares magnifies it, the triangle of the
// second moments stands for the matrix, and the way back multiplies by the root L: L t of the mean,
// L C L' + m (L t)' + L t m' of second moments.
double ErrorBound(const SolvedMoments& solved, const NormalParameters& guess, double errors,
                  const VectorXd& mean, const MatrixXd& covariance) {
  const double root = std::sqrt(guess.covariance.operatorNorm());
  const double whitened = errors * solved.magnification;
  const double first = root * whitened;
  const double second = std::sqrt(2) * root * root * whitened + 2 * guess.mean.norm() * first;
  const MatrixXd moments = covariance + mean * mean.transpose();
  return std::max(first, second) /
         std::max(mean.cwiseAbs().maxCoeff(), moments.cwiseAbs().maxCoeff());
}

// Full rank and the moments, within what the errors of the answers allow, which is three digits at
// the least: more than the sample itself says about a population.
void ExpectMoments(const SolvedMoments& solved, const NormalParameters& guess, double errors,
                   const VectorXd& mean, const MatrixXd& covariance) {
  EXPECT_TRUE(solved.solved());
  const double bound = ErrorBound(solved, guess, errors, mean, covariance);
  EXPECT_LT(bound, 1e-3);
  EXPECT_LE(RelativeError(solved, mean, covariance), bound);
}

// Ranks are those of the reference; with full rank the moments come out. Noise in -2 LL as the
// reference has it.
TEST_P(MomentAttack, SolvesForTheMomentsAsFarAsTheModelFamilyAllows) {
  const Json expected = Leakage()["likelihood_oracle"]["models"][GetParam()];
  const testing::Reference reference = testing::LoadReference(GetParam());
  const stats::GroupMoments& truth = reference.moments[0];
  Family family(reference);
  std::vector<KnownLikelihood> known;
  constexpr double kNoise = 4e-6;
  std::mt19937_64 random(4);
  std::uniform_real_distribution<double> noise(-kNoise, kNoise);
  const int count = expected["unknown_moments"].get<int>() * 4;
  for (int i = 0; i < count; ++i) {
    const NormalParameters normal = family.Draw();
    const MatrixXd precision = normal.covariance.inverse();
    const VectorXd shift = truth.mean - normal.mean;
    known.push_back(
        {normal.mean, precision,
         truth.n * (precision.cwiseProduct(truth.covariance).sum() + shift.dot(precision * shift)) +
             noise(random)});
  }
  const SolvedMoments solved = SolveMoments(known, truth.n, family.AtEstimates());
  EXPECT_EQ(solved.unknown, expected["unknown_moments"].get<Index>());
  EXPECT_EQ(solved.rank, expected["rank_over_model_family"].get<Index>());
  if (solved.rank == solved.unknown) {
    // A quarter more than the noise is far above what doubles lose.
    ExpectMoments(solved, family.AtEstimates(), 1.25 * kNoise * std::sqrt(count) / truth.n,
                  truth.mean, truth.covariance);
  }
}

INSTANTIATE_TEST_SUITE_P(Models, MomentAttack,
                         ::testing::Values("growth_linear6", "hs_cfa3_mean", "poldem_sem",
                                           "onefactor"),
                         [](const auto& test) { return test.param; });

Setting TwoNodes(const MatrixXd& x, Index first) {
  return testing::MakeSetting({x},
                              {Piece{0, 0, x.rows(), testing::Split({first, x.cols() - first})}});
}

// Questions through the protocol itself; what the centre and node 2 kept.
template <typename T>
struct Transcript {
  std::vector<KnownLikelihood> known;
  ToldTotals<T> told;
  std::vector<MatrixXd> masked;  // x + R at the centre (doubles only)
  MatrixXd joint;                // rows of node 1 by centre and node 2 together
};

template <typename T>
Transcript<T> AskMany(const Setting& setting, const std::vector<NormalParameters>& thetas) {
  Transcript<T> out;
  Matrix<T> a1, precision, p, mean, r;
  const size_t centre = setting.layout.centre;
  testing::RunThreads(centre + 1, 31, [&](net::Channel& channel, crypto::RandomSource& random) {
    if (channel.self() == centre) {
      const CentreWatch<T> watch = [&](const CentreSight<T>& sight) {
        if (sight.node != 0) return;
        a1 = sight.a1;
        precision = sight.precision;
        p = sight.p;
        mean = sight.noisy_mean;
        if constexpr (std::is_same_v<T, double>) {
          out.masked.push_back(MaskedBy(a1, precision, p, mean));
        }
      };
      for (const NormalParameters& theta : thetas) {
        const BlockAnswer answer =
            AskConditional<T>(channel, setting.layout, {theta}, random, watch)[0];
        out.known.push_back({answer.mean, answer.precision, answer.quadratic});
      }
      return;
    }
    const NodeWatch<T> watch = [&](const NodeSight<T>& sight) {
      if (sight.node != 1) return;
      out.told.p.push_back(sight.previous_p);
      out.told.totals.push_back(sight.running_total);
      r = sight.previous_r;
    };
    for (size_t i = 0; i < thetas.size(); ++i) {
      AnswerConditional<T>(channel, setting.layout, setting.rows[channel.self()], random, watch);
    }
  });
  // A1 - R S^-1 = (x - mu - P) S^-1, and the centre knows mu and P.
  const Matrix<T> rest = a1 - r * precision + (mean + p) * precision;
  out.joint =
      Decode(rest, kDataBits<T> + kWeightBits<T>) * Decode(precision, kWeightBits<T>).inverse();
  return out;
}

// Questions through the real protocol, uniform masks: rank and moments.
TEST(ConditionalAttack, TheCentreSolvesForTheMoments) {
  testing::Reference reference = testing::LoadReference("onefactor");
  const stats::GroupMoments& truth = reference.moments[0];
  Family family(reference);
  const MatrixXd x = testing::RowsWithMoments(truth, 5);
  std::vector<NormalParameters> thetas;
  for (int i = 0; i < 60; ++i) thetas.push_back(family.Draw());
  const Transcript<UInt128> seen = AskMany<UInt128>(TwoNodes(x, 2), thetas);
  const SolvedMoments solved = SolveMoments(seen.known, truth.n, family.AtEstimates());
  EXPECT_EQ(solved.rank, 20);
  double squares = 0;
  for (const KnownLikelihood& one : seen.known) {
    const NormalParameters asked{one.mean, one.precision.inverse()};
    squares += std::pow(testing::RingGap(x, asked, 2) + 1e-12 * one.quadratic, 2);
  }
  ExpectMoments(solved, family.AtEstimates(), std::sqrt(squares) / truth.n, truth.mean,
                truth.covariance);
}

// n rows of p columns at node 1, as many questions as needed and some to spare.
template <typename T>
void ExpectRowsOfNodeOne(Index n, Index p, Index spare) {
  const MatrixXd x = testing::NormalRows(n, p + 1, 6) * 2;
  const NormalParameters theta = testing::SomeDistribution(p + 1, 7);
  const std::vector<NormalParameters> same(static_cast<size_t>(QuestionsForRows(n, p) + spare),
                                           theta);
  const Transcript<T> seen = AskMany<T>(TwoNodes(x, p), same);
  const MatrixXd truth = x.leftCols(p).rowwise() - theta.mean.head(p).transpose();
  const SolvedRows rows = SolveRows(seen.told);
  ASSERT_TRUE(rows.solved);
  const double worst = (rows.deviations - truth).cwiseAbs().maxCoeff();
  // Centre and node 2 need one question.
  const double worst_joint = (seen.joint - x.leftCols(p)).cwiseAbs().maxCoeff();
  const RowAccuracy accuracy = CompareRows(rows.deviations, truth);
  if constexpr (std::is_same_v<T, UInt128>) {
    // Exact but for the rounding of x and of mu, each to 2^-26; doubles come in at the end only.
    EXPECT_LT(worst, 0x1p-26 + 0x1p-40);
    EXPECT_LT(worst_joint, 0x1p-27 + 0x1p-40);
  } else {
    // Seeds are fixed. Six digits of every row are what "recovered" means here; the reference has
    // ten, 9.2e-11 and 3.4e-11 of a standard deviation for its draws.
    EXPECT_LT(accuracy.error_over_deviation, 1e-6);
    EXPECT_GT(accuracy.min_correlation, 1 - 1e-12);  // at most half the square of that
    EXPECT_LT(worst_joint, 1e-6);
  }
}

// Shapes and numbers of questions of the reference.
TEST(ConditionalAttack, TheNextNodeSolvesForRowsFromPaperMasks) {
  const Json results = Leakage()["next_node_regression"]["results"];
  size_t shapes = 0;
  for (const Json& result : results) {
    if (result["theta_jitter"].get<double>() > 0) continue;
    ++shapes;
    const Index n = result["n"].get<Index>(), p = result["p1"].get<Index>();
    ExpectRowsOfNodeOne<double>(n, p, result["evaluations"].get<Index>() - QuestionsForRows(n, p));
  }
  EXPECT_EQ(shapes, 2u);
}
TEST(ConditionalAttack, TheNextNodeSolvesForRowsFromUniformMasksToo) {
  ExpectRowsOfNodeOne<UInt128>(158, 1, kSpareQuestions);
  ExpectRowsOfNodeOne<UInt128>(50, 3, kSpareQuestions);
}
TEST(ConditionalAttack, WithoutEnoughQuestionsNothingIsSolved) {
  EXPECT_FALSE(SolveRows(ToldTotals<double>{}).solved);
  EXPECT_FALSE(SolveRows(ToldTotals<UInt128>{}).solved);
}

// The midrange of T draws from [0, 1500) has standard deviation 1500 / sqrt(2 (T + 1) (T + 2)). Its
// squared error over 400 cells has a relative standard deviation of at most sqrt(5 / 400) (kurtosis
// 6, that of the Laplace law it tends to), and half to twice the square is more than 4.4 of these
// away; the seeds are fixed, so the outcome is the same in every run.
TEST(ConditionalAttack, BoundedMasksAverageOutAtTheCentre) {
  constexpr int kQuestions = 300;
  const MatrixXd x = (testing::NormalRows(400, 2, 9).array() * 2 + 5).matrix();
  const NormalParameters theta = testing::SomeDistribution(2, 10);
  const Transcript<double> seen =
      AskMany<double>(TwoNodes(x, 1), std::vector<NormalParameters>(kQuestions, theta));
  MaskedRows rows;
  for (const MatrixXd& masked : seen.masked) rows.Add(masked);
  ASSERT_EQ(rows.questions(), kQuestions);
  const double rmse = (rows.Estimate() - x.leftCols(1)).norm() / 20;
  const double expected = 1500 / std::sqrt(2.0 * (kQuestions + 1) * (kQuestions + 2));
  EXPECT_GT(rmse, expected / std::sqrt(2));
  EXPECT_LT(rmse, expected * std::sqrt(2));
}

// Neighbours of node 1 of three: what it sent on less what it got.
TEST(SecureSumAttack, NeighboursSolveForTheMomentsBetweenThem) {
  const MatrixXd x = testing::NormalRows(90, 3, 12);
  std::vector<Piece> pieces;
  for (size_t party = 0; party < 3; ++party) {
    std::vector<BlockNode> node = testing::Split({3});
    node[0].party = party;
    pieces.push_back({0, static_cast<Index>(party) * 30, 30, node});
  }
  const Setting setting = testing::MakeSetting({x}, pieces);
  std::vector<NormalParameters> thetas;
  for (unsigned i = 0; i < 12; ++i) thetas.push_back(testing::SomeDistribution(3, 40 + 2 * i));
  std::vector<UInt128> left, right;  // node 0 sent, node 2 received
  testing::RunThreads(4, 3, [&](net::Channel& channel, crypto::RandomSource& random) {
    const SumWatch<UInt128> watch = [&](const SumSight<UInt128>& sight) {
      if (channel.self() == 0) left.push_back(sight.sent);
      if (channel.self() == 2) right.push_back(sight.received);
    };
    for (const NormalParameters& theta : thetas) {
      if (channel.self() == 3) {
        AskForSum<UInt128>(channel, setting.layout, {theta});
      } else {
        AnswerSum<UInt128>(channel, setting.layout, setting.rows[channel.self()], random, watch);
      }
    }
  });
  std::vector<KnownLikelihood> known;
  for (size_t i = 0; i < thetas.size(); ++i) {
    Matrix<UInt128> between(1, 1);
    between(0, 0) = right[i] - left[i];
    known.push_back(
        {thetas[i].mean, thetas[i].covariance.inverse(), Decode(between, kSumBits)(0, 0)});
  }
  const MatrixXd mine = x.middleRows(30, 30);
  const VectorXd mean = mine.colwise().mean();
  const MatrixXd centred = mine.rowwise() - mean.transpose();
  // Parts are rounded to 2^-40, and doubles lose less than 1e-12.
  double squares = 0;
  for (const KnownLikelihood& one : known) {
    squares += std::pow(0x1p-41 + 1e-12 * one.quadratic, 2);
  }
  ExpectMoments(SolveMoments(known, 30, thetas[0]), thetas[0], std::sqrt(squares) / 30, mean,
                centred.transpose() * centred / 30);
}

TEST(MatmulAttack, ConstraintsAreAsManyAsSaidAndCompleteTheOtherColumns) {
  const MatrixXd first = testing::NormalRows(40, 2, 14), second = testing::NormalRows(40, 3, 15);
  const MatmulLeakage plan = PlanMatmul(40, 2, 3);
  EXPECT_EQ(plan.null_columns, 24);
  EXPECT_EQ(plan.OnSecond(), 48);
  EXPECT_EQ(plan.OnFirst(), 48);
  MatmulSight sight;
  MatrixXd product;
  const testing::Traffic traffic =
      testing::RunThreads(2, 5, [&](net::Channel& channel, crypto::RandomSource& random) {
        if (channel.self() == 0) {
          product = MultiplyAsFirst(channel, 1, plan, first, random, &sight);
        } else {
          MultiplyAsSecond(channel, 0, plan, second);
        }
      });
  EXPECT_EQ(traffic.bytes, 8u * (40 * 24 + 40 * 3));
  EXPECT_LT((product - first.transpose() * second).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_LT((sight.z.transpose() * first).cwiseAbs().maxCoeff(), 1e-11);
  EXPECT_EQ(ConstraintsOnSecond(sight), 40 - 24);
  // 24 known rows of 40 tell the other 16, column by column.
  const std::vector<Index> places = testing::Range(0, 24);
  const MatrixXd all = CompleteSecond(sight, places, second(places, Eigen::all));
  // Least squares with 24 unknowns divides rounding by the smallest singular value.
  const MatrixXd block = sight.z(places, Eigen::all);
  const double smallest = block.jacobiSvd().singularValues().tail(1)(0);
  EXPECT_LT((all - second).cwiseAbs().maxCoeff(), 40 * 24 * 0x1p-52 * second.norm() / smallest);
}

TEST(TransferAttack, TwoRunsShowWhichCandidateIsReal) {
  const MatrixXd first = testing::NormalRows(30, 2, 16), second = testing::NormalRows(30, 1, 17);
  TransferShape shape;
  shape.rows = 30;
  shape.first_columns = 2;
  shape.second_columns = 1;
  std::vector<Matrix<UInt128>> sights(2);
  Matrix<UInt128> a, b;
  const testing::Traffic traffic =
      testing::RunThreads(2, 6, [&](net::Channel& channel, crypto::RandomSource& random) {
        for (Matrix<UInt128>& sight : sights) {
          if (channel.self() == 0) {
            a = TransferAsFirst(channel, 1, shape, first, random);
          } else {
            b = TransferAsSecond(channel, 0, shape, second, random, &sight);
          }
        }
      });
  EXPECT_EQ(traffic.bytes, 2u * (30 * (16 * 16 * (2 + 2) + 4 * 64) + 32));
  const Matrix<UInt128> sum = a + b;
  const MatrixXd product = Decode(sum, 2 * kDataBits<UInt128>);
  // Cells are off by 2^-25 at most.
  const double bound = 0x1p-25 * (first.cwiseAbs().sum() + second.cwiseAbs().sum() + 1);
  EXPECT_LT((product - first.transpose() * second).cwiseAbs().maxCoeff(), bound);
  const MatchedRows matched = MatchCandidates(sights[0], sights[1], 30);
  EXPECT_EQ(matched.found, 30);
  EXPECT_LT((matched.rows - first).cwiseAbs().maxCoeff(), 0x1p-24);
  // One run alone: nothing occurs twice among made-up rows, everything does against itself.
  EXPECT_EQ(MatchCandidates(sights[0], sights[0], 30).found, 0);
}

// Everything that crosses every link in a fit with `sealed`, link by link, and what comes out.
struct SealedRun {
  mpc::testing::Links links;
  SealedEstimates estimates;
};

SealedRun RecordSealed(const mle::testing::Case& c, const SealedModel& model, bool masks) {
  // Standard errors follow from the estimates.
  const SealedOpenings openings{"main", 0, true, false};
  mpc::testing::RunOptions options = mle::testing::SealedOptions(model, openings, "dealer", 2);
  if (!masks) options.make = mpc::testing::MakeDealerWithoutMasks;
  mpc::testing::Transcript transcript;
  options.wrap = [&](std::unique_ptr<net::Transport> inner) {
    return std::make_unique<mpc::testing::RecordingTransport>(std::move(inner), transcript);
  };
  SealedRun run;
  run.estimates = mle::testing::RunSealed(c, model, openings, options).estimates;
  // Messages are short: all of a link as one.
  for (const std::vector<Bytes>& messages : mpc::testing::LinksOf(transcript, options)) {
    Bytes all;
    for (const Bytes& message : messages) all.insert(all.end(), message.begin(), message.end());
    run.links.push_back({all});
  }
  return run;
}

// Two worlds: rows with the sample's moments, and rows with the moments that the model implies at
// the sample's estimates. Moments differ by the misfit, estimates do not.
struct SealedWorlds {
  testing::Reference reference = testing::LoadReference("growth_openmx5");
  mle::testing::Case sample = mle::testing::Load("growth_openmx5"), implied = sample;
  SealedModel model = PrepareSealed(sample.table, sample.centre, sample.half_width);
  SealedWorlds() {
    model.iterations = 8;
    const NormalParameters normal = Family(reference).AtEstimates();
    implied.moments[0].mean = normal.mean;
    implied.moments[0].covariance = normal.covariance;
  }
};

// No attack tells the worlds apart, by what it sees on the way or by what is released: moments are
// not determined, let alone rows.
TEST(SealedAttack, TheSameTranscriptsAndEstimatesBelongToOtherMoments) {
  const SealedWorlds worlds;
  const SealedRun one = RecordSealed(worlds.sample, worlds.model, true);
  const SealedRun other = RecordSealed(worlds.implied, worlds.model, true);
  const mpc::testing::Comparisons seen = mpc::testing::CompareLinks(one.links, other.links);
  EXPECT_EQ(seen.tests, 3u * 16);  // between the parties both ways, and from the dealer
  EXPECT_LT(seen.worst, mpc::testing::kLargest);
  ASSERT_TRUE(one.estimates.converged);
  ASSERT_TRUE(other.estimates.converged);
  const VectorXd se = one.estimates.deviations / std::sqrt(worlds.sample.moments[0].n);
  // Either is within 1e-4 standard errors of the estimates (sealed_references_test).
  const VectorXd gap = (one.estimates.x - other.estimates.x).cwiseQuotient(se);
  EXPECT_LT(gap.cwiseAbs().maxCoeff(), 2e-4);
  // The attacks on the other protocols get moments to more than three digits.
  SolvedMoments implied;
  implied.mean = worlds.implied.moments[0].mean;
  implied.covariance = worlds.implied.moments[0].covariance;
  EXPECT_GT(
      RelativeError(implied, worlds.sample.moments[0].mean, worlds.sample.moments[0].covariance),
      1e-3);
}

TEST(SealedAttack, MissingMasksWouldBeSeen) {
  SealedWorlds worlds;
  worlds.model.iterations = 1;
  EXPECT_GT(mpc::testing::CompareLinks(RecordSealed(worlds.sample, worlds.model, false).links,
                                       RecordSealed(worlds.implied, worlds.model, false).links)
                .worst,
            mpc::testing::kLargest);
}

// The fit scalars, where a study opens them, are the log-likelihood at the estimates: one equation
// for twenty unknown moments.
TEST(SealedAttack, FitScalarsAreOneEquation) {
  const testing::Reference reference = testing::LoadReference("growth_openmx5");
  const NormalParameters implied = Family(reference).AtEstimates();
  const double n = reference.moments[0].n;
  const double log_2pi = std::log(2 * std::acos(-1.0));
  const double constants = 5 * log_2pi + std::log(implied.covariance.determinant());
  const double quadratic =
      -2 * stats::testing::Number(reference.json["fit"]["logl"]) - n * constants;
  const SolvedMoments solved =
      SolveMoments({{implied.mean, implied.covariance.inverse(), quadratic}}, n, implied);
  EXPECT_EQ(solved.rank, 1);
  EXPECT_EQ(solved.unknown, 20);
}

}  // namespace
}  // namespace partita::methods::mle::published::published_attacks_test
