// Multiple imputation on shares against its twin in the clear, on a fixed tape.
#include "methods/mle/imputed/shared_imputation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <random>

#include "methods/mle/imputed/imputation_noise.h"
#include "methods/mle/sealed/sample.h"
#include "methods/mle/sealed/values.h"
#include "tests/mpc/evaluate.h"
#include "tests/mpc/harness.h"
#include "tests/stats/blr/random.h"
#include "tests/stats/imputation_data.h"

namespace partita::methods::mle::shared_imputation_test {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using mpc::Engine;
using mpc::Shared;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Rows of one group in half-widths, NaN where a value is missing.
MatrixXd MakeRows(size_t n, size_t p, double missing, uint64_t seed) {
  std::mt19937_64 random(seed);
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform;
  MatrixXd rows(n, p);
  for (Index r = 0; r < rows.rows(); ++r) {
    const double common = normal(random);
    for (Index v = 0; v < rows.cols(); ++v) {
      const double spread = 0.02 * static_cast<double>(v + 1);
      const double value =
          0.1 * static_cast<double>(v) - 0.2 + spread * (common + 0.7 * normal(random));
      rows(r, v) = std::round(std::ldexp(std::clamp(value, -1.0, 1.0), kSealedInputBits));
      rows(r, v) = std::ldexp(rows(r, v), -kSealedInputBits);
    }
    // At random given the first variable, which is always there.
    for (Index v = 1; v < rows.cols(); ++v) {
      if (uniform(random) < missing * (1 + (rows(r, 0) > -0.2 ? 0.5 : -0.5))) rows(r, v) = kNaN;
    }
  }
  return rows;
}

using Cells = std::map<std::vector<size_t>, std::vector<Index>>;  // rows by what is observed

Cells CellsOf(const MatrixXd& rows) {
  Cells cells;
  for (Index r = 0; r < rows.rows(); ++r) {
    std::vector<size_t> observed;
    for (Index v = 0; v < rows.cols(); ++v) {
      if (!std::isnan(rows(r, v))) observed.push_back(static_cast<size_t>(v));
    }
    cells[observed].push_back(r);
  }
  return cells;
}

// The moments of some rows as party 1 enters them, with zeros for what is missing.
SharedMoments Enter(Engine& engine, const MatrixXd& rows, const std::vector<Index>& of) {
  const auto p = static_cast<size_t>(rows.cols());
  std::vector<Int128> sums(p), cross(p * p);
  for (const Index r : of) {
    std::vector<Int128> values;
    for (Index v = 0; v < rows.cols(); ++v) {
      const double value = rows(r, v);
      values.push_back(std::isnan(value) ? 0 : mpc::EncodeFixed(value, kSealedInputBits));
    }
    for (size_t i = 0; i < p; ++i) {
      sums[i] += values[i];
      for (size_t j = 0; j < p; ++j) cross[i * p + j] += values[i] * values[j];
    }
  }
  const auto input = [&](mpc::Shape shape, const std::vector<Int128>& values, int bits) {
    const mpc::IntMatrix integers{shape, values};
    const mpc::PrivateMatrix matrix = mpc::testing::Private(engine, 1, integers, 1 << 20, bits);
    return engine.Input({&matrix, 1}).front();
  };
  return {input({1, 1}, {static_cast<Int128>(of.size())}, 0), input({1, p}, sums, kSealedInputBits),
          input({p, p}, cross, 2 * kSealedInputBits)};
}

PatternSums SumsOf(Engine& engine, const MatrixXd& rows, const Cells& cells) {
  PatternSums sums;
  sums.max_rows = 0x1p20;
  sums.variables.resize(static_cast<size_t>(rows.cols()));
  std::iota(sums.variables.begin(), sums.variables.end(), size_t{0});
  for (const auto& [observed, of] : cells) {
    sums.cells.push_back(Enter(engine, rows, of));
    sums.observed.push_back(observed);
    // Who opens nothing knows no counts.
    sums.counts.push_back(engine.self() ? static_cast<double>(of.size()) : 1);
  }
  return sums;
}

std::vector<stats::PatternMoments> PlainPatterns(const MatrixXd& rows, const Cells& cells) {
  std::vector<stats::PatternMoments> patterns;
  for (const auto& [observed, of] : cells) {
    if (of.empty() || observed.empty()) continue;
    const std::vector<int> variables(observed.begin(), observed.end());
    const MatrixXd own = rows(of, variables);
    const Eigen::VectorXd mean = own.colwise().mean();
    const MatrixXd centred = own.rowwise() - mean.transpose();
    const auto n = static_cast<double>(of.size());
    patterns.push_back({0, variables, {n, mean, centred.transpose() * centred / n}});
  }
  return patterns;
}

// What all parties' tapes make together.
class SumTape final : public stats::ImputationTape {
 public:
  explicit SumTape(std::vector<stats::ImputationTape*> parties) : parties_(std::move(parties)) {}
  MatrixXd Normals(Index rows, Index columns) override {
    MatrixXd sum = MatrixXd::Zero(rows, columns);
    for (stats::ImputationTape* party : parties_) sum += party->Normals(rows, columns);
    return sum / std::sqrt(static_cast<double>(parties_.size()));
  }
  MatrixXd Wishart(double degrees, Index size) override {
    MatrixXd sum = MatrixXd::Zero(size, size);
    for (size_t j = 0; j < parties_.size(); ++j)
      sum += parties_[j]->Wishart(PartOfDegrees(degrees, j, parties_.size()), size);
    return sum;
  }

