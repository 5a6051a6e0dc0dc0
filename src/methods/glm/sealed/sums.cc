#include "methods/glm/sealed/sums.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "methods/glm/fit_numbers.h"
#include "methods/glm/protocol.h"
#include "methods/glm/sealed/clusters.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/sandwich.h"
#include "mpc/functions/scoring_path.h"
#include "stats/glm/likelihood.h"

namespace partita::methods::glm {
namespace {

using mpc::Engine;
using mpc::Operand;
using mpc::Shared;
using mpc::WithBound;
using Kind = mpc::Product::Kind;
using stats::glm::Family;

constexpr int kSealedInformationBits = 64, kSealedScoreBits = 54, kSealedPearsonBits = 52;
constexpr int kStartBits = 40, kRidgeBits = 44;
constexpr double kLeastShare = 0x1p-40;

Shared AddedUp(Engine& engine, const std::vector<Shared>& terms, double bound) {
  Shared sum = WithBound(terms.front(), bound / 2);
  for (size_t i = 1; i < terms.size(); ++i)
    sum = WithBound(engine.Add(sum, WithBound(terms[i], bound / 2)), bound / 2);
  return WithBound(sum, bound);
}

}  // namespace

SealedSums::SealedSums(Engine& engine, const Task& task, const SealedLayout& layout,
                       const std::vector<SharedBlock>& blocks, SharedTotals totals)
    : engine_(engine), task_(task), blocks_(blocks), totals_(std::move(totals)) {
  rows_ = layout.rows();
  if (task.spec.copies()) most_copies_ = task.spec.most_weight;
  most_rows_ = most_copies_ * static_cast<double>(rows_);
  outcome_ = Joined(&SharedBlock::outcome);
  weighted_outcome_ = Joined(&SharedBlock::weighted_outcome);
  if (!task.spec.weights.empty()) weights_ = Joined(&SharedBlock::weights);
  if (gaussian()) MakeGaussian();
  if (Is(Family::kPoisson)) MakePoisson();
  if (Is(Family::kGamma)) MakeGamma();
  if (task.spec.ridge > 0) MakeRidge();
}

Shared SealedSums::Zero(mpc::Shape shape, int fraction_bits) {
  mpc::IntMatrix zero{shape, std::vector<Int128>(shape.rows * shape.cols, 0)};
  return WithBound(engine_.Public({std::move(zero), fraction_bits}), 1);
}

Shared SealedSums::Joined(Shared SharedBlock::*column) {
  std::vector<Shared> columns;
  double bound = 0;
  for (const SharedBlock& block : blocks_) {
    columns.push_back(block.*column);
    bound = std::max(bound, columns.back().bound);
  }
  return WithBound(engine_.Concatenate(columns, true), bound);
}

void SealedSums::Weight(const std::vector<Shared*>& values) {
  if (!weighted()) return;
  mpc::ProductRound round(engine_);
  for (Shared* value : values) {
    const double most = value->bound * most_copies_;
    if (task_.spec.copies()) {
      round.Add(weights_, *value, most, *value);
    } else {
      round.AddCut(weights_, *value, most, value->fraction_bits, *value);
    }
  }
  round.Run();
}

std::vector<Shared> SealedSums::ByBlock(const Shared& values) {
  std::vector<Shared> parts;
  size_t first = 0;
  for (const SharedBlock& block : blocks_) {
    parts.push_back(engine_.Slice(values, first, 0, {block.rows, values.shape.cols}));
    first += block.rows;
  }
  return parts;
}

Shared SealedSums::PerRow(const Shared& sum, double bound) {
  return WithBound(mpc::TimesPowerOfTwo(sum, -task_.units.row_bits - task_.units.weight_bits),
                   bound);
}

Shared SealedSums::Predictor(const Shared& point) {
  const double most = static_cast<double>(task_.num_columns()) * mpc::kMostCoordinate;
  const bool offset = !task_.spec.offsets.empty();
  const double bound = most + (offset ? blocks_.front().offset.bound : 0);
  mpc::ProductRound round(engine_);
  std::vector<std::vector<Shared>> products(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    products[b].resize(blocks_[b].parts.size());
    for (size_t p = 0; p < products[b].size(); ++p) {
      const ColumnPart& part = blocks_[b].parts[p];
      round.Add(Kind::kMatrix, part.operand,
                WithBound(engine_.SelectRows(point, part.columns), mpc::kMostCoordinate), most,
                products[b][p]);
    }
  }
  round.Run();
  std::vector<Shared> predictors;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    if (offset)
      products[b].push_back(mpc::Lift(engine_, blocks_[b].offset, kColumnBits + mpc::kStepBits));
    predictors.push_back(AddedUp(engine_, products[b], bound));
  }
  Shared all = WithBound(engine_.Concatenate(predictors, true), bound);
  mpc::CutRound cut(engine_);
  cut.Add(all, mpc::kStepBits, bound);
  cut.Run();
  return all;
}

