#include "methods/survival/cox/fitter.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "methods/survival/cox/ties.h"
#include "methods/survival/task.h"
#include "mpc/compare.h"
#include "mpc/functions/arithmetic.h"
#include "mpc/functions/logarithm.h"
#include "mpc/functions/reciprocal.h"
#include "mpc/functions/small_cells.h"
#include "mpc/together.h"

namespace partita::methods::survival {
namespace {

using mpc::Engine;
using mpc::Shared;
using mpc::SharedBits;
using mpc::WithBound;
using Kind = mpc::Product::Kind;

constexpr uint64_t kFreedom = 10, kRowsPerColumn = 3;
constexpr int kInverseRiskBits = 52, kMeanBits = 40, kCoxInformationBits = 64;
constexpr int kTimeBits = 30;
constexpr int kLogRiskBits = 40, kTotalBits = 40, kWaldBits = 30, kWaldInformationBits = 40;
// Of m, with room for rounding.
constexpr double kMostMean = 2;
constexpr double kMostOfLog = 64;

double SmallestRisk() { return std::exp(-kMostPredictor) / 2; }
// The score test is at most the square of the rows, Wald's at most what a point is.
double MostOfTests(const CoxTask& task) {
  const auto n = static_cast<double>(task.max_rows()), p = static_cast<double>(task.num_columns());
  return n * std::max(n, std::pow(p * mpc::kMostCoordinate, 2));
}
double LargestRisk() { return std::exp(kMostPredictor); }

Eigen::VectorXd VectorOf(const std::vector<double>& values) {
  return Eigen::Map<const Eigen::VectorXd>(values.data(), static_cast<Eigen::Index>(values.size()));
}
std::vector<double> NumbersOf(const Eigen::VectorXd& vector) {
  return {vector.data(), vector.data() + vector.size()};
}

mpc::PublicMatrix PublicRow(const Eigen::VectorXd& values, int fraction_bits) {
  mpc::IntMatrix row{{1, static_cast<size_t>(values.size())}, {}};
  for (const double value : values) row.values.push_back(mpc::EncodeFixed(value, fraction_bits));
  return {std::move(row), fraction_bits};
}

}  // namespace

int CoxTask::GridBitsOf(int point) const {
  if (point == spec.steps) return grid_bits;
  return std::min(point <= 2 ? kFirstGridBits : kPathGridBits, grid_bits);
}

uint64_t LeastCoxRows(const CoxTask& task, uint64_t min_rows) {
  const uint64_t p = task.num_columns();
  return std::max({min_rows, p + kFreedom, kRowsPerColumn * p});
}

uint64_t NumCoxChecks(const CoxTask& task) {
  return task.table_sizes.size() + (task.spec.clustered() ? 2 : 0) +
         (task.spec.most_ties > 1 ? 3 : 2);
}

CoxFitter::CoxFitter(Engine& engine, const CoxTask& task, const CoxRows& own)
    : engine_(engine), task_(task), own_(own), most_(static_cast<double>(task.max_rows())) {
  unit_bits_ = std::max(1, static_cast<int>(std::ceil(std::log2(most_))));
  at_.setZero(static_cast<Eigen::Index>(task.num_columns()));
}

bool CoxFitter::HoldsRows() const {
  const auto holds = [&](const run::RowHolder& h) { return engine_.self() == h.party; };
  return engine_.self() && std::any_of(task_.holders.begin(), task_.holders.end(), holds);
}

// Over holders, of which each has so many inputs, the one at this place.
Shared CoxFitter::Total(const std::vector<Shared>& inputs, size_t each, size_t place) {
  Shared sum = inputs[place];
  for (size_t h = 1; h < task_.holders.size(); ++h)
    sum = engine_.Add(sum, inputs[each * h + place]);
  return WithBound(sum, most_);
}

void CoxFitter::ShareCounts() {
  const size_t cells =
      std::accumulate(task_.table_sizes.begin(), task_.table_sizes.end(), size_t{0}) +
      NumOtherCounts(task_.spec);
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task_.holders) {
    const auto add = [&](mpc::Shape shape, int bits, const std::vector<Int128>& own) {
      inputs.push_back(run::SumsOfHolder(engine_, holder, shape, bits, 1, own));
    };
    add({cells, 1}, 0, own_.counts);
    add({task_.cells.count(), 1}, 0, own_.events);
    add({task_.num_columns(), 1}, kRiskBits, own_.event_sums);
    if (task_.spec.proportional) add({task_.num_columns(), 1}, kRiskBits, own_.timed_sums);
    if (!task_.spec.report.empty())
      add({task_.cells.strata * NumHazardCounts(task_.spec), 1}, 0, own_.hazard_counts);
  }
  const std::vector<Shared> shared = engine_.Input(inputs);
  const size_t each = inputs.size() / task_.holders.size();
  for (size_t h = 0; h < task_.holders.size(); ++h) {
    counts_.push_back(shared[each * h]);
    if (!task_.spec.report.empty()) hazard_counts_.push_back(shared[each * (h + 1) - 1]);
  }
  events_ = Total(shared, each, 1);
  event_sums_ = Total(shared, each, 2);
  if (task_.spec.proportional) timed_sums_ = Total(shared, each, 3);
  const auto total = [&](size_t cell) {
    Shared sum = engine_.Slice(counts_.front(), cell, 0, {1, 1});
    for (size_t h = 1; h < counts_.size(); ++h)
      sum = engine_.Add(sum, engine_.Slice(counts_[h], cell, 0, {1, 1}));
    return WithBound(sum, most_);
  };
  if (task_.spec.clustered()) clusters_ = total(cells - 4);
  num_events_ = total(cells - 2);
  rows_ = total(cells - 1);
}

