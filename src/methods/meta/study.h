// A study of method `meta`: every holder brings one estimate with its standard error, or the rows that it
// fits one to.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/meta/own_fit.h"
#include "methods/meta/protocol.h"
#include "run/method/whole_rows.h"
#include "run/party/outcome.h"

namespace partita::methods::meta {

struct MetaStudy final : run::WholeRowsStudy {
  Task task;  // its grid is the finest from the study file's on with which the release rule holds
  data::Schema factors;  // the dictionary with those of [[derived]] and of the formula
  std::vector<data::DerivedVariable> derived;  // of the study file and of the formula

  run::MethodName Method() const override;
  run::StudySize Size() const override { return {used.size(), 0}; }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> Warnings() const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  // None without a formula: a row is a site's result, and no person's.
  std::vector<std::vector<uint8_t>> ExactRowSets(const run::MethodRows& rows,
                                                 const data::Holding& holding) const override;
  uint64_t LeastRowsApart() const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;

  const char* level() const { return task.spec.site_estimates ? kSiteEstimates : kPooled; }
  const std::string& told() const;
  std::vector<std::string> SiteNames() const;  // by holder
};

struct MetaRun final : run::MethodResult {
  std::vector<run::CheckOutcome> checks;
  std::optional<OpenedPool> pool;
  std::optional<std::vector<SiteEstimate>> sites;  // by holder, at level site-estimates
  std::string reason;                              // of a holder without an estimate: why
};

// Throws kBadInput with the place: fewer than three holders, or than min_sites; holders with several
// blocks, or without a formula of more rows than one; what run::RequireWholeRows refuses, weights and clusters;
// results that tell more than half of the bits of the sites' estimates.
MetaStudy PrepareMetaStudy(study::StudyFile file);

// A holder's estimate from the rows that it takes: of its one row, or of a fit.
OwnFit EstimateOf(const MetaStudy& study, const data::Table& table,
                  const std::vector<size_t>& taken);

study::PlanBits BitsOf(const MetaStudy& study);
std::vector<mpc::Release> ReleasesOf(const MetaStudy& study);

}  // namespace partita::methods::meta
