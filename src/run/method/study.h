// A study as a run needs it: what every study has, and what its method brings (study.h in the
// folder of a method). All of it is public and follows from the study file alone, so every party
// derives the same.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/progress.h"
#include "crypto/hash.h"
#include "crypto/random.h"
#include "data/holding.h"
#include "data/partition.h"
#include "data/source/sum_query.h"
#include "data/table.h"
#include "data/table_check.h"
#include "match/row_order.h"
#include "mpc/engine.h"
#include "mpc/release_gate.h"
#include "net/channel.h"
#include "privacy/ledger/sqlite_ledger.h"
#include "study/file/study_file.h"
#include "study/plan/plan.h"

namespace partita::run {

struct PartyOutcome;
class Stripes;
struct RehearsedRun;
struct Agreement;

// Of Study::LeastRowsApart: on a grid of 2^-6 standard errors, five persons more could be told
// apart, ten for every column could not.
inline constexpr uint64_t kRowsApartPerColumn = 10;

// Rows assumed at most in a block that declares no count; bounds the sums on the wire.
inline constexpr uint64_t kMaxUndeclaredRows = uint64_t{1} << 20;

// A party's rows, ready for the protocol of its method.
struct MethodRows {
  virtual ~MethodRows() = default;
};

// A holder's rows that pass piece by piece and of which only sums are kept, for tables that do not fit
// into memory.
struct RowsInPieces {
  virtual ~RowsInPieces() = default;
  // The next rows. Throws as Study::PrepareRows does.
  virtual void Add(const data::Holding& piece) = 0;
  // To be called once.
  virtual std::unique_ptr<MethodRows> Finish() = 0;
};

// What one party has after the protocol of its method.
struct MethodResult {
  virtual ~MethodResult() = default;
  // Of a study that compares results: a digest of what every computing party must have the same of,
  // because each computed it from the same openings. Tells nothing that they do not all have.
  virtual crypto::Digest Common() const { return {}; }
};

// The owner's own counts over all its blocks, by its own columns: in a block whose columns are
// split, other holders may drop more rows. For its own report only.
struct OwnRows {
  uint64_t observed = 0, not_in_population = 0, incomplete = 0;  // each row for its first reason
  // Of a study that promises privacy: rows that are there and contribute nothing; of no other
  // reason.
  uint64_t neutral = 0;
  bool match_is_hidden = false;  // which of them take part, and how many, is not known here

  OwnRows& operator+=(const OwnRows& more) {
    observed += more.observed;
    not_in_population += more.not_in_population;
    incomplete += more.incomplete;
    neutral += more.neutral;
    return *this;
  }
};

// What one process keeps of the agreement before the protocol.
struct MethodSession {
  virtual ~MethodSession() = default;
  // Whether something of this run may have opened in an earlier attempt, here or elsewhere: then
  // this party's charge is spent before anything else happens.
  virtual bool MayHaveOpened() const { return false; }
};

// One phase before the protocol; bytes(from, to) of each of its rounds, empty where nothing is
// sent.
struct AgreementCost {
  std::string phase;
  std::vector<std::function<std::optional<uint64_t>(size_t from, size_t to)>> rounds;
};

// What one process brings to the protocol.
struct RunInput {
  const MethodRows* rows = nullptr;         // null where engine.self() is empty
  const study::DisclosureSpec& disclosure;  // the strictest of the study and all approvals
  crypto::RandomSource* random = nullptr;   // null where engine.self() is empty
  // A folder of this party alone where the run may leave what it needs to go on after it was
  // interrupted; empty: it leaves nothing.
  std::filesystem::path state = {};
  // Whether this party wants what would be left out because it is of no use (--accept-useless).
  bool accept_useless = false;
  const MethodSession* session = nullptr;  // of Agree; null on the plan engine
  std::string run_id = {};                 // hexadecimal; of Agree's run
  // For protocols that compute without the engine: what they show goes through this gate first.
  // Null on the plan engine.
  net::Channel* channel = nullptr;
  mpc::ReleaseGate* gate = nullptr;
  // Of a study that has them (stripes.h), on the plan engine too; else null.
  Stripes* stripes = nullptr;
};

struct MethodName {
  std::string name;  // as in the study file
  uint32_t version = 0;
  std::string protocol;  // several are separated by ", "
};

// For `study validate`.
struct StudySize {
  size_t variables = 0;
  size_t free_parameters = 0;
};

// What the noise of a private study will do to its estimates, before any data is read.
struct Forecast {
  std::vector<study::PlanUtility> rows;  // most wanted first
  std::vector<std::string> notes;        // whole sentences
  // Why the result would hardly be useful, a clause; empty: it may be. RequireUseful then refuses
  // (useful.h).
  std::string useless;
  std::string helps;  // against it, a list
};

// What a plan says of the messages.
enum class MessagesPlanned {
  kExactly,
  kAtMost,  // a protocol asks until it has enough
  kNot,     // not all of them
};

// Of the parties' own arithmetic.
struct ComputeSeconds {
  double everybody = 0;  // while the protocol runs
  double receiver = 0;   // after it
};

struct Study;
// The same study by another schedule, as private, with other rounds.
struct OtherSchedule {
  std::string schedule;  // study::PlanAlternative
  std::string result;
  std::unique_ptr<const Study> study;  // null: the one that is asked
};

struct Study {
  study::StudyFile file;
  // The parties as the channel numbers them: computing parties in roster order, then the dealer if
  // there is one. Indices of the partition, the method and the engine are channel indices.
  std::vector<study::Party> parties;
  size_t num_computing = 0;
  size_t receiver = 0;

