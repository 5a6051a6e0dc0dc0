// A transport that does something to chosen outgoing frames.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "net/frame.h"
#include "net/transport.h"

namespace partita::net {

// Gets frame number `number` (from 0) to `to`, returns what is sent instead.
using Fault = std::function<std::vector<Bytes>(PartyIndex to, size_t number, const Bytes& frame)>;

class FaultTransport : public Transport {
 public:
  FaultTransport(std::unique_ptr<Transport> inner, Fault fault)
      : inner_(std::move(inner)), fault_(std::move(fault)), links_(inner_->names().size()) {}

  PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  const crypto::Key& PairwiseSecret(PartyIndex peer) const override {
    return inner_->PairwiseSecret(peer);
  }
  Io Read(PartyIndex from, std::span<uint8_t> out) override { return inner_->Read(from, out); }
  void Wait(std::span<const Interest> interests, std::chrono::nanoseconds timeout) override {
    inner_->Wait(interests, timeout);
  }

  Io Write(PartyIndex to, ByteView bytes) override {
    Link& link = links_[to];
    link.frame.insert(link.frame.end(), bytes.begin(), bytes.end());
    while (link.frame.size() >= kFrameHeaderBytes) {
      ByteReader length(ByteView(link.frame).subspan(48, 8));
      const size_t size = kFrameHeaderBytes + length.U64();
      if (link.frame.size() < size) break;
      Bytes frame(link.frame.begin(), link.frame.begin() + static_cast<ptrdiff_t>(size));
      link.frame.erase(link.frame.begin(), link.frame.begin() + static_cast<ptrdiff_t>(size));
      for (const Bytes& sent : fault_(to, link.number, frame)) {
        link.queue.insert(link.queue.end(), sent.begin(), sent.end());
      }
      ++link.number;
    }
    Flush(to);
    return {bytes.size(), link.closed};
  }

  bool Flush(PartyIndex to) override {
    Link& link = links_[to];
    while (!link.queue.empty()) {
      const Bytes queued(link.queue.begin(), link.queue.end());
      const Io io = inner_->Write(to, queued);
      link.closed = io.closed;
      if (io.closed) link.queue.clear();
      if (io.bytes == 0) break;
      link.queue.erase(link.queue.begin(), link.queue.begin() + static_cast<ptrdiff_t>(io.bytes));
    }
    return inner_->Flush(to) && link.queue.empty();
  }

 private:
  struct Link {
    Bytes frame;
    std::deque<uint8_t> queue;
    size_t number = 0;
    bool closed = false;
  };
  std::unique_ptr<Transport> inner_;
  Fault fault_;
  std::vector<Link> links_;
};

}  // namespace partita::net