std::optional<CoxAnswers> CoxFitter::Check(uint64_t min_rows, uint64_t min_cell) {
  min_cell_ = min_cell;
  const size_t others = NumOtherCounts(task_.spec);
  const size_t cells = counts_.front().shape.rows - others;
  const auto check = [&](size_t first, std::vector<size_t> sizes, bool none_passes) {
    mpc::CellTables tables;
    tables.max_rows = task_.max_rows();
    const size_t count = std::accumulate(sizes.begin(), sizes.end(), size_t{0});
    for (const Shared& counts : counts_)
      tables.by_holder.push_back(engine_.Slice(counts, first, 0, {count, 1}));
    tables.sizes = std::move(sizes);
    return mpc::NoSmallCells(engine_, tables, min_cell, none_passes);
  };
  std::vector<SharedBits> bits;
  if (cells > 0) bits.push_back(check(0, task_.table_sizes, true));
  if (cells > 0 && task_.spec.covariance && task_.spec.by_site) {
    const std::vector<mpc::BitProduct> both = {{bits.back(), NoSmallStratum(min_cell)}};
    bits.back() = engine_.And(both).front();
  }
  const auto at_least = [&](const Shared& count, uint64_t wanted) {
    const auto least = static_cast<double>(std::min(wanted, task_.max_rows() + 1));
    const std::vector<Shared> more = {mpc::PlusConstant(engine_, count, -least, most_ + 1)};
    return engine_.Not(mpc::IsNegative(engine_, more).front());
  };
  if (task_.spec.clustered()) {
    bits.push_back(check(cells, {1}, false));
    bits.push_back(at_least(clusters_, task_.num_columns() + 1));
  }
  bits.push_back(check(cells + others - 3, {2}, false));
  bits.push_back(at_least(rows_, LeastCoxRows(task_, min_rows)));
  if (ByEfron()) bits.push_back(FewTies());
  const std::vector<mpc::BitMatrix> opened =
      engine_.RevealBits(kCoxDisclosure, bits, mpc::kEverybody);
  if (!engine_.self()) return std::nullopt;
  CoxAnswers answers;
  for (size_t t = 0; t < task_.table_sizes.size(); ++t)
    answers.tables.push_back(mpc::GetBit(opened.front(), 0, t));
  size_t next = cells > 0 ? 1 : 0;
  if (task_.spec.clustered()) {
    answers.clusters = mpc::GetBit(opened[next], 0, 0) && mpc::GetBit(opened[next + 1], 0, 0);
    next += 2;
  }
  answers.outcome = mpc::GetBit(opened[next], 0, 0);
  answers.rows = mpc::GetBit(opened[next + 1], 0, 0);
  if (ByEfron()) answers.ties = mpc::GetBit(opened[next + 2], 0, 0);
  return answers;
}

