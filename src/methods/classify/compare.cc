// Rehearsals of method `classify`: rows, fit, intervals and evaluation beside the same in the clear.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "methods/classify/fit_twin.h"
#include "methods/classify/study.h"
#include "run/rehearse/rehearsal.h"
#include "stats/erm/unit_ball.h"

namespace partita::methods::classify {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;
using Eigen::VectorXd;
using run::Agreement;
using stats::erm::LabelledRows;
using stats::erm::LevelRows;

// Which rows are held aside is their owner's secret: training and test rows of all parties together
// are the rows of the table, scaled.
void CompareRows(const ClassifyStudy& study, const run::RehearsedRun& run, const LevelRows& train,
                 const LevelRows& test, const std::string& analysis, Agreement& agreement) {
  data::Table pooled = run.mock.pooled;
  study.DeriveColumns(pooled);
  const std::vector<data::DesignColumn>& columns = study.design.spec.columns;
  MatrixXd x(static_cast<Index>(pooled.num_rows), static_cast<Index>(columns.size()));
  for (size_t c = 0; c < columns.size(); ++c) {
    const std::vector<double>& numbers = pooled.Get(columns[c].schema.name).numbers;
    x.col(static_cast<Index>(c)) = VectorXd::Map(numbers.data(), x.rows());
  }
  const MatrixXd scaled = stats::erm::ScaleToUnitBall(x, study.design.scaling).x;
  std::vector<double> of_parties(train.levels), of_table(train.levels);
  for (const LevelRows* rows : {&train, &test}) {
    for (const size_t level : rows->level) of_parties[level] += 1;
  }
  for (const int32_t code : pooled.Get(study.design.spec.outcome).codes)
    of_table[static_cast<size_t>(code)] += 1;
  agreement.AddAll(analysis, "rows by level of the outcome", of_parties, of_table);
  const MatrixXd products = train.x.transpose() * train.x + test.x.transpose() * test.x;
  agreement.AddAll(analysis, "cross products of the scaled rows", EntriesOf(products),
                   EntriesOf(scaled.transpose() * scaled), 1);
}

// Gradient and curvature at the opened coefficients, as newton_sums.h opens them.
void CompareCurvature(const ClassifyStudy& study, const LabelledRows& rows, const VectorXd& w,
                      const std::vector<run::Opening>& openings, const std::string& analysis,
                      Agreement& agreement) {
  const NoisedSum& sum = study.design.newton_sum;
  const VectorXd opened = OpenedVectors(openings, sum.release, kNewtonBits).at(0);
  const VectorXd margins = (rows.x * w).cwiseProduct(rows.y);
  VectorXd slopes(margins.size()), curvatures(margins.size());
  for (Index i = 0; i < margins.size(); ++i) {
    slopes(i) = stats::erm::LossSlope({}, margins(i)) * rows.y(i);
    curvatures(i) = stats::erm::LossCurvature({}, margins(i));
  }
  const MatrixXd hessian = rows.x.transpose() * curvatures.asDiagonal() * rows.x;
  VectorXd plain(opened.size());
  plain.head(w.size()) = rows.x.transpose() * slopes;
  Index at = w.size();
  for (Index i = 0; i < w.size(); ++i) {
    for (Index j = i; j < w.size(); ++j)
      plain(at++) = kCurvatureWeight * hessian(i, j) * (i == j ? 1 : 181.0 / 128);
  }
  const double stddev = TotalStddev(sum);
  const VectorXd noise = (opened - plain) / stddev;
  agreement.random.push_back(run::IndependentNormals(
      analysis, fmt::format("noise of the curvature, of standard deviation {:.4g}", stddev),
      EntriesOf(noise)));
}

void CompareCounts(const ClassifyStudy& study, const LabelledRows& test,
                   const ClassificationResult& result, const std::string& analysis,
                   Agreement& agreement) {
  const stats::erm::ScoreCounts plain =
      stats::erm::CountScores(test.x * result.w.col(0), test.y, study.design.spec.score_bins);
  const double stddev = TotalStddev(study.design.counts_sum);
  std::vector<double> noise;
  for (size_t b = 0; b < plain.positive.size(); ++b) {
    noise.push_back((result.counts->positive[b] - plain.positive[b]) / stddev);
    noise.push_back((result.counts->negative[b] - plain.negative[b]) / stddev);
  }
  agreement.random.push_back(run::IndependentNormals(
      analysis,
      fmt::format("noise of the counts of test rows, of standard deviation {:.4g}", stddev),
      noise));
}

// A party's own evaluation: the share of its test rows that its classifier gets right.
void CompareOwnEvaluation(const ClassifyStudy& study, const ClassifyRun& own,
                          const std::string& party, const std::string& analysis,
                          Agreement& agreement) {
  if (!own.result.local) return;
  const LabelledRows test = stats::erm::OneAgainstRest(own.own->test, study.design.spec.positive);
  const VectorXd margins = (test.x * own.result.w.col(0)).cwiseProduct(test.y);
  const double right =
      static_cast<double>((margins.array() > 0).count()) / static_cast<double>(margins.size());
  agreement.Add(analysis, "accuracy on the test rows of " + party, own.result.local->accuracy.value,
                right);
}

}  // namespace

void ClassifyStudy::Compare(const run::RehearsedRun& run, Agreement& agreement,
                            Progress& /*progress*/) const {
  const std::string& analysis = file.analyses.front().name;
  RowsByParty train, test;
  std::vector<const ClassifyRun*> runs;
  for (size_t p = 0; p < num_computing; ++p) {
    runs.push_back(&dynamic_cast<const ClassifyRun&>(*run.outcome(p).protocol));
    train.push_back(runs.back()->own->train);
    test.push_back(runs.back()->own->test);
  }
  const LevelRows all_test = AllRowsOf(test), all_train = AllRowsOf(train);
  CompareRows(*this, run, all_train, all_test, analysis, agreement);
  for (size_t p = 0; p < num_computing; ++p)
    CompareOwnEvaluation(*this, *runs[p], parties[p].name, analysis, agreement);
  const std::vector<run::Opening>& openings = run.outcome(receiver).openings;
  if (design.spec.protocol == Protocol::kOwn) {
    agreement.Add(analysis, "numbers that open", static_cast<double>(openings.size()), 0);
    for (size_t p = 0; p < num_computing; ++p) {
      stats::erm::Objective objective;
      objective.loss = design.fit.baseline->loss;
      objective.lambda = design.fit.baseline->lambda;
      const VectorXd w = stats::erm::Minimize(
                             stats::erm::OneAgainstRest(train[p], design.spec.positive), objective)
                             .w;
      agreement.AddAll(analysis, "coefficients of " + parties[p].name, EntriesOf(runs[p]->result.w),
                       EntriesOf(w), 1);
    }
    return;
  }
  const ClassificationResult& result = runs[receiver]->result;
  CompareFit(design, analysis, train, {openings, result.w}, agreement);
  if (design.newton) {
    CompareCurvature(*this, stats::erm::OneAgainstRest(all_train, design.spec.positive),
                     result.w.col(0), openings, analysis, agreement);
  }
  if (design.counts) {
    CompareCounts(*this, stats::erm::OneAgainstRest(all_test, design.spec.positive), result,
                  analysis, agreement);
  }
}

}  // namespace partita::methods::classify
