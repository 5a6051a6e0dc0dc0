#include "sums/service/compute_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/utc_time.h"
#include "crypto/hash.h"
#include "sums/service/round_api.h"

namespace partita::sums {
namespace {

using net::HttpRequest;
using net::HttpResponse;
using net::TextResponse;

constexpr unsigned kRetrySeconds = 1;

HttpResponse TryLater(std::string_view word) {
  HttpResponse response = TextResponse(503, word);
  response.retry_after = kRetrySeconds;
  return response;
}

// What the connection shows beside the upload; nothing where nothing was shown.
std::optional<std::array<uint8_t, 32>> ShownDigest(const HttpRequest& request,
                                                   Admission admission) {
  if (admission == Admission::kTokens) {
    if (request.bearer.empty()) return std::nullopt;
    return crypto::Sha256Of(AsBytes(request.bearer));
  }
  if (request.fingerprint.empty()) return std::nullopt;
  const Bytes bytes = FromHex(request.fingerprint);
  std::array<uint8_t, 32> digest{};
  std::copy_n(bytes.begin(), std::min(bytes.size(), digest.size()), digest.begin());
  return digest;
}

std::vector<std::pair<std::string, uint64_t>> NamedCounts(const ComputeNode& compute,
                                                          const ServiceCounts& counts,
                                                          const net::HttpsServer* server) {
  std::vector<std::pair<std::string, uint64_t>> list;
  for (size_t i = 0; i < kVerdicts; ++i) {
    const auto verdict = static_cast<Verdict>(i);
    list.emplace_back(VerdictName(verdict), compute.Count(verdict));
  }
  list.emplace_back(kNoCredential, counts.no_credential);
  list.emplace_back(kWrongCredential, counts.wrong_credential);
  list.emplace_back(kExpiredToken, counts.expired);
  list.emplace_back(kClockSkew, counts.clock_skew);
  list.emplace_back(kOtherRound, counts.other_round);
  list.emplace_back(kForbidden, counts.forbidden);
  list.emplace_back(kFull, counts.full);
  list.emplace_back(kStoreFailed, counts.store);
  if (server != nullptr) {
    const net::HttpsServerCounts http = server->Counts();
    // Refused before they are uploads: too long to be read, no HTTP, too slow, too many, too much
    // at one time; and what ended in an exception.
    list.emplace_back("http-oversized", http.oversized);
    list.emplace_back("http-malformed", http.malformed);
    list.emplace_back("http-slow", http.slow);
    list.emplace_back("http-crowded", http.crowded);
    list.emplace_back("http-handshake", http.handshakes);
    list.emplace_back("http-overloaded", http.overloaded);
    list.emplace_back("http-failed", http.failures);
  }
  return list;
}

}  // namespace

std::string_view StateName(RoundState state) {
  static constexpr std::array<std::string_view, 5> kNames = {"open", "frozen", "closed",
                                                             "published", "refused"};
  return kNames[static_cast<size_t>(state)];
}

void RoundBoard::Show(RoundState state) {
  const std::lock_guard lock(mutex_);
  state_ = state;
}
void RoundBoard::ShowSet(Bytes set) {
  const std::lock_guard lock(mutex_);
  set_ = std::move(set);
  state_ = RoundState::kFrozen;
}
void RoundBoard::ShowClosing(Bytes closing) {
  const std::lock_guard lock(mutex_);
  closing_ = std::move(closing);
  state_ = RoundState::kClosed;
}
void RoundBoard::ShowPublication(Bytes publication) {
  const std::lock_guard lock(mutex_);
  publication_ = std::move(publication);
  state_ = RoundState::kPublished;
}
void RoundBoard::AskToFreeze() {
  const std::lock_guard lock(mutex_);
  freeze_ = true;
  changed_.notify_all();
}
RoundState RoundBoard::state() const {
  const std::lock_guard lock(mutex_);
  return state_;
}
std::optional<Bytes> RoundBoard::set() const {
  const std::lock_guard lock(mutex_);
  return set_;
}
std::optional<Bytes> RoundBoard::closing() const {
  const std::lock_guard lock(mutex_);
  return closing_;
}
std::optional<Bytes> RoundBoard::publication() const {
  const std::lock_guard lock(mutex_);
  return publication_;
}
bool RoundBoard::WaitForFreeze(std::chrono::milliseconds time) {
  std::unique_lock lock(mutex_);
  return changed_.wait_for(lock, time, [&] { return freeze_; });
}

std::string ComputeService::Prefix(const CollectionFile& collection) {
  return RoundPath(collection, "");
}

std::optional<HttpResponse> ComputeService::Screen(const HttpRequest& request) {
  if (!request.target.starts_with(prefix_)) {
    ++counts_.other_round;
    return TextResponse(404, kOtherRound);
  }
  if (list_.admission == Admission::kRegistered || ShownDigest(request, list_.admission)) {
    return std::nullopt;
  }
  ++counts_.no_credential;
  return TextResponse(401, kNoCredential);
}

void ComputeService::Handle(HttpRequest request, const net::HttpReply& reply) {
  if (!request.target.starts_with(prefix_)) {
    ++counts_.other_round;
    return reply(TextResponse(404, kOtherRound));
  }
  const std::string what = request.target.substr(prefix_.size());
  if (what == "uploads" && request.method == "POST") return Upload(std::move(request), reply);
  reply(Answer(request, what));
}

ComputeService::Caller ComputeService::CallerOf(const HttpRequest& request) const {
  if (request.fingerprint.empty()) return Caller::kNobody;
  for (size_t i = 0; i < collection_.nodes.size(); ++i) {
    if (collection_.nodes[i].fingerprint != request.fingerprint) continue;
    return i == node_ ? Caller::kSelf : Caller::kNode;
  }
  for (const CollectionReader& reader : collection_.readers) {
    if (reader.fingerprint == request.fingerprint) return Caller::kReader;
  }
  return Caller::kNobody;
}

HttpResponse ComputeService::Answer(const HttpRequest& request, std::string_view what) {
  const Caller caller = CallerOf(request);
  const bool get = request.method == "GET";
  const bool freeze = what == "freeze" && request.method == "POST";
  if (!freeze &&
      !(get && (what == "status" || what == "set" || what == "closing" || what == "publication"))) {
    ++counts_.other_round;
    return TextResponse(404, kOtherRound);
  }
  const Caller least = freeze ? Caller::kSelf : what == "set" ? Caller::kNode : Caller::kReader;
  if (caller < least) {
    ++counts_.forbidden;
    return TextResponse(403, kForbidden);
  }
  if (freeze) {
    board_.AskToFreeze();
    return TextResponse(202, "freezing");
  }
  if (what == "set") return Show(board_.set());
  if (what == "closing") return Show(board_.closing());
  if (what == "publication") return Show(board_.publication());
  HttpResponse response = TextResponse(200, StatusJson(caller == Caller::kSelf));
  response.content_type = "application/json";
  return response;
}

HttpResponse ComputeService::Show(const std::optional<Bytes>& bytes) const {
  if (!bytes) {
    return TextResponse(409, board_.state() == RoundState::kRefused ? "refused" : kNotYet);
  }
  HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body = *bytes;
  return response;
}

std::optional<HttpResponse> ComputeService::RefuseClock(const HttpRequest& request) {
  if (request.time.empty() || ClocksAgree(request.time, NowUtc())) return std::nullopt;
  ++counts_.clock_skew;
  return TextResponse(422, kClockSkew);
}

std::optional<HttpResponse> ComputeService::RefuseCredential(const HttpRequest& request) {
  if (list_.admission == Admission::kRegistered) return std::nullopt;
  ClientId client{};
  try {
    client = ParseEnvelope(request.body).header.client;
  } catch (const Error&) {
    return std::nullopt;  // judged, and counted, as malformed
  }
  switch (CheckCredential(list_, client, ShownDigest(request, list_.admission), NowUtc())) {
    case Credential::kGood:
    case Credential::kUnknownClient:  // judged, and counted, as such
      return std::nullopt;
    case Credential::kMissing:
      ++counts_.no_credential;
      return TextResponse(401, kNoCredential);
    case Credential::kWrong:
      ++counts_.wrong_credential;
      return TextResponse(403, kWrongCredential);
    case Credential::kExpired:
      ++counts_.expired;
      return TextResponse(403, kExpiredToken);
  }
  return TextResponse(403, kWrongCredential);
}

void ComputeService::Upload(HttpRequest request, const net::HttpReply& reply) {
  if (auto refusal = RefuseClock(request)) return reply(std::move(*refusal));
  if (auto refusal = RefuseCredential(request)) return reply(std::move(*refusal));
  const bool taken =
      queue_.Offer(std::move(request.body), [this, reply](std::optional<Verdict> verdict) {
        if (!verdict) {
          ++counts_.store;
          return reply(TryLater(kStoreFailed));
        }
        reply(TextResponse(StatusOf(*verdict), VerdictName(*verdict)));
      });
  if (taken) return;
  ++counts_.full;
  reply(TryLater(kFull));
}

std::string ComputeService::StatusJson(bool own) const {
  nlohmann::ordered_json verdicts;
  for (const auto& [name, count] : NamedCounts(compute_, counts_, server_)) verdicts[name] = count;
  const UploadQueue::Standing queue = queue_.Now();
  nlohmann::ordered_json status = {
      {"node", collection_.nodes[node_].name},
      {"collection", collection_.name},
      {"study", ToHex(collection_.contract.study)},
      {"epoch", collection_.epoch},
      {"state", StateName(board_.state())},
      {"utc", NowUtc()},
      {"counts", verdicts},
      {"queue",
       {{"waiting", queue.waiting}, {"batches", queue.batches}, {"failures", queue.failures}}}};
  if (own) status["queue"]["failure"] = queue.failure;
  // What the store says about itself may hold a path in any encoding.
  return status.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string ComputeService::StatusLine() const {
  std::string line(StateName(board_.state()));
  for (const auto& [name, count] : NamedCounts(compute_, counts_, server_)) {
    if (count > 0) line += fmt::format(", {} {}", name, count);
  }
  return line;
}

}  // namespace partita::sums
