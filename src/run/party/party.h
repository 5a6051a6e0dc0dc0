// One party's run of a study, from a connected transport to its outcome: the same code in `study
// join`, in `study simulate` and in tests.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/progress.h"
#include "crypto/random.h"
#include "net/transport.h"
#include "run/ahead/correlations.h"
#include "run/approval/approvals.h"
#include "run/ledger/run_ledger.h"
#include "run/method/study.h"
#include "run/party/local_data.h"
#include "run/party/outcome.h"
#include "run/party/stripes.h"
#include "study/plan/document.h"

namespace partita::run {

class Ranks;
struct RankSetup;

// Whether an outcome keeps what opened, and the method's own result, beside the report.
enum class Keep { kResult, kOpenings };

struct PartyInput {
  size_t party = 0;            // channel index
  std::filesystem::path data;  // the table; holders only
  std::vector<std::string>
      fingerprints;  // of the certificates, by channel index; empty strings without TLS
  Approvals* approvals = nullptr;  // this party's own, and how the others' are verified; borrowed
  RunLedger* ledger = nullptr;     // null: this party keeps none; borrowed
  // Of a roster that names stewards, both by channel index, else empty: their fingerprints, and the
  // certificates (DER) behind `fingerprints`, whose keys sign receipts of ledgers, since those of the
  // approvals are the stewards' then.
  std::vector<std::string> stewards = {};
  std::vector<Bytes> certificates = {};
  std::filesystem::path correlations = {};  // the store, if the study uses stored correlations
  std::filesystem::path state = {};         // RunInput::state, and the id of the charged run
  bool accept_useless = false;              // RunInput::accept_useless
  std::vector<std::filesystem::path> row_sets = {};  // records of row_sets.h; empty: none is kept
  // Writes a file beside the result (HasFirstFiles) and throws nothing; null: nothing is
  // written.
  std::function<void(const study::DocumentFile&)> write = nullptr;
  StripeConnector stripes = nullptr;  // of a study that has them; null: this process runs none
  // Of a party with several processes, of which this is rank 0 (run/ranks); null: it is alone.
  Ranks* ranks = nullptr;
  std::shared_ptr<const RankSetup> rank_setup = nullptr;
  Keep keep = Keep::kResult;  // kOpenings: of a rehearsal, on made-up rows
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
// to disk but the first files, the ledger, the mark of the stored correlations, which is there
// before they are
// used, and the record of served rows.
PartyOutcome RunParty(const Study& study, const PartyInput& input, const Connector& connect,
                      crypto::RandomSource& random, Progress& progress);

}  // namespace partita::run
