// A study of method `mle`: the models, the moments that they need, the sets of rows, the releases.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/design.h"
#include "data/holding.h"
#include "data/partition.h"
#include "match/row_order.h"
#include "methods/mle/fit/analysis.h"
#include "methods/mle/likelihood/likelihood.h"
#include "methods/mle/likelihood/robust.h"
#include "methods/mle/moments/disclosure.h"
#include "methods/mle/moments/pooled_moments.h"
#include "methods/mle/moments/private_moments.h"
#include "methods/mle/sealed/common_bounds.h"
#include "methods/mle/section.h"
#include "mpc/release_gate.h"
#include "privacy/statement.h"
#include "run/method/study.h"
#include "study/file/study_file.h"

namespace partita::methods::mle {

inline constexpr char kPooledMoments[] = "pooled-moments";
inline constexpr char kLikelihood[] = "likelihood";
inline constexpr char kSealed[] = "sealed";

// Which rows are in a cell of the moments' task: all that pass the conditions, are complete where
// the design drops incomplete ones, have the group's level, and miss what the pattern misses.
struct RowSelection {
  std::vector<data::Condition> conditions;  // of the population, then of the analysis
  std::string group;                        // empty: all levels
  int32_t level = 0;                        // index into the group's levels
  std::optional<size_t> pattern = {};       // index into the patterns of the design; empty: any
};

// Analyses over the same rows share their moments and one release of them.
struct RowSet {
  std::vector<data::Condition> subset;  // of the analyses
  std::string group;                    // empty: one group
  std::vector<size_t> cells;            // by level of the group; one without. With patterns of
                                        // missing values by level and, within it, pattern
  size_t total_cell = 0;                // all levels and patterns together
  MomentsRelease release;
  std::vector<size_t> analyses;
};

// Moments on shares, computed once for all analyses of one protocol.
struct Computation {
  std::string protocol;
  MomentsTask task;
  std::vector<data::DesignColumn> variables;  // of the task
  // By variable: where its 0/1 values are counted for the disclosure checks. Itself, or with fixed
  // effects of sites a second time without them.
  std::vector<size_t> counted;
  std::vector<RowSelection> selections;  // by cell
  std::vector<RowSet> row_sets;
};

struct PreparedAnalysis {
  MleAnalysis analysis;
  size_t computation = 0, row_set = 0;
  std::vector<size_t> variables;  // of the analysis, as indices into the task's
};

// The cells of way (a) of the release rule (methods/mle/study/pattern_cells.h). A cell is a number whose
// digits are the values of the parts, the last part's lowest.
struct PatternPart {
  std::string column;  // of the dictionary or made by a cut
  double lower = 0;    // of a whole number; the digits of a factor are its codes
  uint64_t num_values = 0;
};
struct PatternTable {
  std::vector<PatternPart> parts;
  size_t num_cells = 1;
};

struct MleStudy final : run::Study {
  data::Schema factors;                     // the dictionary with the derived factors
  std::vector<data::DesignColumn> columns;  // all that a model can name
  std::vector<PreparedAnalysis> analyses;   // as in the file
  std::vector<Computation> computations;
  // Variables of the dictionary without which a row takes no part, by the design.
  std::vector<std::string> required;
  std::vector<std::string> modelled;  // variables of the dictionary that models use
  // Of the one noisy release of a private study; empty: every release is exact.
  std::optional<PrivateMoments> privacy;
  privacy::Statement privacy_statement;  // of it; bounds that take a moment, so computed once
  // Estimates open on 2^-grid_bits standard errors (privacy/release_rule.h); 0: with all digits.
  int grid_bits = 0;
  std::vector<DisclosureCheck> checks;  // with the thresholds of the study file
  // Of protocol `sealed`: instead of those of the dictionary.
  std::vector<CommonBounds> common_bounds;
  std::optional<PatternTable> pattern_table;  // of accept = "checked cells"; empty: not asked for

