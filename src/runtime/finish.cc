#include "runtime/finish.h"

namespace partita::runtime {

void ConfirmFinish(net::Channel& channel) {
  channel.BeginPhase("finish");
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (net::PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == channel.self()) continue;
    sends.push_back({.to = peer, .bytes = {}, .size = 0, .producer = {}});
    receives.push_back(
        {.from = peer, .into = {}, .size = 0, .consumer = {}, .body = nullptr, .max_bytes = 0});
  }
  channel.Exchange(sends, receives);
}

}  // namespace partita::runtime
