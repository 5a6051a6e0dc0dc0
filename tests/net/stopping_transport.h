// A transport that fails at one of its events.
#pragma once

#include <chrono>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/error.h"
#include "net/transport.h"

namespace partita::net {

// Stops before the `number`-th write or the delivery of the `number`-th read (from 0).
class StoppingTransport : public Transport {
 public:
  StoppingTransport(std::unique_ptr<Transport> inner, uint64_t number)
      : inner_(std::move(inner)), left_(number) {}
  PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  const crypto::Key& PairwiseSecret(PartyIndex peer) const override {
    return inner_->PairwiseSecret(peer);
  }
  void Wait(std::span<const Interest> interests, std::chrono::nanoseconds timeout) override {
    inner_->Wait(interests, timeout);
  }
  bool Flush(PartyIndex to) override { return inner_->Flush(to); }
  Io Write(PartyIndex to, ByteView bytes) override {
    Count();
    return inner_->Write(to, bytes);
  }
  Io Read(PartyIndex from, std::span<uint8_t> out) override {
    const Io io = inner_->Read(from, out);
    if (io.bytes > 0) Count();
    return io;
  }

 private:
  void Count() {
    if (left_ == 0) throw Error(ErrorCode::kInternal, "stopped by the test");
    --left_;
  }
  std::unique_ptr<Transport> inner_;
  uint64_t left_;
};

}  // namespace partita::net
