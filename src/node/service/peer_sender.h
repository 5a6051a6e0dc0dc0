// Sends messages to one peer, one after the other over one connection, in a thread of its own: a peer
// that hangs holds up nobody else.
//
// POST /peer/v1/messages with the bytes of a message; the answers are in peer_api.h. A body that the
// peer lacks is sent when it asks for it, and then the message again: so a node that cannot be reached
// gets bodies, too.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "base/bytes.h"
#include "crypto/certificate.h"
#include "net/https_client.h"

namespace partita::node {

struct Parcel {
  uint64_t number = 0;
  Bytes message;
  std::optional<Bytes> body;  // of a message whose body is fetched
};

class PeerSender {
 public:
  struct Options {
    crypto::Identity identity;  // node key
    // Where the peer is now, and by which certificate it is known; none: it cannot be reached.
    std::function<std::optional<net::HttpsPeer>()> peer;
    // Told on the sender's thread: whether the peer has it durably.
    std::function<void(uint64_t number, bool taken)> done;
    // Told on the sender's thread, before: the peer refused it.
    std::function<void()> refused;
  };

  explicit PeerSender(Options options);
  // Gives up what waits, and waits for the request that is under way: it is told to stop.
  ~PeerSender();
  PeerSender(const PeerSender&) = delete;
  PeerSender& operator=(const PeerSender&) = delete;

  void Send(Parcel parcel);

 private:
  void Work();
  bool Deliver(const Parcel& parcel);

  Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Parcel> waiting_;
  bool stopping_ = false;
  std::optional<net::HttpsClient> client_;
  std::optional<net::HttpsPeer> connected_to_;
  std::thread thread_;
};

}  // namespace partita::node