Shared SealedSums::Score(const std::vector<Shared>& values, int fraction_bits) {
  const double most = values.front().bound;
  mpc::ProductRound round(engine_);
  std::vector<std::vector<Shared>> products(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    products[b].resize(blocks_[b].parts.size());
    for (size_t p = 0; p < products[b].size(); ++p) {
      round.Add(Kind::kGram, blocks_[b].parts[p].operand, values[b],
                most * static_cast<double>(blocks_[b].rows), products[b][p]);
    }
  }
  round.Run();
  std::vector<Shared> by_block;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const Shared joined = engine_.Concatenate(products[b], true);
    by_block.push_back(engine_.SelectRows(joined, PlacesOfColumns(blocks_[b])));
  }
  Shared score = PerRow(AddedUp(engine_, by_block, most * static_cast<double>(rows_)),
                        std::ldexp(most / most_copies_, -task_.units.weight_bits));
  mpc::CutRound cut(engine_);
  cut.Add(score, fraction_bits, score.bound);
  cut.Run();
  return score;
}

Shared SealedSums::Information(const std::vector<std::vector<Operand>>& weighted, double most,
                               int fraction_bits) {
  mpc::ProductRound round(engine_);
  std::vector<std::vector<std::vector<Shared>>> products(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    const std::vector<ColumnPart>& parts = blocks_[b].parts;
    products[b].assign(parts.size(), std::vector<Shared>(parts.size()));
    for (size_t i = 0; i < parts.size(); ++i) {
      for (size_t j = i; j < parts.size(); ++j) {
        round.Add(Kind::kGram, weighted[b][i], parts[j].operand,
                  most * most_copies_ * static_cast<double>(blocks_[b].rows), products[b][i][j]);
      }
    }
  }
  round.Run();
  std::vector<Shared> by_block;
  for (size_t b = 0; b < blocks_.size(); ++b) {
    std::vector<Shared> rows;
    for (size_t i = 0; i < products[b].size(); ++i) {
      for (size_t j = 0; j < i; ++j) products[b][i][j] = engine_.Transpose(products[b][j][i]);
      rows.push_back(engine_.Concatenate(products[b][i], false));
    }
    const std::vector<size_t> places = PlacesOfColumns(blocks_[b]);
    const Shared ordered = engine_.SelectRows(engine_.Concatenate(rows, true), places);
    by_block.push_back(engine_.SelectRows(engine_.Transpose(ordered), places));
  }
  const double bound = std::ldexp(most, -task_.units.weight_bits);
  Shared information = PerRow(AddedUp(engine_, by_block, most * most_rows_), bound);
  mpc::CutRound cut(engine_);
  cut.Add(information, fraction_bits, bound);
  cut.Run();
  return information;
}

