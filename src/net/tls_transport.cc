#include "net/tls_transport.h"

#include <fmt/format.h>
#include <poll.h>

#include <ctime>

#include "net/tls_mesh.h"

namespace partita::net {
namespace {

class TlsTransport : public Transport {
 public:
  TlsTransport(std::vector<std::unique_ptr<TlsStream>> streams, const Roster& roster,
               PartyIndex self)
      : streams_(std::move(streams)), names_(Names(roster)), self_(self) {
    for (const auto& stream : streams_) {
      secrets_.push_back(stream != nullptr ? stream->ExportSecret() : crypto::Key());
    }
  }

  PartyIndex self() const override { return self_; }
  const std::vector<std::string>& names() const override { return names_; }

  Io Write(PartyIndex to, ByteView bytes) override { return streams_[to]->Write(bytes); }
  bool Flush(PartyIndex to) override { return streams_[to]->Flush(); }
  Io Read(PartyIndex from, std::span<uint8_t> out) override {
    const Io io = streams_[from]->Read(out);
    if (streams_[from]->damaged()) {
      throw Error(ErrorCode::kPeerFault,
                  fmt::format("the encrypted stream from party {} is damaged: {}", names_[from],
                              streams_[from]->failure()),
                  "Something between you changes bytes: check the network, then start again.");
    }
    return io;
  }

  void Wait(std::span<const Interest> interests, std::chrono::nanoseconds timeout) override {
    entries_.clear();
    for (const Interest& interest : interests) {
      const TlsStream& stream = *streams_[interest.peer];
      const int events = (interest.read ? POLLIN : 0) | (stream.unsent() ? POLLOUT : 0);
      if (events != 0) entries_.push_back({stream.fd(), static_cast<short>(events), 0});
    }
    const timespec limit{timeout.count() / 1'000'000'000, timeout.count() % 1'000'000'000};
    ppoll(entries_.data(), entries_.size(), &limit, nullptr);
  }

  const crypto::Key& PairwiseSecret(PartyIndex peer) const override { return secrets_[peer]; }
  bool HungUp(PartyIndex peer) const override { return streams_[peer]->HungUp(); }
  WireBytes CarriedBytes(PartyIndex peer) const override {
    return streams_[peer] == nullptr ? WireBytes{} : streams_[peer]->wire_bytes();
  }

 private:
  std::vector<std::unique_ptr<TlsStream>> streams_;  // by party, empty for self
  std::vector<crypto::Key> secrets_;
  std::vector<std::string> names_;
  PartyIndex self_;
  std::vector<pollfd> entries_;
};

}  // namespace

std::unique_ptr<Transport> ConnectTls(TlsOptions options, Deadline deadline, Progress* progress) {
  auto streams = ConnectMesh(options, deadline, progress);
  return std::make_unique<TlsTransport>(std::move(streams), options.roster, options.self);
}

}  // namespace partita::net
