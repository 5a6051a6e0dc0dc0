#include "methods/survival/cox/section.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "methods/survival/cox/rows.h"
#include "methods/survival/section.h"
#include "study/file/sections.h"
#include "study/file/survival_keys.h"
#include "study/file/text.h"

namespace partita::methods::survival {
namespace {

using study::LocatedText;
using study::StudyFile;
using study::TableReader;

constexpr int64_t kFewestSteps = 3, kMostSteps = 15;
constexpr int64_t kFewestTies = 2, kMostTies = 64, kDefaultTies = 8;
constexpr study::OneRelease kCoxRelease{
    kEstimates, "a Cox model releases its estimates",
    "standard errors and fit open to the receiver: release = [\"estimates\"], or to everybody, as "
    "the "
    "estimates do anyway: release = [{what = \"estimates\", to = \"all\"}]"};

// A variable with bounds, which need not be those of time: who enters before the first cell is at risk
// from it on.
void ReadEntry(const TableReader& reader, const LocatedText& text, const data::FormulaAtom& outcome,
               const StudyFile& study, CoxSpec& spec) {
  if (outcome.entry.empty()) return;
  const data::ColumnSchema& schema =
      study::FindVariable(reader, {outcome.entry, text.position}, "formula", study.dictionary);
  if (schema.type != data::ColumnType::kNumeric && schema.type != data::ColumnType::kInteger) {
    reader.Fail(text.position, fmt::format("the time of entry {} is not a number", schema.name),
                "name a numeric or integer variable, in the unit of the times");
  }
  spec.entry = schema.name;
  if (std::find(spec.variables.begin(), spec.variables.end(), schema.name) == spec.variables.end())
    spec.variables.push_back(schema.name);
}

void ReadStratum(const TableReader& reader, const LocatedText& text, const data::Formula& formula,
                 const StudyFile& study, CoxSpec& spec) {
  const FormulaStrata strata = ReadStrata(reader, text, formula, study);
  spec.by_site = strata.by_site;
  if (!strata.factor) return;
  spec.stratum = strata.factor->schema.name;
  spec.num_levels = strata.factor->schema.levels.size();
  const std::string& source = strata.factor->source;
  if (std::find(spec.variables.begin(), spec.variables.end(), source) == spec.variables.end())
    spec.variables.push_back(source);
}

void ReadModel(const TableReader& reader, const StudyFile& study, CoxSpec& spec) {
  const LocatedText text =
      reader.Text("formula", "formula = \"Surv(days, died) ~ age + arm + strata(site)\"");
  spec.formula = text.value;
  data::Formula formula;
  try {
    formula = data::ParseSurvivalFormula(text.value);
    spec.outcome = study::SurvivalOutcome(reader, text.position, formula.outcome, study);
    data::FormulaColumns columns(study.dictionary, study.derived);
    static_cast<data::ModelColumns&>(spec) = columns.Build(formula, {}, 1, true);
  } catch (const Error& error) {
    study::FailWith(reader, text.position, error);
  }
  if (!formula.intercept) {
    reader.Fail(text.position, "a Cox model has a baseline hazard in the place of an intercept",
                "leave out \"- 1\" and \"0 +\"");
  }
  if (!formula.offsets.empty()) {
    reader.Fail(text.position, "offsets of a Cox model are not here", "write the term instead");
  }
  for (const data::ModelColumn& column : spec.columns) {
    if (HalfOf(column) > 0) continue;
    reader.Fail(text.position, fmt::format("the bounds of {} make it a constant", column.name),
                "leave it out, or give its variable wider bounds");
  }
  spec.variables = data::VariablesOf(study.dictionary, {}, spec.covariates);
  spec.variables.push_back(spec.outcome.name);
  ReadEntry(reader, text, formula.outcome, study, spec);
  ReadStratum(reader, text, formula, study, spec);
}

void ReadTies(const TableReader& reader, CoxSpec& spec) {
  const auto ties = reader.OptionalText("ties");
  const auto most = reader.OptionalInteger("most_ties");
  if (!ties || reader.Choice(*ties, "ties", {kBreslow, kEfron}) == kBreslow) {
    if (!most) return;
    reader.Fail(most->position, "ties by Breslow count at once, however many there are",
                "leave most_ties out, or take ties = \"efron\"");
  }
  spec.ties = stats::survival::Ties::kEfron;
  spec.most_ties = kDefaultTies;
  if (!most) return;
  if (most->value < kFewestTies || most->value > kMostTies) {
    reader.Fail(most->position, fmt::format("most_ties is {}", most->value),
                fmt::format("take {} to {}: as many events as a cell of time may have; a fit takes "
                            "that many times as long",
                            kFewestTies, kMostTies));
  }
  spec.most_ties = static_cast<size_t>(most->value);
}

void ReadProportional(const TableReader& reader, CoxSpec& spec) {
  const auto test = reader.OptionalText("ph_test");
  if (!test) return;
  spec.proportional = reader.Choice(*test, "ph_test", {kIdentity, kNone}) == kIdentity;
}

void ReadCoxErrors(const TableReader& reader, const StudyFile& study, CoxSpec& spec) {
  const auto errors = reader.OptionalText("errors");
  const study::Position position = errors ? errors->position : reader.position();
  const std::string name =
      errors ? reader.Choice(*errors, "errors", {kModelErrors, kRobustErrors, kClusterErrors})
             : kModelErrors;
  spec.robust = name != kModelErrors;
  const std::string& cluster = study.design.cluster;
  if (name == kClusterErrors && cluster.empty()) {
    reader.Fail(position, "errors of clusters without clusters",
                "name their variable in [design]: cluster = \"ward\"");
  }
  if (name != kClusterErrors && !cluster.empty()) {
    reader.Fail(
        position,
        fmt::format("the rows are clustered in '{}', and the standard errors ignore it", cluster),
        "write errors = \"cluster\": standard errors that ignore clusters are too small");
  }
  if (name != kClusterErrors) return;
  spec.cluster = cluster;
  if (std::find(spec.variables.begin(), spec.variables.end(), cluster) == spec.variables.end())
    spec.variables.push_back(cluster);
}

// The information at the estimates follows from the matrix, and from that about how many rows with both of two
// levels had the event.
void ReadCoxCovariance(const TableReader& reader, CoxSpec& spec) {
  spec.covariance = spec.pairs = reader.OptionalBool(kCoxCovariance).value_or(false);
  if (!spec.covariance || !spec.clustered()) return;
  reader.Fail(reader.PositionOf(kCoxCovariance),
              "the covariance matrix with errors of clusters: beside those of other errors of the "
              "same rows it would tell what two rows of one cluster have, which nothing counts",
              "leave covariance out: standard errors of clusters open without it");
}

void ReadCoxSteps(const TableReader& reader, CoxSpec& spec) {
  const auto steps = reader.OptionalInteger("steps");
  if (!steps) return;
  if (steps->value < kFewestSteps || steps->value > kMostSteps) {
    reader.Fail(steps->position, fmt::format("there are {} steps", steps->value),
                fmt::format("take {} to {}; 5 are enough where there is a maximum", kFewestSteps,
                            kMostSteps));
  }
  spec.steps = static_cast<int>(steps->value);
}

void RequireSize(const TableReader& reader, const StudyFile& study, const CoxSpec& spec) {
  const size_t sites = spec.by_site ? study.parties.size() : 1;
  const size_t cells = spec.grid.cells * spec.num_levels * sites * spec.most_ties;
  if (cells <= kMostEntries && cells * NumRiskSums(spec.columns.size()) <= kMostRiskSums) return;
  reader.Fail(reader.position(),
              fmt::format("{} cells of time{} and strata for {} columns are too many", cells,
                          spec.most_ties > 1 ? ", ties" : "", spec.columns.size()),
              spec.most_ties > 1 ? "take ties = \"breslow\", fewer most_ties, wider cells (cell = "
                                   "...), fewer strata or fewer columns"
                                 : "take wider cells (cell = ...), fewer strata or fewer columns");
}

}  // namespace

CoxSpec ReadCox(const TableReader& reader, const StudyFile& study, study::AnalysisSpec& analysis) {
  CoxSpec spec;
  ReadModel(reader, study, spec);
  ReadTies(reader, spec);
  spec.grid = study::ReadTimeGrid(reader, spec.outcome);
  RequireSize(reader, study, spec);
  ReadCoxSteps(reader, spec);
  ReadProportional(reader, spec);
  ReadCoxErrors(reader, study, spec);
  spec.confidence = study::ReadConfidence(reader);
  spec.concordance = reader.OptionalBool("concordance").value_or(false);
  ReadCoxCovariance(reader, spec);
  spec.report = study::ReadReportTimes(reader, spec.outcome, spec.grid);
  if (spec.by_site && !spec.report.empty()) {
    reader.Fail(reader.PositionOf("report"),
                "where every holder is a stratum its cumulative hazard is that of its rows alone",
                "leave report out, or strata(site)");
  }
  analysis.protocol = kCoxProtocol;
  analysis.subset = study::ReadSubset(reader, study.dictionary, study.derived);
  spec.told_to_all = study::ReadOneRelease(reader, study, kCoxRelease, analysis);
  return spec;
}

}  // namespace partita::methods::survival
