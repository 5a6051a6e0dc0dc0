// What the releases of a study tell: numbers and bits.
#include <fmt/format.h>

#include <algorithm>

#include "methods/glm/aggregates.h"
#include "methods/glm/risk.h"
#include "methods/glm/sealed/fitter.h"
#include "methods/glm/study.h"
#include "mpc/functions/covariance_grid.h"
#include "privacy/release_rule.h"
#include "run/method/covariate_table.h"
#include "stats/glm/firth.h"

namespace partita::methods::glm {
namespace {

constexpr int kAreaGridBits = 4;  // log2 kTimesArea

double IterateBitsOf(const Task& task) {
  if (task.spec.sealed) return 0;
  if (task.spec.aggregates) {
    const auto points = static_cast<uint64_t>(task.spec.steps) + 1;
    return privacy::NumberBits(points * task.num_columns(), 0);
  }
  double bits = 0;
  for (int point = 0; point <= task.spec.steps; ++point)
    bits += privacy::NumberBits(task.num_columns(), task.GridBitsOf(point));
  return bits;
}

double OpenedBitsOf(const Task& task) {
  double bits = IterateBitsOf(task);
  if (task.spec.aggregates) {
    const auto points = static_cast<uint64_t>(task.spec.steps) + 1;
    bits += privacy::NumberBits(NumFirstSums(task) + points * NumSums(task), 0);
  } else {
    const size_t estimates = task.spec.sealed ? task.num_columns() : 0;
    const size_t errors = task.spec.covariance ? 0 : task.num_columns();
    bits += privacy::NumberBits(estimates + errors + NumTotals(task.spec), task.grid_bits);
    // On a grid of its own, whatever its size: a statistic of 2^16 has a standard error of about 2^9.
    bits += privacy::NumberBits(task.spec.terms.size(), mpc::CovarianceNumberBits(task.grid_bits));
    if (task.spec.covariance)
      bits += privacy::NumberBits(NumErrors(task), mpc::CovarianceNumberBits(task.grid_bits));
  }
  if (NumRiskNumbers(task.spec) > 0) {
    // Rows, events and expected events of groups, and the area with its error.
    const size_t groups = task.spec.cuts.size() + 1;
    bits += 2 * static_cast<double>(groups) * privacy::CountBits(task.max_rows()) +
            (task.spec.aggregates ? privacy::NumberBits(groups + 2, 0)
                                  : privacy::NumberBits(groups, task.grid_bits) +
                                        privacy::NumberBits(2, task.grid_bits + kAreaGridBits));
  }
  // Of hidden rows their number is not known beforehand.
  if (task.hidden_rows) bits += privacy::CountBits(task.max_rows());
  if (task.spec.law.binary) bits += privacy::CountBits(task.max_rows());
  if (task.spec.clustered()) bits += privacy::CountBits(task.max_rows());
  return bits;
}

// Numbers of points that open, and of everything else.
uint64_t NumPoints(const Task& task) {
  if (task.spec.sealed) return 0;
  const uint64_t points = static_cast<uint64_t>(task.spec.steps) + 1;
  return points * (task.spec.aggregates ? task.num_columns() : NumIterate(task));
}

uint64_t NumOthers(const Task& task) {
  if (task.spec.sealed) return NumSealedFit(task);
  if (!task.spec.aggregates) return NumFit(task);
  const uint64_t points = static_cast<uint64_t>(task.spec.steps) + 1;
  return NumFirstSums(task) + points * NumSums(task) + NumFitCounts(task);
}

// Score, information, of robust errors the meat, of Firth's penalty third moments, and deviance at every
// point.
uint64_t NumStatistics(const Task& task) {
  const uint64_t p = task.num_columns();
  const uint64_t points = task.spec.sealed ? 1 : static_cast<uint64_t>(task.spec.steps) + 1;
  const uint64_t meat = task.spec.robust() ? p * (p + 1) / 2 : 0;
  const uint64_t third = task.spec.firth ? stats::glm::NumThirdMoments(p) : 0;
  return points * (p * (p + 3) / 2 + meat + third + 1);
}

// Of the model, and of a smaller one beside it.
template <typename Number>
auto OfAll(const GlmStudy& study, Number number) {
  auto all = number(study.task);
  if (study.smaller) all += number(*study.smaller);
  return all;
}

}  // namespace

double IterateBits(const GlmStudy& study) { return OfAll(study, IterateBitsOf); }

double OpenedBits(const GlmStudy& study) { return OfAll(study, OpenedBitsOf); }

study::PlanBits BitsOf(const GlmStudy& study, double opened) {
  const Spec& spec = study.task.spec;
  const bool weightless =
      !spec.weights.empty() && study.file.dictionary.Find(spec.weights)->lower == 0;
  const bool left_out = LeavesRowsOut(
      study, weightless || study.file.design.missing != study::MissingPolicy::kRefuse);
  run::PatternColumns columns = run::PatternColumnsOf(study, study.factors, spec.covariates);
  // Where all columns are split a holder may lack the outcome of each row. Where some blocks have one
  // holder their outcomes are not counted, as in studies of whole rows.
  const std::vector<data::Segment>& segments = study.partition.segments;
  const bool all_split = std::all_of(segments.begin(), segments.end(),
                                     [](const data::Segment& segment) { return segment.shared(); });
  if (all_split) {
    const std::string source = run::SourceVariable(study, spec.outcome.name);
    if (const data::ColumnSchema* outcome = study.file.dictionary.Find(source))
      columns.emplace_back(source, spec.law.binary ? 1 : run::ValueBits(*outcome));
  }
  run::CovariateTable table{run::LeastUnknown(study, columns, left_out), spec.robust()};
  // Robust errors tell the rows of a pattern apart by outcome; where all columns are split it is one of
  // those that were counted.
  for (privacy::UnknownRows& part : table.unknown)
    part.log2_patterns += spec.robust() && !all_split ? 1 : 0;
  return run::BitsAgainst(opened, {table}, study.task.grid_bits);
}

std::vector<study::PlanExposure> GlmStudy::Exposures() const {
  const uint64_t statistics = OfAll(*this, NumStatistics);
  study::PlanExposure path;
  path.of = task.spec.aggregates ? kIteratesRelease
                                 : fmt::format("{} and {}", kIteratesRelease, kEstimatesRelease);
  path.to = "all";
  path.opened = OfAll(*this, NumPoints);
  path.statistics = statistics;
  path.level = task.spec.level();
  path.bits = BitsOf(*this, IterateBits(*this));
  study::PlanExposure all;
  all.of = "all releases of this study";
  all.to = ToldName(*this);
  all.opened = path.opened + OfAll(*this, NumOthers);
  all.statistics = statistics;
  all.level = task.spec.level();
  if (task.hidden_rows) all.exposes = {"the exact number of rows that match and take part"};
  if (task.spec.law.binary)
    all.exposes.push_back(fmt::format(
        "the exact number of rows where {} is {}", task.spec.outcome.name,
        task.spec.outcome.levels ? factors.Find(task.spec.outcome.name)->levels.back() : "1"));
  if (task.spec.clustered())
    all.exposes.push_back(fmt::format("the exact number of clusters of {}", task.spec.cluster));
  all.bits = BitsOf(*this, OpenedBits(*this));
  if (task.spec.sealed) return {all};
  return {path, all};
}

}  // namespace partita::methods::glm
