// A study of method `survival`: curves, medians and a log-rank test of whole rows at every holder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/survival/protocol.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"

namespace partita::methods::survival {

struct SurvivalStudy final : run::WholeRowsStudy {
  Task task;  // its grid is the finest from the study file's on with which the release rule holds

  run::MethodName Method() const override;
  run::StudySize Size() const override { return {used.size(), 0}; }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  uint64_t FileBytes() const override;
  std::vector<std::string> FileNames() const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  uint64_t LeastRowsApart() const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

struct SurvivalRun final : run::MethodResult {
  std::vector<run::CheckOutcome> checks;
  std::optional<OpenedCurves> opened;
  uint64_t min_cell = 0;  // that was compared with
};

// Throws kBadInput with the place for what the method does not do: columns that are split, effects
// of sites, imputation, weights, clusters, several rows of one person, more than 2^28 rows; and for
// curves that tell more than half of the bits of the table of covariates.
SurvivalStudy PrepareSurvivalStudy(study::StudyFile file);

// What must be there of a row.
std::vector<std::string> NeededVariables(const Spec& spec);
// Bits of the table of time, event and group that the curves tell at most.
double OpenedBits(const SurvivalStudy& study);
study::PlanBits BitsOf(const SurvivalStudy& study);
std::vector<mpc::Release> ReleasesOf(const SurvivalStudy& study);

}  // namespace partita::methods::survival
