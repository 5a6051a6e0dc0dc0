// A study of method `mixed`: a model with a random intercept, and a slope, of whole rows at every holder.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "methods/mixed/fit.h"
#include "methods/mixed/laplace_fit.h"
#include "methods/mixed/slope_path.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"

namespace partita::methods::mixed {

struct MixedStudy final : run::WholeRowsStudy {
  Task task;  // its grid is the finest from the study file's on with which the release rule holds
  data::Schema factors;  // the dictionary with those of [[derived]] and of the formula
  std::vector<data::DerivedVariable> derived;  // of the study file and of the formula
  std::vector<std::string> checked;            // names of the tables of counts

  run::MethodName Method() const override;
  run::StudySize Size() const override;
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> Warnings() const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
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

  // Whether a person may have several rows, which then are of one group: groups are counted.
  bool CountsGroups() const { return file.population.max_rows_per_person > 1; }
  uint64_t RowsOfPerson() const;  // at most
  const std::string& told() const;
};

// What Run makes.
struct MixedRun final : run::MethodResult {
  std::vector<run::CheckOutcome> checks;
  std::optional<OpenedFit> fit;    // where nothing opens on the way
  std::optional<PathFitted> path;  // of others; a model where it is learned
};

// Throws kBadInput with the place for what the method does not do: columns that are split, effects of
// sites, imputation, weights, clusters beside the formula's, fewer than five sites as groups, several
// rows of one person where sites are the groups, more than 2^28 rows; and for estimates that tell more
// than half of the bits of the table of covariates.
MixedStudy PrepareMixedStudy(study::StudyFile file);

// What is counted of the rows that a holder takes, and their sums.
OwnData OwnDataOf(const MixedStudy& study, const data::Table& table,
                  const std::vector<size_t>& taken);

std::string SitesRule(uint64_t min_cell);  // where sites are the groups
std::string GroupsRule(const MixedStudy& study, uint64_t min_cell);
std::string TableRule(const MixedStudy& study, const std::string& variable, uint64_t min_cell);

std::string RowsInGroupsRule(const Task& task);
std::string OutcomeRule(const MixedStudy& study, uint64_t min_cell);

study::PlanBits BitsOf(const MixedStudy& study);
std::vector<mpc::Release> ReleasesOf(const MixedStudy& study);

}  // namespace partita::methods::mixed
