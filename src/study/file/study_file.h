// The study file: one TOML text that every party reads, checks and approves. It says who takes
// part, who holds which variables for which rows, what the variables mean, and what is computed.
// docs/study-file.md describes every key.
//
// Reading is strict: an unknown key, a wrong type, a missing key, a number out of range or a name
// used twice is a kBadInput error "FILE:LINE:COLUMN: what is wrong" whose hint says what to write
// instead. The model text is not parsed here (stats/sem does), and that row blocks and columns tile
// the table is checked by StudyPartition; everything else is checked here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "crypto/hash.h"
#include "data/condition.h"
#include "data/design.h"
#include "data/partition.h"
#include "data/schema.h"
#include "privacy/adjacency.h"
#include "study/file/declaration.h"
#include "study/file/section.h"

namespace partita::study {

struct SectionReader;  // section_reader.h

inline constexpr int kStudyFormat = 1;  // the value of the key `partita`
inline constexpr size_t kMaxStudyFileBytes = size_t{1} << 20;
inline constexpr size_t kMaxParties = 64;
inline constexpr size_t kMaxRowBlocks = 1024;
inline constexpr size_t kMaxVariables = 2000;  // and as many derived ones
inline constexpr size_t kMaxAnalyses = 200;
inline constexpr size_t kMaxPatterns = 1000;
inline constexpr int kMaxRowsPerPerson = 1000000;
inline constexpr size_t kMaxModelBytes = size_t{1} << 16;

// One [[party]]. A party has one role at least; a dealer has no other role.
struct Party {
  std::string name;  // [a-z0-9-], at most 32 characters
  bool holder = false, receiver = false, dealer = false;
  // Holders only, defaults filled in, in the order of the dictionary and of the row blocks.
  std::vector<std::string> columns;  // variables of the dictionary that it contributes
  std::vector<std::string> rows;     // names of the row blocks that it holds
  Position position;
};

// What holders learnt of how many match: nothing, the number, or it with noise.
enum class MatchCount : uint8_t { kNobody, kExact, kNoisy };
// "nobody", "exact", "noisy", as files have them.
const std::vector<std::string>& MatchCountNames();
const std::string& MatchCountName(MatchCount count);

// [rows.match] of a row block: its holders have unequal lists, were matched before the study, and
// bring the rows that match (level "matched-ids"), or rows at positions of which nobody knows which
// match (level "hidden").
struct RowMatch {
  std::string matching;     // its name
  crypto::Digest record{};  // what all holders got from it
  std::string linker = {};  // who linked them; empty: two holders did without
  bool hidden = false;
  MatchCount count = MatchCount::kExact;  // of level hidden
};

// One [[rows]]: a set of rows that is held as a whole. Without any there is one block "all".
struct RowBlock {
  std::string name;
  std::optional<uint64_t> count;  // public number of rows; always there if several parties hold it
  Position position;
  std::optional<RowMatch> match = {};
};

// [population]: what a row is and which rows take part.
struct PopulationSpec {
  std::string unit = "person";
  int max_rows_per_person = 1;  // also in the dictionary's schema, and so in the study hash
  std::vector<data::Condition> subset;
};

enum class SiteEffect { kIgnore, kFixed, kStrata, kRandom };
enum class MissingPolicy { kRefuse, kComplete, kFiml, kMultipleImputation };
// Of a study that promises privacy, with kRefuse: what a row contributes that lacks a usable value
// (data/repair.h). kDefault: nothing, and the file does not say it.
enum class FaultyRowsRule { kDefault, kNeutral, kFill };
enum class WeightsKind { kNone, kFrequency, kSampling, kPrecision };

// Variables of the dictionary that are missing together, in its order; empty: complete rows.
using MissingPattern = std::vector<std::string>;

// [design]: how the rows came about. `site` and `missing` have no default.
struct DesignSpec {
  SiteEffect site = SiteEffect::kIgnore;
  MissingPolicy missing = MissingPolicy::kRefuse;
  FaultyRowsRule faulty_rows = FaultyRowsRule::kDefault;
  // With kFiml and kMultipleImputation: the patterns that rows may have, each once; and whether
  // rows with another one are left out (else they stop the study).
  std::vector<MissingPattern> patterns;
  bool leave_out_other_patterns = false;
  // With kMultipleImputation: completed tables, and the length of the chain that each comes from.
  size_t imputations = 20, imputation_iterations = 30;
  WeightsKind weights_kind = WeightsKind::kNone;
  // A numeric or integer variable of the dictionary, an integer for frequencies; never negative,
  // for precisions positive. Empty: none.
  std::string weights;
  std::string cluster;  // a factor or integer of the dictionary, nested in a party; empty: none
  Position position;
};

// [disclosure]: what an exact result must satisfy before it opens. A steward may only raise it.
struct DisclosureSpec {
  uint64_t min_cell = 5;
  uint64_t min_rows = 20;
  bool refuse_small_samples = false;  // n < 5 x parameters: refuse instead of warn
};

// What lets numbers open that tell more than the release rule allows: nothing; that everybody
// accepts that they may tell the table of covariates; that the table's cells are checked on shares.
enum class AcceptedRelease { kNone, kTableOfCovariates, kCheckedCells };

// [release]: how estimates open (privacy/release_rule.h).
struct ReleaseRuleSpec {
  int grid_bits = 6;  // on 2^-grid_bits of their standard errors; 0: with all digits
  AcceptedRelease accept = AcceptedRelease::kNone;
  Position accept_position;
};

// [table]: how the holders' tables look.
struct TableSpec {
  std::string key;       // column that names the row; empty if no block is shared
  std::string block;     // column that names the row block; empty if nobody holds several blocks
  char separator = ',';  // , ; or tab
  char decimal = '.';    // . or ,
};

// [analysis.privacy]: the moments of this analysis are released with noise. epsilon, delta and
// adjacency have no default.
struct PrivacySpec {
  double epsilon = 0;
  double delta = 0;
  privacy::Adjacency adjacency = privacy::Adjacency::kReplace;
  double norm = 1;            // L2 bound of a row's values, each scaled to [-1, 1] by its bounds
  uint32_t known_shares = 1;  // noise shares that an adversary may know
  // For the forecast of the standard errors alone; never read from data.
  std::map<std::string, double> planning_sd;  // by column of the models, original units
  std::optional<uint64_t> planning_rows;
  Position position;

