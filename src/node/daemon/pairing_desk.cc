#include "node/daemon/pairing_desk.h"

#include <fmt/format.h>
#include <netdb.h>

#include <algorithm>

#include "base/error.h"
#include "crypto/signature.h"
#include "net/https_client.h"
#include "net/roster.h"
#include "node/parties/inner_address.h"

namespace partita::node {
namespace {

constexpr size_t kMaxTries = 16;  // connections of strangers that said hello
constexpr size_t kMaxPairAnswer = 8192;

net::HttpResponse Refused() { return net::TextResponse(403, "refused"); }

net::HttpResponse BodyResponse(Bytes body) {
  net::HttpResponse response;
  response.content_type = "application/octet-stream";
  response.body = std::move(body);
  return response;
}

// Throws kPeerFault for an answer that is not 200, naming what was asked.
Bytes Ask(net::HttpsClient& client, const std::string& what, Bytes body) {
  net::HttpRequest request;
  request.method = "POST";
  request.target = std::string(kPairPath) + what;
  request.body = std::move(body);
  SilentProgress progress;
  net::HttpResponse response = client.Send(request, kPairingPatience, kMaxPairAnswer, progress);
  if (response.status == 200) return std::move(response.body);
  throw Error(ErrorCode::kPeerFault, "the inviting site does not take this invitation",
              "It was used, or has expired: ask for a new one.");
}

net::HttpResponse LookAt(net::HttpsClient& client) {
  net::HttpRequest request;
  request.method = "GET";
  request.target = std::string(kPairPath) + "look";
  SilentProgress progress;
  return client.Send(request, kPairingPatience, kMaxPairAnswer, progress);
}

std::string NameIn(const Bytes& certificate) {
  const auto decoded = crypto::DecodeCertificate(certificate);
  return decoded == nullptr ? "" : crypto::Describe(*decoded).name;
}

[[noreturn]] void NoSuchPairing() {
  throw Error(
      ErrorCode::kUsage, "this pairing is over, or is not known here",
      "Digits are to be compared within ten minutes, and signed within an hour. Let the site "
      "that invited do it again.");
}

}  // namespace

std::string CallableAddress(const std::string& address,
                            const std::vector<std::string>& inner_hosts) {
  const net::Address parts = net::ParseAddress(address);
  std::string reason;
  std::vector<net::Endpoint> endpoints = net::NumericEndpoints(parts.host, parts.port);
  if (endpoints.empty()) endpoints = net::SystemLookUp(parts.host, parts.port, reason);
  if (endpoints.empty()) {
    throw Error(ErrorCode::kUnreachable, fmt::format("cannot find {}: {}", parts.host, reason),
                "Check the address.");
  }
  const net::Endpoint& first = endpoints.front();
  RequireCallable(first, parts.host, inner_hosts);
  char host[NI_MAXHOST];
  if (::getnameinfo(reinterpret_cast<const sockaddr*>(&first.address), first.size, host,
                    sizeof host, nullptr, 0, NI_NUMERICHOST) != 0)
    throw Error(ErrorCode::kUnreachable, "cannot write the address of " + parts.host, "");
  const bool is_ipv6 = first.address.ss_family == AF_INET6;
  return fmt::format("{}{}{}:{}", is_ipv6 ? "[" : "", host, is_ipv6 ? "]" : "", parts.port);
}

std::string PairingStateName(PairingState state) {
  switch (state) {
    case PairingState::kOpen:
      return "open";
    case PairingState::kDigits:
      return "digits";
    case PairingState::kSign:
      return "sign";
    case PairingState::kWaiting:
      return "waiting";
    case PairingState::kMet:
      return "met";
    case PairingState::kOver:
      return "over";
  }
  return "over";
}

Invitation PairingDesk::MakeLine(const std::string& name) {
  const std::string own = crypto::Describe(*parts_.identity.certificate).name;
  if (!crypto::IsPartyName(name) || name == own) {
    throw Error(ErrorCode::kRefused, "this is no name of another site", crypto::kPartyNameHint);
  }
  const std::lock_guard lock(mutex_);
  Invitation line =
      Invite(parts_.own_lines, parts_.address,
             crypto::Sha256Of(crypto::EncodeCertificate(*parts_.identity.certificate)),
             parts_.random, parts_.clock());
  KeptPairing pairing;
  pairing.number = line.number;
  pairing.name = name;
  pairing.expires = line.expires;
  parts_.keeper.Keep(pairing, parts_.clock());
  return line;
}

InviteNumber PairingDesk::Join(const std::string& text) {
  const Invitation line = ParseInvitation(text);
  const std::lock_guard joining(joining_);
  Accept(parts_.sent_lines, line, parts_.clock());
  net::HttpsClient client(
      {"", CallableAddress(line.address, parts_.inner_hosts), ToHex(line.fingerprint)},
      parts_.identity);
  const net::HttpResponse look = LookAt(client);
  PairingEnds ends;
  ends.inviter_certificate = crypto::EncodeCertificate(*look.certificate);
  ends.joiner_certificate = crypto::EncodeCertificate(*parts_.identity.certificate);
  ends.exporter = look.connection;
  Joiner joiner(line, ends, parts_.sent_lines, parts_.random);
  const Bytes nonce = Ask(client, "hello", joiner.Hello(parts_.clock()));
  Ask(client, "nonce", joiner.TakeNonce(nonce, parts_.clock()));
  const std::lock_guard lock(mutex_);
  Try made;
  made.name = NameIn(ends.inviter_certificate);
  made.address = line.address;
  made.comparison.emplace(joiner.Compare());
  comparing_.insert_or_assign(line.number, std::move(made));
  return line.number;
}

KeptPairing PairingDesk::Kept(const InviteNumber& number) const {
  for (KeptPairing& pairing : parts_.keeper.Pairings()) {
    if (pairing.number == number) return std::move(pairing);
  }
  return {};
}

void PairingDesk::ForgetOld(int64_t now) {
  std::erase_if(tries_, [now](const auto& entry) { return entry.second.inviter->IsOver(now); });
  std::erase_if(comparing_,
                [now](const auto& entry) { return entry.second.comparison->IsOver(now); });
}

PairingView PairingDesk::Look(const InviteNumber& number) {
  const std::lock_guard lock(mutex_);
  const int64_t now = parts_.clock();
  ForgetOld(now);
  PairingView view;
  const KeptPairing kept = Kept(number);
  view.name = kept.name;
  if (const auto found = reach_.find(number); found != reach_.end()) view.reach = found->second;
  if (kept.pending) {
    view.role = kept.pending->role;
    view.hash = kept.pending->hash;
  }
  if (kept.met) {
    view.state = PairingState::kMet;
    view.met = kept.met;
  } else if (kept.pending) {
    view.state = IsForgotten(*kept.pending, now) ? PairingState::kOver : PairingState::kWaiting;
  } else if (const auto found = comparing_.find(number); found != comparing_.end()) {
    const Comparison& comparison = *found->second.comparison;
    view.name = found->second.name;
    view.role = comparison.role();
    view.hash = comparison.hash();
    view.state = comparison.agreed() ? PairingState::kSign : PairingState::kDigits;
    if (!comparison.agreed()) view.shown = comparison.Shown();
  } else if (!kept.name.empty()) {
    try {
      RequireOpen(parts_.own_lines, number, now);
      view.state = PairingState::kOpen;
    } catch (const Error&) {
      view.state = PairingState::kOver;
      for (const auto& entry : tries_) {
        // Between the two nonces.
        if (entry.second.inviter && entry.second.number == number) view.state = PairingState::kOpen;
      }
    }
  }
  return view;
}

void PairingDesk::Enter(const InviteNumber& number, const std::string& digits) {
  const std::lock_guard lock(mutex_);
  const auto found = comparing_.find(number);
  if (found == comparing_.end()) NoSuchPairing();
  try {
    found->second.comparison->Enter(digits, parts_.clock());
  } catch (const Error& error) {
    if (error.code() == ErrorCode::kUsage || found->second.comparison->agreed()) throw;
    parts_.log.Write("digits-differ", {{"party", found->second.name}});
    comparing_.erase(found);
    throw;
  }
}

void PairingDesk::Sign(const InviteNumber& number, const StewardWord& word) {
  const std::lock_guard lock(mutex_);
  ForgetOld(parts_.clock());
  const auto found = comparing_.find(number);
  if (found == comparing_.end()) NoSuchPairing();
  const int64_t now = parts_.clock();
  KeptPairing pairing;
  pairing.number = number;
  pairing.name = found->second.name;
  pairing.address = found->second.address;
  pairing.expires = now + kPairedSeconds;
  pairing.pending =
      BeginPaired(*found->second.comparison, parts_.identity, word, parts_.address, now);
  parts_.keeper.Keep(pairing, now);
  comparing_.erase(found);
  parts_.log.Write("digits-agreed", {{"party", pairing.name}});
}

bool PairingDesk::TakesStrangers() {
  const std::lock_guard lock(mutex_);
  const int64_t now = parts_.clock();
  ForgetOld(now);
  if (!tries_.empty() || OpenInvitations(parts_.own_lines.Load(), now) > 0) return true;
  const std::vector<KeptPairing> pairings = parts_.keeper.Pairings();
  return !comparing_.empty() ||
         std::any_of(pairings.begin(), pairings.end(), [&](const KeptPairing& pairing) {
           return pairing.pending && !IsForgotten(*pairing.pending, now);
         });
}

net::HttpResponse PairingDesk::Answer(const net::HttpRequest& request) {
  if (request.certificate == nullptr) return Refused();
  try {
    const std::lock_guard lock(mutex_);
    return AnswerChecked(request);
  } catch (const Error& error) {
    parts_.log.Write(error, "pairing");
    return Refused();
  }
}

net::HttpResponse PairingDesk::AnswerChecked(const net::HttpRequest& request) {
  const std::string_view what = std::string_view(request.target).substr(kPairPath.size());
  const int64_t now = parts_.clock();
  ForgetOld(now);
  if (what == "look") return net::TextResponse(200, "partita");
  if (what == "paired") return TakePaired(request);
  if (what == "hello" && !tries_.contains(request.connection)) {
    PairingEnds ends;
    ends.inviter_certificate = crypto::EncodeCertificate(*parts_.identity.certificate);
    ends.joiner_certificate = crypto::EncodeCertificate(*request.certificate);
    ends.exporter = request.connection;
    auto inviter = std::make_unique<Inviter>(ends, parts_.own_lines, parts_.random);
    // Who is expected is said here, not by whoever has the line.
    if (request.body.size() != kPairingHelloBytes) return Refused();
    InviteNumber number{};
    std::copy_n(request.body.begin() + 1, number.size(), number.begin());
    const std::string name = NameIn(ends.joiner_certificate);
    if (Kept(number).name != name) {
      throw Error(ErrorCode::kUntrusted,
                  fmt::format("{} came with an invitation for another site", name),
                  "Invite it under this name, if it is expected.");
    }
    Bytes nonce = inviter->TakeHello(request.body, now);
    if (tries_.size() >= kMaxTries) tries_.erase(tries_.begin());
    Try& made = tries_[request.connection];
    made.number = number;
    made.name = name;
    made.inviter = std::move(inviter);
    return BodyResponse(std::move(nonce));
  }
  const auto found = tries_.find(request.connection);
  if (what != "nonce" || found == tries_.end()) return Refused();
  Try made = std::move(found->second);
  tries_.erase(found);
  made.comparison.emplace(made.inviter->TakeNonce(request.body, now));
  made.inviter.reset();
  const InviteNumber number = made.comparison->number();
  parts_.log.Write("joiner-came", {{"party", made.name}});
  comparing_.insert_or_assign(number, std::move(made));
  return net::TextResponse(200, "compare digits");
}

net::HttpResponse PairingDesk::TakePaired(const net::HttpRequest& request) {
  const Bytes certificate = crypto::EncodeCertificate(*request.certificate);
  const int64_t now = parts_.clock();
  std::optional<Error> of_another;
  for (KeptPairing& pairing : parts_.keeper.Pairings()) {
    if (!pairing.pending || pairing.pending->role != PairingRole::kInviter ||
        pairing.pending->peer_certificate != certificate)
      continue;
    if (!pairing.met) {
      try {
        pairing.met = FinishPaired(*pairing.pending, request.body, now);
      } catch (const Error& error) {
        of_another = error;
        continue;
      }
      parts_.keeper.Keep(pairing, now);
      parts_.log.Write("met", {{"party", pairing.name}});
    }
    return BodyResponse(pairing.pending->own_statement);
  }
  // A newer invitation, whose digits are being compared here.
  for (const auto& entry : comparing_) {
    if (entry.second.comparison->ends().joiner_certificate == certificate)
      return net::TextResponse(202, "later");
  }
  if (of_another) throw Error(*of_another);
  return Refused();
}

void PairingDesk::Deliver() {
  const int64_t now = parts_.clock();
  for (const KeptPairing& pairing : parts_.keeper.Pairings()) {
    if (!pairing.pending || IsForgotten(*pairing.pending, now)) continue;
    const bool joined = pairing.pending->role == PairingRole::kJoiner;
    if (joined && !pairing.met) DeliverStatement(pairing);
    if (!joined && pairing.met) LookBack(pairing);
  }
}

void PairingDesk::DeliverStatement(const KeptPairing& pairing) {
  try {
    const Bytes& certificate = pairing.pending->peer_certificate;
    net::HttpsClient client({pairing.name, CallableAddress(pairing.address, parts_.inner_hosts),
                             ToHex(crypto::Sha256Of(certificate))},
                            parts_.identity);
    net::HttpRequest request;
    request.method = "POST";
    request.target = std::string(kPairPath) + "paired";
    request.body = pairing.pending->own_statement;
    SilentProgress progress;
    const net::HttpResponse response =
        client.Send(request, kPairingPatience, kMaxPairAnswer, progress);
    if (response.status != 200) return;  // digits are being compared there
    KeptPairing done = pairing;
    done.met = FinishPaired(*pairing.pending, response.body, parts_.clock());
    const std::lock_guard lock(mutex_);
    parts_.keeper.Keep(done, parts_.clock());
    parts_.log.Write("met", {{"party", done.name}});
  } catch (const Error& error) {
    parts_.log.Write(error, "pairing");
  }
}

void PairingDesk::LookBack(const KeptPairing& pairing) {
  {
    const std::lock_guard lock(mutex_);
    if (reach_.contains(pairing.number)) return;
  }
  std::string reach = "reached";
  try {
    net::HttpsClient client(
        {pairing.name, CallableAddress(pairing.met->address, parts_.inner_hosts),
         ToHex(crypto::Sha256Of(pairing.met->node_certificate))},
        parts_.identity);
    LookAt(client);
  } catch (const Error& error) {
    reach = error.message();
    parts_.log.Write(error, "connecting back");
  }
  const std::lock_guard lock(mutex_);
  reach_[pairing.number] = reach;
}

}  // namespace partita::node
