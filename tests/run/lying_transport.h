// A party that follows the protocol but for the shares it sends in one phase of the channel: there
// the first byte of every 16 of its messages is another one.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>

#include "net/frame.h"
#include "net/transport.h"

namespace partita::testing {

class LyingTransport : public net::Transport {
 public:
  LyingTransport(std::unique_ptr<net::Transport> inner, std::string phase)
      : inner_(std::move(inner)), phase_(std::move(phase)) {}

  net::PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  net::Io Write(net::PartyIndex to, ByteView bytes) override {
    Stream next = streams_[to];
    Bytes altered = Alter(next, bytes);
    const net::Io io = inner_->Write(to, altered);
    // What was not taken is asked for again.
    Alter(streams_[to], bytes.subspan(0, io.bytes));
    return io;
  }
  bool Flush(net::PartyIndex to) override { return inner_->Flush(to); }
  net::Io Read(net::PartyIndex from, std::span<uint8_t> out) override {
    return inner_->Read(from, out);
  }
  void Wait(std::span<const net::Interest> interests, std::chrono::nanoseconds timeout) override {
    inner_->Wait(interests, timeout);
  }
  const crypto::Key& PairwiseSecret(net::PartyIndex peer) const override {
    return inner_->PairwiseSecret(peer);
  }
  net::WireBytes CarriedBytes(net::PartyIndex peer) const override {
    return inner_->CarriedBytes(peer);
  }

 private:
  // Where a stream of frames stands.
  struct Stream {
    Bytes header;  // what was seen of it
    uint64_t position = 0, length = 0;
    bool lie = false;
  };

  Bytes Alter(Stream& stream, ByteView bytes) const {
    Bytes out(bytes.begin(), bytes.end());
    for (uint8_t& byte : out) {
      if (stream.header.size() == net::kFrameHeaderBytes && stream.position == stream.length) {
        stream.header.clear();
      }
      if (stream.header.size() < net::kFrameHeaderBytes) {
        stream.header.push_back(byte);
        if (stream.header.size() == net::kFrameHeaderBytes) ReadHeader(stream);
        continue;
      }
      if (stream.lie && stream.position % 16 == 0) byte ^= 1;
      ++stream.position;
    }
    return out;
  }

  void ReadHeader(Stream& stream) const {
    stream.position = stream.length = 0;
    for (size_t i = 0; i < 8; ++i) stream.length |= uint64_t{stream.header[48 + i]} << (8 * i);
    const bool data = stream.header[6] == static_cast<uint8_t>(net::FrameType::kData);
    stream.lie = false;
    for (uint64_t number = 0; data && number < 64; ++number) {
      const net::PhaseTag tag = net::MakePhaseTag(phase_, number);
      stream.lie = stream.lie || std::equal(tag.begin(), tag.end(), stream.header.begin() + 24);
    }
  }

  std::unique_ptr<net::Transport> inner_;
  std::string phase_;
  std::map<net::PartyIndex, Stream> streams_;
};

}  // namespace partita::testing
