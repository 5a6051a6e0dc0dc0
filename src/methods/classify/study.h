// A study of method `classify`: whole rows at every party. Everything that opens carries noise, but
// with the protocols for comparison, which are not private.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "methods/classify/classification.h"
#include "run/method/study.h"
#include "study/plan/document.h"

namespace partita::methods::classify {

struct ClassifyStudy final : run::Study {
  Classification design;

  run::MethodName Method() const override;
  run::StudySize Size() const override;
  bool IsPrivate() const override { return classify::IsPrivate(design.spec.protocol); }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  std::vector<run::OtherSchedule> OtherSchedules() const override;
  uint64_t NumbersPerRow() const override;
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  std::vector<std::vector<uint8_t>> ExactRowSets(const run::MethodRows& rows,
                                                 const data::Holding& holding) const override;
  uint64_t LeastRowsApart() const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

struct ClassifyRun final : run::MethodResult {
  ClassificationResult result;
  // This party's scaled rows, training and test apart; empty at the dealer.
  std::optional<OwnClassification> own;
};

// Throws kBadInput with the place for what the method does not do: columns that are split, blocks
// without a count, parties that compute without rows, subsets, incomplete rows, weights, clusters,
// several rows of one person; and what DesignClassification refuses.
ClassifyStudy PrepareClassifyStudy(study::StudyFile file);

// What one party's report says. It holds that party's own test rows where they were evaluated
// locally.
study::Document ClassifyDocument(const ClassifyStudy& study, const ClassificationResult& result,
                                 size_t clipped_rows);

}  // namespace partita::methods::classify