// Of every holder's own rows, where each is a stratum that the matrix adds up with the others: by table.
SharedBits CoxFitter::NoSmallStratum(uint64_t min_cell) {
  const size_t cells =
      std::accumulate(task_.table_sizes.begin(), task_.table_sizes.end(), size_t{0});
  mpc::CellTables tables;
  std::vector<Shared> counts;
  for (const Shared& of_holder : counts_)
    counts.push_back(engine_.Slice(of_holder, 0, 0, {cells, 1}));
  // A table of all holders below the next one's.
  std::vector<size_t> places;
  size_t first = 0;
  for (const size_t size : task_.table_sizes) {
    for (size_t h = 0; h < counts.size(); ++h) {
      for (size_t cell = 0; cell < size; ++cell) places.push_back(h * cells + first + cell);
    }
    tables.sizes.push_back(size * counts.size());
    first += size;
  }
  tables.by_holder = {engine_.SelectRows(engine_.Concatenate(counts, true), places)};
  tables.max_rows = task_.max_rows();
  return mpc::NoSmallCells(engine_, tables, min_cell, true);
}

// Takes the cells apart into terms; whether there are terms enough.
SharedBits CoxFitter::FewTies() {
  TiedTerms terms = TermsOfTies(engine_, events_, task_.spec.most_ties);
  events_ = terms.events;
  gone_ = terms.gone;
  const std::vector<Shared> none = {
      mpc::PlusConstant(engine_, terms.beyond, -1, terms.beyond.bound + 1)};
  return mpc::IsNegative(engine_, none).front();
}

// For the tests of proportional hazards.
void CoxFitter::TimeEvents() {
  const size_t terms = task_.num_terms();
  mpc::IntMatrix times{{terms, 2}, {}};
  for (size_t term = 0; term < terms; ++term) {
    const double time = TimeOf(task_.cells, term % task_.cells.count());
    times.values.push_back(mpc::EncodeFixed(time, kTimeBits));
    times.values.push_back(mpc::EncodeFixed(time * time, kTimeBits));
  }
  Shared timed = engine_.Public({std::move(times), kTimeBits});
  mpc::ProductRound round(engine_);
  round.Add(timed, events_, events_.bound, timed);
  round.Run();
  for (const size_t power : {0, 1})
    weights_.push_back(WithBound(engine_.Slice(timed, 0, power, {terms, 1}), events_.bound));
}

// Of every term S0, S1 and the upper triangle of S2; and how many predictors are outside.
Shared CoxFitter::ShareSums(const Eigen::VectorXd& point) {
  const mpc::Shape shape{task_.cells.count(), NumRiskSums(task_.num_columns())};
  RiskSums own;
  if (HoldsRows()) own = RiskSumsAt(own_, task_.cells, point);
  const std::vector<Int128> outside = {static_cast<Int128>(own.outside)};
  std::vector<mpc::PrivateMatrix> inputs;
  for (const run::RowHolder& holder : task_.holders) {
    // A weight is rounded up at most.
    const auto add = [&](const std::vector<Int128>& values) {
      inputs.push_back(
          run::SumsOfHolder(engine_, holder, shape, kRiskBits, LargestRisk() + 1, values));
    };
    inputs.push_back(run::SumsOfHolder(engine_, holder, {1, 1}, 0, 1, outside));
    add(own.sums);
    if (ByEfron()) add(own.tied);
  }
  const std::vector<Shared> shared = engine_.Input(inputs);
  const size_t each = inputs.size() / task_.holders.size();
  const double most_risk = most_ * (LargestRisk() + 1);
  outside_ = Total(shared, each, 0);
  Shared sums = WithBound(Total(shared, each, 1), most_risk);
  if (!ByEfron()) return sums;
  // The first term leaves nobody out.
  std::vector<size_t> again;
  for (size_t term = 1; term < task_.spec.most_ties; ++term) {
    for (size_t cell = 0; cell < shape.rows; ++cell) again.push_back(cell);
  }
  Shared left_out;
  mpc::ProductRound round(engine_);
  round.AddCut(WithBound(engine_.SelectRows(Total(shared, each, 2), again), most_risk), gone_,
               most_risk, kRiskBits, left_out);
  round.Run();
  const std::vector<Shared> terms = {sums,
                                     engine_.Subtract(engine_.SelectRows(sums, again), left_out)};
  return WithBound(engine_.Concatenate(terms, true), most_risk);
}

