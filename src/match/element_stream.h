// Elements of a group one after the other over a channel, each made when its turn comes.
#pragma once

#include <functional>
#include <string_view>

#include "base/progress.h"
#include "match/two_party_group.h"
#include "net/channel.h"

namespace partita::match {

// One message each way, both of the same kind.
void ExchangeBytes(net::Channel& channel, net::PartyIndex peer, ByteView out,
                   std::span<uint8_t> in);

// `out` elements to the peer and `in` from it, at once; 0: none that way, not even a message.
void ExchangeElements(net::Channel& channel, net::PartyIndex peer, uint64_t out, uint64_t in,
                      const std::function<Encoded<Ristretto>()>& next,
                      std::function<void(const Encoded<Ristretto>&)> take);

// Tells how far the lists are, often enough and not for every element.
class ListProgress {
 public:
  ListProgress(Progress* progress, std::string_view phase, uint64_t total)
      : progress_(progress), total_(total) {
    if (progress_ != nullptr) progress_->Phase(phase);
  }
  void Next() {
    if (progress_ == nullptr || ++done_ % kElements != 0) return;
    progress_->CheckCancelled();
    progress_->Step(done_, total_);
  }

 private:
  static constexpr uint64_t kElements = 256;
  Progress* progress_;
  uint64_t total_, done_ = 0;
};

}  // namespace partita::match
