// What a node keeps of other sites, in its folder of state: the signed list of parties, where they are,
// introductions that wait for a steward, lines of invitations, pairings under way.
//
// Files are replaced in one step and durable when a call returns. Any thread may call.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "node/parties/introduction.h"
#include "node/parties/party_list.h"

namespace partita::node {

// One book of lines in one file.
class FileInvitations : public InvitationStore {
 public:
  explicit FileInvitations(std::filesystem::path file) : file_(std::move(file)) {}
  // Empty without a file. Throws kBadInput for one that is damaged.
  InvitationBook Load() override;
  void Save(const InvitationBook& book) override;

 private:
  std::filesystem::path file_;
};

// A pairing from the line on. The comparison itself is not kept: a node that stops has used up the line.
struct KeptPairing {
  InviteNumber number{};
  std::string name;     // of the party that was invited; at the joiner, of the inviter, once known
  std::string address;  // at the joiner: of the line
  int64_t expires = 0;
  std::optional<PendingPair> pending;  // the own digits agreed and the own steward signed
  std::optional<PairedParty> met;      // the other's statement is here: a steward may list it

  bool operator==(const KeptPairing&) const = default;
};

// Introductions of one party that wait at a time. What all parties of a list may keep waiting fits into one
// answer of the control socket.
inline constexpr size_t kMaxWaitingOfOne = 8;

class PartyKeeper {
 public:
  // stewards: fingerprints of the own ones. Throws kBadInput for damaged files, kUntrusted for a list that
  // no own steward signed.
  PartyKeeper(std::filesystem::path folder, std::string owner, std::vector<Digest> stewards);

  PartyList List() const;  // without parties where none was signed yet
  // The bytes of the signed list; empty where none was signed yet.
  Bytes Document() const;
  // What a steward signed; the addresses of who is new on it come from the pairing or introduction. Throws
  // as RequireSignedList.
  void Take(const SignedPartyList& document, int64_t now);

  std::optional<std::string> AddressOf(const std::string& party) const;
  void SetAddress(const std::string& party, const std::string& address);
  // The party whose node key this is and counts now.
  std::optional<std::string> PartyOf(const std::string& fingerprint, int64_t now) const;
  // The fingerprint of the party's node key: of its successor, where that counts.
  std::optional<std::string> NodeKeyOf(const std::string& party, int64_t now) const;

  std::vector<KeptPairing> Pairings() const;
  // Adds, or replaces that with the same number and one with the same site that has not met it yet; those
  // that are over at `now` go.
  void Keep(const KeptPairing& pairing, int64_t now);

  // Keeps it, with its signature, for a steward, if it can be shown (RequireSignedIntroduction,
  // RequireIntroducible): one of each pair of introducer and name. False if it is known, or on the list
  // with that introducer, already. Throws kPeerFault if kMaxWaitingOfOne others of its introducer wait: nobody
  // takes the place of another's.
  bool Offer(const SignedIntroduction& introduction, int64_t now);
  std::vector<SignedIntroduction> Waiting() const;

 private:
  void SaveAddresses() const;
  void SavePairings() const;
  void SaveWaiting() const;

  std::filesystem::path folder_;
  std::vector<Digest> stewards_;
  mutable std::mutex mutex_;
  PartyList list_;
  ListMark mark_;
  Bytes document_;
  std::map<std::string, std::string> addresses_;
  std::vector<KeptPairing> pairings_;
  std::vector<SignedIntroduction> waiting_;
};

}  // namespace partita::node
