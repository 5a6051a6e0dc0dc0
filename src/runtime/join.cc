#include "runtime/join.h"

#include <fmt/format.h>

#include <algorithm>

#include "net/delayed_transport.h"
#include "net/roster.h"
#include "net/tls_transport.h"

namespace partita::runtime {
namespace {

// The roster's entries in the order of the channel.
net::Roster ChannelRoster(const MleStudy& study, const std::filesystem::path& file) {
  const net::Roster all = net::LoadRoster(file);
  net::Roster roster;
  for (const std::string& name : PartyNames(study)) {
    const auto entry =
        std::find_if(all.begin(), all.end(), [&](const auto& e) { return e.name == name; });
    if (entry == all.end()) {
      throw Error(ErrorCode::kBadInput,
                  fmt::format("{} has no entry for party '{}' of the study", file.string(), name),
                  fmt::format("partita cert roster {} --certificate CERT --address HOST:PORT",
                              file.string()));
    }
    roster.push_back(*entry);
  }
  return roster;
}

}  // namespace

PartyOutcome Join(const MleStudy& study, const JoinOptions& options, Progress& progress) {
  const net::Roster roster = ChannelRoster(study, options.roster);
  PartyInput input;
  input.party = PartyByName(study, options.party);
  input.data = options.data;
  for (const net::RosterEntry& entry : roster) input.fingerprints.push_back(entry.fingerprint);

  net::TlsOptions tls;
  tls.roster = roster;
  tls.self = input.party;
  tls.key_file = options.key;
  tls.certificate_file = options.certificate;
  tls.listen_address = options.listen_address;
  tls.listen_descriptor = options.listen_descriptor;
  const Connector connect = [&]() {
    std::unique_ptr<net::Transport> transport =
        net::ConnectTls(tls, Deadline::After(options.connect_timeout), &progress);
    if (options.link.latency.count() == 0 && options.link.bytes_per_second == 0) return transport;
    return net::MakeDelayedTransport(std::move(transport),
                                     {options.link.latency, options.link.bytes_per_second});
  };
  crypto::SystemRandom random;
  return RunParty(study, input, connect, random, progress);
}

}  // namespace partita::runtime
