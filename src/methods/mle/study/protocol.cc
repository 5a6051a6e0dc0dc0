#include "methods/mle/study/protocol.h"

#include <fmt/format.h>

#include "base/clock.h"
#include "base/error.h"
#include "methods/mle/fit/extras.h"
#include "methods/mle/fit/publish.h"
#include "methods/mle/fit/released.h"
#include "methods/mle/imputed/analyses.h"
#include "methods/mle/imputed/imputed_fit.h"
#include "methods/mle/likelihood/likelihood.h"
#include "methods/mle/published/analyses.h"
#include "methods/mle/report/report.h"
#include "methods/mle/sealed/analyses.h"
#include "methods/mle/sealed/on_grid.h"
#include "methods/mle/study/computations.h"
#include "methods/mle/study/missing_patterns.h"
#include "methods/mle/study/pattern_cells.h"
#include "methods/mle/study/stripes.h"
#include "methods/mle/study/variables.h"
#include "run/method/hidden_rows.h"
#include "run/method/stripes.h"
#include "run/party/finish.h"
#include "run/party/outcome.h"

namespace partita::methods::mle {
namespace {

using run::CheckOutcome;
using run::ConfirmRefusal;
using run::RunInput;

constexpr size_t kMostFailures = 8;  // named in an error

void RequirePassed(const std::vector<DisclosureCheck>& checks,
                   const std::vector<CheckOutcome>& outcomes, const MleStudy& study,
                   const LocalRows& local, net::Channel* channel) {
  std::string failed;
  std::vector<DisclosureCheck> failures;
  for (size_t i = 0; i < outcomes.size(); ++i) {
    const CheckOutcome& check = outcomes[i];
    if (check.passed || check.warning) continue;
    failures.push_back(checks[i]);
    if (failures.size() > kMostFailures) continue;
    failed += fmt::format("{}analysis '{}', {}: {}", failed.empty() ? "" : "; ", check.analysis,
                          check.variable, check.rule);
  }
  if (failures.empty()) return;
  if (failures.size() > kMostFailures)
    failed += fmt::format("; and {} other checks", failures.size() - kMostFailures);
  if (channel != nullptr) ConfirmRefusal(*channel, study.num_computing);
  const std::string patterns = RarePatternsHint(study, failures, local.blocks);
  throw Error(ErrorCode::kRefused, "nothing was released, because this does not hold: " + failed,
              patterns.empty() ? "leave out the variable or join levels; the owner of the rows can "
                                 "count them with `partita data check`"
                               : patterns);
}

std::vector<CheckOutcome> CheckDisclosure(mpc::Engine& engine, const MleStudy& study,
                                          const std::vector<std::vector<SharedMoments>>& shared,
                                          const std::vector<DisclosureCheck>& checks) {
  std::vector<ComputationMoments> moments;
  for (size_t c = 0; c < shared.size(); ++c)
    moments.push_back({&study.computations[c].task, &shared[c]});
  const std::vector<bool> passed = RunDisclosureChecks(engine, checks, moments);
  std::vector<CheckOutcome> outcomes;
  for (size_t i = 0; i < passed.size(); ++i)
    outcomes.push_back(
        {checks[i].analysis, checks[i].variable, checks[i].rule, passed[i], checks[i].warning});
  return outcomes;
}

// Who stops knows that something fails, not what.
void RequirePatternCells(mpc::Engine& engine, const MleStudy& study, const LocalRows& local,
                         const RunInput& input, ProtocolResult& result) {
  const std::optional<bool> passed =
      PatternCellsPass(engine, PatternTaskOf(study), local.patterns, input.disclosure.min_cell);
  if (!passed) return;
  const study::PlanCheck check = PatternCellsCheck(study, input.disclosure.min_cell);
  result.checks.push_back({check.analysis, check.variable, check.rule, *passed, false});
  if (*passed) return;
  if (input.channel != nullptr) ConfirmRefusal(*input.channel, study.num_computing);
  throw Error(ErrorCode::kRefused,
              "nothing was released, because this does not hold: " + check.rule +
                  "; which combination it is nobody learns",
              "join levels, leave out a covariate, or declare and add more rows");
}

void OpenComputation(mpc::Engine& engine, const MleStudy& study, const Computation& computation,
                     const std::vector<SharedMoments>& shared, ProtocolResult& result) {
  for (const RowSet& rows : computation.row_sets) {
    const std::vector<IntegerMoments> opened =
        OpenMoments(engine, computation.task, shared, rows.release);
    if (opened.empty()) continue;
    for (size_t a : rows.analyses) {
      for (const IntegerMoments& group : opened)
        result.moments[a].push_back(Restrict(group, study.analyses[a].variables));
    }
  }
}

// Every analysis of protocol `likelihood` in a phase of its own: how often it asks is known only
// afterwards.
void FitByOracle(mpc::Engine& engine, const MleStudy& study, size_t computation_index,
                 const std::vector<SharedMoments>& shared, ProtocolResult& result,
                 Progress& progress) {
  const Computation& computation = study.computations[computation_index];
  for (const RowSet& rows : computation.row_sets) {
    for (size_t a : rows.analyses) {
      progress.Phase("likelihood of " + study.file.analyses[a].name);
      engine.BeginPhase(LikelihoodPhase(study, a));
      const PreparedAnalysis& analysis = study.analyses[a];
      LikelihoodMoments moments;
      moments.variables = analysis.variables;
      for (size_t cell : rows.cells) moments.groups.push_back(shared[cell]);
      result.results[a] =
          FitByLikelihood(engine, analysis.analysis, LikelihoodTaskOf(study, a), moments, progress);
    }
  }
}

MleResult FitAnalysis(const MleStudy& study, size_t index, const ProtocolResult& result,
                      Progress& progress) {
  const PreparedAnalysis& analysis = study.analyses[index];
  try {
    if (study.privacy) {
      return FitPrivateMoments(analysis.analysis, *study.privacy, analysis.variables, result.noised,
                               progress);
    }
    return FitMoments(analysis.analysis, result.moments[index],
                      study.computations[analysis.computation].task.fraction_bits, progress);
  } catch (const Error& error) {
    if (study.analyses.size() == 1) throw;
    throw Error(error.code(),
                fmt::format("analysis '{}': {}", study.file.analyses[index].name, error.message()),
                error.hint());
  }
}

// At the receiver: fits the analysis. Of hidden rows nobody else may see that it failed; what is wrong
// is told when the connections are closed, by the same fit (FitAnalyses).
std::optional<FittedModel> FitBeforeRobust(const MleStudy& study, size_t index, bool hidden,
                                           ProtocolResult& result, Progress& progress) {
  const PreparedAnalysis& analysis = study.analyses[index];
  try {
    result.results[index] = FitAnalysis(study, index, result, progress);
    return FittedModel{SampleMomentsOf(analysis.analysis, result.moments[index],
                                       study.computations[analysis.computation].task.fraction_bits),
                       result.results[index]->fit};
  } catch (const Error&) {
    if (!hidden) throw;
    return std::nullopt;
  }
}

// At every process. Of hidden rows a result without robust errors says why; nobody else learns it.
void AddRobust(mpc::Engine& engine, const MleStudy& study, size_t index, const LocalRows& local,
               const std::optional<FittedModel>& fitted, ProtocolResult& result) {
  const PreparedAnalysis& analysis = study.analyses[index];
  const RobustTask task = RobustTaskOf(study, index);
  RobustLocal rows;
  if (engine.self()) rows = {local.blocks[analysis.computation], local.clusters};
  std::optional<stats::RobustFit> robust;
  try {
    robust =
        RobustStandardErrors(engine, analysis.analysis, task, rows, fitted ? &*fitted : nullptr);
  } catch (const Error& error) {
    if (!task.hidden || !fitted || error.code() != ErrorCode::kBadInput) throw;
    result.results[index]->notes.push_back(
        fmt::format("Warning: {}: {}. The standard errors shown are not robust.", error.message(),
                    error.hint()));
  }
  if (!robust) return;
  result.results[index]->robust = *robust;
  std::erase(result.results[index]->notes, kNormalityNotChecked);
}

// Fits the analyses with robust standard errors, each followed by its sums of scores.
void FitRobust(mpc::Engine& engine, const MleStudy& study, const LocalRows& local,
               ProtocolResult& result, Progress& progress) {
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    if (!MleOf(study.file.analyses[a]).robust) continue;
    progress.Phase("robust standard errors of " + study.file.analyses[a].name);
    engine.BeginPhase(RobustPhase(study, a));
    std::optional<FittedModel> fitted;
    if (engine.self() == study.receiver)
      fitted = FitBeforeRobust(study, a, run::HasHiddenRows(study), result, progress);
    AddRobust(engine, study, a, local, fitted, result);
  }
}

// What of a result leaves the receiver. A sealed one has been on the grid since it opened.
std::optional<MleResult> ToldResult(const MleStudy& study, size_t analysis,
                                    const ProtocolResult& result) {
  const std::optional<MleResult>& whole = result.results[analysis];
  const bool sealed = study.computations[study.analyses[analysis].computation].protocol == kSealed;
  if (!whole || sealed || study.grid_bits == 0) return whole;
  return OnReleaseGrid(study.analyses[analysis].analysis, *whole, study.grid_bits);
}

// What everybody knows of the receiver's fit from the study.
void AddStudyWords(const MleStudy& study, size_t analysis, MleResult& told) {
  if (study.privacy) {
    for (std::string& note :
         NoiseNotes(MechanismText(*study.privacy), study.privacy->promise.norm, told.fit.converged))
      told.notes.push_back(std::move(note));
  }
  if (IsImputed(study)) told.fit.optimizer += ImputedTablesText(study.file.design.imputations);
  const std::string& protocol = study.file.analyses[analysis].protocol;
  if (published::IsPublished(protocol)) told.notes.push_back(published::PublishedNote(protocol));
}

// The estimates that the study file releases to others than the receiver.
void TellResults(mpc::Engine& engine, const MleStudy& study, ProtocolResult& result,
                 Progress& progress) {
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    for (const study::ReleaseSpec& release : study.file.analyses[a].releases) {
      const std::optional<size_t> to = TellsEstimatesTo(study, release);
      if (!to) continue;
      if (engine.self() == study.receiver && !result.results[a])
        result.results[a] = FitAnalysis(study, a, result, progress);
      std::optional<MleResult> told = PublishResult(
          engine, study.analyses[a].analysis, study.receiver, *to, ToldResult(study, a, result));
      if (engine.self() == study.receiver) continue;  // keeps its digits
      if (told) AddStudyWords(study, a, *told);
      result.results[a] = std::move(told);
    }
  }
}

