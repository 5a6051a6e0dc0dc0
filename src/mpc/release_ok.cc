#include "mpc/release_ok.h"

#include <fmt/format.h>

#include "base/error.h"

namespace partita::mpc {

void AgreeToOpen(net::Channel& channel, ReleaseGate& gate, size_t num_parties) {
  const Bytes ok = gate.Commit();
  if (ok.empty()) return;
  channel.BeginPhase(kReleaseOkPhase);
  const net::PartyIndex self = channel.self();
  if (self >= num_parties) return;
  std::vector<Bytes> theirs(num_parties, Bytes(ok.size()));
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (net::PartyIndex peer = 0; peer < num_parties; ++peer) {
    if (peer == self) continue;
    sends.push_back({peer, ok, 0, nullptr});
    receives.emplace_back();
    receives.back().from = peer;
    receives.back().into = theirs[peer];
  }
  channel.Exchange(sends, receives);
  for (net::PartyIndex peer = 0; peer < num_parties; ++peer) {
    if (peer == self || theirs[peer] == ok) continue;
    throw Error(ErrorCode::kPeerFault,
                fmt::format("party {} is about to open other releases than this one, or those of "
                            "another run",
                            channel.names()[peer]),
                "compare versions and study files, and run the study again");
  }
  gate.Agreed();
}

}  // namespace partita::mpc
