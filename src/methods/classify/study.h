// A study of method `classify`: whole rows at every party. Everything that opens carries noise, but
// with the protocols for comparison, which are not private.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "methods/classify/classification.h"
#include "run/method/study.h"
#include "study/plan/document.h"

namespace partita::runtime {

struct ClassifyStudy final : Study {
  methods::classify::Classification design;

  MethodName Method() const override;
  StudySize Size() const override;
  bool IsPrivate() const override { return methods::classify::IsPrivate(design.spec.protocol); }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  uint64_t NumbersPerRow() const override;
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                          OwnRows& counts) const override;
  std::unique_ptr<MethodRows> NoRows() const override;
  std::vector<std::vector<uint8_t>> ExactRowSets(const MethodRows& rows,
                                                 const data::Holding& holding) const override;
  uint64_t LeastRowsApart() const override;
  std::unique_ptr<MethodResult> Run(mpc::Engine& engine, const RunInput& input,
                                    Progress& progress) const override;
  void Conclude(size_t party, MethodResult& result, PartyOutcome& outcome,
                Progress& progress) const override;
};

// Throws kBadInput with the place for what the method does not do: columns that are split, blocks
// without a count, parties that compute without rows, subsets, incomplete rows, weights, clusters,
// several rows of one person; and what DesignClassification refuses.
ClassifyStudy PrepareClassifyStudy(study::StudyFile file);

// What one party's report says. It holds that party's own test rows where they were evaluated
// locally.
study::Document ClassifyDocument(const ClassifyStudy& study,
                                 const methods::classify::ClassificationResult& result,
                                 size_t clipped_rows);

}  // namespace partita::runtime
