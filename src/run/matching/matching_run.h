// One party's run of a matching, from its files and a connected transport to the rows that match:
// the same code in `partita match run` and in tests.
//
// Phases: hello (hashes of the matching file, its parties and certificates; of the plan, in which the
// version of Unicode is; a commitment to the keys of the table), approvals, those of the protocol (one
// for each pass, match/two_party_join.h; or link and compare, match/linked_join.h), finish (the holders
// compare the digest of the record).
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/progress.h"
#include "crypto/random.h"
#include "net/channel.h"
#include "net/delayed_transport.h"
#include "net/transport.h"
#include "run/ledger/open_ledger.h"
#include "run/matching/matched_rows.h"
#include "run/matching/matching_plan.h"
#include "run/matching/past_matchings.h"
#include "run/party/party.h"

namespace partita::run {

struct MatchingInput {
  size_t party = 0;                   // of MatchingFile::Names
  std::filesystem::path table, past;  // of a holder; past: PastMatchingsPath of its key
  char separator = ',';
  std::filesystem::path approval;
  std::vector<std::string> fingerprints;  // of the certificates, by party
  std::optional<LedgerOptions> ledger;    // of a holder (matching_charge.h)
  std::chrono::milliseconds timeout = std::chrono::seconds(60);
};

struct MatchingOutcome {
  MatchedRows matched;      // rows: empty unless linked, and at a linker
  uint64_t minimum = 0;     // the highest of the file and all approvals
  bool linked = false;      // the minimum was reached
  match::KeyReport report;  // of the own table, for its owner
  std::vector<net::PhaseTraffic> traffic;
  double seconds = 0;
};

// Opens the approval, reads the table and its record of past matchings, connects, and matches. The
// record has the run before the first list leaves, and so do the ledger and the count of the approval: a
// run that fails later stays in all of them.
//
// Errors: kRefused without a valid approval, for a table whose keys changed since, and beyond the
// limits of the record; of the ledger as matching_charge.h says; kBadData for keys that the matching file refuses; of the network as
// net/hello.h and net/channel.h say; kPeerFault for a peer that departs from the protocol. A peer
// that is connected is told one reason of net/stop.h. Writes nothing but these.
MatchingOutcome RunMatching(const MatchingFile& file, const MatchingPlan& plan,
                            const MatchingInput& input, const Connector& connect,
                            crypto::RandomSource& random, Progress& progress);

// One party on its own host.
struct MatchingJoin {
  std::string party;
  std::filesystem::path table, key, certificate, roster, approval;  // table: of a holder
  char separator = ',';
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(10);
  std::optional<std::chrono::milliseconds> timeout;
  std::optional<LedgerOptions> ledger;
  std::string listen_address;  // instead of the roster's; empty: the roster's
  net::LinkModel link;
};

// The same over TLS. Errors also kUnreachable and kUntrusted while connecting.
MatchingOutcome JoinMatching(const MatchingFile& file, const MatchingJoin& options,
                             Progress& progress);

// The index of a party in MatchingFile::Names. Throws kUsage.
size_t MatchingPartyIndex(const MatchingFile& file, const std::string& name);
// The other holders of a matching, as the record of past ones knows them. fingerprints: by party.
std::vector<Partner> PartnersOf(const MatchingFile& file, size_t party,
                                const std::vector<std::string>& fingerprints);

}  // namespace partita::run
