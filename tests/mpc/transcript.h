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
    VisitFrames(from, to, [&](const net::FrameHeader&, ByteView payload) {
      messages.emplace_back(payload.begin(), payload.end());
    });
    return messages;
  }

  // What their headers tell of them beside the run: everything that encryption does not hide.
  struct Frame {
    net::FrameType type = net::FrameType::kData;
    uint64_t sequence = 0, depth = 0, length = 0;
    bool operator==(const Frame&) const = default;
  };
  std::vector<Frame> Frames(size_t from, size_t to) const {
    std::vector<Frame> frames;
    VisitFrames(from, to, [&](const net::FrameHeader& header, ByteView) {
      frames.push_back({header.type, header.sequence, header.depth, header.length});
    });
    return frames;
  }

 private:
  template <typename Visit>
  void VisitFrames(size_t from, size_t to, const Visit& visit) const {
    auto stream = streams_.find({from, to});
    if (stream == streams_.end()) return;
    ByteView rest = stream->second;
    while (!rest.empty()) {
      net::HeaderBytes header;
      std::copy_n(rest.begin(), header.size(), header.begin());
      const net::FrameHeader decoded = net::DecodeHeader(header, "recorded");
      if (decoded.type != net::FrameType::kKeepAlive)
        visit(decoded, rest.subspan(header.size(), decoded.length));
      rest = rest.subspan(header.size() + decoded.length);
    }
  }

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