  data::Partition partition;
  data::RowColumns row_columns;
  std::vector<std::string> used;  // variables of the dictionary that the method needs
  std::vector<match::SharedBlock> shared_blocks;
  std::vector<mpc::Release> releases;

  virtual ~Study() = default;

  // ---- what the method brings

  virtual MethodName Method() const = 0;
  virtual StudySize Size() const = 0;
  // Whether all that depends on data is released with noise.
  virtual bool IsPrivate() const = 0;

  // Of the plan: analyses, checks, level of the exposures, privacy rows and statement, what is
  // assumed of the releases, utility and notes.
  virtual void Describe(study::Plan& plan) const = 0;
  // What to think about before anybody runs it, in whole sentences: for `study validate`.
  virtual std::vector<std::string> Warnings() const { return {}; }
  // Clauses on what a party, the dealer included, learns beside the releases to it.
  virtual std::vector<std::string> AlsoLearns(size_t party) const = 0;
  virtual std::vector<study::PlanExposure> Exposures() const = 0;
  virtual Forecast Utility() const { return {}; }
  // Other schedules, beginning with its own; empty: there are none. It may take seconds.
  virtual std::vector<OtherSchedule> OtherSchedules() const { return {}; }
  virtual ComputeSeconds Compute() const { return {}; }
  // Shared numbers that a row takes at most, for an estimate of memory.
  virtual uint64_t NumbersPerRow() const = 0;
  // Bytes of the files beside result.json and its report that a party may write, at most.
  virtual uint64_t FileBytes() const { return 0; }
  // Their names, of all that may be written.
  virtual std::vector<std::string> FileNames() const { return {}; }
  // Variables of the dictionary that mock tables make correlated.
  virtual std::vector<std::vector<std::string>> MockClusters() const { return {}; }

  // Of a private study: what it takes from the budget of one table. Throws kRefused where no charge
  // could cover it.
  virtual std::vector<privacy::ledger::Charge> Charges(
      const privacy::ledger::Policy& policy) const = 0;

  // How a holder's table is checked before a run. By default its format, and whether cells may be
  // missing.
  virtual data::TableCheckOptions TableChecks() const;
  // Whether values are rounded to the grid that the study file says ([engine] input_bits).
  virtual bool TakesInputBits() const { return false; }
  // Whether the method can check the cells of covariates on shares (accept = "checked cells").
  virtual bool ChecksCells() const { return false; }

  // Why [engine] stripes are not for this study ("method 'mcmc'"); empty: they are, and the functions
  // below are there.
  virtual std::optional<std::string> WhyNoStripes() const;
  // Of stripes.h: what one stripe takes of a party's rows. Keeps nothing of `rows` but what it shares.
  virtual std::unique_ptr<MethodRows> StripeRows(size_t party, const MethodRows& rows,
                                                 size_t stripe) const;
  // The row part of the protocol on one stripe: shares of what is summed over all stripes, of which every
  // stripe states the same shapes, fraction bits and, of the whole sum, bounds. Opens nothing, begins no
  // phase. rows: of the stripe; null where engine.self() is empty.
  virtual std::vector<mpc::Shared> RunStripe(mpc::Engine& engine, size_t stripe,
                                             const MethodRows* rows) const;
  // What StripeRows gave, of a stripe but 0, for another process of the party; and back.
  virtual Bytes EncodeStripe(const MethodRows& stripe) const;
  virtual std::unique_ptr<MethodRows> DecodeStripe(size_t party, size_t stripe,
                                                   ByteView bytes) const;

