// Records what a process sends, and finds the messages in it.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <vector>

#include "net/frame.h"
#include "net/transport.h"

namespace partita::mpc::testing {

// Bytes sent on every directed link, by all processes of a run.
class Transcript {
 public:
  void Append(size_t from, size_t to, ByteView bytes) {
    std::lock_guard lock(mutex_);
    Bytes& stream = streams_[{from, to}];
    stream.insert(stream.end(), bytes.begin(), bytes.end());
  }

  // Payloads of the messages from one process to another, in order; keep-alives, which tell nothing
  // but that a slow machine was slow, are left out.
  std::vector<Bytes> Messages(size_t from, size_t to) const {
    std::vector<Bytes> messages;
    auto stream = streams_.find({from, to});
    if (stream == streams_.end()) return messages;
    ByteView rest = stream->second;
    while (!rest.empty()) {
      net::HeaderBytes header;
      std::copy_n(rest.begin(), header.size(), header.begin());
      const net::FrameHeader decoded = net::DecodeHeader(header, "recorded");
      ByteView payload = rest.subspan(header.size(), decoded.length);
      if (decoded.type != net::FrameType::kKeepAlive) {
        messages.emplace_back(payload.begin(), payload.end());
      }
      rest = rest.subspan(header.size() + decoded.length);
    }
    return messages;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<size_t, size_t>, Bytes> streams_;
};

class RecordingTransport : public net::Transport {
 public:
  RecordingTransport(std::unique_ptr<net::Transport> inner, Transcript& transcript)
      : inner_(std::move(inner)), transcript_(transcript) {}

  net::PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  net::Io Write(net::PartyIndex to, ByteView bytes) override {
    net::Io io = inner_->Write(to, bytes);
    transcript_.Append(self(), to, bytes.first(io.bytes));
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

 private:
  std::unique_ptr<net::Transport> inner_;
  Transcript& transcript_;
};

}  // namespace partita::mpc::testing
