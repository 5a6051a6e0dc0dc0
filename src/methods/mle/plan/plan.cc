// What the plan says of method `mle`.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "methods/mle/moments/split_products.h"
#include "methods/mle/plan/leakage.h"
#include "methods/mle/plan/utility.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/sealed/analyses.h"
#include "methods/mle/study/computations.h"
#include "methods/mle/study/pattern_cells.h"
#include "methods/mle/study/private_study.h"
#include "run/method/hidden_rows.h"
#include "run/method/sum_columns.h"
#include "run/party/predict.h"

namespace partita::methods::mle {
namespace {

// Measured on two cores at 2.5 GHz (docs/benchmarks.md, "Predictions").
constexpr double kProductSeconds = 2.2e-9;  // one multiply-add in the ring of 128 bits
constexpr double kMaskSeconds = 25e-9;      // one ring element masked, sent and taken in
constexpr double kFitSeconds = 0.25e-3;     // of an analysis, and per parameter cubed:
constexpr double kFitCubeSeconds = 20e-9;

double ProductSeconds(const MleStudy& study) {
  double seconds = 0;
  for (const Computation& computation : study.computations) {
    const auto cells = static_cast<double>(computation.task.cells.size());
    for (size_t b = 0; b < computation.task.blocks.size(); ++b) {
      const RowBlock& block = computation.task.blocks[b];
      const double rows = run::ExpectedRows(study, b);
      double columns = 0;
      for (const BlockHolder& holder : block.holders)
        columns += static_cast<double>(holder.variables.size());
      const double split = block.holders.size() > 1 ? 2 : 0.5;
      seconds += cells * rows * split *
                 (columns * columns * kProductSeconds + (split > 1 ? columns * kMaskSeconds : 0));
    }
  }
  return seconds;
}

// Products of features where columns are split (methods/mle/moments/split_products.h).
double RobustSeconds(const MleStudy& study) {
  double seconds = 0;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    if (!MleOf(study.file.analyses[a]).robust) continue;
    const RobustTask task = RobustTaskOf(study, a);
    const auto p = static_cast<double>(task.variables.size());
    const double features = 1 + p + p * (p + 1) / 2;
    for (size_t b = 0; b < task.moments.blocks.size(); ++b) {
      if (!IsSplit(task.moments.blocks[b])) continue;
      seconds += static_cast<double>(task.cells.size()) * run::ExpectedRows(study, b) * 2 *
                 (features * features * kProductSeconds + features * kMaskSeconds);
    }
  }
  return seconds;
}

double FitSeconds(const MleStudy& study) {
  double seconds = 0;
  for (const PreparedAnalysis& analysis : study.analyses) {
    const double q = analysis.analysis.table.num_free;
    seconds += kFitSeconds + kFitCubeSeconds * q * q * q;
  }
  return seconds;
}

void AddAnalyses(const MleStudy& study, study::Plan& plan) {
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    const study::AnalysisSpec& spec = study.file.analyses[a];
    const PreparedAnalysis& analysis = study.analyses[a];
    const Computation& computation = study.computations[analysis.computation];
    const auto free = static_cast<uint64_t>(analysis.analysis.table.num_free);
    std::string variables;
    for (const std::string& name : analysis.analysis.table.observed)
      variables += (variables.empty() ? "" : ", ") + name;
    plan.analyses.push_back(
        {spec.name, spec.protocol,
         fmt::format("{} of {}, {} free parameters{}", MleOf(spec).function, variables, free,
                     MleOf(spec).robust ? ", robust standard errors" : ""),
         RowsText(study, computation.row_sets[analysis.row_set]), free});
  }
}

// Whether a party other than the receiver holds whole rows alone, and how many such parties there
// are.
size_t OtherHolders(const MleStudy& study) {
  size_t others = 0;
  for (const data::Holder& holder : study.partition.holders)
    others += holder.party != study.receiver ? 1 : 0;
  return others;
}

bool AsksOracle(const MleStudy& study) {
  return std::any_of(
      study.computations.begin(), study.computations.end(),
      [](const Computation& computation) { return computation.protocol == kLikelihood; });
}