void CoxFitter::SumAt(const Eigen::VectorXd& point) {
  const size_t p = task_.num_columns(), terms = task_.num_terms();
  const Shared sums = ShareSums(point);
  const auto columns = [&](size_t first, size_t count) {
    return WithBound(engine_.Slice(sums, 0, first, {terms, count}), sums.bound);
  };
  at_risk_ = columns(0, 1);
  const std::vector<mpc::PositiveValue> positive = {{at_risk_, SmallestRisk()}};
  const Shared inverse =
      WithBound(mpc::Reciprocal(engine_, positive, kInverseRiskBits).front(), 4 * LargestRisk());
  Shared means;
  std::vector<Shared> weights = weights_;
  weights.insert(weights.begin(), events_);
  const size_t count = weights.size();
  std::vector<Shared> shares(count), weighted(count), of_events(count), squares(count),
      crossed(count);
  mpc::ProductRound first(engine_);
  first.AddCut(columns(1, p), inverse, kMostMean, kMeanBits, means);
  // An event is at risk itself, of the tied at least the part that is not left out: d r is at most
  // e^kMostPredictor.
  first.Add(events_, inverse, 4 * LargestRisk(), shares[0]);
  for (size_t w = 1; w < count; ++w)
    first.AddCut(weights[w], inverse, 4 * LargestRisk(), kInverseRiskBits, shares[w]);
  first.Run();
  mpc::ProductRound second(engine_);
  second.Add(means, events_, kMostMean * most_, weighted[0]);
  for (size_t w = 1; w < count; ++w)
    second.AddCut(means, weights[w], kMostMean * most_, kMeanBits, weighted[w]);
  second.Run();
  const int information_bits = kCoxInformationBits - unit_bits_;
  mpc::ProductRound sum(engine_);
  for (size_t w = 0; w < count; ++w) {
    sum.Add(Kind::kGram, means, weights[w], kMostMean * most_, of_events[w]);
    sum.AddCut(Kind::kGram, columns(1 + p, p * (p + 1) / 2), shares[w], 2 * most_, information_bits,
               squares[w]);
    sum.AddCut(Kind::kGram, weighted[w], means, 2 * most_, information_bits, crossed[w]);
  }
  sum.Run();
  const auto information = [&](size_t w) {
    return WithBound(engine_.Subtract(mpc::FromUpperTriangle(engine_, squares[w], p), crossed[w]),
                     most_);
  };
  terms_ = {events_, gone_, shares[0], means, weighted[0]};
  score_ = WithBound(engine_.Subtract(event_sums_, of_events[0]), 2 * most_);
  information_ = information(0);
  if (count == 1) return;
  timed_.score = WithBound(
      engine_.Subtract(mpc::Lift(engine_, timed_sums_, of_events[1].fraction_bits), of_events[1]),
      2 * most_);
  timed_.first = WithBound(mpc::TimesPowerOfTwo(information(1), -unit_bits_), 1);
  timed_.second = WithBound(mpc::TimesPowerOfTwo(information(2), -unit_bits_), 1);
  timed_.unit_bits = unit_bits_;
}

mpc::ScoringSums CoxFitter::Sums() const {
  mpc::ScoringSums sums;
  sums.information = WithBound(mpc::TimesPowerOfTwo(information_, -unit_bits_), 1);
  sums.score = WithBound(mpc::TimesPowerOfTwo(score_, -unit_bits_), 2);
  sums.unit_bits = unit_bits_;
  return sums;
}

void CoxFitter::Solve(Engine& engine, std::optional<int> point) {
  mpc::ScoringSums sums = Sums();
  if (point) sums.next = {NumbersOf(at_), task_.GridBitsOf(*point)};
  sums.covariances = task_.spec.covariance && !task_.spec.robust && !point;
  const bool first = failures_.payload == nullptr;
  solved_ = mpc::SolveStep(engine, sums, first ? nullptr : &solved_);
  Shared failures =
      WithBound(engine.Add(solved_.failures, outside_), solved_.failures.bound + outside_.bound);
  failures_ = first ? failures
                    : WithBound(engine.Add(failures_, failures), failures_.bound + failures.bound);
}

Shared CoxFitter::LogLikelihood(Engine& engine) {
  const std::vector<mpc::PositiveValue> positive = {{at_risk_, SmallestRisk()}};
  const Shared logs = WithBound(mpc::Log(engine, positive, kLogRiskBits).front(), kMostOfLog);
  Shared sum;
  mpc::ProductRound product(engine);
  product.AddCut(Kind::kGram, logs, events_, kMostOfLog * most_, kTotalBits, sum);
  product.Run();
  const double most_predictor = mpc::kMostCoordinate * static_cast<double>(task_.num_columns());
  // The bound does not depend on the point.
  Shared predictors =
      WithBound(engine.MultiplyPublic(PublicRow(at_, mpc::kStepBits), WithBound(event_sums_, 1)),
                most_predictor * most_);
  mpc::CutRound cut(engine);
  cut.Add(predictors, kTotalBits, most_predictor * most_);
  cut.Run();
  return WithBound(engine.Subtract(predictors, sum), (most_predictor + kMostOfLog) * most_);
}

