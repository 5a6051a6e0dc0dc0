// One role on its own host: files of its folder, a TLS connection to every other party, then
// RunParty.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "net/delayed_transport.h"
#include "net/roster.h"
#include "run/party/party.h"

namespace partita::run {

struct JoinOptions {
  std::string party;
  std::filesystem::path data, key, certificate, roster;
  std::filesystem::path approval;  // an approval of this study, or an envelope that it is inside of
  // The privacy ledger; without one the run is recorded nowhere, and a private study is refused at
  // a holder unless `unrecorded`.
  std::optional<LedgerOptions> ledger;
  // Of a simulation, whose tables are all in one hand: neither a charge nor the rows that were served.
  bool unrecorded = false;
  bool accept_useless = false;              // RunInput::accept_useless
  std::filesystem::path correlations = {};  // the store, if the study uses stored correlations
  std::filesystem::path state = {};         // RunInput::state
  std::function<void(const study::DocumentFile&)> write = nullptr;  // PartyInput::write
  // How long to wait for the others to come up.
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(10);
  std::optional<int>
      listen_descriptor;       // an already listening socket, else the roster's address is bound
  std::string listen_address;  // bind here instead of the roster's address; empty: the roster's
  net::LinkModel link;         // added latency and a cap on bandwidth
  Ranks* ranks = nullptr;      // of which this process is rank 0; null: it is alone. Borrowed
};

// How long a party whose table failed its checks waits for peers to tell.
inline constexpr std::chrono::milliseconds kWaitToStop = std::chrono::seconds(20);

// The transport itself, or behind a DelayTransport if the link asks for latency or a cap.
std::unique_ptr<net::Transport> DelayIfAsked(std::unique_ptr<net::Transport> transport,
                                             const net::LinkModel& link);

// The roster's entries in the order of the channel. Throws kBadInput if a party of the study has
// none, kUsage if the roster names stewards: whoever runs then needs the certificates too.
net::Roster ChannelRoster(const Study& study, const std::filesystem::path& file);
// The same of parties of these names; kind: "study" or "matching", for messages.
net::Roster RosterOf(const std::vector<std::string>& names, const std::filesystem::path& file,
                     std::string_view kind);
std::vector<std::string> Fingerprints(const net::Roster& roster);

// How a process of a study reaches the others over TLS.
struct NetworkOptions {
  std::filesystem::path key, certificate;
  std::chrono::milliseconds connect_timeout = std::chrono::minutes(10);
  std::optional<int> listen_descriptor;
  std::string listen_address;
  net::LinkModel link;
};

// `correlations prepare` on this host.
struct PrepareOptions {
  std::string party;
  std::filesystem::path roster, store;
  uint64_t count = 1;
  NetworkOptions network;
};
// Errors as PrepareCorrelations'; kUnreachable and kUntrusted while connecting.
PrepareOutcome Prepare(const Study& study, const PrepareOptions& options, Progress& progress);

// Whether the party's table pays for the study. Throws kUsage if there is no such party.
bool NeedsLedger(const Study& study, const std::string& party);
// Throws kRefused where it pays and no ledger is named. Join does so too; whoever signs first asks
// before that.
void RequireLedger(const Study& study, const JoinOptions& options);

// Errors as RunParty's; kUnreachable and kUntrusted while connecting.
PartyOutcome Join(const Study& study, const JoinOptions& options, Progress& progress);

}  // namespace partita::run
