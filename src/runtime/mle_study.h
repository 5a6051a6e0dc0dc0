// What an mle study file means for the protocol: who holds what, the models, the sets of rows, the
// releases. All of it is public and follows from the study file alone, so every party derives the
// same.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "data/design.h"
#include "data/holding.h"
#include "data/partition.h"
#include "match/row_order.h"
#include "methods/mle/analysis.h"
#include "methods/mle/disclosure.h"
#include "methods/mle/likelihood.h"
#include "methods/mle/pooled_moments.h"
#include "methods/mle/private_moments.h"
#include "methods/mle/robust.h"
#include "mpc/release_gate.h"
#include "privacy/statement.h"
#include "study/study_file.h"

namespace partita::runtime {

// Rows assumed at most in a block that declares no count; bounds the sums on the wire.
inline constexpr uint64_t kMaxUndeclaredRows = uint64_t{1} << 20;

inline constexpr char kPooledMoments[] = "pooled-moments";
inline constexpr char kLikelihood[] = "likelihood";
inline constexpr char kSealed[] = "sealed";

// Which rows are in a cell of the moments' task: all that pass the conditions, are complete where
// the design drops incomplete ones, and have the group's level.
struct RowSelection {
  std::vector<data::Condition> conditions;  // of the population, then of the analysis
  std::string group;                        // empty: all levels
  int32_t level = 0;                        // index into the group's levels
};

// Analyses over the same rows share their moments and one release of them.
struct RowSet {
  std::vector<data::Condition> subset;  // of the analyses
  std::string group;                    // empty: one group
  std::vector<size_t> cells;            // by level of the group; one without
  size_t total_cell = 0;                // all levels together
  methods::mle::MomentsRelease release;
  std::vector<size_t> analyses;
};

// Moments on shares, computed once for all analyses of one protocol.
struct Computation {
  std::string protocol;
  methods::mle::MomentsTask task;
  std::vector<data::DesignColumn> variables;  // of the task
  // By variable: where its 0/1 values are counted for the disclosure checks. Itself, or with fixed
  // effects of sites a second time without them.
  std::vector<size_t> counted;
  std::vector<RowSelection> selections;  // by cell
  std::vector<RowSet> row_sets;
};

struct PreparedAnalysis {
  methods::mle::MleAnalysis analysis;
  size_t computation = 0, row_set = 0;
  std::vector<size_t> variables;  // of the analysis, as indices into the task's
};

struct MleStudy {
  study::StudyFile file;
  // The parties as the channel numbers them: computing parties in roster order, then the dealer if
  // there is one. Indices of the partition, the task and the engine are channel indices.
  std::vector<study::Party> parties;
  size_t num_computing = 0;
  size_t receiver = 0;

  data::Partition partition;
  data::RowColumns row_columns;
  data::Schema factors;                     // the dictionary with the derived factors
  std::vector<data::DesignColumn> columns;  // all that a model can name
  std::vector<std::string> used;            // variables of the dictionary that any analysis needs
  std::vector<PreparedAnalysis> analyses;   // as in the file
  std::vector<Computation> computations;
  // Of the one noisy release of a private study; empty: every release is exact.
  std::optional<methods::mle::PrivateMoments> privacy;
  privacy::Statement privacy_statement;  // of it; bounds that take a moment, so computed once
  std::vector<methods::mle::DisclosureCheck> checks;  // with the thresholds of the study file
  std::vector<match::SharedBlock> shared_blocks;
  std::vector<mpc::Release> releases;
};

// Checks everything that can be checked before data is read: the tiling, the models and their
// variables, what protocol, design and partition allow together, the engine's number of parties,
// fewer declared rows than parameters. Throws kBadInput.
MleStudy PrepareMleStudy(study::StudyFile file);

// "north", "south", "dealer": by channel index.
std::vector<std::string> PartyNames(const MleStudy& study);
// Of those who take part in the run: all but the dealer of a study with stored correlations.
std::vector<std::string> OnlineNames(const MleStudy& study);
// Channel index. Throws kBadInput with "did you mean" if there is none.
size_t PartyByName(const MleStudy& study, const std::string& name);

// Of the integers that the study's engine computes with: 128 in the rings, 127 in the field.
int IntegerBits(const MleStudy& study);

// "over the rows where age >= 18, for each level of school".
std::string RowsText(const MleStudy& study, const RowSet& rows);

// Of an analysis of protocol `likelihood`.
methods::mle::LikelihoodTask LikelihoodTaskOf(const MleStudy& study, size_t analysis);
std::string LikelihoodPhase(const MleStudy& study, size_t analysis);  // "likelihood NAME"
// Of an analysis with robust standard errors.
methods::mle::RobustTask RobustTaskOf(const MleStudy& study, size_t analysis);
std::string RobustPhase(const MleStudy& study, size_t analysis);  // "robust NAME"

// To whom (a channel index or mpc::kEverybody) an entry of a release list tells the result; empty
// if it is not such an entry, or the receiver's own.
std::optional<size_t> TellsEstimatesTo(const MleStudy& study, const study::ReleaseSpec& release);

// The variable of the dictionary that `name` (of the dictionary or derived) is computed from.
std::string SourceVariable(const MleStudy& study, const std::string& name);

}  // namespace partita::runtime
