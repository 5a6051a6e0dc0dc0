// The published protocols: single questions against the formula, whole fits against lavaan, bytes,
// what they refuse.
#include "methods/mle/published/published.h"

#include <Eigen/Eigenvalues>

#include "methods/mle/published/conditional.h"
#include "methods/mle/published/plain_passing.h"
#include "methods/mle/published/secure_sum.h"
#include "tests/methods/mle/conditional_cost.h"
#include "tests/methods/mle/published_parties.h"

namespace partita::methods::mle::published::published_test {
namespace {

using stats::testing::Json;
using stats::testing::Number;
using testing::Index;
using testing::MatrixXd;
using testing::Piece;
using testing::Setting;
using testing::VectorXd;

// One question to a setting; the answer at the centre.
template <typename AskIt, typename AnswerIt>
Answer AskOnce(const Setting& setting, const AskIt& ask, const AnswerIt& reply,
               testing::Traffic* traffic = nullptr) {
  Answer answer;
  const testing::Traffic seen = testing::RunThreads(
      setting.layout.centre + 1, 7, [&](net::Channel& channel, crypto::RandomSource& random) {
        if (channel.self() == setting.layout.centre) {
          answer = ask(channel, random);
        } else {
          reply(channel, random, setting.rows[channel.self()]);
        }
      });
  if (traffic != nullptr) *traffic = seen;
  return answer;
}

template <typename T>
Answer AskOnceConditional(const Setting& setting, const Question& question,
                          testing::Traffic* traffic = nullptr) {
  return AskOnce(
      setting,
      [&](net::Channel& channel, crypto::RandomSource& random) {
        return AskConditional<T>(channel, setting.layout, question, random, {});
      },
      [&](net::Channel& channel, crypto::RandomSource& random, const OwnRows& rows) {
        AnswerConditional<T>(channel, setting.layout, rows, random, {});
      },
      traffic);
}

Answer AskOncePlainly(const Setting& setting, const Question& question) {
  return AskOnce(
      setting,
      [&](net::Channel& channel, crypto::RandomSource&) {
        return AskPlainly(channel, setting.layout, question);
      },
      [&](net::Channel& channel, crypto::RandomSource&, const OwnRows& rows) {
        AnswerPlainly(channel, setting.layout, rows, {});
      });
}

constexpr Index kRows = 40;

// Chains of one to four nodes, columns in the order of the model or not.
std::vector<std::vector<BlockNode>> Chains() {
  std::vector<std::vector<BlockNode>> chains = {testing::Split({5}), testing::Split({2, 3}),
                                                testing::Split({1, 2, 2}),
                                                testing::Split({2, 1, 1, 1})};
  std::vector<BlockNode> mixed = testing::Split({2, 2, 1});
  mixed[0].columns = {4, 1};
  mixed[1].columns = {0, 3};
  mixed[2].columns = {2};
  chains.push_back(mixed);
  std::swap(mixed[0].party, mixed[2].party);
  chains.push_back(mixed);
  return chains;
}

constexpr double kRoundOff = 0x1p-53;

// Seven sums make up the answer with masks in doubles (total, R S^-1 R', P A1, P A2 twice for its
// Q, P S^-1 P', P Q). Their terms are products x w y with |w| <= 1 (covariances are above the
// identity) and |x|, |y| below twice a mask and ten, the n p cells times p of them; a sum of N = n
// p terms whose factors carry p + 5 roundings loses at most (N + p + 5) 2^-53 of the sum of
// magnitudes.
double PaperGap(Index n, Index p) {
  const auto cells = static_cast<double>(n * p), width = static_cast<double>(p);
  const double factor = 2 * kPaperMaskHigh + 10;
  return 7 * cells * width * factor * factor * (cells + width + 5) * kRoundOff;
}

// Joint precision K = U W U' of rounded weights. S = K^-1 >= 1, so |W_k| <= 1 and, from
// U^-T W^-1 U^-1 = S, |U|^2 <= |S| = s. Rounding moves W and Sigma_k,k+ by at most p 2^-25, hence
// C_k by p 2^-25 (s + 1), U by sqrt(nodes) s times that, and K by 2 |U| |dU| + |U|^2 |dW|. Twice
// that covers squares of small numbers.
double PrecisionGap(const NormalParameters& normal, size_t nodes) {
  const double s = normal.covariance.operatorNorm(), step = 0x1p-24 * 5;
  return step * (2 * std::sqrt(static_cast<double>(nodes)) * std::pow(s, 1.5) * (s + 1) + s);
}

// The answer to a question in the ring is the quadratic form for the distribution that it names;
// the test itself computes with doubles.
void ExpectRingAnswer(const BlockAnswer& answer, const MatrixXd& x, size_t nodes) {
  const NormalParameters asked{answer.mean, answer.precision.inverse()};
  const double exact = testing::Quadratic(x, asked);
  EXPECT_NEAR(answer.quadratic, exact, testing::RingGap(x, asked, nodes) + 1e-12 * exact);
}

TEST(PublishedQuestion, IsTheQuadraticFormAlongEveryChain) {
  const MatrixXd x = testing::NormalRows(kRows, 5, 1);
  const NormalParameters normal = testing::SomeDistribution(5, 2);
  const double exact = testing::Quadratic(x, normal);
  for (const std::vector<BlockNode>& chain : Chains()) {
    const Setting setting = testing::MakeSetting({x}, {Piece{0, 0, kRows, chain}});
    const BlockAnswer plain = AskOncePlainly(setting, {normal})[0];
    EXPECT_NEAR(plain.quadratic, exact, 1e-10 * exact);
    EXPECT_LT((plain.precision - normal.covariance.inverse()).cwiseAbs().maxCoeff(), 1e-12);
    const BlockAnswer paper = AskOnceConditional<double>(setting, {normal})[0];
    EXPECT_NEAR(paper.quadratic, exact, PaperGap(kRows, 5));
    const BlockAnswer ring = AskOnceConditional<UInt128>(setting, {normal})[0];
    ExpectRingAnswer(ring, x, chain.size());
    EXPECT_LT((ring.precision - normal.covariance.inverse()).cwiseAbs().maxCoeff(),
              PrecisionGap(normal, chain.size()));
    EXPECT_LE((ring.mean - normal.mean).cwiseAbs().maxCoeff(), 0x1p-25);
  }
}

TEST(PublishedQuestion, AnswersEveryBlockOfAComplexPartition) {
  const MatrixXd x = testing::NormalRows(kRows, 3, 3);
  std::vector<BlockNode> later = testing::Split({1, 2});
  later[0].party = 2;
  const Setting setting =
      testing::MakeSetting({x}, {Piece{0, 0, 25, testing::Split({1, 2})}, Piece{0, 25, 15, later}});
  const NormalParameters normal = testing::SomeDistribution(3, 4);
  const Answer answer = AskOnceConditional<UInt128>(setting, {normal});
  ASSERT_EQ(answer.size(), 2u);
  EXPECT_EQ(answer[0].rows, 25);
  EXPECT_EQ(answer[1].rows, 15);
  ExpectRingAnswer(answer[0], x.topRows(25), 2);
  ExpectRingAnswer(answer[1], x.bottomRows(15), 2);
}

TEST(PublishedQuestion, SecureSumAddsUpWhatNodesHave) {
  const MatrixXd x = testing::NormalRows(kRows, 3, 5);
  std::vector<Piece> pieces;
  for (size_t party = 0; party < 4; ++party) {
    std::vector<BlockNode> node = testing::Split({3});
    node[0].party = party;
    pieces.push_back({0, static_cast<Index>(party) * 10, 10, node});
  }
  const Setting setting = testing::MakeSetting({x}, pieces);
  const NormalParameters normal = testing::SomeDistribution(3, 6);
  const auto reply = [&](net::Channel& channel, crypto::RandomSource& random, const OwnRows& rows) {
    AnswerSum<UInt128>(channel, setting.layout, rows, random, {});
  };
  testing::Traffic traffic;
  const Answer answer = AskOnce(
      setting,
      [&](net::Channel& channel, crypto::RandomSource&) {
        return AskForSum<UInt128>(channel, setting.layout, {normal});
      },
      reply, &traffic);
  ASSERT_EQ(answer.size(), 1u);
  // Four parts rounded to 2^-40, and doubles.
  const double exact = testing::Quadratic(x, normal);
  EXPECT_NEAR(answer[0].quadratic, exact, 4 * 0x1p-41 + 1e-12 * exact);
  EXPECT_EQ(traffic.bytes, 4u * 8 * (3 + 9) + 5u * 16);
  EXPECT_EQ(traffic.rounds, 6u);
}

TEST(PublishedCost, ElementsAreCounted) {
  const MatrixXd x = testing::NormalRows(kRows, 5, 1);
  const NormalParameters normal = testing::SomeDistribution(5, 2);
  for (const std::vector<BlockNode>& chain : Chains()) {
    const Setting setting = testing::MakeSetting({x}, {Piece{0, 0, kRows, chain}});
    const uint64_t elements = ConditionalElements(setting.layout.blocks[0]);
    testing::Traffic ring, paper;
    AskOnceConditional<UInt128>(setting, {normal}, &ring);
    AskOnceConditional<double>(setting, {normal}, &paper);
    EXPECT_EQ(ring.bytes, 16 * elements);
    EXPECT_EQ(paper.bytes, 8 * elements);
    EXPECT_EQ(ring.rounds, ConditionalRounds(setting.layout.blocks[0]));
    EXPECT_EQ(paper.rounds, ring.rounds);
  }
}

// A1 at the centre, less all that it knows, is (x - mu + R) S^-1, and has to be a uniform number
// times S^-1: uniform over the whole ring, but for the zeros that an even S^-1 ends in whatever the
// rows are. 256 classes of the highest and of the lowest byte before these zeros, chi-square with
// 255 degrees of freedom, whose 1 - 1e-6 / 4 quantile is below 390 (Laurent & Massart: 255 + 2
// sqrt(255 x) + 2 x at x = 15.2 is 410).
TEST(PublishedMasks, WhatTheCentreSeesOfTheRingIsUniform) {
  constexpr Index kMany = 4000;
  const MatrixXd x = testing::NormalRows(kMany, 3, 8);
  const Setting setting =
      testing::MakeSetting({x}, {Piece{0, 0, kMany, testing::Split({1, 1, 1})}});
  const NormalParameters normal = testing::SomeDistribution(3, 9);
  std::vector<double> high(256, 0), low(256, 0);
  double count = 0;
  AskOnce(
      setting,
      [&](net::Channel& channel, crypto::RandomSource& random) {
        const CentreWatch<UInt128> watch = [&](const CentreSight<UInt128>& sight) {
          const Matrix<UInt128> rest = sight.a1 + sight.p * sight.precision;
          ASSERT_EQ(sight.precision.size(), 1);
          int zeros = 0;
          while ((sight.precision(0, 0) >> zeros & 1) == 0) ++zeros;
          for (const UInt128 value : rest.reshaped()) {
            EXPECT_TRUE((value >> zeros) << zeros == value);
            ++high[static_cast<size_t>(value >> 120)];
            ++low[static_cast<size_t>(value >> zeros & 255)];
            ++count;
          }
        };
        return AskConditional<UInt128>(channel, setting.layout, {normal}, random, watch);
      },
      [&](net::Channel& channel, crypto::RandomSource& random, const OwnRows& rows) {
        AnswerConditional<UInt128>(channel, setting.layout, rows, random, {});
      });
  EXPECT_EQ(count, 3 * kMany);
  const auto chi_square = [&](const std::vector<double>& classes) {
    double sum = 0;
    for (const double seen : classes) sum += (seen - count / 256) * (seen - count / 256);
    return sum / (count / 256);
  };
  EXPECT_LT(chi_square(high), 410);
  EXPECT_LT(chi_square(low), 410);
}

struct FitCase {
  std::string name, reference;
  Protocol protocol;
  Masks masks = Masks::kRing;
  std::vector<Index> widths;  // of the nodes; empty: whole rows at three nodes
  double tolerance = 1e-4;    // of estimates, in standard errors
};

class PublishedFit : public ::testing::TestWithParam<FitCase> {};

Setting SettingOf(const testing::Reference& reference, const std::vector<Index>& widths) {
  std::vector<MatrixXd> groups;
  std::vector<Piece> pieces;
  for (size_t g = 0; g < reference.moments.size(); ++g) {
    groups.push_back(testing::RowsWithMoments(reference.moments[g], static_cast<unsigned>(20 + g)));
    const Index n = groups[g].rows();
    if (!widths.empty()) {
      pieces.push_back({g, 0, n, testing::Split(widths)});
      continue;
    }
    for (Index part = 0; part < 3; ++part) {
      std::vector<BlockNode> node = testing::Split({groups[g].cols()});
      node[0].party = static_cast<size_t>(part);
      pieces.push_back({g, n * part / 3, n * (part + 1) / 3 - n * part / 3, node});
    }
  }
  return testing::MakeSetting(groups, pieces);
}

Result RunFit(const Task& task, const Setting& setting, testing::Traffic* traffic = nullptr) {
  std::optional<Result> result;
  const testing::Traffic seen = testing::RunThreads(
      setting.layout.centre + 1, 11, [&](net::Channel& channel, crypto::RandomSource& random) {
        SilentProgress progress;
        std::optional<Result> mine =
            FitPublished(channel, task, setting.rows[channel.self()], random, progress);
        EXPECT_EQ(mine.has_value(), channel.self() == setting.layout.centre);
        if (mine) result = std::move(mine);
      });
  if (traffic != nullptr) *traffic = seen;
  return std::move(*result);
}

TEST_P(PublishedFit, IsLavaans) {
  const FitCase& test = GetParam();
  const testing::Reference reference = testing::LoadReference(test.reference);
  const Setting setting = SettingOf(reference, test.widths);
  Task task;
  task.protocol = test.protocol;
  task.masks = test.masks;
  task.layout = setting.layout;
  task.table = reference.table;
  task.scale = testing::RoughBounds(reference.moments);
  task.rows_may_leak = true;
  const Result result = RunFit(task, setting);
  // With bounded masks the likelihood has too few digits for the strict criterion.
  if (test.masks == Masks::kRing) {
    EXPECT_TRUE(result.fit.converged)
        << (result.fit.warnings.empty() ? "" : result.fit.warnings[0]);
  }
  EXPECT_FALSE(result.leaks.empty());
  ASSERT_EQ(result.fit.estimates.size(), reference.rows.size());
  for (size_t r = 0; r < reference.rows.size(); ++r) {
    const Json& row = reference.rows[r];
    SCOPED_TRACE(row.dump());
    const double se = Number(row["se"]), estimate = Number(row["est"]);
    EXPECT_NEAR(result.fit.estimates[r].estimate, estimate,
                se > 0 ? test.tolerance * se : 1e-6 * (1 + std::abs(estimate)));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Protocols, PublishedFit,
    ::testing::Values(
        FitCase{"conditional", "growth_linear6", Protocol::kConditional, Masks::kRing, {1, 2, 1}},
        FitCase{"conditional_five",
                "growth_openmx5",
                Protocol::kConditional,
                Masks::kRing,
                {1, 1, 1, 1, 1}},
        FitCase{
            "conditional_factors", "hs_cfa3_mean", Protocol::kConditional, Masks::kRing, {3, 2, 4}},
        FitCase{"conditional_paper",
                "growth_linear6",
                Protocol::kConditional,
                Masks::kPaper,
                {2, 2},
                1e-2},
        FitCase{"conditional_paper_factors",
                "hs_cfa3_mean",
                Protocol::kConditional,
                Masks::kPaper,
                {3, 3, 3},
                1e-2},
        FitCase{"plain", "hs_cfa3_mean", Protocol::kPlainPassing, Masks::kRing, {3, 3, 3}},
        FitCase{"plain_groups", "hs_cfa3_group", Protocol::kPlainPassing, Masks::kRing, {4, 5}},
        FitCase{"sum", "hs_cfa3_mean", Protocol::kSecureSum, Masks::kRing, {}},
        FitCase{"sum_groups", "hs_cfa3_group", Protocol::kSecureSum, Masks::kRing, {}},
        FitCase{"sum_paper", "growth_linear6", Protocol::kSecureSum, Masks::kPaper, {}, 1e-2},
        FitCase{"matmul", "hs_cfa3", Protocol::kSecureMatmul, Masks::kRing, {3, 3, 3}},
        FitCase{"transfer", "hs_cfa3", Protocol::kObliviousTransfer, Masks::kRing, {4, 5}}),
    [](const auto& test) { return test.param.name; });

Task SmallTask(const Setting& setting, bool means) {
  stats::SemModelOptions options;
  options.meanstructure = means;
  Task task;
  task.layout = setting.layout;
  task.table = stats::BuildParameterTable("f =~ a + b + c", options);
  task.scale = {VectorXd::Zero(3), VectorXd::Constant(3, 5)};
  task.rows_may_leak = true;
  return task;
}

// What the centre throws for a task, before anything is sent.
std::optional<ErrorCode> Refusal(const Task& task) {
  std::optional<ErrorCode> code;
  const auto errors = net::RunChannels(net::MemoryParties(3), [&](net::Channel& channel) {
    if (channel.self() != 2) return;
    crypto::SystemRandom random;
    SilentProgress progress;
    try {
      FitPublished(channel, task, {}, random, progress);
    } catch (const Error& error) {
      code = error.code();
      EXPECT_FALSE(error.message().empty());
    }
  });
  return code;
}

TEST(PublishedRefusal, BeforeAnythingIsSent) {
  const Setting setting = testing::MakeSetting({testing::NormalRows(20, 3, 1)},
                                               {Piece{0, 0, 20, testing::Split({1, 2})}});
  Task task = SmallTask(setting, true);
  task.rows_may_leak = false;
  for (const Protocol protocol :
       {Protocol::kConditional, Protocol::kSecureSum, Protocol::kSecureMatmul,
        Protocol::kObliviousTransfer, Protocol::kPlainPassing}) {
    task.protocol = protocol;
    EXPECT_EQ(Refusal(task), ErrorCode::kRefused) << ProtocolName(protocol);
  }
  EXPECT_EQ(Refusal(SmallTask(setting, false)), ErrorCode::kBadInput);
  task = SmallTask(setting, true);
  task.protocol = Protocol::kSecureSum;  // columns are split
  EXPECT_EQ(Refusal(task), ErrorCode::kUsage);
  task = SmallTask(setting, true);
  task.layout.blocks[0].nodes[1].columns = {1};  // nobody has the third
  EXPECT_EQ(Refusal(task), ErrorCode::kUsage);
  task.layout.blocks[0].nodes[1].columns = {0, 1, 2};  // two have the first
  EXPECT_EQ(Refusal(task), ErrorCode::kUsage);
  task = SmallTask(setting, true);
  task.layout.blocks[0].nodes[1].party = 2;  // the centre
  EXPECT_EQ(Refusal(task), ErrorCode::kUsage);
  task.layout.blocks[0].nodes[1].party = 0;  // twice
  EXPECT_EQ(Refusal(task), ErrorCode::kUsage);
}

}  // namespace
}  // namespace partita::methods::mle::published::published_test
