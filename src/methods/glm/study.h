// A study of method `glm`: a generalised linear model of whole rows at every holder.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/glm/protocol.h"
#include "methods/glm/sealed/layout.h"
#include "methods/glm/sealed/own_blocks.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"

namespace partita::methods::glm {

struct GlmStudy final : run::WholeRowsStudy {
  Task task;  // its grid is the finest from the study file's on with which the release rule holds
  std::optional<Task> smaller;  // of a model without some terms (nested.h)
  data::Schema factors;         // the dictionary with those of [[derived]] and of the formula
  std::vector<data::DerivedVariable> derived;  // of the study file and of the formula
  std::vector<std::string> checked;            // names of the tables of counts
  SealedLayout layout;                         // of level sealed

  run::MethodName Method() const override;
  run::StudySize Size() const override;
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> Warnings() const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  uint64_t NumbersPerRow() const override;
  run::ComputeSeconds Compute() const override;
  uint64_t FileBytes() const override;
  std::vector<std::string> FileNames() const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  bool TakesInputBits() const override;
  data::SumQuery SumsOf(size_t party) const override;
  std::unique_ptr<run::MethodRows> TakeSums(size_t party, const data::SumAnswer& answer,
                                            run::OwnRows& counts) const override;
  uint64_t LeastRowsApart() const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

struct GlmRows final : run::TakenRows {
  OwnData own;                   // of a party with whole rows
  std::vector<OwnBlock> blocks;  // of level sealed
};

// What Run makes.
struct GlmRun final : run::MethodResult {
  std::vector<run::CheckOutcome> checks;
  Fitted fitted, smaller;
};

// Indices of the rows that take part, of a table with derived columns: those of run::TakeRows
// without those of weight 0, which count as not in the population.
std::vector<size_t> RowsTaken(const GlmStudy& study, const data::Table& table, run::TakenRows& rows,
                              run::OwnRows& counts);

// Throws kBadInput with the place for what the method does not do: columns that are split but at level sealed, effects
// of sites, imputation, weights, clusters, several rows of one person, more than 2^28 rows; and for
// estimates that tell more than half of the bits of the table of covariates.
GlmStudy PrepareGlmStudy(study::StudyFile file);

// What else counts are checked without: ", also without each holder's own rows", or of split columns.
std::string BesideOwnText(const GlmStudy& study);

// Of weights that are compared with their sum.
std::string WeightsRule(const GlmStudy& study);

// Who is told the fit: the receiver, or "all".
const std::string& ToldName(const GlmStudy& study);

// Bits of the table of covariates that everything opened tells at most: to everybody, and to who
// is told the rest.
double IterateBits(const GlmStudy& study);
double OpenedBits(const GlmStudy& study);
study::PlanBits BitsOf(const GlmStudy& study, double opened);
std::vector<mpc::Release> ReleasesOf(const GlmStudy& study);

}  // namespace partita::methods::glm
