// What parties put on the wire, kept for a test that reads all of it.
#pragma once

#include <algorithm>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "net/frame.h"
#include "net/transport.h"

namespace partita::testing {

// By sender and receiver. Every party's thread writes to streams of its own.
class RecordedStreams {
 public:
  explicit RecordedStreams(size_t parties) : parties_(parties), streams_(parties * parties) {}

  Bytes& Of(size_t from, size_t to) { return streams_[from * parties_ + to]; }
  const std::vector<Bytes>& all() const { return streams_; }
  uint64_t bytes() const {
    uint64_t total = 0;
    for (const Bytes& stream : streams_) total += stream.size();
    return total;
  }

  // The payloads of all whole frames of this type.
  std::vector<Bytes> Payloads(net::FrameType type) const {
    std::vector<Bytes> payloads;
    for (const Bytes& stream : streams_) {
      for (size_t at = 0; at + net::kFrameHeaderBytes <= stream.size();) {
        net::HeaderBytes bytes{};
        std::copy_n(stream.begin() + static_cast<ptrdiff_t>(at), bytes.size(), bytes.begin());
        const net::FrameHeader header = net::DecodeHeader(bytes, "recorded");
        at += net::kFrameHeaderBytes;
        if (at + header.length > stream.size()) break;
        const auto begin = stream.begin() + static_cast<ptrdiff_t>(at);
        at += header.length;
        if (header.type == type)
          payloads.emplace_back(begin, stream.begin() + static_cast<ptrdiff_t>(at));
      }
    }
    return payloads;
  }

 private:
  size_t parties_;
  std::vector<Bytes> streams_;
};

class RecordingTransport : public net::Transport {
 public:
  RecordingTransport(std::unique_ptr<net::Transport> inner, RecordedStreams& streams)
      : inner_(std::move(inner)), streams_(streams) {}

  net::PartyIndex self() const override { return inner_->self(); }
  const std::vector<std::string>& names() const override { return inner_->names(); }
  net::Io Write(net::PartyIndex to, ByteView bytes) override {
    const net::Io io = inner_->Write(to, bytes);
    Bytes& stream = streams_.Of(self(), to);
    stream.insert(stream.end(), bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(io.bytes));
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
  std::unique_ptr<net::Transport> inner_;
  RecordedStreams& streams_;
};

// The first of `words` that occurs in what was sent; empty: none. Words of eight letters and more
// are looked for in all bytes (chance finds one in n random bytes with a probability below
// n 2^-64), shorter ones, of four letters at least, only in texts of twenty printable characters
// and more (below n 2^-50).
inline std::string FirstFound(const RecordedStreams& streams,
                              const std::vector<std::string>& words) {
  constexpr size_t kLongWord = 8, kText = 20;
  for (const Bytes& stream : streams.all()) {
    const std::string_view all(reinterpret_cast<const char*>(stream.data()), stream.size());
    std::string texts;
    for (size_t begin = 0; begin < all.size();) {
      size_t end = begin;
      while (end < all.size() && all[end] >= ' ' && all[end] <= '~') ++end;
      if (end - begin >= kText) texts.append(all.substr(begin, end - begin)) += '\n';
      begin = end + 1;
    }
    for (const std::string& word : words) {
      const std::string_view where = word.size() >= kLongWord ? all : std::string_view(texts);
      if (where.find(word) != std::string_view::npos) return word;
    }
  }
  return {};
}

}  // namespace partita::testing
