// Rehearsals of method `mle`: the run beside pooled fits of the same rows (run/rehearse).
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <span>

#include "methods/mle/check/pooled_fit.h"
#include "methods/mle/check/private_twin.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/report/report.h"
#include "methods/mle/study/protocol.h"
#include "run/rehearse/rehearsal.h"

namespace partita::methods::mle {
namespace {

using run::Agreement;
using run::RehearsedRun;

// Of the law of imputed estimates; intervals of Student's law with one degree less stay useful.
constexpr size_t kImputedRepetitions = 40;

// "visual =~ x2", with the group where there are several.
std::string NameOf(const MleResult& result, const stats::Parameter& row) {
  std::string name = fmt::format("{} {}{}{}", row.lhs, row.op, row.rhs.empty() ? "" : " ", row.rhs);
  if (result.table.groups.size() < 2 || row.group < 1) return name;
  return fmt::format("{} [{}]", name, result.table.groups[static_cast<size_t>(row.group) - 1]);
}

bool IsCompared(const stats::Parameter& row) { return row.free != 0 || row.op == ":="; }

// Protocol `sealed` opens what the study lists. What nobody has is not compared.
void AddEstimate(const std::string& analysis, const std::string& name,
                 const stats::ParameterEstimate& run, const stats::ParameterEstimate& plain,
                 bool sealed, Agreement& agreement) {
  if (!sealed || !std::isnan(run.estimate))
    agreement.Add(analysis, name, run.estimate, plain.estimate, plain.standard_error);
  const bool none = std::isnan(run.standard_error) && (sealed || std::isnan(plain.standard_error));
  if (!none) agreement.Add(analysis, "s.e. of " + name, run.standard_error, plain.standard_error);
}

void CompareFits(const MleStudy& study, size_t analysis, const MleResult& run,
                 const MleResult& plain, Agreement& agreement) {
  agreement.run_converged = agreement.run_converged && run.fit.converged;
  agreement.plain_converged = agreement.plain_converged && plain.fit.converged;
  const bool sealed = study.file.analyses[analysis].protocol == kSealed;
  const std::string& of = study.file.analyses[analysis].name;
  for (size_t i = 0; i < run.table.rows.size(); ++i) {
    const stats::Parameter& row = run.table.rows[i];
    if (!IsCompared(row)) continue;
    const std::string name = NameOf(run, row);
    AddEstimate(of, name, run.fit.estimates[i], plain.fit.estimates[i], sealed, agreement);
    if (plain.robust && run.robust && plain.robust->estimates[i].standard_error > 0) {
      agreement.Add(of, "robust s.e. of " + name, run.robust->estimates[i].standard_error,
                    plain.robust->estimates[i].standard_error);
    }
  }
  if (plain.robust.has_value() != run.robust.has_value())
    agreement.Add(of, "robust standard errors", run.robust ? 1 : 0, plain.robust ? 1 : 0);
}

// How one number of a fit lies among those of the same fit with other imputations.
double AmongRepetitions(double run, const std::vector<double>& repeated) {
  const auto n = static_cast<double>(repeated.size());
  double mean = 0, squares = 0;
  for (const double value : repeated) mean += value / n;
  for (const double value : repeated) squares += (value - mean) * (value - mean);
  const double t = (run - mean) / std::sqrt(squares / (n - 1) * (1 + 1 / n));
  return run::NormalOfStudent(t, n - 1);
}

void CompareImputations(const MleStudy& study, std::span<const MleResult> run,
                        const std::vector<std::vector<MleResult>>& plain, Agreement& agreement) {
  for (size_t a = 0; a < run.size(); ++a) {
    const std::string& of = study.file.analyses[a].name;
    agreement.run_converged = agreement.run_converged && run[a].fit.converged;
    agreement.AddAll(of, "rows of the groups", run[a].group_n, plain.front()[a].group_n);
    std::vector<double> estimates, errors;
    const auto repeated = [&](const std::function<double(const MleResult&)>& value) {
      std::vector<double> values;
      for (const std::vector<MleResult>& repetition : plain) values.push_back(value(repetition[a]));
      return values;
    };
    for (size_t i = 0; i < run[a].table.rows.size(); ++i) {
      const stats::ParameterEstimate& own = run[a].fit.estimates[i];
      if (!IsCompared(run[a].table.rows[i]) || !(own.standard_error > 0)) continue;
      estimates.push_back(AmongRepetitions(own.estimate, repeated([i](const MleResult& result) {
                                             return result.fit.estimates[i].estimate;
                                           })));
      errors.push_back(
          AmongRepetitions(std::log(own.standard_error), repeated([i](const MleResult& result) {
                             return std::log(result.fit.estimates[i].standard_error);
                           })));
    }
    agreement.random.push_back(run::DependentNormals(
        of, fmt::format("estimates among {} with other imputations", plain.size()), estimates));
    agreement.random.push_back(run::DependentNormals(
        of, fmt::format("standard errors among {} with other imputations", plain.size()), errors));
    for (const std::vector<MleResult>& repetition : plain)
      agreement.plain_converged = agreement.plain_converged && repetition[a].fit.converged;
  }
}

void CompareNoise(const MleStudy& study, const RehearsedRun& run, Agreement& agreement) {
  const auto& result = dynamic_cast<const ProtocolResult&>(*run.outcome(study.receiver).protocol);
  const double stddev = NoiseStddev(*study.privacy);
  std::vector<double> noise;
  for (const ReleasedNumber& number :
       ReleasedNumbers(study, result.noised, run.mock.pooled, run.mock.row_blocks)) {
    if (number.noised) {
      noise.push_back((number.run - number.plain) / stddev);
    } else {
      agreement.Add("", "number of rows", number.run, number.plain);
    }
  }
  agreement.random.push_back(run::IndependentNormals(
      "", fmt::format("noise of the moments, of standard deviation {:.4g}", stddev), noise));
  for (const MleResult& analysis : AnalysesOf(run.outcome(study.receiver).result.get()))
    agreement.run_converged = agreement.run_converged && analysis.fit.converged;
}

}  // namespace

std::unique_ptr<const run::Study> MleStudy::ForRehearsal(
    uint64_t /*max_steps*/, std::vector<std::string>& /*shortened*/) const {
  // On made-up rows nothing needs a grid, and digits can be compared.
  if (privacy || grid_bits == 0) return nullptr;
  return std::make_unique<const MleStudy>(UnroundedTwin(*this));
}

run::MessagesPlanned MleStudy::Messages() const {
  run::MessagesPlanned planned = run::MessagesPlanned::kExactly;
  for (const Computation& computation : computations) {
    if (published::IsPublished(computation.protocol)) return run::MessagesPlanned::kNot;
    if (computation.protocol == kLikelihood) planned = run::MessagesPlanned::kAtMost;
  }
  return planned;
}

void MleStudy::Compare(const RehearsedRun& run, Agreement& agreement, Progress& progress) const {
  if (privacy) {
    CompareNoise(*this, run, agreement);
    return;
  }
  const std::span<const MleResult> secure = AnalysesOf(run.outcome(receiver).result.get());
  if (IsImputed(*this)) {
    CompareImputations(*this, secure,
                       FitPooledImputations(*this, run.mock.pooled, run.mock.row_blocks,
                                            kImputedRepetitions, progress),
                       agreement);
    return;
  }
  const std::vector<MleResult> plain =
      FitPooled(*this, run.mock.pooled, run.mock.row_blocks, progress);
  for (size_t a = 0; a < plain.size(); ++a) CompareFits(*this, a, secure[a], plain[a], agreement);
}

}  // namespace partita::methods::mle
