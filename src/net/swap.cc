#include "net/swap.h"

namespace partita::net {

std::vector<Bytes> Swap(Channel& channel, const std::vector<Bytes>& own, size_t size) {
  std::vector<Bytes> seen(channel.num_parties(), Bytes(size));
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (PartyIndex peer = 0; peer < channel.num_parties(); ++peer) {
    if (peer == channel.self()) continue;
    sends.push_back({.to = peer, .bytes = own[peer], .size = 0, .producer = {}});
    receives.push_back({.from = peer,
                        .into = seen[peer],
                        .size = 0,
                        .consumer = {},
                        .body = nullptr,
                        .max_bytes = 0});
  }
  channel.Exchange(sends, receives);
  return seen;
}

std::vector<Bytes> Swap(Channel& channel, const Bytes& own) {
  std::vector<Bytes> seen =
      Swap(channel, std::vector<Bytes>(channel.num_parties(), own), own.size());
  seen[channel.self()] = own;
  return seen;
}

}  // namespace partita::net