void AddMissingAssumptions(const MleStudy& study, study::Plan& plan) {
  if (!HasPatterns(study)) return;
  const std::string counts = IsSealed(study)
                                 ? "how many rows have each is told to nobody"
                                 : fmt::format("{} how many there are of each",
                                               IsImputed(study) ? "all parties" : "the receiver");
  plan.assumptions.push_back(
      fmt::format("The list of patterns of missing values is public: everybody learns that rows "
                  "with a pattern may occur, and {}. Which row has which "
                  "pattern is known to those who hold its cells, each for its own columns, and "
                  "told to nobody.",
                  counts));
  plan.assumptions.push_back(
      study.file.design.leave_out_other_patterns
          ? "Rows with another pattern are left out of all analyses, however many they are: unless "
            "they are few or like the others, that biases the estimates."
          : "Rows with another pattern stop the study: at their owner, or where columns are split "
            "by a check whose answer everybody sees.");
  plan.assumptions.push_back(
      "Values are missing at random: whether one is missing may depend on what its row has, not on "
      "the missing value itself. Nothing here can check that.");
  if (!IsImputed(study)) return;
  plan.assumptions.push_back(
      "Missing values are imputed under a multivariate normal law of all variables of all analyses "
      "over the same rows. The noise of the imputation is made for valid standard errors and "
      "protects nobody: every party draws a part of it, and nothing here counts on it.");
}

void AddHiddenRobustAssumptions(const MleStudy& study, study::Plan& plan) {
  const bool robust =
      std::any_of(study.file.analyses.begin(), study.file.analyses.end(),
                  [](const study::AnalysisSpec& spec) { return MleOf(spec).robust; });
  if (!robust || !run::HasHiddenRows(study)) return;
  plan.assumptions.push_back(fmt::format(
      "Robust standard errors of hidden rows: {} shares the weights of their sums, and no estimate "
      "leaves it. The others see how long its fit took, but not what it found nor whether it did: "
      "they get messages of the same sizes, and learn nothing of the sums.",
      study.parties[study.receiver].name));
}

void AddReleaseAssumptions(const MleStudy& study, study::Plan& plan) {
  if (study.privacy) {
    for (std::string& sentence : StatementSentences(study))
      plan.assumptions.push_back(std::move(sentence));
    return;
  }
  for (std::string& sentence : published::PublishedAssumptions(study))
    plan.assumptions.push_back(std::move(sentence));
  if (published::HasPublished(study)) return;
  if (study.pattern_table) {
    plan.assumptions.push_back(
        study.partition.kind == data::PartitionKind::kHorizontal
            ? "The check of the pattern cells is of the table of covariates: persons of one cell "
              "may still have one outcome, which the estimates then tell; and holders who put "
              "their rows together can subtract them all, which is not checked. Which cell fails, "
              "if one does, nobody learns."
            : "The check of the pattern cells is of the table of all variables, outcomes "
              "included. A holder of some columns knows who has each of their patterns, and may "
              "learn how many of these persons have each value of the others, min_cell at least "
              "or none: so also which values none of them has. Holders who put their rows or "
              "columns together know more, which is not checked. What fails, if anything does, "
              "nobody learns.");
  }
  if (IsSealed(study)) {
    plan.assumptions.push_back(
        "The estimates are exact: secure computation hides rows and moments, but nothing limits "
        "what the estimates themselves say about single persons (no differential privacy).");
    return;
  }
  plan.assumptions.push_back(
      "The release is exact: secure computation hides the rows from the parties, but nothing "
      "limits what the released moments "
      "themselves say about single persons (no differential privacy).");
  plan.assumptions.push_back(
      "Whatever the engine, the receiver together with all other holders but one can compute that "
      "holder's exact "
      "contribution to the released moments.");
  AddHiddenRobustAssumptions(study, plan);
  if (study.file.engine.input_bits.value_or(data::kMostSumBits + 1) > data::kMostSumBits) return;
  plan.assumptions.emplace_back(run::kPushedSumsText);
}

}  // namespace

run::MethodName MleStudy::Method() const {
  run::MethodName method{kMethodName, kMethodVersion, ""};
  for (const Computation& computation : computations)
    method.protocol += (method.protocol.empty() ? "" : ", ") + computation.protocol;
  return method;
}

run::StudySize MleStudy::Size() const {
  run::StudySize size;
  for (const Computation& computation : computations)
    size.variables = std::max(size.variables, computation.variables.size());
  for (const PreparedAnalysis& analysis : analyses)
    size.free_parameters += static_cast<size_t>(analysis.analysis.table.num_free);
  return size;
}

std::vector<std::string> MleStudy::Warnings() const {
  std::vector<std::string> warnings;
  for (const PreparedAnalysis& analysis : analyses) {
    for (const std::string& warning : analysis.analysis.warnings)
      warnings.push_back(fmt::format("analysis '{}': {}", analysis.analysis.options.name, warning));
  }
  return warnings;
}

