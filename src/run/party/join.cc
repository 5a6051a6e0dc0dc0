#include "run/party/join.h"

#include <fmt/format.h>

#include <algorithm>

#include "crypto/certificate.h"
#include "net/forwarder.h"
#include "net/tls_transport.h"
#include "run/party/local_data.h"
#include "run/party/row_sets.h"
#include "run/party/stripe_port.h"
#include "run/ranks/order.h"
#include "run/ranks/serve.h"

namespace partita::run {
namespace {

// Before anything of this party is opened.
void RequirePart(const Study& study, const std::string& party) {
  const size_t index = PartyByName(study, party);
  if (index < OnlineNames(study).size()) return;
  throw Error(ErrorCode::kUsage,
              fmt::format("party {} deals before the run of study '{}' and has no part in it",
                          party, study.file.name),
              "prepare with the others: partita correlations prepare");
}

// From here on connections come in by a forwarder, which hands on to the other ranks what is theirs.
void OpenDoors(Ranks& ranks, net::TlsOptions& tls, std::optional<net::Forwarder>& forwarder,
               Progress& progress) {
  RankDoors doors(ranks, progress);
  if (tls.self + 1 == tls.roster.size()) return;  // it accepts nobody
  if (!tls.listener) {
    const net::Address address = net::ParseAddress(
        tls.listen_address.empty() ? tls.roster[tls.self].address : tls.listen_address);
    tls.listener = net::Listen(address.host, address.port);
  }
  forwarder.emplace(std::move(*tls.listener), doors.Route());
  tls.listener = doors.TakeOwn();
}

}  // namespace

bool NeedsLedger(const Study& study, const std::string& party) {
  return study.IsPrivate() && study.parties[PartyByName(study, party)].holder;
}

void RequireLedger(const Study& study, const JoinOptions& options) {
  if (!NeedsLedger(study, options.party) || options.ledger || options.unrecorded) return;
  throw Error(ErrorCode::kRefused,
              fmt::format("study '{}' spends from the privacy budget of party {}'s table, but no "
                          "ledger is named that would keep account of it",
                          study.file.name, options.party),
              "name it with --ledger FILE; a new one: partita ledger open FILE --table NAME "
              "--epsilon E --delta D");
}

net::Roster ChannelRoster(const Study& study, const std::filesystem::path& file) {
  return RosterOf(PartyNames(study), file, "study");
}

net::Roster RosterOf(const std::vector<std::string>& names, const std::filesystem::path& file,
                     std::string_view kind) {
  const net::Roster all = net::LoadRoster(file);
  if (net::NamesStewards(all)) {
    throw Error(
        ErrorCode::kUsage,
        fmt::format("{} names stewards, with which only nodes run a {}", file.string(), kind),
        "leave the lines 'steward' out: then the key of each party's certificate approves");
  }
  net::Roster roster;
  for (const std::string& name : names) {
    const auto entry =
        std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.name == name; });
    if (entry == all.end()) {
      throw Error(
          ErrorCode::kBadInput,
          fmt::format("{} has no entry for party '{}' of the {}", file.string(), name, kind),
          fmt::format("partita cert roster {} --certificate CERT --address HOST:PORT",
                      file.string()));
    }
    roster.push_back(*entry);
  }
  return roster;
}

std::vector<std::string> Fingerprints(const net::Roster& roster) {
  std::vector<std::string> fingerprints;
  for (const net::RosterEntry& entry : roster) fingerprints.push_back(entry.fingerprint);
  return fingerprints;
}

std::unique_ptr<net::Transport> DelayIfAsked(std::unique_ptr<net::Transport> transport,
                                             const net::LinkModel& link) {
  if (link.latency.count() == 0 && link.bytes_per_second == 0) return transport;
  return net::DelayTransport(std::move(transport), link);
}

PartyOutcome Join(const Study& study, const JoinOptions& options, Progress& progress) {
  const net::Roster roster = ChannelRoster(study, options.roster);
  RequirePart(study, options.party);
  RequireOwnersResult(study, PartyByName(study, options.party), options.data);
  PartyInput input;
  input.party = PartyByName(study, options.party);
  input.data = options.data;
  input.fingerprints = Fingerprints(roster);

  net::TlsOptions tls;
  tls.identity = crypto::LoadIdentity(options.certificate, options.key);
  RequireLedger(study, options);
  std::optional<RunLedger> ledger;
  if (options.ledger) input.ledger = &ledger.emplace(*options.ledger, tls.identity);
  const std::unique_ptr<Approvals> approvals =
      SignedApprovals({options.approval, tls.identity, input.fingerprints});
  input.approvals = approvals.get();
  input.correlations = options.correlations;
  input.state = options.state;
  input.write = options.write;
  input.accept_useless = options.accept_useless;
  if (!options.unrecorded) input.row_sets = {RowSetsPath(options.data)};
  tls.roster = roster;
  tls.roster.resize(OnlineNames(study).size());
  tls.self = input.party;
  tls.listen_address = options.listen_address;
  if (options.listen_descriptor) {
    tls.listener =
        net::Listener{net::Socket(*options.listen_descriptor), roster[input.party].address};
  }
  // Ends last: it has what was said to the others.
  std::optional<net::Forwarder> forwarder;
  std::optional<StripePort> port;
  if (study.file.engine.stripes > 1 && options.ranks != nullptr && options.ranks->size() > 1) {
    OpenDoors(*options.ranks, tls, forwarder, progress);
    input.ranks = options.ranks;
    input.rank_setup = std::make_shared<const RankSetup>(
        RankSetup{study.file.text, study.file.file_name, tls.identity, tls.roster, tls.self,
                  options.connect_timeout, options.link});
  }
  if (study.file.engine.stripes > 1)
    input.stripes = port.emplace(study, tls, options.connect_timeout, options.link).Connector();
  const Connector connect = [&](bool only_to_stop) {
    const std::chrono::milliseconds wait =
        only_to_stop ? std::min(options.connect_timeout, kWaitToStop) : options.connect_timeout;
    std::unique_ptr<net::Transport> transport =
        net::ConnectTls(std::move(tls), Deadline::After(wait), &progress);
    return DelayIfAsked(std::move(transport), options.link);
  };
  crypto::SystemRandom random;
  return RunParty(study, input, connect, random, progress);
}

PrepareOutcome Prepare(const Study& study, const PrepareOptions& options, Progress& progress) {
  net::TlsOptions tls;
  tls.roster = ChannelRoster(study, options.roster);
  tls.self = PartyByName(study, options.party);
  tls.identity = crypto::LoadIdentity(options.network.certificate, options.network.key);
  tls.listen_address = options.network.listen_address;
  if (options.network.listen_descriptor) {
    tls.listener = net::Listener{net::Socket(*options.network.listen_descriptor),
                                 tls.roster[tls.self].address};
  }
  PrepareInput input;
  input.party = tls.self;
  input.fingerprints = Fingerprints(tls.roster);
  input.store = options.store;
  input.count = options.count;
  const PrepareConnector connect = [&] {
    return DelayIfAsked(
        net::ConnectTls(std::move(tls), Deadline::After(options.network.connect_timeout),
                        &progress),
        options.network.link);
  };
  crypto::SystemRandom random;
  return PrepareCorrelations(study, input, connect, random, progress);
}

}  // namespace partita::run
