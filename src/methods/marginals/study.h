// A study of method `marginals`: all one-way and two-way tables of columns, rows or both that several
// parties hold, opened once with noise to all computing parties; synthetic tables for the receiver.
//
// A study that failed starts anew with a new charge: nothing is opened twice under one.
#pragma once

#include "methods/marginals/model_file.h"
#include "methods/marginals/own_rows.h"
#include "methods/marginals/scored_protocol.h"
#include "methods/marginals/section_promise.h"
#include "methods/marginals/spec.h"
#include "privacy/statement.h"
#include "run/method/first_files.h"
#include "run/method/study.h"
#include "study/plan/document.h"

namespace partita::methods::marginals {

inline constexpr char kTablesFile[] = "model.json";
std::string SyntheticRowsFile(size_t set);  // "synthetic_1.csv"

struct MarginalsStudy final : run::Study, run::HasFirstFiles {
  Spec spec;
  Task task;
  NoiseDesign design;
  privacy::Statement statement;

  std::optional<double> rows()
      const;                    // that are counted, of all blocks, where their number is public
  double ExpectedRows() const;  // that, or what the study file expects
  // The standard deviation of what opens, in rows, rounded down; of each kind of tables where there
  // are targets or pairs are chosen.
  std::string NoiseText() const;
  // "120 one-way and two-way tables of 15 columns"; where pairs are not chosen by scores.
  std::string CountedText() const;

  run::MethodName Method() const override { return {MethodOf(spec), kMethodVersion, kProtocol}; }
  run::StudySize Size() const override { return {spec.columns.size(), 0}; }
  bool IsPrivate() const override { return true; }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  // Of this process once, for a study; four fits (stats/marginals/forecast.h).
  run::Forecast Utility() const override;
  run::ComputeSeconds Compute() const override;
  uint64_t NumbersPerRow() const override;
  uint64_t FileBytes() const override;
  std::vector<std::string> FileNames() const override;
  void DeriveColumns(data::Table& table) const override;
  data::TableCheckOptions TableChecks() const override;  // missing cells leave no row out
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  bool ComparesResults() const override { return true; }
  // What opened, before a generator is fitted and rows are drawn.
  std::vector<study::DocumentFile> FirstFiles(const run::MethodResult& result) const override;
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

// Throws kBadInput with the place of the analysis: a promise that leaves no unknown noise, blocks
// with a part that holds none of the columns, on engine `ot` tables that take more than 1e8 products.
MarginalsStudy PrepareMarginalsStudy(study::StudyFile file);

struct MarginalsRows final : run::MethodRows {
  std::vector<LocalBlock> blocks;
  std::shared_ptr<const std::vector<OwnBlock>> own;  // where rows are set aside
};

struct MarginalsRun final : run::MethodResult {
  crypto::Digest Common() const override;
  std::optional<std::vector<double>> cells;          // at computing parties; 0 where not measured
  std::vector<double> scores;                        // by pair, where pairs are chosen by them
  std::vector<size_t> chosen;                        // tables
  std::shared_ptr<const std::vector<OwnBlock>> own;  // at holders, where rows are set aside
};

// What opened, of a computing party's result that has it.
OpenedTables OpenedBy(const MarginalsStudy& study, const MarginalsRun& run);

// What opened with which noise, and what each adversary learns.
study::DocumentSection StatementSection(const MarginalsStudy& study);

// The result for people and programs; at the receiver with the synthetic tables, at holders with
// what
// rows that were set aside say.
study::Document MarginalsDocument(const MarginalsStudy& study, size_t party,
                                  const MarginalsRun& result, crypto::RandomSource& random);

}  // namespace partita::methods::marginals