// Checks that warn only.
void AddCheckNotes(const std::vector<CheckOutcome>& checks, MleResult& result) {
  for (const CheckOutcome& check : checks) {
    if (!check.passed && check.analysis == result.name)
      result.notes.push_back("Warning: this does not hold: " + check.rule + ".");
  }
}

void AddMleTables(const MleStudy& study, const ProtocolResult& run, std::vector<MleResult>& fitted,
                  Progress& progress) {
  std::vector<const MleAnalysis*> analyses;
  std::vector<std::vector<stats::GroupMoments>> moments;
  for (size_t a = 0; a < fitted.size(); ++a) {
    const PreparedAnalysis& prepared = study.analyses[a];
    analyses.push_back(&prepared.analysis);
    moments.emplace_back();
    if (!run.moments[a].empty() && prepared.analysis.patterns.empty()) {
      moments.back() = SampleMomentsOf(prepared.analysis, run.moments[a],
                                       study.computations[prepared.computation].task.fraction_bits);
    }
  }
  AddTables(analyses, moments, fitted, progress);
}

}  // namespace

ProtocolResult RunAnalyses(mpc::Engine& engine, const MleStudy& study, const LocalRows& local,
                           const std::vector<Int128>& noise, const RunInput& input,
                           Progress& progress) {
  ProtocolResult result;
  result.moments.resize(study.analyses.size());
  result.results.resize(study.analyses.size());

  progress.Phase("moments");
  engine.BeginPhase("moments");
  std::vector<std::vector<SharedMoments>> shared;
  if (input.stripes != nullptr) {
    shared = MomentsOfStripes(study, input.stripes->Sum());
  } else {
    for (size_t c = 0; c < study.computations.size(); ++c) {
      shared.push_back(ComputeMoments(engine, study.computations[c].task,
                                      engine.self() ? local.blocks[c] : std::vector<LocalBlock>{}));
    }
  }

  engine.AgreeToOpen();  // the answers of the checks are the first that opens
  if (!study.privacy) {
    progress.Phase("disclosure checks");
    engine.BeginPhase("disclosure");
    const std::vector<DisclosureCheck> checks = PlanDisclosureChecks(study, input.disclosure);
    result.checks = CheckDisclosure(engine, study, shared, checks);
    RequirePassed(checks, result.checks, study, local, input.channel);
  }
  if (study.pattern_table) {
    progress.Phase("pattern cells");
    engine.BeginPhase(kPatternCellsPhase);
    RequirePatternCells(engine, study, local, input, result);
  }

  progress.Phase("release");
  engine.BeginPhase("release");
  if (study.privacy) {
    result.noised = OpenPrivateMoments(engine, study.computations.front().task, shared.front(),
                                       *study.privacy, noise);
  }
  for (size_t c = 0; c < study.computations.size() && !study.privacy; ++c) {
    if (study.computations[c].protocol != kPooledMoments) continue;
    if (IsImputed(study)) {
      try {
        FitImputedAnalyses(engine, study, study.computations[c], shared[c],
                           engine.self() ? input.random : nullptr, result, progress);
      } catch (const Error& error) {
        // What refuses is opened to all computing parties.
        if (error.code() == ErrorCode::kRefused && input.channel != nullptr)
          ConfirmRefusal(*input.channel, study.num_computing);
        throw;
      }
    } else {
      OpenComputation(engine, study, study.computations[c], shared[c], result);
    }
  }
  for (size_t c = 0; c < study.computations.size(); ++c) {
    if (study.computations[c].protocol == kLikelihood)
      FitByOracle(engine, study, c, shared[c], result, progress);
    if (study.computations[c].protocol == kSealed)
      FitSealedAnalyses(engine, study, c, shared[c], result, progress);
    if (published::IsPublished(study.computations[c].protocol) && input.channel != nullptr) {
      published::FitPublishedAnalyses(study, c,
                                      engine.self() ? local.blocks[c] : std::vector<LocalBlock>{},
                                      input, result, progress);
    }
  }
  FitRobust(engine, study, local, result, progress);
  engine.BeginPhase("results");
  TellResults(engine, study, result, progress);
  return result;
}

