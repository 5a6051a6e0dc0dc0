#include "run/party/finish.h"

#include <fmt/format.h>

#include "base/error.h"
#include "net/swap.h"

namespace partita::run {

namespace {

constexpr char kFinish[] = "finish";

}  // namespace

void ConfirmFinish(net::Channel& channel) {
  channel.BeginPhase(kFinish);
  net::Swap(channel, Bytes{});
}

void ConfirmRefusal(net::Channel& channel, size_t num_computing) {
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < num_computing; ++peer) {
    if (peer == channel.self() || channel.self() >= num_computing) continue;
    sends.push_back({peer, {}, 0, nullptr});
    receives.emplace_back();
    receives.back().from = peer;
  }
  try {
    channel.Exchange(sends, receives);
  } catch (const Error&) {
    // Another was faster, or is gone.
  }
}

void ConfirmFinish(net::Channel& channel, size_t num_computing, const Bytes& common) {
  channel.BeginPhase(kFinish);
  const size_t self = channel.self();
  std::vector<Bytes> theirs(channel.num_parties());
  std::vector<net::Send> sends;
  std::vector<net::Receive> receives;
  for (size_t peer = 0; peer < theirs.size(); ++peer) {
    if (peer == self) continue;
    const bool compares = self < num_computing && peer < num_computing;
    if (compares) theirs[peer].resize(common.size());
    sends.push_back({peer, compares ? ByteView(common) : ByteView(), 0, nullptr});
    net::Receive receive;
    receive.from = peer;
    receive.into = theirs[peer];
    receives.push_back(receive);
  }
  channel.Exchange(sends, receives);
  for (size_t peer = 0; self < num_computing && peer < num_computing; ++peer) {
    if (peer == self || theirs[peer] == common) continue;
    throw Error(ErrorCode::kPeerFault,
                fmt::format("{} ended with another result than {}, although both saw the same",
                            channel.names()[peer], channel.names()[self]),
                "do not use it: compare versions and builds of all parties; what was opened stays "
                "charged");
  }
}

}  // namespace partita::run