Shared CoxFitter::FindConcordance() {
  OrderedRows own;
  if (HoldsRows()) own = OrderRows(own_, task_.cells, at_);
  return ConcordanceOnShares(engine_, task_.cells, task_.holders, BinsAt(task_.cells, at_).count,
                             own, kTotalBits);
}

// U' of 0 times the first step.
Shared CoxFitter::ScoreTest() {
  Shared test;
  mpc::ProductRound product(engine_);
  product.AddCut(Kind::kGram, score_, solved_.step, most_ * most_, kTotalBits, test);
  product.Run();
  return test;
}

// b' I b.
Shared CoxFitter::WaldTest(Engine& engine) {
  const size_t p = task_.num_columns();
  const auto squares = static_cast<Eigen::Index>(p * p);
  const Eigen::MatrixXd outer = at_ * at_.transpose();
  Shared information = information_;
  mpc::CutRound rounded(engine);
  rounded.Add(information, kWaldInformationBits, most_);
  rounded.Run();
  const mpc::PublicMatrix weights =
      PublicRow(Eigen::Map<const Eigen::VectorXd>(outer.data(), squares), kWaldBits);
  Shared test =
      WithBound(engine.MultiplyPublic(weights, WithBound(mpc::Reshape(information, {p * p, 1}), 1)),
                MostOfTests(task_));
  mpc::CutRound cut(engine);
  cut.Add(test, kTotalBits, MostOfTests(task_));
  cut.Run();
  return test;
}

std::vector<size_t> CoxFitter::First() {
  SumAt(at_);
  const std::vector<mpc::Task> tasks = {[&](Engine& e) { Solve(e, 1); },
                                        [&](Engine& e) { null_likelihood_ = LogLikelihood(e); }};
  mpc::Together(engine_, tasks);
  score_test_ = ScoreTest();
  const std::vector<Shared> flags = {solved_.collinear};
  const mpc::IntMatrix opened = engine_.Reveal(kIndependence, flags, mpc::kEverybody).front();
  std::vector<size_t> collinear;
  for (size_t i = 0; i < opened.values.size(); ++i) {
    if (opened.values[i] != 0) collinear.push_back(i);
  }
  return collinear;
}

void CoxFitter::OpenPoint(int point) {
  if (point > 1) {
    SumAt(at_);
    Solve(engine_, point);
  }
  const bool last = point == task_.spec.steps;
  const mpc::PathPoint opened =
      mpc::OpenPoint(engine_, last ? kEstimatesRelease : kIterates, NumbersOf(at_), solved_,
                     task_.GridBitsOf(point), failures_);
  fitted_.estimate_steps = VectorOf(opened.steps);
  at_ = VectorOf(opened.at);
  if (opened.learned) fitted_.points.push_back(at_);
}

RobustErrors CoxFitter::FindRobustErrors(const Shared& holds) {
  const RobustTask task{task_.cells, task_.holders, task_.spec.most_ties,     task_.num_columns(),
                        unit_bits_,  task_.units,   !task_.spec.entry.empty()};
  Shared meat;
  if (task_.units.empty()) {
    LeavingSums own;
    if (HoldsRows()) own = LeavingSumsAt(own_, task_.cells, at_, ByEfron());
    meat = RobustMeat(engine_, task, terms_, own);
  } else {
    UnitSums own;
    if (HoldsRows()) {
      const size_t units = task_.units[SiteOf(task_.holders, *engine_.self())];
      own = UnitSumsAt(own_, task_.cells, at_, task, units);
    }
    meat = UnitMeat(engine_, task, terms_, own);
  }
  mpc::ScoringSums sums = Sums();
  sums.covariances = task_.spec.covariance;
  return SolveRobust(engine_, task, meat, sums, at_, solved_, holds);
}

