// The steward's own folder: the key that signs for a site, and what its signer remembers. `partita node
// steward` makes it; the node never needs it.
//
//   steward.pem steward.key   the key, under a passphrase (crypto/passphrase_key.h)
//   job.pem                   the certificate of the node's jobs: what they sign of a table counts
//   node.pem                  the certificate of the own node
//   signer.toml               where both lists are published for the jobs, and who may ask the signer
//   parties parties.mark      the signed list of parties, and which one is the newest
//   ended ended.mark          the signed list of ended approvals, the serial of the newest, and its time
//   policy-DIGITS.pem .key .delegation .uses   of a policy: its key (0600, under no passphrase), the steward's word
//                             for it, and what was signed by it (job/policy_uses.h), which stays when it has ended
//   deputy-NAME.pem .key      of a deputy (study/approval/persons.h): its key, under a passphrase of its own. It counts for
//                             nothing before the steward named it on the list of ended approvals
//   ended-NAME                what the deputy took back: a list of its own, which its key signs
//   given-up                  pseudonyms of accounts whose budgets the steward gave up after a restore (job/closed.h): no
//                             later restore keeps them, whichever backup it is of
//   tries tries.UID           wrong passphrases since the last right one, and when the last was tried: at the own
//                             terminal, and of each user who asks the signer's socket; tries-NAME... of a deputy
//
// Published lists are copies of mode 0644, for the jobs: a revocation and a withdrawal reach them without
// the node. The own copy is written first; Publish repairs what an end between the two left.
//   sign.sock                 while `partita node sign` serves
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "crypto/certificate.h"
#include "node/job/ended_list.h"
#include "node/parties/party_list.h"
#include "study/approval/approval.h"

namespace partita::node {

// The third wrong passphrase in a row, and each one after it, makes the next one wait: 1, 2, 4, 8, 16
// seconds, then 30.
inline constexpr uint32_t kFreeTries = 2;
inline constexpr int64_t kLongestTryWait = 30;
int64_t WaitAfterTries(uint32_t failures);
// Whose tries are counted together: the user at a socket's other end, or nobody: the own terminal.
using Caller = std::optional<uid_t>;

// Throws kUsage for a passphrase that is no UTF-8: those who ask a signer could not say it.
void RequirePassphraseText(std::string_view passphrase);

struct SignerConfig {
  std::string site;
  // Where jobs read the lists; empty: published nowhere.
  std::filesystem::path ended, parties;
  std::filesystem::path socket;           // FOLDER/sign.sock unless it says another
  std::vector<uid_t> users;               // who may ask, beside the own user and root
  std::vector<uid_t> only_policies = {};  // those of them who may ask about policies alone
  // Tables for which two persons have to sign, whatever the node says (`stewards_needed` of node.toml).
  std::vector<std::string> four_eyes = {};
};

// Who signs: the steward, or a deputy in its place.
struct Person {
  crypto::Identity identity;
  std::optional<study::Deputy> deputy = std::nullopt;
};

// A deputy's key in the folder, and the steward's word for it, if there is one.
struct KeptDeputy {
  std::string name;
  Digest key{};
  std::optional<study::Deputy> word;
};

class SignerFolder {
 public:
  explicit SignerFolder(std::filesystem::path path) : path_(std::move(path)) {}

  const std::filesystem::path& path() const { return path_; }
  std::filesystem::path File(const std::string& name) const { return path_ / name; }

  // Throws kUsage if there is no steward's key, kBadInput for a file that is damaged.
  SignerConfig Config() const;
  crypto::Identity Certificate() const;  // without the key
  Digest Steward() const;                // fingerprint
  Digest JobKey() const;
  Bytes NodeCertificate() const;

  // Writes a new folder: the key under the passphrase, what is compared with it, signer.toml with the socket if
  // there is one, and the first list of ended approvals, which is published. Throws kUsage, also for a passphrase that is too short or no UTF-8.
  static crypto::Identity Make(const std::filesystem::path& path, const SignerConfig& config,
                               const x509_st& node, const x509_st& jobs,
                               std::string_view passphrase);

  // The key. Throws kRefused for a wrong passphrase; and without looking at one that comes too early after
  // wrong ones of this caller, in any process. A try counts, durably, before it is made.
  crypto::Identity Open(std::string_view passphrase, int64_t now, Caller caller = {}) const;
  // The same of a deputy's key and its passphrase, whose mistakes are counted apart: else a deputy's right passphrase
  // would take back wrong tries of the steward's. Throws kRefused, too, for a deputy that the steward did not name, or
  // whose time has not come or is over.
  Person OpenDeputy(const std::string& name, std::string_view passphrase, int64_t now,
                    Caller caller = {}) const;
  // Seconds until a passphrase of this caller is looked at.
  int64_t WaitSeconds(int64_t now, Caller caller = {}) const;

