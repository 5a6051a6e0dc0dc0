// A study of method `mcmc`: one Bayesian regression by confidential accept-reject.
//
// Phases: "record" (where to go on, and a common random seed that nobody chooses, net/joint_draw.h;
// no seed is drawn where a run goes on), "disclosure" (answers of the checks; not where the study
// promises privacy), "chain". Everybody who computes sees what opens, and so has the draws.
//
// Stop and resume: with a folder for its state (RunInput::state) a party keeps the record of its
// chains there, bound to the study and its rows. A run that was interrupted goes on behind the last
// decision that may have opened, without a bit opened twice and without another charge
// (methods/mcmc/record.h). A chain that lost more than one decision in a hundred is "not
// trained".
#pragma once

#include <string>
#include <vector>

#include "methods/mcmc/spec.h"
#include "methods/mcmc/statement.h"
#include "run/method/study.h"
#include "run/party/outcome.h"
#include "study/plan/document.h"

namespace partita::methods::mcmc {

// The files of a result; of superchains, whose chains say little alone, only the first one.
inline constexpr char kDrawsFile[] = "draws.csv";
inline std::string StanFile(size_t chain) { return "stan-" + std::to_string(chain + 1) + ".csv"; }

// A count that is compared with its minimum before anything opens.
struct McmcCheck {
  enum class Counts { kRows, kOnes, kZeros, kEvents };
  Counts counts = Counts::kRows;
  std::string variable;  // 0/1, or of survival; empty: rows
  std::string rule;
  uint64_t minimum = 0;
  bool warning = false;
};

struct McmcStudy final : run::Study {
  ChainSpec spec;
  std::vector<std::string> parameters;
  ChainPlan chain;
  Sensitivity sensitivity;  // of one row, under the study's adjacency
  privacy::Statement statement;
  // 0/1 columns of the model, and 0/1 variables that its columns are computed from: checks count
  // them.
  std::vector<std::string> binary;

  // With the thresholds that approvals may have raised; as many whatever these are.
  std::vector<McmcCheck> Checks(const study::DisclosureSpec& thresholds) const;

  run::MethodName Method() const override;
  run::StudySize Size() const override;
  bool IsPrivate() const override { return spec.privacy.has_value(); }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  std::vector<run::OtherSchedule> OtherSchedules() const override;
  uint64_t NumbersPerRow() const override { return 1; }
  uint64_t FileBytes() const override;
  std::vector<std::string> FileNames() const override;
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  std::unique_ptr<run::MethodSession> Agree(net::Channel& channel,
                                            const run::RunInput& input) const override;
  std::optional<run::AgreementCost> CostOfAgreement() const override;
  bool GoesOn(const run::MethodRows& rows, const std::filesystem::path& state) const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  // The draws, which every party computed from the same bits.
  bool ComparesResults() const override { return true; }
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  std::unique_ptr<const run::Study> ForRehearsal(
      uint64_t max_steps, std::vector<std::string>& shortened) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

struct McmcResult final : run::MethodResult {
  crypto::Digest Common() const override;

  ChainRows own;
  std::vector<run::CheckOutcome> checks;
  ChainResult chain;
};

// Rows of a table with all columns of the model.
ChainRows ChainRowsOf(const McmcStudy& study, const data::Table& table,
                      const std::vector<size_t>& rows);

// Checks everything that can be checked before data is read: whole rows at each holder, a design
// that chains know, and a loss within the promise. Throws kBadInput.
McmcStudy PrepareMcmcStudy(study::StudyFile file);

// The report of a run.
study::Document McmcDocument(const McmcStudy& study, const ChainResult& result);
// What a holder sees of its own rows beside it, on its terminal only; empty without rows, and for
// Cox's model.
std::optional<study::DocumentSection> OwnRowsSection(const McmcStudy& study, const ChainRows& rows,
                                                     const stats::mcmc::Draws& draws,
                                                     crypto::RandomSource& random);

}  // namespace partita::methods::mcmc