void MleStudy::Describe(study::Plan& plan) const {
  AddAnalyses(*this, plan);
  for (const DisclosureCheck& check : checks)
    plan.checks.push_back(
        {check.analysis, check.variable, check.rule, check.minimum, check.warning});
  if (pattern_table) plan.checks.push_back(PatternCellsCheck(*this, file.disclosure.min_cell));
  plan.leakage_level = LeakageLevel(plan.exposures);
  plan.privacy = PrivacyRows(*this);
  if (privacy) plan.privacy_statement = privacy_statement;
  AddReleaseAssumptions(*this, plan);
  AddMissingAssumptions(*this, plan);
  plan.notes.push_back(
      "Every cell is mapped to [-1, 1] by the public bounds of the dictionary and rounded to " +
      fmt::format("2^-{}; {}.", computations.front().task.fraction_bits,
                  IsSealed(*this) ? "sums of them are exact, the fit on shares rounds to 2^-40"
                                  : "nothing is truncated after that"));
  for (const std::string& warning : Warnings()) plan.notes.push_back("WARNING: " + warning);
  if (IsSealed(*this) || IsImputed(*this)) {
    plan.notes.emplace_back(
        "The run has thousands of rounds, each of which waits for every party: on machines that "
        "are busy with other work it takes several times the predicted seconds.");
  }
  if (IsSealed(*this)) {
    plan.notes.emplace_back(
        "Between sites it is the rounds of the sealed fits that take the time, not bytes or work: "
        "fewer analyses take fewer, fewer variables or parameters hardly. Where the receiver may "
        "learn the moments, protocol = \"pooled-moments\" fits the same models in a few rounds.");
  }
  for (const CommonBounds& bounds : common_bounds) {
    plan.notes.push_back(
        fmt::format("Parameters of {} are equal, so protocol 'sealed' scales them by common "
                    "bounds, {} to {}, instead of those of the dictionary.",
                    fmt::join(bounds.variables, ", "), bounds.lower, bounds.upper));
  }
  run::Forecast forecast = ForecastUtility(*this);
  plan.utility = std::move(forecast.rows);
  for (std::string& note : forecast.notes) plan.notes.push_back(std::move(note));
}

std::vector<std::string> MleStudy::AlsoLearns(size_t party) const {
  if (party != receiver) {
    std::vector<std::string> learns;
    // The oracle's other parties answer each question; its dealer hands out masks for it.
    if (AsksOracle(*this)) {
      learns.emplace_back(
          parties[party].dealer
              ? "about how many likelihoods and gradients the receiver asked for, which depends on "
                "the data, but none of their values"
              : "how many likelihoods and gradients of which analysis the receiver asked for, "
                "which "
                "depends on the data, but none of their values");
    }
    if (IsImputed(*this) && parties[party].holder) {
      learns.emplace_back(
          "by subtracting its own rows, how many rows of the others have each pattern");
    }
    return learns;
  }
  std::vector<std::string> learns = {"with them the fitted models"};
  if (privacy) {
    learns.emplace_back("and its own share of the noise, which it can subtract");
  } else if (IsSealed(*this)) {
    learns.emplace_back("no moments; what the estimates say of them is under the exposures");
  } else if (IsImputed(*this) && parties[party].holder) {
    learns.emplace_back(
        "by subtracting its own rows, exactly the moments of the others' rows of variables that no "
        "row lacks, and how many of the others' rows have each pattern; of the imputation it knows "
        "its own part of the random numbers");
  } else if (parties[party].holder && partition.kind == data::PartitionKind::kHorizontal) {
    learns.emplace_back(
        OtherHolders(*this) == 1
            ? "by subtracting its own rows, exactly the moments of the other holder's rows"
            : "by subtracting its own rows, the pooled moments of the other holders' rows");
  } else if (parties[party].holder) {
    learns.emplace_back(
        "as a holder it knows its own cells beside them and can subtract what they contribute");
  }
  return learns;
}

std::vector<study::PlanExposure> MleStudy::Exposures() const { return mle::Exposures(*this); }

run::Forecast MleStudy::Utility() const { return ForecastUtility(*this); }

uint64_t MleStudy::NumbersPerRow() const {
  uint64_t numbers = 0;
  for (const Computation& computation : computations) numbers += computation.task.num_variables;
  return numbers;
}

// Per latent variable of an analysis the variables of the dictionary that measure it.
std::vector<std::vector<std::string>> MleStudy::MockClusters() const {
  std::vector<std::vector<std::string>> clusters;
  for (const PreparedAnalysis& prepared : analyses) {
    const stats::ParameterTable& table = prepared.analysis.table;
    for (const std::string& latent : table.latent) {
      std::vector<std::string> cluster;
      for (const stats::Parameter& row : table.rows) {
        if (row.op != "=~" || row.lhs != latent || row.group != 1) continue;
        for (const data::DesignColumn& variable : prepared.analysis.variables) {
          if (variable.schema.name == row.rhs) cluster.push_back(variable.source);
        }
      }
      if (!cluster.empty()) clusters.push_back(std::move(cluster));
    }
  }
  return clusters;
}

run::ComputeSeconds MleStudy::Compute() const {
  return {ProductSeconds(*this) + RobustSeconds(*this), FitSeconds(*this)};
}

}  // namespace partita::methods::mle
