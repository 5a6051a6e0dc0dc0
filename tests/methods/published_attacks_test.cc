// What the parties of the published protocols can work out, with the numbers of
// ../shared/reference/secure_mle_leakage.json; and that `sealed` gives the same attacks nothing.
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
#include "tests/methods/published_parties.h"
#include "tests/methods/sealed_references.h"

namespace partita::methods::mle::published {
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
  return stats::testing::ReadJson(testing::Shared() / "reference/secure_mle_leakage.json");
}

class MomentAttack : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(testing::Shared())) {
      GTEST_SKIP() << "no reference fits on this machine";
    }
  }
};

// Ranks are those of the reference; with full rank the moments come out.
TEST_P(MomentAttack, SolvesForTheMomentsAsFarAsTheModelFamilyAllows) {
  const Json expected = Leakage()["likelihood_oracle"]["models"][GetParam()];
  const testing::Reference reference = testing::LoadReference(GetParam());
  const stats::GroupMoments& truth = reference.moments[0];
  Family family(reference);
  std::vector<KnownLikelihood> known;
  const int count = expected["unknown_moments"].get<int>() * 4;
  for (int i = 0; i < count; ++i) {
    const NormalParameters normal = family.Draw();
    const MatrixXd precision = normal.covariance.inverse();
    const VectorXd shift = truth.mean - normal.mean;
    known.push_back({normal.mean, precision,
                     truth.n * (precision.cwiseProduct(truth.covariance).sum() +
                                shift.dot(precision * shift))});
  }
  const SolvedMoments solved = SolveMoments(known, truth.n, family.AtEstimates());
  EXPECT_EQ(solved.unknown, expected["unknown_moments"].get<Index>());
  EXPECT_EQ(solved.rank, expected["rank_over_model_family"].get<Index>());
  if (solved.solved()) {
    EXPECT_LT(RelativeError(solved, truth.mean, truth.covariance), 1e-6);
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

// 400 questions of the real protocol, uniform masks: rank and moments.
TEST(ConditionalAttack, TheCentreSolvesForTheMoments) {
  if (!std::filesystem::exists(testing::Shared())) GTEST_SKIP() << "no reference fits";
  testing::Reference reference = testing::LoadReference("onefactor");
  const stats::GroupMoments& truth = reference.moments[0];
  Family family(reference);
  const MatrixXd x = testing::RowsWithMoments(truth, 5);
  std::vector<NormalParameters> thetas;
  for (int i = 0; i < 60; ++i) thetas.push_back(family.Draw());
  const Transcript<UInt128> seen = AskMany<UInt128>(TwoNodes(x, 2), thetas);
  const SolvedMoments solved = SolveMoments(seen.known, truth.n, family.AtEstimates());
  EXPECT_EQ(solved.rank, 20);
  EXPECT_TRUE(solved.solved());
  EXPECT_LT(RelativeError(solved, truth.mean, truth.covariance), 1e-3);
}

template <typename T>
void ExpectRowsOfNodeOne(Index n, Index p, double tolerance) {
  const MatrixXd x = testing::NormalRows(n, p + 1, 6) * 2;
  const NormalParameters theta = testing::SomeDistribution(p + 1, 7);
  const Index spare = std::is_same_v<T, UInt128> ? kSpareQuestions : 5;
  const std::vector<NormalParameters> same(static_cast<size_t>(QuestionsForRows(n, p) + spare),
                                           theta);
  const Transcript<T> seen = AskMany<T>(TwoNodes(x, p), same);
  const MatrixXd truth = x.leftCols(p).rowwise() - theta.mean.head(p).transpose();
  const SolvedRows rows = SolveRows(seen.told);
  ASSERT_TRUE(rows.solved);
  const RowAccuracy accuracy = CompareRows(rows.deviations, truth);
  EXPECT_GT(accuracy.min_correlation, 1 - 1e-9);
  EXPECT_LT(accuracy.error_over_deviation, tolerance);
  // Centre and node 2 need one question.
  EXPECT_LT((seen.joint - x.leftCols(p)).cwiseAbs().maxCoeff(), 1e-5);
}

// The reference has 9e-11 and 3e-11 of a standard deviation, in doubles.
TEST(ConditionalAttack, TheNextNodeSolvesForRowsFromPaperMasks) {
  ExpectRowsOfNodeOne<double>(60, 1, 1e-6);
  ExpectRowsOfNodeOne<double>(25, 2, 1e-6);
}
// Cells have 2^-24, W has 24 bits: what is left is rounding of the cells.
TEST(ConditionalAttack, TheNextNodeSolvesForRowsFromUniformMasksToo) {
  ExpectRowsOfNodeOne<UInt128>(60, 1, 1e-6);
  ExpectRowsOfNodeOne<UInt128>(25, 2, 1e-6);
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
  const SolvedMoments solved = SolveMoments(known, 30, thetas[0]);
  EXPECT_TRUE(solved.solved());
  EXPECT_LT(RelativeError(solved, mean, centred.transpose() * centred / 30), 1e-6);
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
  EXPECT_LT((all - second).cwiseAbs().maxCoeff(), 1e-8);
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

// `sealed` opens estimates and one bit (as its gates count): no likelihood to solve from, no total
// and no mask at any node. What is left is a guess by the model, which is off by its misfit.
TEST(SealedAttack, TheSameAttacksGetNothing) {
  if (!std::filesystem::exists(testing::Shared())) GTEST_SKIP() << "no reference fits";
  const mle::testing::Case c = mle::testing::Load("growth_openmx5");
  SealedModel model = PrepareSealed(c.table, c.centre, c.half_width);
  model.iterations = 8;
  for (const mpc::Release& release : SealedReleases(model, mle::testing::Openings(), "party0")) {
    EXPECT_EQ(release.id.find("likelihood"), std::string::npos) << release.id;
    EXPECT_EQ(release.id.find("moments"), std::string::npos) << release.id;
  }
  const auto run = mle::testing::RunSealed(c, model, "dealer", 2);
  ASSERT_TRUE(run.estimates.converged);
  const testing::Reference reference = testing::LoadReference("growth_openmx5");
  const NormalParameters implied = Family(reference).AtEstimates();
  // The fit scalars, if the study opens them, are the log-likelihood at the estimates: one
  // equation.
  const double n = reference.moments[0].n;
  const double log_2pi = std::log(2 * std::acos(-1.0));
  const double constants = 5 * log_2pi + std::log(implied.covariance.determinant());
  const double quadratic =
      -2 * stats::testing::Number(reference.json["fit"]["logl"]) - n * constants;
  const SolvedMoments solved =
      SolveMoments({{implied.mean, implied.covariance.inverse(), quadratic}}, n, implied);
  EXPECT_EQ(solved.rank, 1);
  EXPECT_FALSE(solved.solved());
  EXPECT_GT(RelativeError(solved, reference.moments[0].mean, reference.moments[0].covariance),
            1e-3);
}

}  // namespace
}  // namespace partita::methods::mle::published
