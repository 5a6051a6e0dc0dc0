#include "methods/mle/plan/leakage.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "methods/mle/fit/publish.h"
#include "methods/mle/imputed/analyses.h"
#include "methods/mle/plan/release_bits.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/sealed/analyses.h"
#include "methods/mle/sealed/on_grid.h"
#include "methods/mle/study/computations.h"
#include "methods/mle/study/missing_patterns.h"
#include "methods/mle/study/pattern_cells.h"
#include "methods/mle/study/private_study.h"
#include "mpc/shamir_code.h"
#include "run/method/hidden_rows.h"
#include "run/method/plan_privacy.h"

namespace partita::methods::mle {
namespace {

using published::kRowsLeak;
using run::BitsAgainst;
using run::CovariateTable;

constexpr char kOracle[] = "likelihood-oracle";
constexpr char kNoised[] = "noised-statistics";  // private_study.h

std::string Names(const Computation& computation, const std::vector<size_t>& variables) {
  std::string list;
  for (size_t v : variables)
    list += (list.empty() ? "" : ", ") + computation.variables[v].schema.name;
  return list;
}

// Means of 0/1 columns are counts, and their products 2 x 2 tables: these say most about persons.
std::vector<std::string> ExactCounts(const Computation& computation,
                                     const MomentsRelease& release) {
  std::vector<std::string> clauses;
  std::vector<size_t> binary;
  for (size_t v : release.variables) {
    if (IsBinary(computation.variables[v].schema)) binary.push_back(v);
  }
  if (!binary.empty()) {
    clauses.push_back("the exact number of rows with a 1 in " + Names(computation, binary));
  }
  std::string tables;
  for (const auto& [i, j] : release.pairs) {
    const std::string& a = computation.variables[i].schema.name;
    const std::string& b = computation.variables[j].schema.name;
    if (i == j || !IsBinary(computation.variables[i].schema) ||
        !IsBinary(computation.variables[j].schema))
      continue;
    tables += fmt::format("{}{} by {}", tables.empty() ? "" : ", ", a, b);
  }
  if (!tables.empty()) clauses.push_back("the exact 2 x 2 tables of " + tables);
  return clauses;
}

std::vector<std::string> MomentClauses(const Computation& computation,
                                       const MomentsRelease& release) {
  const size_t k = release.variables.size();
  const size_t all = k * (k + 1) / 2;
  std::vector<std::string> clauses = {
      fmt::format("n and the exact means of {}", Names(computation, release.variables)),
      release.pairs.size() == all
          ? fmt::format("all {} of their exact variances and covariances", all)
          : fmt::format("{} of their {} exact variances and covariances, those that one analysis "
                        "needs together",
                        release.pairs.size(), all)};
  for (std::string& clause : ExactCounts(computation, release))
    clauses.push_back(std::move(clause));
  return clauses;
}

// The moments of one row are the row, and those of two determine both; of three and more rows of
// numbers they leave a rotation open.
constexpr uint64_t kLeastRowsOfPattern = 3;

void CallRows(const MleStudy& study, study::PlanExposure& exposure) {
  const uint64_t least = study.file.disclosure.min_cell;
  if (least >= kLeastRowsOfPattern) return;
  exposure.level = kRowsLeak;
  exposure.exposes.push_back(fmt::format(
      "of every pattern that only one or two rows have, these rows, cell by cell: min_cell is {}, "
      "and moments are of rows no longer from {} on",
      least, kLeastRowsOfPattern));
}

study::PlanExposure MomentsExposure(const MleStudy& study, const Computation& computation,
                                    const RowSet& rows) {
  study::PlanExposure exposure;
  exposure.of = rows.release.id;
  exposure.to = study.parties[study.receiver].name;
  exposure.opened = NumReleasedValues(rows.release);
  exposure.statistics = NumStatistics(rows);
  exposure.level = kSufficientStatistics;
  exposure.exposes = MomentClauses(computation, rows.release);
  if (!rows.group.empty())
    exposure.exposes.push_back("each of these for every level of " + rows.group);
  if (HasPatterns(study)) {
    std::string patterns;
    for (const study::MissingPattern& pattern : study.file.design.patterns)
      patterns += (patterns.empty() ? "" : "; ") + PatternText(pattern);
    exposure.exposes.push_back(
        "each of these for every pattern of missing values by itself, of the variables that its "
        "rows have (" +
        patterns + ")");
    CallRows(study, exposure);
  }
  return exposure;
}

// The centre of protocol `likelihood` asks as often as it needs to.
study::PlanExposure LikelihoodExposure(const MleStudy& study, const Computation& computation,
                                       const RowSet& rows) {
  study::PlanExposure exposure;
  exposure.to = study.parties[study.receiver].name;
  exposure.statistics = NumStatistics(rows);
  exposure.level = kOracle;
  for (const mpc::Release& release : study.releases) {
    for (size_t a : rows.analyses) {
      if (release.id.ends_with("/" + study.file.analyses[a].name))
        exposure.opened += release.max_count * release.num_values.value_or(0);
    }
  }
  std::string names;
  for (size_t a : rows.analyses) names += (names.empty() ? "" : ", ") + study.file.analyses[a].name;
  exposure.of = "likelihood values and gradients of " + names;
  exposure.exposes = {fmt::format(
      "linear combinations of n, the means and the covariances of {}; as many independent ones as "
      "there are statistics determine them all, and the report says how many were asked for",
      Names(computation, rows.release.variables))};
  return exposure;
}

// Nested sets of rows: what is learned of both is learned of the rows between them.
std::vector<std::string> ExposedDifferences(const MleStudy& study) {
  std::vector<std::string> clauses;
  for (const Computation& computation : study.computations) {
    for (const RowSet& rows : computation.row_sets) {
      for (const RowSet& wide : computation.row_sets) {
        if (&rows == &wide || !wide.subset.empty() || rows.subset.empty()) continue;
        clauses.push_back(fmt::format("by subtraction, the same of the rows where not: {}",
                                      study::ConditionsText(rows.subset)));
        break;
      }
    }
  }
  return clauses;
}

// To the receiver: by row set, then, with several, cumulatively.
std::vector<study::PlanExposure> ReceiverExposures(const MleStudy& study) {
  std::vector<study::PlanExposure> exposures;
  double opened_bits = 0;
  std::vector<CovariateTable> tables;
  for (const Computation& computation : study.computations) {
    const int grid_bits = computation.protocol == kSealed ? study.grid_bits : 0;
    for (const RowSet& rows : computation.row_sets) {
      exposures.push_back(
          computation.protocol == kLikelihood ? LikelihoodExposure(study, computation, rows)
          : computation.protocol == kSealed   ? SealedExposure(study, computation, rows)
          : published::IsPublished(computation.protocol)
              ? published::PublishedExposure(study, computation, rows)
          : IsImputed(study) ? ImputationExposure(study, computation, rows)
                             : MomentsExposure(study, computation, rows));
      const double bits = OpenedBits(study, computation, rows);
      const std::vector<CovariateTable> of_rows = CovariateTables(study, rows);
      exposures.back().bits = BitsAgainst(bits, of_rows, grid_bits);
      opened_bits += bits;
      tables.insert(tables.end(), of_rows.begin(), of_rows.end());
    }
  }
  if (exposures.size() < 2) return exposures;
  study::PlanExposure all;
  all.of = "all releases of this study";
  all.to = study.parties[study.receiver].name;
  for (const study::PlanExposure& exposure : exposures) {
    all.opened += exposure.opened;
    all.statistics += exposure.statistics;
  }
  all.level = LeakageLevel(exposures);
  all.exposes = ExposedDifferences(study);
  all.bits = BitsAgainst(opened_bits, tables, IsSealed(study) ? study.grid_bits : 0);
  exposures.push_back(std::move(all));
  return exposures;
}

// Instead of a table of covariates that may be told.
std::string CheckedCellsText(const MleStudy& study) {
  return fmt::format(
      "more than half of the bits of the table of covariates, released by way (a): each of its {} "
      "pattern cells is 0 or at least min_cell, {}; it is compared on shares before anything "
      "opens, and of that one bit opens",
      study.pattern_table->num_cells, BesideOwnText(study));
}

constexpr char kToldResult[] = "result/";

study::PlanExposure OtherExposure(const MleStudy& study, size_t analysis, std::string release,
                                  const std::string& to, uint64_t numbers, int grid_bits) {
  const PreparedAnalysis& prepared = study.analyses[analysis];
  const RowSet& rows = study.computations[prepared.computation].row_sets[prepared.row_set];
  study::PlanExposure exposure;
  exposure.of = std::move(release);
  exposure.to = to;
  exposure.opened = numbers;
  exposure.statistics = NumStatistics(rows);
  exposure.level = kParameters;
  exposure.exposes = {fmt::format(
      "the estimates of analysis '{}' {}", study.file.analyses[analysis].name,
      grid_bits > 0 ? "on the grid, and what follows from them" : "with all their digits")};
  if (exposure.of.starts_with(kToldResult)) {
    exposure.exposes.push_back(
        "the steps of its fit, the optimiser, and whether and why it stopped before a maximum, of "
        "seven reasons");
  }
  exposure.bits =
      BitsAgainst(privacy::NumberBits(numbers, grid_bits), CovariateTables(study, rows), grid_bits);
  return exposure;
}

// To others: estimates that robust standard errors need at every holder, and results that the study
// file tells. Those of sealed fits are what the receiver has.
std::vector<study::PlanExposure> OtherExposures(const MleStudy& study) {
  std::vector<study::PlanExposure> exposures;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const study::AnalysisSpec& spec = study.file.analyses[a];
    const MleAnalysis& analysis = study.analyses[a].analysis;
    if (MleOf(spec).robust && !run::HasHiddenRows(study)) {
      const std::string id = "estimates/" + spec.name;
      exposures.push_back(OtherExposure(study, a, id, "all", NumReleased(study, id), 0));
    }
    for (const study::ReleaseSpec& release : spec.releases) {
      if (!TellsEstimatesTo(study, release) || spec.protocol == kSealed) continue;
      exposures.push_back(OtherExposure(study, a, ResultRelease(analysis), release.to,
                                        NumOnGrid(analysis), study.grid_bits));
    }
  }
  return exposures;
}

}  // namespace

