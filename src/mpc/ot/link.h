// Everything that two parties need for oblivious transfers with each other, in both directions.
//
// Timing  constant in the difference and keys. Proved by tests/ctime.
#pragma once

#include <memory>

#include "crypto/block.h"
#include "mpc/ot/extension.h"
#include "net/channel.h"

namespace partita::mpc::ot {

// Bytes from either party to the other in the two rounds of a set-up.
inline constexpr size_t kLinkFirstBytes = kBaseTransfers * kBaseReceiverBytes + kBaseSenderBytes;
inline constexpr size_t kLinkSecondBytes = kExtensionSetupBytes;

// What the keys of links are derived under.
inline constexpr std::string_view kLinkPurpose = "engine ot";

class Link {
 public:
  // Sets both directions up: two rounds, kLinkFirstBytes and kLinkSecondBytes each way. Both
  // parties make their links in the same order. Throws what the channel throws, and kPeerFault for
  // a message that no honest party sends.
  Link(net::Channel& channel, net::PartyIndex peer, crypto::RandomSource& random);

  CotSender& sender() { return *sender_; }
  CotReceiver& receiver() { return *receiver_; }
  crypto::BlockPermutation& permutation() { return *permutation_; }
  // Indices of transfers for the tweaks: the next `count` in the direction whose sender is
  // `sender`. No index is given twice, in neither direction.
  uint64_t TakeIndices(net::PartyIndex sender, uint64_t count);

 private:
  std::unique_ptr<CotSender> sender_;
  std::unique_ptr<CotReceiver> receiver_;
  std::unique_ptr<crypto::BlockPermutation> permutation_;
  net::PartyIndex self_, peer_;
  uint64_t next_sent_ = 0, next_received_ = 0;
};

}  // namespace partita::mpc::ot
