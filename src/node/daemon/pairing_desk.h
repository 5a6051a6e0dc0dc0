// Invitations at work: lines made and pasted, the three messages over HTTPS, digits, the words of both
// stewards, until a steward may list the other site.
//
// Own people's calls come from the control socket; a joiner's messages from the server, of strangers, by
// connections whose exporter is what digits are of (parties/pairing.h):
//   GET  /peer/v1/pair/look     200 (so that the joiner knows its connection)
//   POST /peer/v1/pair/hello    49 bytes; 200 with the nonce
//   POST /peer/v1/pair/nonce    32 bytes; 200
//   POST /peer/v1/pair/paired   the joiner's statement; 200 with the inviter's, 202 if that is not there yet
// Anything that is refused is 403 without a reason. Strangers are let in only while a line is open or a
// pairing is under way. Any thread may call; a call that connects takes up to kPairingPatience a message.
#pragma once

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "net/https.h"
#include "node/daemon/log.h"
#include "node/daemon/party_keeper.h"

namespace partita::node {

inline constexpr std::string_view kPairPath = "/peer/v1/pair/";
inline constexpr std::chrono::milliseconds kPairingPatience{10'000};

// "host:port" with a number for the host, of an address that came from outside. Throws kRefused as
// RequireCallable, kUnreachable if the name is not found. Asks the resolver, and waits.
std::string CallableAddress(const std::string& address,
                            const std::vector<std::string>& inner_hosts);

// kOpen: the joiner has not come; kDigits: to be compared; kSign: the steward signs; kWaiting: for the
// other site; kMet: the steward lists it; kOver: listed, failed or forgotten.
enum class PairingState { kOpen, kDigits, kSign, kWaiting, kMet, kOver };
std::string PairingStateName(PairingState state);

struct PairingView {
  PairingState state = PairingState::kOver;
  std::string name;   // of the other site, once known
  std::string shown;  // kDigits
  PairingRole role = PairingRole::kInviter;
  Digest hash{};                   // kSign
  std::optional<PairedParty> met;  // kMet
  // Of the inviter that met somebody: empty until it connected back, then "reached" or why not.
  std::string reach;
};

class PairingDesk {
 public:
  struct Parts {
    crypto::Identity identity;  // node key
    std::string address;        // the own one
    std::vector<std::string> inner_hosts;
    PartyKeeper& keeper;
    InvitationStore& own_lines;
    InvitationStore& sent_lines;
    crypto::RandomSource& random;
    const Log& log;
    std::function<int64_t()> clock;
  };

  explicit PairingDesk(Parts parts) : parts_(std::move(parts)) {}

  // Throws as node::Invite, and kRefused for the own name.
  Invitation MakeLine(const std::string& name);
  // Pairs as far as the digits. Throws what ParseInvitation, Accept, CallableAddress and the pairing do.
  InviteNumber Join(const std::string& line);
  PairingView Look(const InviteNumber& number);
  // Throws as Comparison::Enter.
  void Enter(const InviteNumber& number, const std::string& digits);
  // The steward's word on what Look showed. Throws as BeginPaired.
  void Sign(const InviteNumber& number, const StewardWord& word);

  bool TakesStrangers();
  net::HttpResponse Answer(const net::HttpRequest& request);
  // What is due: the joiner's statements, the inviter's look back. Connects.
  void Deliver();

 private:
  struct Try {
    InviteNumber number{};
    std::string name;  // of the other end's certificate
    std::string address;
    std::unique_ptr<Inviter> inviter;
    std::optional<Comparison> comparison;
  };

  // Pairings that nobody went on with: nobody is let in for them. With mutex_.
  void ForgetOld(int64_t now);
  net::HttpResponse AnswerChecked(const net::HttpRequest& request);
  net::HttpResponse TakePaired(const net::HttpRequest& request);
  KeptPairing Kept(const InviteNumber& number) const;
  void DeliverStatement(const KeptPairing& pairing);
  void LookBack(const KeptPairing& pairing);

  Parts parts_;
  std::mutex joining_;  // before mutex_
  std::mutex mutex_;
  std::map<net::ConnectionName, Try> tries_;  // the inviter's, until digits can be compared
  std::map<InviteNumber, Try> comparing_;
  std::map<InviteNumber, std::string> reach_;
};

}  // namespace partita::node