  run::MethodName Method() const override;
  run::StudySize Size() const override;
  bool IsPrivate() const override { return privacy.has_value(); }
  void Describe(study::Plan& plan) const override;
  std::vector<std::string> Warnings() const override;
  std::vector<std::string> AlsoLearns(size_t party) const override;
  std::vector<study::PlanExposure> Exposures() const override;
  run::Forecast Utility() const override;
  run::ComputeSeconds Compute() const override;
  uint64_t NumbersPerRow() const override;
  std::vector<std::vector<std::string>> MockClusters() const override;
  std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const override;
  data::TableCheckOptions TableChecks()
      const override;  // counts patterns, where the study has them
  bool ChecksCells() const override { return true; }
  bool TakesInputBits() const override;
  std::optional<std::string> WhyNoStripes() const override;
  std::unique_ptr<run::MethodRows> StripeRows(size_t party, const run::MethodRows& rows,
                                              size_t stripe) const override;
  std::vector<mpc::Shared> RunStripe(mpc::Engine& engine, size_t stripe,
                                     const run::MethodRows* rows) const override;
  Bytes EncodeStripe(const run::MethodRows& stripe) const override;
  std::unique_ptr<run::MethodRows> DecodeStripe(size_t party, size_t stripe,
                                                ByteView bytes) const override;
  void DeriveColumns(data::Table& table) const override;
  std::unique_ptr<run::MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                               run::OwnRows& counts) const override;
  std::unique_ptr<run::RowsInPieces> PassRows(size_t party, run::OwnRows& counts) const override;
  data::SumQuery SumsOf(size_t party) const override;
  std::unique_ptr<run::MethodRows> TakeSums(size_t party, const data::SumAnswer& answer,
                                            run::OwnRows& counts) const override;
  std::unique_ptr<run::MethodRows> NoRows() const override;
  std::vector<std::vector<uint8_t>> ExactRowSets(const run::MethodRows& rows,
                                                 const data::Holding& holding) const override;
  uint64_t LeastRowsApart() const override;
  std::unique_ptr<run::MethodResult> Run(mpc::Engine& engine, const run::RunInput& input,
                                         Progress& progress) const override;
  void Conclude(size_t party, run::MethodResult& result, run::PartyOutcome& outcome,
                Progress& progress) const override;
  std::unique_ptr<const run::Study> ForRehearsal(
      uint64_t max_steps, std::vector<std::string>& shortened) const override;
  run::MessagesPlanned Messages() const override;
  void Compare(const run::RehearsedRun& run, run::Agreement& agreement,
               Progress& progress) const override;
};

// Checks everything that can be checked before data is read: the tiling, the models and their
// variables, what protocol, design and partition allow together, the engine's number of parties,
// fewer declared rows than parameters. Throws kBadInput.
MleStudy PrepareMleStudy(study::StudyFile file);

// The same study with all digits of what it opens on a grid: what its parity with the pooled fit is
// shown on. Not for real data.
MleStudy UnroundedTwin(MleStudy study);

// Whether rows are incomplete and their moments are computed by pattern: missing = "fiml" or "mi".
bool HasPatterns(const MleStudy& study);
// missing = "mi".
bool IsImputed(const MleStudy& study);

// "over the rows where age >= 18, for each level of school".
std::string RowsText(const MleStudy& study, const RowSet& rows);

// Of an analysis of protocol `likelihood`.
LikelihoodTask LikelihoodTaskOf(const MleStudy& study, size_t analysis);
std::string LikelihoodPhase(const MleStudy& study, size_t analysis);  // "likelihood NAME"
// Of an analysis with robust standard errors.
RobustTask RobustTaskOf(const MleStudy& study, size_t analysis);
std::string RobustPhase(const MleStudy& study, size_t analysis);  // "robust NAME"

// To whom (a channel index or mpc::kEverybody) an entry of a release list tells the result; empty
// if it is not such an entry, or the receiver's own.
std::optional<size_t> TellsEstimatesTo(const MleStudy& study, const study::ReleaseSpec& release);

}  // namespace partita::methods::mle