Shared SealedSums::Weighted(const Shared& weights, double most, int fraction_bits) {
  const std::vector<Shared> by_block = ByBlock(weights);
  mpc::ProductRound round(engine_);
  std::vector<std::vector<Shared>> weighted(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    weighted[b].resize(blocks_[b].parts.size());
    for (size_t p = 0; p < weighted[b].size(); ++p)
      round.Add(by_block[b], blocks_[b].parts[p].operand, weights.bound, weighted[b][p]);
  }
  round.Run();
  std::vector<std::vector<Operand>> operands(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b)
    operands[b].assign(weighted[b].begin(), weighted[b].end());
  return Information(operands, most, fraction_bits);
}

// At most kMostMeat J in every direction (row_values.h), and J at most 1: so it is with frequencies, and
// with other weights, which are at most 1 each.
Shared SealedSums::Meat(const Shared& squares) {
  Shared weighted = squares;
  Weight({&weighted});
  if (!task_.spec.copies()) Weight({&weighted});
  return WithBound(Weighted(weighted, MostSquare(task_), mpc::kMeatBits), mpc::kMostMeat);
}

void SealedSums::AddMeat(const RowValues& values, SharedSums& sums) {
  if (task_.spec.clustered()) {
    sums.clusters = ScoresOfClusters(engine_, blocks_, ByBlock(values.residual));
  } else if (task_.spec.robust()) {
    sums.meat = Meat(values.squares);
  }
}

Shared SealedSums::LeftOut() {
  const auto most = static_cast<double>(rows_);
  return mpc::PlusConstant(engine_, engine_.Scale(totals_.rows, -1), most, most);
}

Shared SealedSums::Start() {
  const Spec& spec = task_.spec;
  Shared zero = Zero({task_.num_columns(), 1}, mpc::kStepBits);
  if (gaussian() || Is(Family::kGamma) || !spec.intercept) return zero;
  const auto per_row = [&](const Shared& sum) {
    return WithBound(mpc::TimesPowerOfTwo(sum, -task_.units.row_bits),
                     std::ldexp(sum.bound, -task_.units.row_bits));
  };
  std::vector<mpc::PositiveValue> values;
  if (spec.law.family == Family::kBinomial) {
    const Shared others = WithBound(engine_.Subtract(totals_.rows, totals_.events), most_rows_);
    values = {{per_row(totals_.events), kLeastShare}, {per_row(others), kLeastShare}};
  } else {
    values = {{per_row(sum_), kLeastShare}, {per_row(sum_rate_), kLeastShare}};
  }
  const std::vector<Shared> logs = mpc::Log(engine_, values, kStartBits);
  Shared intercept = WithBound(engine_.Subtract(logs[0], logs[1]), mpc::kMostCoordinate / 2);
  if (task_.num_columns() == 1) return intercept;
  const std::vector<Shared> parts = {intercept,
                                     engine_.Slice(zero, 1, 0, {task_.num_columns() - 1, 1})};
  return WithBound(engine_.Concatenate(parts, true), mpc::kMostCoordinate / 2);
}

void SealedSums::MakeRidge() {
  const size_t p = task_.num_columns();
  const double most = std::ldexp(task_.spec.ridge, -task_.units.weight_bits);
  Shared each =
      PerRow(mpc::TimesConstant(engine_, totals_.rows, task_.spec.ridge, kRidgeBits), most);
  mpc::CutRound cut(engine_);
  cut.Add(each, kSealedInformationBits, most);
  cut.Run();
  const std::vector<Shared> rows = {each, Zero({1, 1}, kSealedInformationBits)};
  const Shared both = engine_.Concatenate(rows, true);
  std::vector<size_t> of_columns(p, 0), of_entries(p * p, 1);
  if (task_.spec.intercept) of_columns[0] = 1;
  for (size_t i = 0; i < p; ++i) of_entries[i * (p + 1)] = of_columns[i];
  ridge_diagonal_ = WithBound(engine_.SelectRows(both, of_columns), most);
  ridge_ = WithBound(mpc::Reshape(engine_.SelectRows(both, of_entries), {p, p}), most);
}

