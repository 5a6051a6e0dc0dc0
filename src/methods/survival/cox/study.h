// A study of method `survival` with model = "cox": proportional hazards of whole rows at every holder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "methods/survival/cox/fitter.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"

namespace partita::methods::survival {

struct CoxStudy final : run::WholeRowsStudy {
  CoxTask
      task;  // its grid is the finest from the study file's on with which the release rule holds
  data::Schema factors;  // the dictionary with those of [[derived]] and of the formula
  std::vector<data::DerivedVariable> derived;  // of the study file and of the formula
  std::vector<std::string> checked;            // names of the tables of counts

  data::ModelCounts Tables() const { return CoxTables(task.spec, factors); }
  size_t StratumOf(size_t party) const;  // where holders are strata; else 0

  run::MethodName Method() const override;
  run::StudySize Size() const override { return {used.size(), task.num_columns()}; }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> Warnings() const override;
  std::vector<std::string> AlsoLearns(size_t /*party*/) const override { return {}; }
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

struct CoxRun final : run::MethodResult {
  std::vector<run::CheckOutcome> checks;
  CoxFitted fitted;
};

// Throws kBadInput with the place for what the method does not do: columns that are split, effects of
// sites (they are strata here), imputation, weights, clusters, several rows of one person, more than
// 2^22 rows; and for estimates that tell more than half of the bits of the table of covariates.
CoxStudy PrepareCoxStudy(study::StudyFile file);

// Bits of the table of covariates that everything opened tells at most: to everybody, and to who is
// told the rest.
double CoxIterateBits(const CoxStudy& study);
double CoxOpenedBits(const CoxStudy& study);
study::PlanBits CoxBits(const CoxStudy& study, double opened);
std::vector<mpc::Release> CoxReleases(const CoxStudy& study);

}  // namespace partita::methods::survival
