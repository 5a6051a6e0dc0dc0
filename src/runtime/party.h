// One party's run of a study, from a connected transport to its outcome: the same code in `study
// join`, in `study simulate` and in tests.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "base/progress.h"
#include "crypto/random.h"
#include "methods/mle/result.h"
#include "mpc/release_gate.h"
#include "net/transport.h"
#include "runtime/approvals.h"
#include "runtime/correlations.h"
#include "runtime/local_data.h"
#include "runtime/protocol.h"
#include "runtime/run_ledger.h"
#include "runtime/study.h"
#include "runtime/variables.h"
#include "study/document.h"
#include "study/plan.h"

namespace partita::runtime {

// Work between the phases of the channel.
struct LocalStep {
  std::string name;  // "read data", "row order", "connect", "fit"
  double seconds = 0;
};

struct PartyOutcome {
  std::string party;
  study::Plan plan;
  std::string study_file_hash, study_hash, plan_hash, run_id;  // hexadecimal
  std::vector<net::PhaseTraffic> traffic;
  std::vector<mpc::CountingReleaseGate::Count> releases;
  std::vector<std::string> corrected;  // parties whose wrong shares the engine corrected here
  std::vector<study::SignedApproval> approvals;  // of all parties, by channel index
  LedgerOutcome ledger;
  // Of a study with stored correlations: the package that was used up, and how many are left here.
  std::optional<uint64_t> package;
  uint64_t packages_left = 0;
  study::DisclosureSpec disclosure;  // the strictest of the study and all approvals
  std::vector<LocalStep> local_steps;
  double seconds = 0;                      // from RunParty's first step to its last
  std::vector<CheckOutcome> checks;        // at computing parties
  OwnRows rows;                            // at holders, by their own columns
  bool is_private = false;                 // Study::IsPrivate
  data::RepairedCells repaired;            // at holders of a private study; for the owner only
  std::vector<VariableSummary> variables;  // at the receiver
  std::vector<methods::mle::MleResult>
      results;  // by analysis: at the receiver, and where a release tells them
  // The same of methods beside `mle`.
  std::optional<study::Document> document;
  // Interruptions took openings that the result was to be made from; at parties without one too.
  bool not_trained = false;
};

struct PartyInput {
  size_t party = 0;            // channel index
  std::filesystem::path data;  // the table; holders only
  std::vector<std::string>
      fingerprints;  // of the certificates, by channel index; empty strings without TLS
  Approvals* approvals = nullptr;  // this party's own, and how the others' are verified; borrowed
  RunLedger* ledger = nullptr;     // null: this party keeps none; borrowed
  std::filesystem::path correlations = {};  // the store, if the study uses stored correlations
  std::filesystem::path state = {};         // RunInput::state, and the id of the charged run
  bool accept_useless = false;              // RunInput::accept_useless
  std::filesystem::path row_sets = {};      // the record of row_sets.h; empty: none is kept
};

// Makes the connection; called once the party's own table has been read and checked.
// `only_to_stop`: this party cannot take part, and the peers are only to be told, which is not
// worth a long wait.
using Connector = std::function<std::unique_ptr<net::Transport>(bool only_to_stop)>;

// Opens its own approval, reads and checks the table, prices the study by its own ledger, connects,
// says hello, compares approvals, ledgers, stored correlations and row orders, computes, opens, and
// (receiver) fits. The dealer of a study with stored correlations has no part.
//
// Errors are those of every layer, as Error. When this party fails after the connection was made,
// its peers are told (public facts only) and stop too; when its table fails the checks it still
// connects to tell them. Nothing is written
// to disk but the ledger, the mark of the stored correlations, which is there before they are
// used, and the record of served rows.
PartyOutcome RunParty(const Study& study, const PartyInput& input, const Connector& connect,
                      crypto::RandomSource& random, Progress& progress);

}  // namespace partita::runtime