namespace {

void SetResult(std::vector<MleResult> analyses, run::PartyOutcome& outcome) {
  if (analyses.empty()) return;
  for (const MleResult& analysis : analyses) {
    run::UsedRows& used = outcome.used.emplace_back();
    used.analysis = analysis.name;
    for (double n : analysis.group_n) used.rows += static_cast<uint64_t>(n);
  }
  outcome.result = std::make_unique<MleReport>(std::move(analyses));
}

}  // namespace

std::vector<MleResult> FitAnalyses(const MleStudy& study, const ProtocolResult& result,
                                   Progress& progress) {
  std::vector<MleResult> fitted;
  for (size_t a = 0; a < study.analyses.size(); ++a) {
    fitted.push_back(result.results[a] ? *result.results[a]
                                       : FitAnalysis(study, a, result, progress));
    for (const std::string& warning : study.analyses[a].analysis.warnings)
      fitted.back().notes.push_back("Warning: " + warning);
    AddCheckNotes(result.checks, fitted.back());
  }
  AddMleTables(study, result, fitted, progress);
  return fitted;
}

std::unique_ptr<run::MethodResult> MleStudy::Run(mpc::Engine& engine, const RunInput& input,
                                                 Progress& progress) const {
  const auto* rows = static_cast<const LocalRows*>(input.rows);
  std::vector<Int128> noise;
  if (privacy && engine.self()) noise = DrawNoiseShare(*privacy, *input.random);
  return std::make_unique<ProtocolResult>(
      RunAnalyses(engine, *this, rows == nullptr ? LocalRows{} : *rows, noise, input, progress));
}

void MleStudy::Conclude(size_t party, run::MethodResult& run, run::PartyOutcome& outcome,
                        Progress& progress) const {
  auto& result = static_cast<ProtocolResult&>(run);
  outcome.checks = result.checks;
  if (party == receiver) {
    progress.Phase("fit");
    const SteadyClock::time_point start = SteadyClock::now();
    outcome.variables = SummariseVariables(*this, result);
    SetResult(FitAnalyses(*this, result, progress), outcome);
    outcome.local_steps.push_back({"fit", SecondsSince(start)});
    return;
  }
  std::vector<MleResult> told;
  for (std::optional<MleResult>& analysis : result.results) {
    if (!analysis) continue;
    told.push_back(std::move(*analysis));
    AddCheckNotes(result.checks, told.back());
  }
  SetResult(std::move(told), outcome);
}

}  // namespace partita::methods::mle
