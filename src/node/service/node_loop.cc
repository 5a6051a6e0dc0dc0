#include "node/service/node_loop.h"

#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "base/hex.h"
#include "node/service/peer_api.h"

namespace partita::node {
namespace {

constexpr size_t kMostWaitingOfOne = 64;
constexpr size_t kMostWaiting = 512;
constexpr size_t kMostToldRefusals = 100;
constexpr int64_t kTellAgainSeconds = 600;

net::HttpResponse Later() {
  net::HttpResponse response = net::TextResponse(503, "later");
  response.retry_after = 1;
  return response;
}

}  // namespace

void NodeLoop::Start() {
  thread_ = std::thread([this] { Work(); });
}

NodeLoop::~NodeLoop() { Stop(); }

void NodeLoop::Stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
}

void NodeLoop::Do(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_all();
}

void NodeLoop::Try(const std::function<void()>& what) {
  try {
    what();
  } catch (const Error& error) {
    options_.failed(error);
    if (error.code() != ErrorCode::kStorage) return;
    // What is durable is not certain any more: only a new node over the store knows.
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
}

void NodeLoop::Work() {
  Try([&] { node_.Restart(options_.clock()); });
  while (true) {
    Try([&] { Round(); });
    std::unique_lock lock(mutex_);
    if (stopping_) break;
    if (!tasks_.empty()) continue;
    // The clock has seconds; of what is due it decides, so a look a second is enough.
    changed_.wait_for(lock, std::chrono::seconds(1), [&] { return stopping_ || !tasks_.empty(); });
    if (stopping_) break;
  }
  senders_.clear();
}

void NodeLoop::Round() {
  // First: who is not the one node any more answers, starts and sends nothing.
  node_.RequireHeld();
  std::deque<Task> tasks;
  {
    const std::lock_guard lock(mutex_);
    tasks.swap(tasks_);
  }
  for (const Task& task : tasks) Try([&] { task(node_, options_.clock()); });
  const int64_t now = options_.clock();
  node_.Tick(now);
  SendDue(now);
}

void NodeLoop::SendDue(int64_t now) {
  for (const OutboxEntry& entry : node_.Due(now)) {
    std::unique_ptr<PeerSender>& sender = senders_[entry.to];
    if (sender == nullptr) {
      PeerSender::Options options;
      options.identity = options_.identity;
      options.peer = [this, party = entry.to] { return options_.peer(party); };
      options.done = [this](uint64_t number, bool taken) {
        Do([number, taken](Node& node, int64_t then) {
          if (taken) {
            node.Delivered(number);
          } else {
            node.Failed(number, then);
          }
        });
      };
      options.refused = [this, party = entry.to] {
        Do([this, party](Node&, int64_t then) {
          TellRefused(party + " refuses a message of this node; its own log says why", then);
        });
      };
      sender = std::make_unique<PeerSender>(std::move(options));
    }
    Parcel parcel{entry.number, entry.message, std::nullopt};
    const SignedMessage message = DecodeMessage(entry.message);
    if (message.message.fetched.has_value())
      parcel.body = node_.FindBody(message.message.fetched->digest);
    node_.Sent(entry.number, now);
    sender->Send(std::move(parcel));
  }
}

std::optional<net::HttpResponse> NodeLoop::Screen(const net::HttpRequest& request) const {
  if (request.fingerprint.empty() || !options_.party_of(request.fingerprint).has_value())
    return net::TextResponse(403, "refused");
  if (request.target != kMessagesPath && !request.target.starts_with(kBodiesPath))
    return net::TextResponse(404, "there is nothing here");
  return std::nullopt;
}

void NodeLoop::Answer(const net::HttpRequest& request, net::HttpReply reply) {
  if (std::optional<net::HttpResponse> refusal = Screen(request)) return reply(*refusal);
  if (request.method != "POST") return reply(net::TextResponse(405, "POST"));
  {
    const std::lock_guard lock(mutex_);
    size_t& mine = waiting_[request.fingerprint];
    if (mine >= kMostWaitingOfOne || tasks_.size() >= kMostWaiting || stopping_) {
      if (mine == 0) waiting_.erase(request.fingerprint);
      reply(Later());
      return;
    }
    mine += 1;
  }
  Do([this, request, reply = std::move(reply)](Node& node, int64_t now) {
    {
      const std::lock_guard lock(mutex_);
      const auto mine = waiting_.find(request.fingerprint);
      if (--mine->second == 0) waiting_.erase(mine);
    }
    TakeMessage(request, reply, node, now);
  });
}

void NodeLoop::TellRefused(const std::string& why, int64_t now) {
  const auto told = told_.find(why);
  if (!options_.refused || (told != told_.end() && now < told->second + kTellAgainSeconds)) return;
  if (told_.size() >= kMostToldRefusals) told_.clear();
  told_[why] = now;
  options_.refused(why);
}

void NodeLoop::TakeMessage(const net::HttpRequest& request, const net::HttpReply& reply, Node& node,
                           int64_t now) {
  if (request.target.starts_with(kBodiesPath)) {
    Digest asked{};
    const std::string_view digits = std::string_view(request.target).substr(kBodiesPath.size());
    if (!FromHex(digits, asked)) return reply(net::TextResponse(404, "there is nothing here"));
    try {
      node.TakeBody(asked, request.body);
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kPeerFault) throw;
      return reply(net::TextResponse(403, "refused"));
    }
    return reply(net::TextResponse(200, "taken"));
  }
  switch (node.Receive(request.body, now)) {
    case Receipt::kTaken:
      return reply(net::TextResponse(200, "taken"));
    case Receipt::kLater:
      return reply(Later());
    case Receipt::kRefused:
      TellRefused(node.refusals().back(), now);
      return reply(net::TextResponse(403, "refused"));
    case Receipt::kNeedsBody:
      return reply(net::TextResponse(409, "body"));
  }
}

}  // namespace partita::node
