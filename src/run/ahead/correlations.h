// Correlated randomness of a study whose file says `correlations = "stored"` (docs/
// stored-correlations.md): made together before the study's day, used at it.
//
// Preparation. All processes of the study connect, the dealer too if the engine has one. No table
// is read and nothing is opened; what is made follows from the study file alone. Phases:
//   hello   as in a run, with another plan hash, so that a preparation and a run never mix.
//   agree   one round among all: how many packages, and which store each has; then two rounds among
//           the parties with data for their marks (mpc::AgreeOnPackages).
//   make    once a package: what the dealer sends, or the transfers between two parties.
//   finish  one round among all, when everybody's packages are durable.
// Run. Phase "correlations", right after the ledger, two rounds among the parties with data: they
// agree on the first package that all of them have unspent for exactly this demand. It is spent,
// durably, right before the engine is made: phase "spend", one round, after which everybody's mark
// is on the disk. The dealer takes no part.
//
// Revealed to the others: how many packages a party has and which are spent. Nothing about data.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "mpc/ahead.h"
#include "mpc/correlation_store.h"
#include "mpc/release_gate.h"
#include "net/channel.h"
#include "net/transport.h"
#include "run/method/study.h"
#include "study/plan/plan.h"

namespace partita::run {

inline constexpr char kCorrelationsPhase[] = "correlations";
inline constexpr char kSpendPhase[] = "spend";
inline constexpr char kAgreePhase[] = "agree";
inline constexpr char kMakePhase[] = "make";
// Number of packages, whether there is a store, its generation, and a random number.
inline constexpr size_t kPrepareStatementBytes = 8 + 8 + 32 + 32;
inline constexpr uint64_t kMaxPackagesAtOnce = 1000;
// Of the shares that correlations are made for.
inline constexpr int kRingBits = 128;

// What the run asks for; the label of the packages that fit.
crypto::Digest DemandOf(const Study& study);
// The study's protocol on shapes.
mpc::ShapeBody ShapeBodyOf(const Study& study);
// Costs of the run's engine, whose correlations are there. Only for stored correlations.
std::unique_ptr<mpc::CostModel> StoredCostModel(const Study& study);

// A store of this party for this study. The generation is empty.
mpc::StoreIdentity StoreIdentityOf(const Study& study, size_t party,
                                   const std::vector<std::string>& fingerprints);

// In a run.
class StoredCorrelations {
 public:
  // Before anybody is connected. Throws kRefused, saying what to do, if the file is not there or
  // has no unspent package for this run; kUsage and kBadInput as CorrelationStore.
  StoredCorrelations(const Study& study, size_t party, const std::vector<std::string>& fingerprints,
                     const std::filesystem::path& file);
  // The phase. Throws kRefused if the parties have no package in common.
  void Agree(net::Channel& channel);
  // Spends the package, phase kSpendPhase. After Agree, once.
  std::unique_ptr<mpc::Engine> MakeEngine(net::Channel& channel, mpc::ReleaseGate& gate);

  uint64_t number() const { return number_; }  // of the agreed package
  uint64_t left() const;                       // unspent packages for this run's demand

 private:
  std::string engine_, party_;
  crypto::Digest label_{};
  mpc::CorrelationStore store_;
  uint64_t number_ = 0;
};

struct PrepareInput {
  size_t party = 0;                       // channel index, the dealer included
  std::vector<std::string> fingerprints;  // by channel index
  std::filesystem::path store;            // made if it is not there; the dealer keeps none
  uint64_t count = 1;                     // runs to prepare for
};

struct PrepareOutcome {
  std::string party;
  std::vector<uint64_t> numbers;   // of the packages that were made
  uint64_t package_bytes = 0;      // of one, in this party's store; zero at the dealer
  uint64_t left = 0;               // unspent packages that all parties have, now
  std::string generation, run_id;  // hexadecimal; no generation at the dealer
  std::vector<net::PhaseTraffic> traffic;
  double seconds = 0;
};

using PrepareConnector = std::function<std::unique_ptr<net::Transport>()>;

// At every process. Throws kUsage for a study without stored correlations or a count out of range,
// kRefused if the counts differ or the stores were not made together; errors of the store and the
// network. What was appended before an error stays usable if all parties have it. If this process
// fails, the others are told.
PrepareOutcome PrepareCorrelations(const Study& study, const PrepareInput& input,
                                   const PrepareConnector& connect, crypto::RandomSource& random,
                                   Progress& progress);

}  // namespace partita::run