void SealedSums::AddRidge(const Shared& point, SharedSums& sums) {
  sums.information = WithBound(engine_.Add(sums.information, ridge_), 1);
  const double most = ridge_diagonal_.bound * mpc::kMostCoordinate;
  Shared drawn;
  mpc::ProductRound product(engine_);
  product.AddCut(ridge_diagonal_, point, most, kSealedScoreBits, drawn);
  product.Run();
  sums.score = WithBound(engine_.Subtract(sums.score, drawn), sums.score.bound + most);
}

SharedSums SealedSums::At(const Shared& point, bool last) {
  SharedSums sums = gaussian() ? GaussianAt(point, last) : LikelihoodAt(point, last);
  if (task_.spec.ridge > 0) AddRidge(point, sums);
  return sums;
}

SharedSums SealedSums::LikelihoodAt(const Shared& point, bool last) {
  const Shared predictor = Predictor(point);
  RowValues values = ValuesAt(engine_, task_, predictor, outcome_, last);
  if (last && !task_.spec.cuts.empty()) last_ = {predictor, values.mean};
  const Shared residual = values.residual;
  // At the end of a gamma model that of the columns alone.
  const bool expected = last && Is(Family::kGamma);
  std::vector<Shared*> of_rows = {&values.residual};
  if (!expected) of_rows.push_back(&values.weight);
  Weight(of_rows);
  SharedSums sums;
  sums.information = expected ? moments_
                              : Weighted(values.weight, std::ldexp(1.0, task_.units.weight_bits),
                                         kSealedInformationBits);
  sums.score = Score(ByBlock(values.residual), kSealedScoreBits);
  if (!last) return sums;
  sums.outside = values.outside;
  AddMeat(values, sums);
  if (Is(Family::kGamma)) sums.pearson = Pearson(values.pearson);
  if (NumTotals(task_.spec) == 0) return sums;
  sums.fit = Is(Family::kBinomial) ? BinomialFit(values.logs)
             : Is(Family::kGamma)  ? GammaFit(residual, values.logs)
                                   : PoissonFit(point, values.mean);
  return sums;
}

// ---- gaussian

void SealedSums::MakeMoments(double most) {
  if (weighted()) {
    moments_ = Weighted(weights_, most, kSealedInformationBits);
    return;
  }
  std::vector<std::vector<Operand>> columns(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    for (const ColumnPart& part : blocks_[b].parts) columns[b].push_back(part.operand);
  }
  moments_ = Information(columns, most, kSealedInformationBits);
}

void SealedSums::MakeGaussian() {
  mpc::ProductRound round(engine_);
  std::vector<Shared> squares(blocks_.size());
  for (size_t b = 0; b < blocks_.size(); ++b) {
    round.Add(Kind::kGram, blocks_[b].weighted_outcome, blocks_[b].outcome,
              most_copies_ * static_cast<double>(blocks_[b].rows), squares[b]);
  }
  round.Run();
  squares_ = AddedUp(engine_, squares, most_rows_);
  sum_ = WithBound(engine_.SumRows(weighted_outcome_), most_rows_);
  MakeMoments(std::ldexp(1.0, task_.units.weight_bits));
  products_ = Score(ByBlock(weighted_outcome_), kSealedScoreBits);
}