  // Adds what the method computes from a holder's columns, before rows are ordered.
  virtual void DeriveColumns(data::Table& /*table*/) const {}
  // Of a holder; fills in the counts of its rows. Throws kBadData, but in a private study for
  // nothing that is in a row: see data/repair.h, and docs/decisions/0213 for what is left.
  virtual std::unique_ptr<MethodRows> PrepareRows(size_t party, const data::Holding& holding,
                                                  OwnRows& counts) const = 0;
  // Of a holder that holds one block alone (data::HoldsOneBlockAlone): the same, and the same result to
  // the bit, from rows that pass; `counts` is filled in and outlives it. Null: its rows are needed.
  virtual std::unique_ptr<RowsInPieces> PassRows(size_t /*party*/, OwnRows& /*counts*/) const {
    return nullptr;
  }
  // Of such a holder: what a database may be asked for instead of rows, the same on every day. Its sets are the
  // population, the rows of it that lack nothing, and those of ExactRowSets. Throws kRefused, saying why, where the
  // method needs the rows.
  virtual data::SumQuery SumsOf(size_t party) const;
  // What PrepareRows would give, from the answer.
  virtual std::unique_ptr<MethodRows> TakeSums(size_t party, const data::SumAnswer& answer,
                                               OwnRows& counts) const;
  // Of a computing party without a table.
  virtual std::unique_ptr<MethodRows> NoRows() const = 0;
  // The sets of rows that exact releases are about: for every row of the holder's ordered table 1
  // if it is in the set, as far as the holder knows. None where everything opens with noise. Of rows
  // that have passed, `holding` has none.
  virtual std::vector<std::vector<uint8_t>> ExactRowSets(const MethodRows& /*rows*/,
                                                         const data::Holding& /*holding*/) const {
    return {};
  }
  // Two such sets of one table, in any studies, that are not the same differ by so many rows at
  // least (row_sets.h).
  virtual uint64_t LeastRowsApart() const { return 0; }

  // Before the engine is made: what the processes tell each other in the clear (keys of a run,
  // where to go on). The same at every party and at the dealer; nothing unless the method says so.
  virtual std::unique_ptr<MethodSession> Agree(net::Channel& /*channel*/,
                                               const RunInput& /*input*/) const {
    return nullptr;
  }
  // Its messages.
  virtual std::optional<AgreementCost> CostOfAgreement() const { return {}; }
  // Whether the state (RunInput::state) of a party with these rows has what keeps a run from
  // opening anything twice. It is left by Agree, before anything can open; a charge that was spent
  // for the run covers a party that has it, and no other.
  virtual bool GoesOn(const MethodRows& /*rows*/, const std::filesystem::path& /*state*/) const {
    return false;
  }

  // On the plan engine a method may run a phase once that a run repeats so often.
  virtual uint64_t Repeats(std::string_view /*phase*/) const { return 1; }

  // The protocol: the same code at every party, at the dealer, and on the plan engine.
  virtual std::unique_ptr<MethodResult> Run(mpc::Engine& engine, const RunInput& input,
                                            Progress& progress) const = 0;
  // Whether the computing parties tell each other MethodResult::Common in the last round.
  virtual bool ComparesResults() const { return false; }
  // After the connections are closed: what the outcome says of the result. What fails here is this
  // party's alone.
  virtual void Conclude(size_t party, MethodResult& result, PartyOutcome& outcome,
                        Progress& progress) const = 0;

  // ---- of a rehearsal on made-up rows (run/rehearse)

  // The study as it is rehearsed, where that is another than this one: with all digits of what
  // opens on a grid, or with no more than max_steps iterations and otherwise the same. Says in whole
  // sentences, with numbers, what is shorter.
  virtual std::unique_ptr<const Study> ForRehearsal(uint64_t /*max_steps*/,
                                                    std::vector<std::string>& /*shortened*/) const {
    return nullptr;
  }
  virtual MessagesPlanned Messages() const { return MessagesPlanned::kExactly; }
  // The same in the clear: computes from the rows of the rehearsal, pooled, what the run computed
  // or what its random numbers should be like, and adds all comparisons.
  virtual void Compare(const RehearsedRun& run, Agreement& agreement, Progress& progress) const = 0;

 protected:
  Study() = default;
  Study(const Study&) = default;
  Study(Study&&) = default;
  Study& operator=(const Study&) = default;
  Study& operator=(Study&&) = default;
};

// Everything above that does not depend on the method, but `used` and `releases`: parties,
// partition, blocks that several hold. Throws kBadInput: the tiling, the engine's number of
// parties.
void PrepareParties(study::StudyFile file, Study& study);

// "north", "south", "dealer": by channel index.
std::vector<std::string> PartyNames(const Study& study);
// Of those who take part in the run: all but the dealer of a study with stored correlations.
std::vector<std::string> OnlineNames(const Study& study);
// Channel index. Throws kUsage with "did you mean" if there is none.
size_t PartyByName(const Study& study, const std::string& name);

// Of the integers that the study's engine computes with: 128 in the rings, 127 in the field.
int IntegerBits(const Study& study);

// The variable of the dictionary that `name` (of the dictionary or derived) is computed from.
std::string SourceVariable(const Study& study, const std::string& name);

// "over the rows where age >= 18 and that are complete": of the population and these conditions; "that
// are complete" is said of what else they have in common, empty: nothing.
std::string RowsText(const Study& study, const std::vector<data::Condition>& subset,
                     const std::string& that);

// Throws kBadInput at a place of the study file.
[[noreturn]] void Refuse(const Study& study, const study::Position& position,
                         const std::string& what, const std::string& hint);

}  // namespace partita::run
