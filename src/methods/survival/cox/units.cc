#include "methods/survival/cox/units.h"

#include <algorithm>
#include <cmath>

#include "mpc/fixed_point.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/sandwich.h"

namespace partita::methods::survival {
namespace {

using Eigen::Index;
using mpc::Engine;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

// Of u: the squares of units add up to 2^(2 unit_bits + 4) at most.
constexpr int kMostScoreBits = 40, kScoreRoomBits = 56;
int ScoreBits(const RobustTask& task) {
  return std::min(kMostScoreBits, kScoreRoomBits - task.unit_bits);
}

// Inputs of one holder.
struct SharedUnits {
  Shared scores, events, weighted, tied;
};

std::vector<SharedUnits> ShareUnits(Engine& engine, const RobustTask& task, const UnitSums& own) {
  const size_t cells = task.cells.count(), p = task.columns;
  const double most_weight = std::exp(kMostPredictor) + 1;
  std::vector<mpc::PrivateMatrix> inputs;
  for (size_t h = 0; h < task.holders.size(); ++h) {
    const size_t units = task.units[h];
    const auto add = [&](mpc::Shape shape, int bits, double most,
                         const std::vector<Int128>& values) {
      inputs.push_back(run::SumsOfHolder(engine, task.holders[h], shape, bits, most, values));
    };
    add({units, p}, ScoreBits(task), 1, own.scores);
    add({units, cells}, 0, 1, own.events);
    add({(p + 1) * units, cells}, kRiskBits, most_weight, own.weighted);
    if (task.most_ties > 1) add({(p + 1) * units, cells}, kRiskBits, most_weight, own.tied);
  }
  const std::vector<Shared> shared = engine.Input(inputs);
  const size_t each = inputs.size() / task.holders.size();
  std::vector<SharedUnits> units;
  for (size_t h = 0; h < task.holders.size(); ++h) {
    units.push_back({shared[each * h], shared[each * h + 1], shared[each * h + 2], {}});
    if (each > 3) units.back().tied = shared[each * h + 3];
  }
  return units;
}

// What was expected of each unit: w x L, p units x 1, and w A, units x p.
struct ExpectedOfUnits {
  Shared of_rows, of_means;
};

}  // namespace

UnitSums UnitSumsAt(const CoxRows& rows, const CoxCells& grid, const Eigen::VectorXd& point,
                    const RobustTask& task, size_t units) {
  const size_t cells = grid.count(), p = task.columns;
  const bool apart = task.most_ties > 1;
  UnitSums sums;
  sums.events.resize(units * cells);
  sums.weighted.resize((p + 1) * units * cells);
  if (apart) sums.tied.resize(sums.weighted.size());
  Eigen::MatrixXd scores = Eigen::MatrixXd::Zero(static_cast<Index>(units), static_cast<Index>(p));
  const Eigen::VectorXd predictor = rows.x * point;
  for (Index i = 0; i < predictor.size(); ++i) {
    const auto row = static_cast<size_t>(i);
    const size_t unit = rows.unit.empty() ? row : rows.unit[row];
    const bool event = rows.event[row] != 0;
    const double weight = WeightOf(predictor[i]);
    const auto add = [&](std::vector<Int128>& to, size_t place, int sign) {
      for (size_t k = 0; k <= p; ++k) {
        const double value = k == 0 ? weight : weight * rows.x(i, static_cast<Index>(k) - 1);
        to[(k * units + unit) * cells + place] += sign * mpc::EncodeFixed(value, kRiskBits);
      }
    };
    add(apart && event ? sums.tied : sums.weighted, rows.place[row], 1);
    if (!rows.entry.empty()) add(sums.weighted, rows.entry[row], -1);
    if (!event) continue;
    ++sums.events[unit * cells + rows.place[row]];
    scores.row(static_cast<Index>(unit)) += rows.x.row(i);
  }
  for (Index u = 0; u < scores.rows(); ++u) {
    for (Index k = 0; k < scores.cols(); ++k)
      sums.scores.push_back(mpc::EncodeFixed(scores(u, k), ScoreBits(task)));
  }
  return sums;
}

Shared UnitMeat(Engine& engine, const RobustTask& task, const CoxTerms& terms,
                const UnitSums& own) {
  const size_t p = task.columns, cells = task.cells.count(), holders = task.holders.size();
  const int bits = ScoreBits(task);
  const double rows = std::ldexp(1, task.unit_bits), most = kMostOfMean * rows;
  const std::vector<SharedUnits> units = ShareUnits(engine, task, own);
  const HazardSums hazards =
      SumHazards(engine, task.cells, task.most_ties, terms, rows, MostHazard(rows, task.late));
  const size_t kinds = hazards.expected.size();
  std::vector<Shared> of_events(holders);
  std::vector<ExpectedOfUnits> expected(holders * kinds);
  mpc::ProductRound products(engine);
  for (size_t h = 0; h < holders; ++h) {
    const size_t count = task.units[h];
    products.AddCut(Kind::kMatrix, units[h].events, hazards.mean, most, bits, of_events[h]);
    for (size_t k = 0; k < kinds; ++k) {
      // By Efron those with the event come first.
      const Shared& weighted = k + 1 < kinds ? units[h].tied : units[h].weighted;
      const auto part = [&](size_t first, size_t matrices) {
        return WithBound(engine.Slice(weighted, first * count, 0, {matrices * count, cells}),
                         weighted.bound);
      };
      ExpectedOfUnits& sums = expected[h * kinds + k];
      products.AddCut(Kind::kMatrix, part(1, p), hazards.expected[k].hazard, most, bits,
                      sums.of_rows);
      products.AddCut(Kind::kMatrix, part(0, 1), hazards.expected[k].weighted, most, bits,
                      sums.of_means);
    }
  }
  products.Run();
  std::vector<Shared> scores;
  for (size_t h = 0; h < holders; ++h) {
    Shared score = engine.Subtract(units[h].scores, of_events[h]);
    for (size_t k = 0; k < kinds; ++k) {
      const ExpectedOfUnits& sums = expected[h * kinds + k];
      const Shared of_rows = engine.Transpose(mpc::Reshape(sums.of_rows, {p, task.units[h]}));
      score = engine.Add(engine.Subtract(score, of_rows), sums.of_means);
    }
    scores.push_back(WithBound(score, 2 * most));
  }
  const Shared all = WithBound(engine.Concatenate(scores, true), 2 * most);
  const double most_meat = kMostOfSum * rows * rows;
  Shared meat;
  mpc::ProductRound squares(engine);
  squares.AddCut(Kind::kGram, all, all, most_meat, mpc::kMeatBits - task.unit_bits, meat);
  squares.Run();
  return WithBound(meat, most_meat);
}

}  // namespace partita::methods::survival
