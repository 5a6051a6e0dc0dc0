// Counting, least squares, whole numbers.
#include "stats/marginals/tables.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <numeric>
#include <string>

#include "base/error.h"
#include "stats/marginals/apportion.h"
#include "stats/marginals/consistent.h"
#include "tests/stats/marginals/coded_table.h"
#include "tests/stats/marginals/joint.h"

namespace partita::stats::marginals::tables_test {
namespace {

TableSet Tiny() { return AllTables({{"a", 2}, {"b", 3}, {"c", 2}, {"d", 4}}); }

TEST(MarginalTables, StandInTheirOrder) {
  const TableSet set = Tiny();
  EXPECT_EQ(set.tables.size(), 10);
  EXPECT_EQ(set.num_cells, 11 + 6 + 4 + 8 + 6 + 12 + 8);
  for (uint32_t a = 0; a < 4; ++a) {
    for (uint32_t b = a + 1; b < 4; ++b) {
      EXPECT_EQ(set.Pair(a, b).first, a);
      EXPECT_EQ(set.Pair(a, b).second, b);
    }
  }
}

TEST(MarginalTables, CountsAreSumsOverRows) {
  const TableSet set = Tiny();
  const Codes cells = AllCells(set);
  // Cell i of the joint table i % 5 times.
  std::vector<double> joint;
  Codes rows(4);
  for (size_t i = 0; i < cells[0].size(); ++i) {
    joint.push_back(static_cast<double>(i % 5));
    for (size_t a = 0; a < 4; ++a) rows[a].insert(rows[a].end(), i % 5, cells[a][i]);
  }
  EXPECT_EQ(Count(set, rows), TablesOfJoint(set, joint));
  const std::vector<double> none = Count(set, Codes(4));
  EXPECT_EQ(none, std::vector<double>(set.num_cells, 0));
}

TEST(MarginalTables, RefusesWhatIsNoDomain) {
  const auto is_refused = [](std::vector<Attribute> attributes) {
    try {
      AllTables(std::move(attributes));
    } catch (const Error& error) {
      return error.code() == ErrorCode::kBadInput;
    }
    return false;
  };
  EXPECT_TRUE(is_refused({}));
  EXPECT_TRUE(is_refused({{"", 2}}));
  EXPECT_TRUE(is_refused({{"a", 2}, {"a", 3}}));
  EXPECT_TRUE(is_refused({{"a", 1}}));
  // Levels of all attributes together: a fit costs their square, whatever the pairs have.
  EXPECT_FALSE(is_refused({{"a", 598}, {"b", 2}}));
  EXPECT_TRUE(is_refused({{"a", 599}, {"b", 2}}));
  EXPECT_TRUE(is_refused({{"a", 65535}, {"b", 2}}));
  std::vector<Attribute> many;
  for (int a = 0; a < 100; ++a) many.push_back({std::to_string(a), 2});
  EXPECT_FALSE(is_refused(many));
  many.push_back({"more", 2});
  EXPECT_TRUE(is_refused(many));
  EXPECT_THROW(Count(Tiny(), {{0}, {0}, {2}, {0}}), Error);
  EXPECT_THROW(Count(Tiny(), {{0}, {0}, {1}, {}}), Error);
  EXPECT_THROW(Count(Tiny(), {{0}, {0}, {1}}), Error);
}

// The minimum-norm solution over all distributions of 48 cells, which exists whatever their sum.
std::vector<double> LeastSquares(const TableSet& set, const std::vector<double>& noisy,
                                 std::optional<double> rows, const TableWeights& weights = {}) {
  const Codes cells = AllCells(set);
  const auto size = static_cast<Eigen::Index>(cells[0].size());
  Eigen::MatrixXd design(static_cast<Eigen::Index>(set.num_cells), size);
  for (Eigen::Index i = 0; i < size; ++i) {
    std::vector<double> unit(cells[0].size(), 0);
    unit[i] = 1;
    const std::vector<double> column = TablesOfJoint(set, unit);
    design.col(i) = Eigen::Map<const Eigen::VectorXd>(column.data(), design.rows());
  }
  Eigen::VectorXd wanted = Eigen::Map<const Eigen::VectorXd>(noisy.data(), design.rows());
  Eigen::VectorXd base = Eigen::VectorXd::Zero(size);
  if (rows) {
    // Within the plane of that sum.
    base.setConstant(*rows / static_cast<double>(size));
    wanted -= design * base;
    design = design * (Eigen::MatrixXd::Identity(size, size) -
                       Eigen::MatrixXd::Constant(size, size, 1.0 / static_cast<double>(size)));
  }
  for (size_t t = 0; t < set.tables.size(); ++t) {
    const CountTable& table = set.tables[t];
    const auto first = static_cast<Eigen::Index>(table.offset),
               count = static_cast<Eigen::Index>(table.cells());
    design.middleRows(first, count) *= WeightOf(weights, t);
    wanted.segment(first, count) *= WeightOf(weights, t);
  }
  const Eigen::VectorXd joint = base + design.completeOrthogonalDecomposition().solve(wanted);
  return TablesOfJoint(set, {joint.begin(), joint.end()});
}

// All parts, triples' interactions and what triples say of pairs, too.
void ExpectLeastSquares(const TableSet& set) {
  crypto::Prg source = SeededSource(5);
  blr::Variates variates(source);
  std::vector<double> noisy(set.num_cells);
  for (double& value : noisy) value = 20 + 30 * variates.Normal();
  for (const std::optional<double> rows : {std::optional<double>(), std::optional<double>(100)}) {
    const ConsistentTables ours = MakeConsistent(set, noisy, rows);
    const std::vector<double> wanted = LeastSquares(set, noisy, rows);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(ours.cells[i], wanted[i], 1e-9) << i;
    EXPECT_NEAR(ours.rows, wanted[0] + wanted[1], 1e-9);
  }
  TableWeights weights;
  for (size_t t = 0; t < set.tables.size(); ++t) weights.push_back(0.2 + variates.Uniform());
  for (const std::optional<double> rows : {std::optional<double>(), std::optional<double>(100)}) {
    const std::vector<double> wanted = LeastSquares(set, noisy, rows, weights);
    const ConsistentTables ours = MakeConsistent(set, noisy, rows, weights);
    for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(ours.cells[i], wanted[i], 1e-9) << i;
  }
  // Of pairs that were not counted a triple may still tell.
  for (size_t t = set.attributes.size(); t < set.attributes.size() + set.NumPairs(); t += 2)
    weights[t] = 0;
  const std::vector<double> wanted = LeastSquares(set, noisy, {}, weights);
  const ConsistentTables ours = MakeConsistent(set, noisy, {}, weights);
  for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(ours.cells[i], wanted[i], 1e-9) << i;
  EXPECT_THROW(MakeConsistent(set, {noisy.data(), 3}, {}), Error);
}

TEST(MarginalTables, ConsistentOnesAreTheLeastSquares) { ExpectLeastSquares(Tiny()); }

TEST(MarginalTables, ConsistentTriplesAreTheLeastSquares) {
  const std::vector<Triple> triples = {{0, 1, 3}, {1, 2, 3}};
  ExpectLeastSquares(AllTables(Tiny().attributes, triples));
}

// Cells of a triple are row-major; it stands behind all pairs.
TEST(MarginalTables, TriplesAreCountedByTheirLevels) {
  const std::vector<Triple> triples = {{0, 2, 3}};
  const TableSet set = AllTables(Tiny().attributes, triples);
  ASSERT_EQ(set.Triples().size(), 1u);
  const CountTable& triple = set.Triples()[0];
  EXPECT_EQ(triple.offset, Tiny().num_cells);
  EXPECT_EQ(triple.cells(), 2u * 2u * 4u);
  EXPECT_EQ(set.num_cells, triple.offset + triple.cells());
  EXPECT_EQ(TableName(set, triple), "a, c, d");
  const std::vector<double> counts = Count(set, {{1, 0, 1}, {2, 2, 0}, {1, 0, 1}, {3, 2, 3}});
  for (size_t i = 0; i < triple.cells(); ++i) {
    const double wanted = i == (1 * 2 + 1) * 4 + 3 ? 2 : i == (0 * 2 + 0) * 4 + 2 ? 1 : 0;
    EXPECT_EQ(counts[triple.offset + i], wanted) << i;
  }
}

TEST(MarginalTables, RefusesTriplesThatAreNone) {
  const auto is_refused = [](const std::vector<Triple>& triples, uint32_t levels) {
    std::vector<Attribute> attributes;
    for (const char* name : {"a", "b", "c", "d", "e", "f", "g"}) attributes.push_back({name, 2});
    attributes[6].levels = levels;
    attributes[5].levels = 100;
    try {
      AllTables(attributes, triples);
    } catch (const Error& error) {
      return error.code() == ErrorCode::kBadInput;
    }
    return false;
  };
  EXPECT_FALSE(is_refused({{0, 1, 2}, {0, 1, 3}}, 2));
  EXPECT_TRUE(is_refused({{0, 1, 2}, {0, 1, 2}}, 2));
  EXPECT_TRUE(is_refused({{0, 0, 2}}, 2));
  EXPECT_TRUE(is_refused({{2, 1, 0}}, 2));
  EXPECT_TRUE(is_refused({{0, 1, 7}}, 2));
  EXPECT_FALSE(is_refused({{4, 5, 6}}, 100));  // 20,000 cells
  EXPECT_TRUE(is_refused({{4, 5, 6}}, 101));
  std::vector<Triple> many;
  for (uint32_t a = 0; a < 5; ++a) {
    for (uint32_t b = a + 1; b < 5; ++b)
      for (uint32_t c = 5; c < 7; ++c) many.push_back({a, b, c});
  }
  ASSERT_EQ(many.size(), kMaxTriples);
  EXPECT_FALSE(is_refused(many, 2));
  many.push_back({0, 1, 2});
  EXPECT_TRUE(is_refused(many, 2));
}

TEST(MarginalTables, ProjectionIsTheNearest) {
  crypto::Prg source = SeededSource(6);
  blr::Variates variates(source);
  for (int repeat = 0; repeat < 200; ++repeat) {
    std::vector<double> cells(1 + variates.Below(6));
    for (double& cell : cells) cell = 3 * variates.Normal();
    std::vector<double> projected = cells;
    const double total = repeat == 0 ? 0 : variates.Uniform() * 5;
    ProjectToTotal(projected, total);
    EXPECT_NEAR(std::accumulate(projected.begin(), projected.end(), 0.0), total, 1e-12);
    // What is above 0 moved by one number, what is 0 by no more.
    std::optional<double> shift;
    for (size_t i = 0; i < cells.size(); ++i) {
      if (projected[i] > 0) shift = cells[i] - projected[i];
    }
    for (size_t i = 0; shift && i < cells.size(); ++i) {
      EXPECT_NEAR(projected[i], std::max(0.0, cells[i] - *shift), 1e-12);
    }
  }
}

TEST(MarginalTables, WholeNumbersAreNextToTheirShares) {
  crypto::Prg source = SeededSource(7);
  blr::Variates variates(source);
  const std::vector<double> weights = {0.3, 0, 0.05, 0.6, 0.05};
  std::vector<double> sums(weights.size(), 0);
  constexpr int kRepeats = 20000;
  for (int repeat = 0; repeat < kRepeats; ++repeat) {
    const std::vector<uint32_t> counts = Apportion(7, weights, variates);
    EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 7);
    for (size_t i = 0; i < weights.size(); ++i) {
      EXPECT_LT(std::abs(counts[i] - 7 * weights[i]), 1);
      sums[i] += counts[i];
    }
  }
  // A count is one of two neighbours: its standard deviation is at most 1/2. Seeds are fixed.
  for (size_t i = 0; i < weights.size(); ++i) {
    EXPECT_NEAR(sums[i] / kRepeats, 7 * weights[i], 5 * 0.5 / std::sqrt(kRepeats));
  }
  EXPECT_EQ(Apportion(3, std::vector<double>(3, 0), variates), (std::vector<uint32_t>{1, 1, 1}));
  EXPECT_EQ(Apportion(0, weights, variates), std::vector<uint32_t>(5, 0));
}

}  // namespace
}  // namespace partita::stats::marginals::tables_test
