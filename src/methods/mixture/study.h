// A study of method `mixture`: a mixture model learned by DPVI under differential privacy from
// columns that several parties hold (protocol: run.h), and synthetic tables of it.
//
// Released to all computing parties: the noisy sum of every iteration, and nothing else; the model
// and synthetic rows are functions of these sums and of public randomness. The dealer learns which
// rows a batch has.
//
// Stop and resume: with a folder for its state (RunInput::state) a party keeps its key shares, its
// checkpoint and a count of openings there, and a run with the same study file and table goes on
// behind all iterations that may have been opened, without another charge. Iterations that were
// lost are made up from the openings in reserve; where these are too few the model is "not
// trained", and synthetic tables of it are drawn for a receiver only that asks for them
// (RunInput::accept_useless). A run that is over gives its result again.
#pragma once

#include "methods/mixture/columns.h"
#include "methods/mixture/forecast.h"
#include "methods/mixture/section.h"
#include "methods/mixture/session.h"
#include "methods/mixture/statement.h"
#include "methods/mixture/utility.h"
#include "run/method/study.h"
#include "study/plan/document.h"

namespace partita::methods::mixture {

inline constexpr char kMixtureMethod[] = "mixture";
inline constexpr uint32_t kMixtureVersion = 5;
// Phases of the protocol: the first iteration of an attempt also masks the statistics.
inline constexpr char kFirstIteration[] = "first iteration", kIterations[] = "iterations";

// The files of a result.
inline constexpr char kModelFile[] = "model.json";
inline std::string SyntheticFile(size_t set) {
  return "synthetic_" + std::to_string(set + 1) + ".csv";
}

struct MixtureStudy final : run::Study {
  std::vector<ModelColumn> columns;  // party: channel index
  RunPlan plan;
  Audience audience;
  privacy::Statement statement;      // of the whole plan, before a run
  std::vector<BatchChoice> choices;  // of batches, for comparison

  uint64_t max_openings() const { return plan.request.max_openings(); }
  // After so many openings, or before; what rows set aside ask of it is among its caveats.
  privacy::Statement StateOf(const Made& made) const;

  const MixtureSpec& spec() const { return MixtureOf(file.analyses.front()); }

  run::MethodName Method() const override { return {kMixtureMethod, kMixtureVersion, "dpvi"}; }
  run::StudySize Size() const override;
  bool IsPrivate() const override { return true; }
  void Describe(study::Plan& described) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  std::vector<run::OtherSchedule> OtherSchedules() const override;
  // Of this process once, for a text of a study; a second or two where the run is long.
  MixtureForecast ForecastOnce() const;
  run::Forecast Utility() const override;
  run::ComputeSeconds Compute() const override;
  uint64_t NumbersPerRow() const override { return plan.step.num_columns(); }
  uint64_t FileBytes() const override;
  std::vector<std::string> FileNames() const override;
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  std::unique_ptr<run::MethodSession> Agree(net::Channel& channel,
                                            const run::RunInput& input) const override;
  std::optional<run::AgreementCost> CostOfAgreement() const override;
  bool GoesOn(const run::MethodRows& rows, const std::filesystem::path& state) const override;
  uint64_t Repeats(std::string_view phase) const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  // The state, which every party computed from the same sums: floating point of machines that
  // differ would show here, and in nothing else.
  bool ComparesResults() const override { return true; }
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  std::unique_ptr<const run::Study> ForRehearsal(
      uint64_t max_steps, std::vector<std::string>& shortened) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

// Checks everything that can be checked before data is read, and chooses the noise where the study
// asks for an epsilon. About a second. Throws kBadInput with the place of the analysis; kBudget if
// no noise gives that epsilon.
MixtureStudy PrepareMixtureStudy(study::StudyFile file);

// One party's rows of the model.
struct MixtureRows final : run::MethodRows {
  // By row of `rows`: 1 where it contributes nothing; empty: every row does.
  std::vector<uint8_t> neutral;
  stats::mixture::Rows rows;  // to train on, of its own columns; without features where it has none
  std::shared_ptr<const RealRows> values;  // null at a party without any
  crypto::Digest own{};  // of the study file and all its rows, those set aside included
};

struct MixtureResult final : run::MethodResult {
  crypto::Digest Common() const override { return DigestOf(run.state); }
  RunResult run;                        // computing parties
  bool went_on = false;                 // from what an earlier attempt left
  bool accept_useless = false;          // RunInput::accept_useless
  RunKeys keys;                         // computing parties; of a rehearsal, to follow the run
  std::shared_ptr<const RealRows> own;  // MixtureRows::values
};

// What a party that has the model says of it (report.cc); at the receiver also of synthetic
// tables, which are drawn here. What depends on its rows or on the batches is in sections for its
// own terminal.
study::Document ReportMixture(const MixtureStudy& study, size_t party, const MixtureResult& result,
                              crypto::RandomSource& random);

// The rows of a statement as the plan shows them.
std::vector<study::PlanPrivacy> StatementRowsOf(const privacy::Statement& statement);

}  // namespace partita::methods::mixture