SharedSums SealedSums::GaussianAt(const Shared& point, bool last) {
  const auto p = static_cast<double>(task_.num_columns());
  SharedSums sums;
  sums.information = moments_;
  Shared explained;
  mpc::ProductRound times(engine_);
  times.AddCut(Kind::kMatrix, moments_, point, p * mpc::kMostCoordinate, kSealedScoreBits,
               explained);
  times.Run();
  sums.score = WithBound(engine_.Subtract(products_, explained), p * mpc::kMostCoordinate);
  Shared both = WithBound(engine_.Add(products_, sums.score), 2 * p * mpc::kMostCoordinate);
  mpc::CutRound shorter(engine_);
  shorter.Add(both, kSealedPearsonBits, both.bound);
  shorter.Run();
  Shared twice;
  mpc::ProductRound squares(engine_);
  squares.Add(Kind::kGram, both, point, 2 * p * p * mpc::kMostCoordinate * mpc::kMostCoordinate,
              twice);
  squares.Run();
  // Of a row, in units of the outcome: not divided by the largest weight, as J and U are.
  twice = WithBound(mpc::TimesPowerOfTwo(twice, task_.units.weight_bits),
                    std::ldexp(twice.bound, task_.units.weight_bits));
  Shared whole = WithBound(mpc::TimesPowerOfTwo(squares_, -task_.units.row_bits), 1);
  mpc::CutRound cut(engine_);
  cut.Add(whole, kSealedPearsonBits, 1);
  cut.Add(twice, kSealedPearsonBits, twice.bound);
  cut.Run();
  sums.pearson = WithBound(engine_.Subtract(whole, twice), task_.units.most_pearson);
  if (!last) return sums;
  if (task_.spec.robust()) {
    RowValues values = GaussianValues(engine_, task_, Predictor(point), outcome_);
    if (task_.spec.clustered()) Weight({&values.residual});
    sums.outside = values.outside;
    AddMeat(values, sums);
  } else {
    // Nothing is beyond limits: what is not within bounds fails in the step.
    sums.outside = WithBound(engine_.Public({{{1, 1}, {0}}, 0}), 1);
  }
  const double most = task_.units.most_fit * static_cast<double>(task_.max_rows());
  std::vector<Shared> numbers = {mpc::TimesPowerOfTwo(sums.pearson, task_.units.row_bits), sum_};
  mpc::CutRound fit(engine_);
  for (Shared& number : numbers) fit.Add(number, kFitBits, most);
  sums.squares = squares_;
  fit.Add(sums.squares, kSquareBits, most);
  fit.Run();
  if (!task_.spec.intercept) {
    // The deviance of the outcome itself.
    numbers[1] = sums.squares;
    mpc::CutRound null(engine_);
    null.Add(numbers[1], kFitBits, most);
    null.Run();
  }
  sums.fit = WithBound(engine_.Concatenate(numbers, true), most);
  return sums;
}

// ---- binomial

Shared SealedSums::BinomialFit(const Shared& logs) {
  // A row that is left out has a probability of 1/2.
  const double most = task_.units.most_fit * static_cast<double>(task_.max_rows());
  Shared kept;
  if (weighted()) {
    mpc::ProductRound product(engine_);
    product.Add(Kind::kGram, weights_, logs, logs.bound * most_rows_, kept);
    product.Run();
  } else {
    const Shared halves = mpc::TimesConstant(engine_, LeftOut(), std::numbers::ln2, kStartBits);
    kept = WithBound(engine_.Add(engine_.SumRows(logs), halves), (logs.bound + 1) * most_rows_);
  }
  std::vector<Shared> numbers = {mpc::TimesConstant(engine_, kept, -2, 0)};
  if (!task_.spec.intercept) {
    numbers.push_back(mpc::TimesConstant(engine_, totals_.rows, 2 * std::numbers::ln2, kStartBits));
  }
  mpc::CutRound cut(engine_);
  for (Shared& number : numbers) cut.Add(number, kFitBits, most);
  cut.Run();
  return WithBound(engine_.Concatenate(numbers, true), most);
}

// ---- poisson