  // The same promise; where it is written and what is planned do not matter.
  bool SamePromise(const PrivacySpec& other) const {
    return epsilon == other.epsilon && delta == other.delta && adjacency == other.adjacency &&
           norm == other.norm && known_shares == other.known_shares;
  }
};

struct EngineSpec {
  std::string name;  // "dealer", "replicated", "shamir" or "ot"
  int fraction_bits = 40;
  // Values are rounded to the grid 2^-input_bits of [-1, 1] before sums are formed, at all holders;
  // without, as finely as sums of so many rows allow, 50 bits at most.
  std::optional<int> input_bits;
  Position input_bits_position;
  // Correlated randomness is made and stored before the run (partita correlations prepare), so that
  // the dealer takes no part in the run. Not for "replicated", which has none.
  bool stored_correlations = false;
  // Of "shamir": so many parties may pool what they have; the fewer, the more wrong shares are
  // corrected. Below half of the parties; without, as many as can be.
  std::optional<uint32_t> threshold;
  // Blocks whose columns are split are cut into so many ranges of rows, which are computed apart.
  size_t stripes = 1;
  Position stripes_position;
};

struct NetworkSpec {
  double timeout_seconds = 60;
};

// [[analysis]]: what all methods have, and the section that only the method itself knows. All
// analyses of a study use one row set: the rows of the population without those that `missing`
// drops because of any variable of any analysis; `subset` narrows it for one analysis.
struct AnalysisSpec {
  std::string name;  // [a-z0-9-], unique; "main" where a study has one analysis without a name
  Position position;
  std::string method;    // the name of a folder of src/methods
  std::string protocol;  // "pooled-moments"
  std::vector<data::Condition> subset;
  std::vector<ReleaseSpec> releases;
  std::shared_ptr<const Section> section;  // of the method
};

struct StudyFile {
  std::string file_name;  // as given, for messages
  std::string text;       // the exact bytes, for hashing
  std::string name;       // [a-z0-9-], at most 64 characters
  std::string title;
  Declaration declared;
  std::vector<Party> parties;    // roster order
  std::vector<RowBlock> blocks;  // at least one
  TableSpec table;
  data::Schema dictionary;
  PopulationSpec population;
  std::vector<data::DerivedVariable> derived;
  DesignSpec design;
  DisclosureSpec disclosure;
  ReleaseRuleSpec release;
  EngineSpec engine;
  NetworkSpec network;
  std::vector<AnalysisSpec> analyses;  // at least one
};

// Throws kBadInput as described above. file_name is used in messages only.
// methods: those that an analysis may have.
StudyFile ParseStudyFile(std::string text, std::string file_name,
                         std::span<const SectionReader> methods);

// Reads and parses. Throws kBadInput if the file cannot be read or is larger than
// kMaxStudyFileBytes.
StudyFile LoadStudyFile(const std::string& path, std::span<const SectionReader> methods);

// Index of a party in the roster. Throws kBadInput with "did you mean" if there is none.
size_t PartyIndexByName(const StudyFile& study, std::string_view name);

// "age >= 18 and sex is female"; empty for no conditions.
std::string ConditionsText(const std::vector<data::Condition>& conditions);

// The variables that some pattern lacks, each once: a row block need not have them.
std::vector<std::string> VariablesThatMayLack(const DesignSpec& design);

// Who holds what, checked: throws kBadInput unless the row blocks and columns of the holders tile
// the table (data/partition.h). parties: those of the file in the order that the partition numbers
// them by.
data::Partition StudyPartition(const StudyFile& study, std::span<const Party> parties);

}  // namespace partita::study
