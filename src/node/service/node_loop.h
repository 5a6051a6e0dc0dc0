// A node at work: one thread moves it, the server's threads bring it messages, a thread per peer sends.
//
// Everything that touches the node is a task of the one thread, in order; what is to be answered is
// answered when it is durable. A peer may have 64 tasks waiting and all together 512: beyond that it
// is told to come later.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "crypto/certificate.h"
#include "net/https_client.h"
#include "net/https_server.h"
#include "node/service/node.h"
#include "node/service/peer_sender.h"

namespace partita::node {

class NodeLoop {
 public:
  using Task = std::function<void(Node& node, int64_t now)>;

  struct Options {
    crypto::Identity identity;  // node key
    // Where a party is and by which node key it is known; none: it cannot be reached.
    std::function<std::optional<net::HttpsPeer>(const std::string& party)> peer;
    // The party that the own list has for a node certificate with this fingerprint.
    std::function<std::optional<std::string>(const std::string& fingerprint)> party_of;
    std::function<int64_t()> clock;  // seconds of base/utc_time.h; from any thread
    // Told what went wrong in a task, for the own log. After kStorage the loop has ended, and the
    // process should start again.
    std::function<void(const Error&)> failed;
    // Told which messages are refused, here or by a peer, for the own log; the same words once in ten minutes.
    // Empty: nobody.
    std::function<void(const std::string& why)> refused;
  };

  NodeLoop(Node& node, Options options) : node_(node), options_(std::move(options)) {}
  ~NodeLoop();
  NodeLoop(const NodeLoop&) = delete;
  NodeLoop& operator=(const NodeLoop&) = delete;

  // Restarts the node and goes on until Stop. The node is the loop's alone from here on. Once.
  void Start();

  // Does it soon, on the loop's thread. From any thread.
  void Do(Task task);

  // For an HttpsServer with bodies of up to kMaxBodyBytes: peers by the node key that the own list has
  // for them, nobody else.
  std::optional<net::HttpResponse> Screen(const net::HttpRequest& request) const;
  void Answer(const net::HttpRequest& request, net::HttpReply reply);

  // Ends all threads. What is durable stays, the rest is lost as by a kill. Again: no effect.
  void Stop();

 private:
  void Work();
  void Round();
  void Try(const std::function<void()>& what);
  void SendDue(int64_t now);
  void TakeMessage(const net::HttpRequest& request, const net::HttpReply& reply, Node& node,
                   int64_t now);
  void TellRefused(const std::string& why, int64_t now);

  Node& node_;
  Options options_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::map<std::string, size_t> waiting_;  // messages by fingerprint of the peer
  bool stopping_ = false;
  std::map<std::string, int64_t> told_;  // refusals, and when; the loop's thread only
  std::map<std::string, std::unique_ptr<PeerSender>> senders_;  // the loop's thread only
  std::thread thread_;
};

}  // namespace partita::node