void SealedSums::MakePoisson() {
  products_ = Score(ByBlock(weighted_outcome_), kSealedInformationBits);
  const Shared constants = Joined(&SharedBlock::constants);
  const Shared sums = engine_.SumRows(constants);
  const double most = constants.bound * static_cast<double>(rows_);
  sum_constant_ = WithBound(engine_.Slice(sums, 0, 0, {1, 1}), most);
  sum_log_ = WithBound(engine_.Slice(sums, 0, 1, {1, 1}), most);
  sum_ = WithBound(engine_.SumRows(weighted_outcome_),
                   weighted_outcome_.bound * static_cast<double>(rows_));
  if (task_.spec.offsets.empty()) {
    const Shared rows =
        weighted() ? WithBound(engine_.SumRows(weights_), most_rows_) : totals_.rows;
    sum_rate_ = mpc::Lift(engine_, rows, kConstantBits);
    return;
  }
  const Shared rates = Joined(&SharedBlock::rates), offset = Joined(&SharedBlock::offset);
  sum_rate_ = WithBound(engine_.SumRows(rates), rates.bound * static_cast<double>(rows_));
  mpc::ProductRound round(engine_);
  round.Add(Kind::kGram, weighted_outcome_, offset,
            weighted_outcome_.bound * offset.bound * static_cast<double>(rows_), sum_offset_);
  round.Run();
}

Shared SealedSums::PoissonFit(const Shared& point, const Shared& mean) {
  const double most = task_.units.most_fit * static_cast<double>(task_.max_rows());
  const auto p = static_cast<double>(task_.num_columns());
  // (X' y)' b.
  Shared fitted;
  mpc::ProductRound round(engine_);
  round.Add(Kind::kGram, products_, point, p * products_.bound * mpc::kMostCoordinate, fitted);
  round.Run();
  const int unit = task_.units.row_bits + task_.units.weight_bits;
  fitted = WithBound(mpc::TimesPowerOfTwo(fitted, unit), std::ldexp(fitted.bound, unit));
  Shared means = WithBound(engine_.SumRows(mean), mean.bound * static_cast<double>(rows_));
  if (weighted()) {
    mpc::ProductRound product(engine_);
    product.Add(Kind::kGram, weights_, mean, mean.bound * most_rows_, means);
    product.Run();
  }
  std::vector<Shared> terms = {fitted, sum_log_, means, sum_constant_, sum_rate_};
  if (sum_offset_.payload != nullptr) terms.push_back(sum_offset_);
  mpc::CutRound cut(engine_);
  for (Shared& term : terms) cut.Add(term, kFitBits, std::max(most, term.bound));
  cut.Run();
  const auto lifted = [&](const Shared& whole) { return mpc::Lift(engine_, whole, kFitBits); };
  const auto add = [&](const Shared& a, const Shared& b) {
    return WithBound(engine_.Add(WithBound(a, most), WithBound(b, most)), most);
  };
  const auto subtract = [&](const Shared& a, const Shared& b) {
    return WithBound(engine_.Subtract(WithBound(a, most), WithBound(b, most)), most);
  };
  const Shared outcomes = lifted(sum_);
  Shared logs = terms[1];  // sum of y log y - y o
  if (sum_offset_.payload != nullptr) logs = subtract(logs, terms[5]);
  // A row that is left out has a mean of 1.
  const Shared kept = weighted() ? terms[2] : subtract(terms[2], lifted(LeftOut()));
  const Shared half = add(subtract(subtract(logs, terms[0]), outcomes), kept);
  std::vector<Shared> numbers = {WithBound(engine_.Scale(half, 2), most)};
  if (HasConstant(task_.spec.law)) numbers.push_back(terms[3]);
  if (task_.spec.intercept) {
    numbers.insert(numbers.end(), {logs, outcomes, terms[4]});
  } else {
    const Shared null = add(subtract(logs, outcomes), terms[4]);
    numbers.push_back(WithBound(engine_.Scale(null, 2), most));
  }
  return WithBound(engine_.Concatenate(numbers, true), most);
}

// ---- gamma

Shared SealedSums::WeightedSum(const Shared& values) {
  const double most = values.bound * most_rows_;
  if (!weighted()) return WithBound(engine_.SumRows(values), most);
  Shared sum;
  mpc::ProductRound product(engine_);
  product.Add(Kind::kGram, weights_, values, most, sum);
  product.Run();
  return sum;
}