  // The newest list: the own copy, or `given` (EncodeSignedList, or empty), if it is newer and the own steward signed
  // it. Throws kUntrusted if neither is the one that was signed last, or newer.
  PartyList Parties(ByteView given) const;
  Bytes PartiesDocument() const;  // empty before the first
  // Signed, and the newest from now on, published; durable on return. Throws kRefused unless its serial is
  // above that of the newest.
  Bytes KeepParties(const PartyList& list, const crypto::Identity& steward) const;

  // Throws kUntrusted if it is not the one that was signed last, or newer.
  EndedList Ended() const;
  // One more on the list: signed, kept, published. Durable on return.
  void End(const EndedStudy& study, const crypto::Identity& steward, int64_t now) const;
  // The same on the list of a deputy.
  void EndAsDeputy(const EndedStudy& study, const Person& deputy, int64_t now) const;
  // Whether the steward or a deputy that it named took the study back.
  bool HasEnded(const StudyId& study) const;

  // A new key for a deputy, of whom nothing counts yet; its fingerprint. Throws kRefused for a name that is there,
  // kUsage for one that is none, and for a passphrase that is too short or no UTF-8.
  Digest MakeDeputyKey(const std::string& name, std::string_view passphrase) const;
  std::vector<KeptDeputy> Deputies() const;  // in the order of their names
  // The steward names a deputy: published on the list of ended approvals, durable on return. key: the fingerprint that
  // the steward compared. Throws kRefused if the key that is here is another, for a name that is on the list, and for a
  // time that is over or longer than a year.
  void AddDeputy(const std::string& name, const Digest& key, int64_t from, int64_t until,
                 const crypto::Identity& steward, int64_t now) const;
  // What the deputy took back stays taken back, by the steward. The key is deleted. Throws kRefused for a name that is
  // not there.
  void EndDeputy(const std::string& name, const crypto::Identity& steward, int64_t now) const;

  // Accounts whose budgets were given up after a restore. Throws kBadInput for a file that is damaged.
  std::set<Digest> GivenUp() const;
  // These, too, for good. Durable on return.
  void GiveUp(const std::set<Digest>& accounts) const;

  // Policies are published on the same list (job/ended_list.h), for the jobs. A new one has a key of its own, which
  // lies here in the clear, and the steward's delegation to it; one that is ended loses its key. Durable on return.
  // Throw kRefused for a name that is there, or is not.
  PublishedPolicy AddPolicy(const std::string& text, const crypto::Identity& steward,
                            int64_t now) const;
  void EndPolicy(const std::string& name, const crypto::Identity& steward, int64_t now) const;
  // Its key, and the delegation without its use.
  struct PolicyKey {
    crypto::Identity key;
    study::Delegation delegation;
  };
  PolicyKey OpenPolicy(const Digest& commitment) const;
  std::filesystem::path UsesOfPolicy(const Digest& commitment) const;

  // Both lists as they are here, where they are not published: for whoever begins to use the folder. Takes no key. Throws
  // kUntrusted if a newer one was published, as of a folder that was restored; kUsage, kStorage where it cannot write.
  void Publish() const;

 private:
  // What the signer knows of its list of ended approvals beside the list.
  struct EndedMark {
    uint64_t serial = 0;  // of the newest
    int64_t time = 0;     // EndedListTime of its change
  };

  crypto::Identity OpenKey(const std::string& key, const std::filesystem::path& tries,
                           std::string_view passphrase, int64_t now) const;
  EndedList EndedOf(const PublishedDeputy& deputy) const;
  void KeepEndedOf(const std::string& deputy, const EndedList& list,
                   const crypto::Identity& identity) const;
  void PublishEndedOf(const std::string& deputy) const;
  std::filesystem::path FileOfPolicy(const Digest& commitment, const char* ending) const;
  void RemoveOldKeys() const;
  std::filesystem::path TriesOf(Caller caller) const;
  EndedMark ReadEndedMark() const;
  void KeepEnded(const EndedList& list, int64_t time, const crypto::Identity& steward) const;

  std::filesystem::path path_;
};

}  // namespace partita::node
