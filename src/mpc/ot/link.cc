#include "mpc/ot/link.h"

#include <algorithm>

#include "crypto/kdf.h"

namespace partita::mpc::ot {
namespace {

crypto::Block RandomBlock(crypto::RandomSource& random) {
  crypto::Block block = 0;
  random.Fill({reinterpret_cast<uint8_t*>(&block), sizeof(block)});
  return block;
}

void ExchangeWith(net::Channel& channel, net::PartyIndex peer, ByteView out, Bytes& in) {
  const net::Send send{peer, out, 0, nullptr};
  net::Receive receive;
  receive.from = peer;
  receive.into = in;
  channel.Exchange({&send, 1}, {&receive, 1});
}

// The same at both parties; the two directions differ by who sends.
Bytes SessionOf(const crypto::Key& key, net::PartyIndex sender) {
  ByteWriter writer;
  writer.Raw(crypto::DeriveKey(key, "session").Expose());
  writer.U64(sender);
  return writer.Take();
}

}  // namespace

Link::Link(net::Channel& channel, net::PartyIndex peer, crypto::RandomSource& random)
    : self_(channel.self()), peer_(peer) {
  const crypto::Key key =
      channel.PairwiseKey(peer, kLinkPurpose, channel.NextInstance(kLinkPurpose));
  const std::string& name = channel.names()[peer];
  // The sender of an extension receives in its base transfers.
  const crypto::Block difference = RandomBlock(random);
  const BaseOtReceiver base_receiver(SessionOf(key, self_), name, BaseChoices(difference), random);
  const BaseOtSender base_sender(SessionOf(key, peer_), name, random);

  Bytes out = base_receiver.message(), in(kLinkFirstBytes);
  out.insert(out.end(), base_sender.message().begin(), base_sender.message().end());
  ExchangeWith(channel, peer, out, in);
  const ByteView choices = ByteView(in).first(kBaseTransfers * kBaseReceiverBytes);
  receiver_ = std::make_unique<CotReceiver>(base_sender.Finish(choices, kBaseTransfers), random);
  const std::vector<crypto::Key> keys = base_receiver.Finish(ByteView(in).subspan(choices.size()));

  Bytes setup(kLinkSecondBytes);
  ExchangeWith(channel, peer, receiver_->setup(), setup);
  sender_ = std::make_unique<CotSender>(difference, keys, setup);

  const crypto::Key permutation = crypto::DeriveKey(key, "permutation");
  permutation_ =
      std::make_unique<crypto::BlockPermutation>(ByteView(permutation.Expose()).first(16));
}

uint64_t Link::TakeIndices(net::PartyIndex sender, uint64_t count) {
  uint64_t& next = sender == self_ ? next_sent_ : next_received_;
  const uint64_t first = next;
  next += count;
  // The lower-numbered party's indices and the other's are apart, whatever the parties' numbers.
  const uint64_t direction = sender == std::max(self_, peer_) ? 1 : 0;
  return direction << 63 | first;
}

}  // namespace partita::mpc::ot
