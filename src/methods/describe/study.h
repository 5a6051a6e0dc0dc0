// A study of method `describe`: a table of counts, means and quantiles of rows at several holders.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/describe/protocol.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"

namespace partita::methods::describe {

struct DescribeStudy final : run::WholeRowsStudy {
  Spec spec;
  Task task;  // its grid is the finest from the study file's on with which the release rule holds

  run::MethodName Method() const override;
  run::StudySize Size() const override { return {spec.variables.size(), 0}; }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  uint64_t FileBytes() const override;
  std::vector<std::string> FileNames() const override;
  data::TableCheckOptions TableChecks() const override;  // missing cells leave no row out
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::RowsInPieces> PassRows(size_t party, run::OwnRows& counts) const override;
  bool TakesInputBits() const override { return true; }
  data::SumQuery SumsOf(size_t party) const override;
  std::unique_ptr<run::MethodRows> TakeSums(size_t party, const data::SumAnswer& answer,
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

struct DescribeRows final : run::TakenRows {
  OwnNumbers numbers;
  OwnColumns columns;  // of split ones
};

struct DescribeRun final : run::MethodResult {
  std::vector<run::CheckOutcome> checks;
  std::optional<OpenedTable> opened;
  uint64_t min_cell = 0;  // that was compared with
};

// Throws kBadInput with the place for what the method does not do: effects of sites, imputation,
// a grid of values other than 2^-kValueBits, weights, clusters, several rows of one person, more than 2^32 rows, what study_rows.h says of split
// columns; and for a table that tells more than half of the bits of the table of covariates, or of
// who is in a group (group_bits.h).
DescribeStudy PrepareDescribeStudy(study::StudyFile file);

// "at least min_rows = 20 rows", of each holder where these are the groups.
std::string RowsRule(const Spec& spec, uint64_t min_rows);

// Bits of the table of covariates that the opened table tells at most; where holders are the groups,
// what its column tells of one of them.
double OpenedBits(const DescribeStudy& study);
study::PlanBits BitsOf(const DescribeStudy& study);
std::vector<mpc::Release> ReleasesOf(const DescribeStudy& study);

}  // namespace partita::methods::describe