uint64_t NumStatistics(const RowSet& rows) {
  uint64_t statistics = 0;
  for (size_t c = 0; c < rows.cells.size(); ++c) {
    uint64_t k = 0;
    for (size_t v : rows.release.variables) k += Opens(rows.release, c, v) ? 1 : 0;
    statistics += 1 + k + k * (k + 1) / 2;
  }
  return statistics;
}

std::vector<study::PlanExposure> Exposures(const MleStudy& study) {
  if (study.privacy) return {PrivateExposure(study)};
  std::vector<study::PlanExposure> exposures = ReceiverExposures(study);
  for (study::PlanExposure& exposure : OtherExposures(study))
    exposures.push_back(std::move(exposure));
  if (!study.pattern_table) return exposures;
  for (study::PlanExposure& exposure : exposures) {
    if (!exposure.bits->passes) exposure.bits->meaning = CheckedCellsText(study);
  }
  return exposures;
}

bool GridPasses(const MleStudy& study) {
  for (const study::PlanExposure& exposure : OtherExposures(study)) {
    if (exposure.of.starts_with(kToldResult) && !exposure.bits->passes) return false;
  }
  double bits = 0;
  std::vector<CovariateTable> tables;
  for (const Computation& computation : study.computations) {
    for (const RowSet& rows : computation.row_sets) {
      if (computation.protocol != kSealed) continue;
      bits += OpenedBits(study, computation, rows);
      for (CovariateTable& table : CovariateTables(study, rows)) tables.push_back(std::move(table));
    }
  }
  return tables.empty() || BitsAgainst(bits, tables, study.grid_bits).passes;
}

