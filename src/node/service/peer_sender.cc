#include "node/service/peer_sender.h"

#include <chrono>
#include <utility>

#include "base/error.h"
#include "crypto/hash.h"
#include "node/service/peer_api.h"

namespace partita::node {
namespace {

constexpr std::chrono::seconds kMessageTime{20};
constexpr std::chrono::seconds kBodyTime{90};
constexpr size_t kMostAnswerBytes = 1024;

// Ends a request when its sender is to end.
class Stopping : public partita::Progress {
 public:
  Stopping(std::mutex& mutex, const bool& stopping) : mutex_(mutex), stopping_(stopping) {}
  void Phase(std::string_view) override {}
  void Step(uint64_t, uint64_t) override {}
  void CheckCancelled() override {
    const std::lock_guard lock(mutex_);
    if (stopping_) throw Error(ErrorCode::kCancelled, "the node stops");
  }

 private:
  std::mutex& mutex_;
  const bool& stopping_;
};

net::HttpRequest PostOf(std::string target, const Bytes& body) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = std::move(target);
  request.body = body;
  return request;
}

bool SamePeer(const std::optional<net::HttpsPeer>& a, const net::HttpsPeer& b) {
  return a.has_value() && a->address == b.address && a->fingerprint == b.fingerprint;
}

}  // namespace

PeerSender::PeerSender(Options options)
    : options_(std::move(options)), thread_([this] { Work(); }) {}

PeerSender::~PeerSender() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void PeerSender::Send(Parcel parcel) {
  const std::lock_guard lock(mutex_);
  waiting_.push_back(std::move(parcel));
  changed_.notify_all();
}

void PeerSender::Work() {
  while (true) {
    Parcel parcel;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return stopping_ || !waiting_.empty(); });
      if (stopping_) return;
      parcel = std::move(waiting_.front());
      waiting_.pop_front();
    }
    bool taken = false;
    try {
      taken = Deliver(parcel);
    } catch (const Error&) {
      // Not there, or not who it should be: tried again like anything else.
      client_.reset();
      connected_to_.reset();
    }
    options_.done(parcel.number, taken);
  }
}

bool PeerSender::Deliver(const Parcel& parcel) {
  const std::optional<net::HttpsPeer> peer = options_.peer();
  if (!peer.has_value()) return false;
  if (!client_.has_value() || !SamePeer(connected_to_, *peer)) {
    client_.emplace(*peer, options_.identity);
    connected_to_ = peer;
  }
  Stopping progress(mutex_, stopping_);
  const net::HttpRequest message = PostOf(std::string(kMessagesPath), parcel.message);
  net::HttpResponse answer = client_->Send(message, kMessageTime, kMostAnswerBytes, progress);
  if (answer.status == 409 && parcel.body.has_value()) {
    const std::string digest = ToHex(crypto::Sha256Of(*parcel.body));
    const net::HttpRequest body = PostOf(std::string(kBodiesPath) + digest, *parcel.body);
    client_->Send(body, kBodyTime, kMostAnswerBytes, progress);
    answer = client_->Send(message, kMessageTime, kMostAnswerBytes, progress);
  }
  if (answer.status == 403) options_.refused();
  return answer.status == 200;
}

}  // namespace partita::node