CoxFitted CoxFitter::Finish() {
  const bool robust = task_.spec.robust, proportional = task_.spec.proportional,
             baseline = !task_.spec.report.empty();
  if (proportional) TimeEvents();
  SumAt(at_);
  Shared likelihood, wald, holds;
  std::vector<mpc::Task> tasks = {[&](Engine& e) { Solve(e, {}); },
                                  [&](Engine& e) { likelihood = LogLikelihood(e); }};
  if (!robust) tasks.emplace_back([&](Engine& e) { wald = WaldTest(e); });
  mpc::Together(engine_, tasks);
  const auto converged = [&](Engine& e) {
    return mpc::Converged(e, solved_, NumbersOf(fitted_.estimate_steps), failures_);
  };
  if (robust || proportional || baseline) holds = converged(engine_);
  double most_total = MostOfTests(task_);
  Shared variances = solved_.variances, covariances = solved_.covariances;
  if (robust) {
    const RobustErrors errors = FindRobustErrors(holds);
    variances = errors.variances;
    covariances = errors.covariances;
    wald = errors.wald;
    holds = errors.holds;
    most_total = std::max(most_total, wald.bound);
  }
  std::vector<Shared> parts = {null_likelihood_, likelihood, score_test_, wald};
  ProportionalTests tests;
  if (proportional) {
    tests = TestProportional(engine_, timed_, solved_, holds);
    parts.push_back(tests.tests);
    most_total = std::max(most_total, MostOfProportional(task_.num_columns(), unit_bits_));
  }
  if (task_.spec.concordance) parts.push_back(FindConcordance());
  const Shared totals = WithBound(engine_.Concatenate(parts, true), most_total);
  const mpc::ErrorsOnGrid told = mpc::OnErrorGrid(
      engine_, variances, &totals, most_total, task_.grid_bits,
      [&](Engine& e) { return robust || proportional || baseline ? holds : converged(e); }, nullptr,
      {}, task_.spec.covariance ? &covariances : nullptr);
  const Shared& errors = task_.spec.covariance ? told.covariances : told.errors;
  std::vector<Shared> opened = {told.opens, rows_, num_events_, told.reached, errors, told.totals};
  if (proportional) opened.push_back(tests.valid);
  GridBaseline hazards;
  if (baseline) {
    hazards = BaselineOnGrid(engine_, {task_.spec, task_.cells, task_.max_rows(), task_.grid_bits},
                             terms_, hazard_counts_, min_cell_, holds);
    opened.insert(opened.end(), {hazards.passes, hazards.reached, hazards.log_hazard});
  }
  if (task_.spec.clustered()) opened.push_back(clusters_);
  const std::vector<mpc::IntMatrix> values = engine_.Reveal(kFitRelease, opened, task_.to);
  if (values.front().values.empty()) return std::move(fitted_);
  CoxModel model;
  model.converged = values[0].values.front() != 0;
  model.rows = static_cast<uint64_t>(values[1].values.front());
  model.events = static_cast<uint64_t>(values[2].values.front());
  const std::vector<double> steps = mpc::GridSteps(told.range, values[3]);
  model.steps = VectorOf(steps);
  if (task_.spec.covariance) {
    const auto p = static_cast<Eigen::Index>(steps.size());
    const std::vector<double> by_rows = mpc::InSquaredSteps(values[4], steps);
    model.covariance = Eigen::Map<const Eigen::MatrixXd>(by_rows.data(), p, p);
    if (!mpc::HasVariances(by_rows, steps.size())) model.converged = false;
    model.standard_errors = model.covariance.diagonal().cwiseMax(0).cwiseSqrt();
  } else {
    model.standard_errors = VectorOf(mpc::InGridSteps(values[4], steps));
  }
  for (const Int128 total : values[5].values)
    model.totals.push_back(std::ldexp(mpc::DecodeFixed(total, mpc::kGuardBits), -task_.grid_bits));
  model.proportional = proportional && values[6].values.front() != 0;
  if (baseline) {
    const size_t first = proportional ? 7 : 6;
    for (const Int128 passes : values[first].values) model.shows_hazard.push_back(passes != 0);
    model.hazard_steps = mpc::GridSteps(hazards.range, values[first + 1]);
    model.log_hazards = mpc::InGridSteps(values[first + 2], model.hazard_steps);
  }
  if (task_.spec.clustered()) model.clusters = static_cast<uint64_t>(values.back().values.front());
  fitted_.model = std::move(model);
  return std::move(fitted_);
}

}  // namespace partita::methods::survival