void SealedSums::MakeGamma() {
  MakeMoments(1);
  moments_ = WithBound(moments_, 1);  // as those of the way are
  const Shared constants = Joined(&SharedBlock::constants);
  sum_ = WithBound(engine_.SumRows(weighted_outcome_),
                   weighted_outcome_.bound * static_cast<double>(rows_));
  Shared logs = weighted_outcome_;
  if (task_.spec.offsets.empty()) {
    sum_rate_ = WithBound(engine_.SumRows(constants), constants.bound * static_cast<double>(rows_));
  } else {
    const Shared rates = Joined(&SharedBlock::rates);
    const double most = constants.bound * rates.bound * static_cast<double>(rows_);
    mpc::ProductRound round(engine_);
    round.AddCut(Kind::kGram, constants, rates, most, kConstantBits, sum_rate_);
    round.Run();
    Shared offset = Joined(&SharedBlock::offset);
    sum_offset_ = WeightedSum(offset);
    Weight({&offset});
    logs = WithBound(engine_.Subtract(logs, offset), logs.bound + offset.bound);
  }
  products_ = Score(ByBlock(logs), kSealedScoreBits);
}

SharedSums SealedSums::OfLogarithms() {
  SharedSums sums;
  sums.information = moments_;
  sums.score = products_;
  if (task_.spec.ridge > 0) AddRidge(Zero({task_.num_columns(), 1}, mpc::kStepBits), sums);
  return sums;
}

// Divided by 2^row_bits.
Shared SealedSums::Pearson(const Shared& squares) {
  const double most = task_.units.most_pearson;
  Shared sum = WithBound(mpc::TimesPowerOfTwo(WeightedSum(squares), -task_.units.row_bits), most);
  mpc::CutRound cut(engine_);
  cut.Add(sum, kSealedPearsonBits, most);
  cut.Run();
  return sum;
}

// residual: y / mu - 1; distance: log y - log mu. A row that is left out adds 0 to everything.
Shared SealedSums::GammaFit(const Shared& residual, const Shared& distance) {
  const double most = task_.units.most_fit * static_cast<double>(task_.max_rows());
  const Shared half =
      WeightedSum(WithBound(engine_.Subtract(residual, distance), residual.bound + distance.bound));
  Shared centred = sum_;
  if (sum_offset_.payload != nullptr) {
    const int bits = std::max(sum_.fraction_bits, sum_offset_.fraction_bits);
    centred = WithBound(
        engine_.Subtract(mpc::Lift(engine_, sum_, bits), mpc::Lift(engine_, sum_offset_, bits)),
        sum_.bound + sum_offset_.bound);
  }
  const double upper = task_.spec.outcome.upper;
  // As many digits of a small bound.
  const int upper_bits = kFitBits + std::max(0, -std::ilogb(upper));
  const Shared outcomes = mpc::TimesConstant(engine_, sum_rate_, upper, upper_bits);  // y e^-o
  std::vector<Shared> numbers = {WithBound(engine_.Scale(half, 2), 2 * half.bound), sum_, centred,
                                 outcomes};
  mpc::CutRound cut(engine_);
  for (Shared& number : numbers) cut.Add(number, kFitBits, std::max(most, number.bound));
  cut.Run();
  if (!task_.spec.intercept) {
    // The deviance of y e^-o itself.
    const Shared rows = mpc::Lift(engine_, totals_.rows, kFitBits);
    const Shared others = engine_.Add(numbers[2], rows);
    numbers[2] = WithBound(engine_.Scale(engine_.Subtract(numbers[3], others), 2), most);
    numbers.pop_back();
  }
  for (Shared& number : numbers) number = WithBound(number, most);
  return WithBound(engine_.Concatenate(numbers, true), most);
}

}  // namespace partita::methods::glm