 private:
  std::vector<stats::ImputationTape*> parties_;
};

// A party's tapes, by chain.
class Tapes {
 public:
  Tapes(size_t party, size_t chains) {
    for (size_t c = 0; c < chains; ++c)
      randoms_.push_back(std::make_unique<stats::blr::TestRandom>(1000 * party + c));
    for (auto& random : randoms_) tapes_.push_back(std::make_unique<stats::VariateTape>(*random));
  }
  std::vector<stats::ImputationTape*> All() const {
    std::vector<stats::ImputationTape*> all;
    for (const auto& tape : tapes_) all.push_back(tape.get());
    return all;
  }

 private:
  std::vector<std::unique_ptr<stats::blr::TestRandom>> randoms_;
  std::vector<std::unique_ptr<stats::VariateTape>> tapes_;
};

std::vector<stats::GroupMoments> Twin(const MatrixXd& rows, const Cells& cells, size_t parties,
                                      size_t first_chain, const stats::ImputationOptions& options) {
  std::vector<stats::GroupMoments> moments;
  const stats::ParameterTable table = stats::testing::Saturated(static_cast<int>(rows.cols()));
  for (size_t i = 0; i < options.imputations; ++i) {
    std::vector<Tapes> tapes;
    std::vector<stats::ImputationTape*> of_chain;
    for (size_t j = 0; j < parties; ++j) tapes.emplace_back(j, first_chain + i + 1);
    for (const Tapes& party : tapes) of_chain.push_back(party.All().back());
    SumTape tape(of_chain);
    SilentProgress progress;
    moments.push_back(stats::ImputeMoments(table, PlainPatterns(rows, cells),
                                           {1, options.iterations}, tape, progress)
                          .front());
  }
  return moments;
}

struct Opened {
  std::vector<std::vector<stats::GroupMoments>> groups;
  Int128 beyond = 0;
};

Opened ImputeSecretly(const std::string& kind, size_t parties,
                      const std::vector<std::pair<MatrixXd, Cells>>& groups,
                      const stats::ImputationOptions& options) {
  Opened opened;
  mpc::testing::RunOptions run_options;
  run_options.kind = kind;
  run_options.num_parties = parties;
  mpc::testing::RunAndComparePlan(run_options, [&](Engine& engine, size_t) {
    std::vector<PatternSums> sums;
    for (const auto& [rows, cells] : groups) sums.push_back(SumsOf(engine, rows, cells));
    std::optional<Tapes> tapes;
    if (engine.self()) tapes.emplace(*engine.self(), groups.size() * options.imputations);
    const std::vector<SharedPatterns> patterns = StandardisePatterns(engine, sums);
    SilentProgress progress;
    const SharedImputations imputed =
        ImputeOnShares(engine, patterns, options,
                       tapes ? tapes->All() : std::vector<stats::ImputationTape*>{}, progress);
    std::vector<Shared> values;
    for (const auto& group : imputed.groups) {
      for (const ImputedMoments& moments : group) {
        values.push_back(moments.mean);
        values.push_back(moments.covariance);
      }
    }
    const std::vector<mpc::IntMatrix> moments = engine.Reveal("out", values, mpc::kEverybody);
    const std::vector<mpc::IntMatrix> beyond =
        engine.Reveal("out", std::span(&imputed.beyond, 1), mpc::kEverybody);
    if (engine.self() != 0u) return;
    opened.beyond = beyond.front().values.front();
    auto next = moments.begin();
    const auto decode = [](const mpc::IntMatrix& matrix) {
      MatrixXd decoded(matrix.shape.rows, matrix.shape.cols);
      for (size_t i = 0; i < matrix.values.size(); ++i) {
        decoded(static_cast<Index>(i / matrix.shape.cols),
                static_cast<Index>(i % matrix.shape.cols)) =
            mpc::DecodeFixed(matrix.values[i], kSealedBits);
      }
      return decoded;
    };
    for (const auto& group : imputed.groups) {
      opened.groups.emplace_back();
      for (size_t i = 0; i < group.size(); ++i) {
        const Eigen::VectorXd mean = decode(*next++);
        opened.groups.back().push_back({0, mean, decode(*next++)});
      }
    }
  }).ThrowIfFailed();
  return opened;
}

// In standard deviations of the variables.
double Distance(const stats::GroupMoments& a, const stats::GroupMoments& b) {
  const Eigen::VectorXd sd = b.covariance.diagonal().cwiseSqrt();
  const double mean = (a.mean - b.mean).cwiseQuotient(sd).cwiseAbs().maxCoeff();
  const MatrixXd scaled =
      (a.covariance - b.covariance).cwiseQuotient(MatrixXd(sd * sd.transpose()));
  return std::max(mean, scaled.cwiseAbs().maxCoeff());
}

// Far below the 1e-4 standard errors that estimates are to agree to.
constexpr double kAgreement = 1e-7;

void ExpectTwin(const std::string& kind, size_t parties,
                const std::vector<std::pair<MatrixXd, Cells>>& groups,
                const stats::ImputationOptions& options) {
  const Opened opened = ImputeSecretly(kind, parties, groups, options);
  EXPECT_EQ(opened.beyond, 0);
  ASSERT_EQ(opened.groups.size(), groups.size());
  for (size_t g = 0; g < groups.size(); ++g) {
    const auto twin =
        Twin(groups[g].first, groups[g].second, parties, g * options.imputations, options);
    for (size_t i = 0; i < options.imputations; ++i) {
      EXPECT_LT(Distance(opened.groups[g][i], twin[i]), kAgreement)
          << "group " << g << ", imputation " << i;
    }
  }
}

std::pair<MatrixXd, Cells> Group(size_t n, size_t p, double missing, uint64_t seed) {
  MatrixXd rows = MakeRows(n, p, missing, seed);
  Cells cells = CellsOf(rows);
  return {std::move(rows), std::move(cells)};
}

TEST(SharedImputationTest, EqualsTheTwinOnFiveTables) {
  for (uint64_t seed = 1; seed <= 5; ++seed) {
    SCOPED_TRACE(seed);
    ExpectTwin("dealer", 2, {Group(100 + 40 * seed, 3, 0.2, seed)}, {2, 6});
  }
}

TEST(SharedImputationTest, OnEveryEngine) {
  for (const auto& [kind, parties] : std::vector<std::pair<std::string, size_t>>{
           {"dealer", 3}, {"replicated", 3}, {"shamir", 3}, {"ot", 2}}) {
    SCOPED_TRACE(kind);
    ExpectTwin(kind, parties, {Group(120, 2, 0.2, 8)}, {2, 2});
  }
}

TEST(SharedImputationTest, GroupsAndPatternsOfNoRows) {
  auto first = Group(250, 3, 0.2, 11), second = Group(150, 3, 0.25, 12);
  first.second.try_emplace({1});  // listed, but no row has it
  first.second.try_emplace({});   // rows without any value do not count
  second.second.try_emplace({1, 2});
  ExpectTwin("dealer", 2, {first, second}, {3, 3});
}

// A study's size: four patterns of nine variables, and as many iterations as are usual. Digits that
// are lost in one iteration are not lost again in the next.
TEST(SharedImputationTest, NineVariablesAndThirtyIterations) {
  MatrixXd rows = MakeRows(301, 9, 0, 17);
  std::mt19937_64 random(18);
  std::uniform_real_distribution<double> uniform;
  for (Index r = 0; r < rows.rows(); ++r) {
    if (uniform(random) < 0.2) rows(r, 3) = kNaN;
    if (uniform(random) < 0.2) rows.row(r).tail(3).setConstant(kNaN);
  }
  ExpectTwin("dealer", 2, {{rows, CellsOf(rows)}}, {2, 30});
}

TEST(SharedImputationTest, CompleteRowsComeBackAsTheyAre) {
  const auto group = Group(60, 3, 0, 13);
  const Opened opened = ImputeSecretly("dealer", 2, {group}, {2, 2});
  const stats::GroupMoments exact = PlainPatterns(group.first, group.second).front().moments;
  for (const stats::GroupMoments& moments : opened.groups.front())
    EXPECT_LT(Distance(moments, exact), kAgreement);
  EXPECT_EQ(opened.beyond, 0);
}

// Patterns over variables that another analysis has too: the same for this one, so one pattern.
TEST(SharedImputationTest, EqualPatternsAreOne) {
  const auto group = Group(150, 2, 0.2, 14);
  mpc::testing::RunOptions options;
  mpc::testing::RunAndComparePlan(options, [&](Engine& engine, size_t) {
    PatternSums once = SumsOf(engine, group.first, group.second);
    PatternSums twice = once;
    const auto split = [&](size_t cell) {
      std::vector<Index> of = std::next(group.second.begin(), static_cast<long>(cell))->second;
      const std::vector<Index> half(of.begin(), of.begin() + static_cast<long>(of.size() / 2));
      of.erase(of.begin(), of.begin() + static_cast<long>(of.size() / 2));
      twice.cells[cell] = Enter(engine, group.first, half);
      twice.cells.push_back(Enter(engine, group.first, of));
      twice.observed.push_back(twice.observed[cell]);
      twice.counts[cell] = engine.self() ? static_cast<double>(half.size()) : 1;
      twice.counts.push_back(engine.self() ? static_cast<double>(of.size()) : 1);
    };
    split(0);
    split(1);
    const std::vector<SharedPatterns> patterns = StandardisePatterns(engine, {once, twice});
    ASSERT_EQ(patterns[0].patterns.size(), patterns[1].patterns.size());
    for (size_t c = 0; c < patterns[0].patterns.size(); ++c) {
      if (engine.self()) {
        EXPECT_EQ(patterns[0].patterns[c].n, patterns[1].patterns[c].n);
      }
      const std::vector<Shared> both = {patterns[0].patterns[c].squares,
                                        patterns[1].patterns[c].squares};
      const auto opened = engine.Reveal("out", both, mpc::kEverybody);
      for (size_t i = 0; i < opened[0].values.size(); ++i) {
        EXPECT_NEAR(mpc::DecodeFixed(opened[0].values[i], kSealedBits),
                    mpc::DecodeFixed(opened[1].values[i], kSealedBits), kAgreement);
      }
    }
  }).ThrowIfFailed();
}

// The fault is counted, so that nothing is opened: see imputed_moments.h.
TEST(SharedImputationTest, VariablesThatDetermineEachOtherAreCounted) {
  auto [rows, cells] = Group(120, 3, 0, 15);
  rows.col(2) = rows.col(1);
  for (Index r = 0; r < 20; ++r) rows(r, 0) = kNaN;
  cells = CellsOf(rows);
  EXPECT_GT(ImputeSecretly("dealer", 2, {{rows, cells}}, {2, 2}).beyond, 0);
}

// A value far outside of what its pattern's limit is: one pattern of few rows far from the others.
TEST(SharedImputationTest, PatternsFarFromTheOthersAreCounted) {
  MatrixXd rows = MakeRows(2000, 2, 0, 16);
  rows *= 0.05;
  for (Index r = 0; r < 8; ++r) {
    rows(r, 0) = r % 2 == 0 ? 0.5 : -0.5;
    rows(r, 1) = kNaN;
  }
  EXPECT_GT(ImputeSecretly("dealer", 2, {{rows, CellsOf(rows)}}, {1, 1}).beyond, 0);
}

TEST(SharedImputationTest, RoundsAreStated) {
  for (const mpc::testing::Setting& setting : mpc::testing::kSettings) {
    if (setting.kind == "ot") continue;
    SCOPED_TRACE(setting.kind);
    const auto rounds = [&](size_t p, size_t iterations) {
      return mpc::testing::PlannedRounds(setting, [&](Engine& engine) {
        std::vector<SharedPatterns> groups(1);
        groups[0].mean = groups[0].deviation = mpc::testing::Planned({p, 1}, kSealedBits, 1);
        groups[0].beyond = mpc::testing::Planned({1, 1}, 0, 1);
        groups[0].n = 100;
        for (size_t missing = 0; missing < 3; ++missing) {
          SharedPattern pattern;
          for (size_t v = 0; v < p; ++v)
            (v < missing ? pattern.missing : pattern.observed).push_back(v);
          const size_t k = pattern.observed.size();
          pattern.n = 30;
          pattern.mean = mpc::testing::Planned({k, 1}, kSealedBits, 1);
          pattern.squares = pattern.root = mpc::testing::Planned({k, k}, kSealedBits, 1);
          groups[0].patterns.push_back(std::move(pattern));
        }
        SilentProgress progress;
        ImputeOnShares(engine, groups, {3, iterations}, {}, progress);
      });
    };
    // The longest chain of messages: on `shamir` fewer than every product's longest cut.
    const size_t step = setting.kind == "shamir" ? 126 : 35 * setting.c() + 1 + setting.d();
    for (const size_t p : {size_t{4}, size_t{9}}) EXPECT_EQ(rounds(p, 8) - rounds(p, 7), step) << p;
    if (setting.kind == "dealer") {
      EXPECT_EQ(rounds(9, 30), 2257u);
    }
  }
}

TEST(SharedImputationTest, DegreesOfAllPartiesAddUp) {
  for (double degrees = 0; degrees < 20; ++degrees) {
    for (size_t parties = 2; parties <= 7; ++parties) {
      double sum = 0;
      for (size_t j = 0; j < parties; ++j) sum += PartOfDegrees(degrees, j, parties);
      EXPECT_EQ(sum, degrees);
    }
  }
}

}  // namespace
}  // namespace partita::methods::mle::shared_imputation_test