std::string LeakageLevel(const std::vector<study::PlanExposure>& exposures) {
  if (exposures.size() == 1 && exposures.front().level == kNoised) return kNoised;
  const bool rows =
      std::any_of(exposures.begin(), exposures.end(),
                  [](const study::PlanExposure& exposure) { return exposure.level == kRowsLeak; });
  if (rows) return kRowsLeak;
  const bool sufficient =
      std::any_of(exposures.begin(), exposures.end(), [](const study::PlanExposure& exposure) {
        // Results that are told are counted in bits; they follow from what the receiver has.
        const bool counts = !exposure.of.starts_with(kToldResult);
        return exposure.level == kSufficientStatistics ||
               (counts && exposure.opened >= exposure.statistics);
      });
  if (sufficient) return kSufficientStatistics;
  const bool asked =
      std::any_of(exposures.begin(), exposures.end(),
                  [](const study::PlanExposure& exposure) { return exposure.level == kOracle; });
  return asked ? kOracle : kParameters;
}

std::vector<study::PlanPrivacy> PrivacyRows(const MleStudy& study) {
  if (study.privacy) return StatementRows(study);
  const std::string& receiver = study.parties[study.receiver].name;
  std::vector<study::PlanPrivacy> rows = {
      {receiver + ", the receiver", "",
       "no bound: the releases are exact, and nothing limits what they say about one person"},
      {"whoever sees the published estimates", "",
       "no bound: estimates that are computed exactly are not differentially private"}};
  for (size_t p = 0; p < study.num_computing; ++p) {
    if (p == study.receiver) continue;
    if (published::HasPublished(study)) {
      rows.push_back({study.parties[p].name, "",
                      "no bound: a published protocol shows it what determines rows of others"});
      continue;
    }
    rows.push_back(
        {study.parties[p].name, "",
         fmt::format("nothing from the run but the answers of the checks and what the plan lists "
                     "for it{}; no bound once it is told the results",
                     IsImputed(study)
                         ? ", the number of rows of each pattern (of each group), and whether "
                           "numbers stayed within their bounds"
                         : "")});
  }
  run::AddEngineBounds(study, rows);
  return rows;
}

}  // namespace partita::methods::mle
